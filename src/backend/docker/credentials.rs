//! Credentials of registries, as the engine's own client keeps them: in its configuration, or with a helper program.

use std::{
    collections::BTreeMap,
    env, fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bollard::auth::DockerCredentials;
use serde::Deserialize;

/// The registry of names without one, as the configuration calls it.
const HUB: &str = "https://index.docker.io/v1/";

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Client {
    auths: BTreeMap<String, Entry>,
    creds_store: Option<String>,
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    identitytoken: Option<String>,
}

/// What a helper answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

/// The credentials for the registry of an image, if there are any. This blocks for as long as a file and a helper take.
pub(super) fn of(image: &str) -> Option<DockerCredentials> {
    let directory = env::var_os("DOCKER_CONFIG")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".docker")))?;
    let text = fs::read(directory.join("config.json")).ok()?;
    let client: Client = serde_json::from_slice(&text).ok()?;
    let registry = registry(image);
    let helper = client
        .cred_helpers
        .get(registry)
        .or(client.creds_store.as_ref())
        .filter(|name| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        });
    if let Some(answer) = helper.and_then(|name| ask(name, registry)) {
        return Some(of_pair(registry, &answer.username, answer.secret));
    }
    let entry = client.auths.get(registry).or_else(|| {
        let plain = |name: &str| {
            name.trim_start_matches("https://")
                .trim_end_matches('/')
                .to_owned()
        };
        client
            .auths
            .iter()
            .find_map(|(name, entry)| (plain(name) == plain(registry)).then_some(entry))
    })?;
    stored(registry, entry)
}

fn stored(registry: &str, entry: &Entry) -> Option<DockerCredentials> {
    if let Some(token) = entry.identitytoken.clone().filter(|token| !token.is_empty()) {
        return Some(DockerCredentials {
            identitytoken: Some(token),
            serveraddress: Some(registry.to_owned()),
            ..DockerCredentials::default()
        });
    }
    let pair = STANDARD.decode(entry.auth.as_ref()?).ok()?;
    let pair = String::from_utf8(pair).ok()?;
    let (user, password) = pair.split_once(':')?;
    Some(of_pair(registry, user, password.to_owned()))
}

fn of_pair(registry: &str, user: &str, secret: String) -> DockerCredentials {
    let mut credentials = DockerCredentials {
        serveraddress: Some(registry.to_owned()),
        ..DockerCredentials::default()
    };
    // So helpers tell that the secret is a token.
    if user == "<token>" {
        credentials.identitytoken = Some(secret);
    } else {
        credentials.username = Some(user.to_owned());
        credentials.password = Some(secret);
    }
    credentials
}

/// The registry of an image's name: what stands before the first slash where that is a host.
fn registry(image: &str) -> &str {
    match image.split_once('/') {
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => host,
        _ => HUB,
    }
}

fn ask(helper: &str, registry: &str) -> Option<Answer> {
    let mut child = Command::new(format!("docker-credential-{helper}"))
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(registry.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_what_stands_before_the_name() {
        for (image, expected) in [
            ("busybox", HUB),
            ("library/busybox:1", HUB),
            ("ghcr.io/a/b", "ghcr.io"),
            ("localhost/a", "localhost"),
            ("h:5000/a", "h:5000"),
        ] {
            assert_eq!(registry(image), expected, "{image}");
        }
    }

    #[test]
    fn what_is_stored_is_read() {
        let entry = Entry {
            auth: Some(STANDARD.encode("ann:p:w")),
            identitytoken: None,
        };
        let credentials = stored("r", &entry).unwrap();
        assert_eq!(credentials.username.as_deref(), Some("ann"));
        assert_eq!(credentials.password.as_deref(), Some("p:w"));
        let entry = Entry {
            auth: None,
            identitytoken: Some("t".into()),
        };
        assert_eq!(stored("r", &entry).unwrap().identitytoken.as_deref(), Some("t"));
        assert!(stored("r", &Entry::default()).is_none());
        assert_eq!(
            of_pair("r", "<token>", "s".into()).identitytoken.as_deref(),
            Some("s")
        );
    }
}
