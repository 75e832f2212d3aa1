//! Credentials of registries, as the engine's own client keeps them: in its configuration, or with a helper program.
//!
//! Where there are none, or none can be had, the image is asked for without: most images are for everybody. Why there are
//! none is told where the registry then refuses.

use std::{collections::BTreeMap, env, path::Path, process::Stdio, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bollard::auth::DockerCredentials;
use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    time::timeout,
};

use super::address;
use crate::backend::local::adapter::blocking;

/// The registry of names without one, as the configuration calls it.
const HUB: &str = "https://index.docker.io/v1/";

/// What people call it in the names of images.
const HUB_NAMES: [&str; 2] = ["docker.io", "index.docker.io"];

/// How long a helper may take: it may ask a keyring, or another machine.
const HELPING: Duration = Duration::from_secs(20);

/// The longest answer of a helper that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The shortest secret that is looked for in what is told; a shorter one would be found in every word.
const SHORTEST: usize = 4;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Client {
    auths: BTreeMap<String, Entry>,
    creds_store: Option<String>,
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    identitytoken: Option<String>,
}

/// What a helper answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

/// What was found of credentials for a registry.
pub(super) struct Found {
    pub(super) credentials: Option<DockerCredentials>,
    /// For people: whose they are, or why there are none.
    pub(super) told: String,
    /// What follows `docker login`.
    pub(super) login: String,
}

impl Found {
    /// A text without the secrets: a registry may say anything.
    pub(super) fn hide(&self, text: &str) -> String {
        let Some(credentials) = &self.credentials else {
            return text.to_owned();
        };
        let secrets = [
            &credentials.password,
            &credentials.identitytoken,
            &credentials.auth,
        ];
        let mut text = text.to_owned();
        for secret in secrets.into_iter().flatten() {
            if secret.len() >= SHORTEST {
                text = text.replace(secret.as_str(), "[secret]");
            }
        }
        text
    }
}

/// The credentials for the registry of an image, if there are any.
pub(super) async fn of(image: &str) -> Found {
    let registry = registry(image);
    let (credentials, told) = match look(registry).await {
        Ok((credentials, told)) => (Some(credentials), told),
        Err(why) => (None, why),
    };
    Found {
        credentials,
        told,
        login: if registry == HUB {
            String::new()
        } else {
            format!(" {registry}")
        },
    }
}

async fn look(registry: &str) -> Result<(DockerCredentials, String), String> {
    let directory = env::var_os("DOCKER_CONFIG").filter(|path| !path.is_empty());
    let file = directory
        .map(Into::into)
        .or_else(|| env::home_dir().map(|home| home.join(".docker")))
        .ok_or("there is no home directory, and DOCKER_CONFIG is not set")?
        .join("config.json");
    let shown = file.display().to_string();
    let client: Client = blocking(&shown, move || address::read(&file))
        .await
        .map_err(|error| error.message)?
        .ok_or_else(|| format!("there is no {shown}"))?;
    let helper = entry(&client.cred_helpers, registry).or(client.creds_store.as_ref());
    let answered = match helper.filter(|name| !name.is_empty()) {
        Some(name) => ask(name, registry, &shown).await.map(Some),
        None => Ok(None),
    };
    if let Ok(Some((answer, program))) = answered {
        let credentials = of_pair(registry, &answer.username, answer.secret);
        return Ok((credentials, format!("the credentials that {program} gave")));
    }
    match entry(&client.auths, registry).and_then(|entry| stored(registry, entry)) {
        Some(credentials) => Ok((credentials, format!("the credentials in {shown}"))),
        None => Err(answered
            .err()
            .unwrap_or_else(|| format!("{shown} has no credentials of {}", host_of(registry)))),
    }
}

/// What stands for a registry, under whatever name people gave it: its host, or an address of it.
fn entry<'a, T>(entries: &'a BTreeMap<String, T>, registry: &str) -> Option<&'a T> {
    entries.get(registry).or_else(|| {
        let host = host_of(registry);
        let mut same = entries.iter().filter(|(name, _)| host_of(name) == host);
        same.next().map(|(_, entry)| entry)
    })
}

fn host_of(registry: &str) -> &str {
    let (_, rest) = registry.split_once("://").unwrap_or(("", registry));
    let host = rest.split('/').next().unwrap_or_default();
    if HUB_NAMES.contains(&host) {
        HUB_NAMES[0]
    } else {
        host
    }
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
        Some((host, _)) if HUB_NAMES.contains(&host) => HUB,
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => host,
        _ => HUB,
    }
}

/// What a helper knows, and what it is called; or why it gave nothing. What it says itself is not told: it may be anything.
async fn ask(name: &str, registry: &str, file: &str) -> Result<(Answer, String), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !name.bytes().all(is_plain) {
        return Err(format!(
            "{file} names a helper for credentials that is no name of a program"
        ));
    }
    let program = format!("docker-credential-{name}");
    match timeout(HELPING, answer(&program, registry)).await {
        Ok(Ok(answer)) => Ok((answer, program)),
        Ok(Err(why)) => Err(format!("{program}, which {file} names, {why}")),
        Err(_) => Err(format!(
            "{program}, which {file} names, did not answer within {HELPING:?}"
        )),
    }
}

async fn answer(program: &str, registry: &str) -> Result<Answer, String> {
    let mut child = Command::new(Path::new(program))
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("could not be run: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that reads nothing may still answer.
        let _ = stdin.write_all(registry.as_bytes()).await;
    }
    let mut said = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let reading = stdout.take(LONGEST).read_to_end(&mut said).await;
        reading.map_err(|error| format!("could not be heard: {error}"))?;
    }
    let status = child.wait().await.map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("gave none of {}: {status}", host_of(registry)));
    }
    serde_json::from_slice(&said).map_err(|_| "did not answer as helpers do".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_what_stands_before_the_name() {
        for (image, expected) in [
            ("busybox", HUB),
            ("library/busybox:1", HUB),
            ("docker.io/library/busybox", HUB),
            ("index.docker.io/library/busybox", HUB),
            ("ghcr.io/a/b", "ghcr.io"),
            ("localhost/a", "localhost"),
            ("h:5000/a", "h:5000"),
        ] {
            assert_eq!(registry(image), expected, "{image}");
        }
    }

    #[test]
    fn a_registry_is_found_under_whatever_name_it_was_given() {
        for (written, registry) in [
            (HUB, HUB),
            ("docker.io", HUB),
            ("index.docker.io", HUB),
            ("h:5000", "h:5000"),
            ("https://h:5000", "h:5000"),
            ("http://h:5000/v2/", "h:5000"),
        ] {
            let entries = BTreeMap::from([("other".to_owned(), 1), (written.to_owned(), 2)]);
            assert_eq!(entry(&entries, registry), Some(&2), "{written}");
        }
        let entries = BTreeMap::from([("h:5000".to_owned(), 1)]);
        assert_eq!(entry(&entries, "h"), None);
        assert_eq!(entry(&entries, HUB), None);
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

    #[test]
    fn what_a_registry_says_is_told_without_the_secret() {
        let found = Found {
            credentials: Some(of_pair("r", "ann", "h1dden".into())),
            told: String::new(),
            login: String::new(),
        };
        assert_eq!(found.hide("ann:h1dden is wrong"), "ann:[secret] is wrong");
    }
}
