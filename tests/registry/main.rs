//! Images that are not there come from their registry, or it is told why not. The registry is a real one, in a container.
//!
//! These tests need an engine at `DOCKER_HOST`, so `ci/docker` runs them with `--include-ignored`. Without an engine they fail.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod server;
mod watch;

use client::Client;
use server::{PASSWORD, Registry, USER};

/// Where nobody listens.
const NOWHERE: &str = "127.0.0.1:1";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an engine and docker-registry: ci/docker runs it"]
async fn an_image_comes_with_the_credentials_of_the_configuration() {
    let registry = Registry::start().await;
    for name in [registry.at.clone(), format!("http://{}/v2/", registry.at)] {
        let image = registry.offer("auths").await;
        let client = Client::new(&image);
        client.log_in(&name, USER, PASSWORD);
        let told = client.succeeds(&image).await;
        assert!(told.contains(&format!("fetching the image {image}")), "{told}");
        // It is there now, and is not fetched again.
        let told = client.succeeds(&image).await;
        assert!(!told.contains("fetching"), "{told}");
        registry.holds_no_secret().await;
        client.clean().await;
        registry.forget(&image).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an engine and docker-registry: ci/docker runs it"]
async fn an_image_comes_with_the_credentials_of_a_helper() {
    let registry = Registry::start().await;
    let at = &registry.at;
    for configuration in [
        serde_json::json!({"credHelpers": {at: "herm-test"}, "credsStore": "is-not-asked"}),
        serde_json::json!({"credsStore": "herm-test", "auths": {at: {}}}),
    ] {
        let image = registry.offer("helper").await;
        let client = Client::new(&image);
        client.configure(&configuration);
        client.helper(&format!(
            "[ \"$1\" = get ] && [ \"$(cat)\" = {at} ] && echo '{{\"Username\":\"{USER}\",\"Secret\":\"{PASSWORD}\"}}'"
        ));
        client.succeeds(&image).await;
        registry.holds_no_secret().await;
        client.clean().await;
        registry.forget(&image).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an engine and docker-registry: ci/docker runs it"]
async fn why_an_image_does_not_come_is_told_apart() {
    let registry = Registry::start().await;
    let at = registry.at.clone();
    let image = registry.offer("asked").await;

    let client = Client::new(&image);
    let told = client.fails().await;
    for part in [
        "credential_missing",
        "there is no",
        "config.json",
        &format!("docker login {at}"),
    ] {
        assert!(told.contains(part), "without credentials: {told}");
    }
    client.log_in("another.example", USER, PASSWORD);
    let told = client.fails().await;
    assert!(
        told.contains("credential_missing") && told.contains(&format!("no credentials of {at}")),
        "{told}"
    );

    client.log_in(&at, USER, "wrong-umbrella");
    let told = client.fails().await;
    for part in [
        "permission_denied",
        "the credentials in",
        "config.json",
        "log in anew",
    ] {
        assert!(told.contains(part), "with wrong ones: {told}");
    }
    assert!(!told.contains("wrong-umbrella"), "{told}");

    client.log_in(&at, USER, PASSWORD);
    for absent in [
        format!("{at}/team/tools:denied"),
        format!("{at}/team/timeout"),
        format!("{image}@sha256:{:064}", 0),
    ] {
        client.wish(&absent);
        let told = client.fails().await;
        assert!(
            told.contains("not_found") && told.contains("nor in its registry"),
            "{absent}: {told}"
        );
    }

    client.wish(&format!("{NOWHERE}/team/tools"));
    let told = client.fails().await;
    assert!(
        told.contains("unavailable") && told.contains("cannot be reached"),
        "{told}"
    );
}

/// What a client cannot read or ask is told with the refusal; it says nothing of what it holds.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an engine and docker-registry: ci/docker runs it"]
async fn credentials_that_cannot_be_had_are_told_with_the_refusal() {
    let registry = Registry::start().await;
    let image = registry.offer("broken").await;
    let client = Client::new(&image);
    client.write(&format!("{{\"auths\": \"{PASSWORD}\"}}"));
    let told = client.fails().await;
    assert!(
        told.contains("credential_missing") && told.contains("config.json: what stands at line 1"),
        "{told}"
    );
    client.configure(&serde_json::json!({"credsStore": "herm-none"}));
    let told = client.fails().await;
    assert!(
        told.contains("docker-credential-herm-none, which") && told.contains("could not be run"),
        "{told}"
    );
    client.configure(&serde_json::json!({"credsStore": "herm-test"}));
    client.helper(&format!("echo {PASSWORD}; exit 1"));
    let told = client.fails().await;
    assert!(
        told.contains("gave none of") && told.contains("exit status: 1"),
        "{told}"
    );
    client.helper(&format!("echo {PASSWORD}"));
    let told = client.fails().await;
    assert!(told.contains("did not answer as helpers do"), "{told}");
}
