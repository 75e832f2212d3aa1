//! Whose the places are in which files are kept: an engine makes a volume the superuser's, and who commands run as could
//! write nothing there.

use bollard::{
    body_full,
    query_parameters::{DownloadFromContainerOptionsBuilder, UploadToContainerOptionsBuilder},
};
use futures::StreamExt as _;
use herm_protocol::Error;
use tokio::time::timeout;

use super::{
    engine::{ANSWER, Engine, WORK},
    prepare::Prepared,
};

/// The permissions of such a place.
const MODE: u32 = 0o755;

/// The most of a list of users that is read, in bytes.
const LARGEST: usize = 1024 * 1024;

impl Engine {
    /// Gives the volumes of a container that was not started yet to whoever its commands run as.
    ///
    /// # Errors
    /// The engine does not do it.
    pub(super) async fn give_volumes(&self, container: &str, prepared: &Prepared) -> Result<(), Error> {
        let plan = &prepared.plan;
        let user = plan.user.as_deref().unwrap_or(&prepared.image.user);
        if plan.kept.is_empty() || is_superuser(user) || plan.hardening.read_only_root {
            return Ok(());
        }
        let passwd = match parsed(user) {
            Some(_) => String::new(),
            None => self.text_of(container, "/etc/passwd").await,
        };
        // Who is not there the engine refuses to start.
        let Some((uid, gid)) = numbers(user, &passwd) else {
            return Ok(());
        };
        let targets = plan.kept.iter().map(|area| area.target.as_str());
        let archive =
            archive(targets, uid, gid).map_err(|error| Error::internal("pack directories", error))?;
        let options = UploadToContainerOptionsBuilder::new().path("/").build();
        let uploading = self
            .docker
            .upload_to_container(container, Some(options), body_full(archive.into()));
        self.call("give the volumes to whoever commands run as", WORK, uploading)
            .await
    }

    /// The text of a small file of a container; empty where it has none.
    async fn text_of(&self, container: &str, path: &str) -> String {
        let options = DownloadFromContainerOptionsBuilder::new().path(path).build();
        let mut pieces = std::pin::pin!(self.docker.download_from_container(container, Some(options)));
        let mut packed = Vec::new();
        while let Ok(Some(Ok(piece))) = timeout(ANSWER, pieces.next()).await {
            packed.extend_from_slice(&piece);
            if packed.len() > LARGEST {
                return String::new();
            }
        }
        unpacked(&packed).unwrap_or_default()
    }
}

/// The text of the one file of an archive.
fn unpacked(packed: &[u8]) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut archive = tar::Archive::new(packed);
    let mut text = String::new();
    for entry in archive.entries()? {
        entry?.take(LARGEST as u64).read_to_string(&mut text)?;
    }
    Ok(text)
}

fn is_superuser(user: &str) -> bool {
    let name = user.split(':').next().unwrap_or_default();
    matches!(name, "" | "root" | "0")
}

/// The numbers of a user that is named by them.
fn parsed(user: &str) -> Option<(u64, u64)> {
    let (uid, gid) = user.split_once(':')?;
    Some((uid.parse().ok()?, gid.parse().ok()?))
}

/// The numbers of a user and its group, as engines find them: what is no number is looked up in the image's list, and a
/// user that is not there is of the group 0. None where a name is not there.
fn numbers(user: &str, passwd: &str) -> Option<(u64, u64)> {
    if let Some(both) = parsed(user) {
        return Some(both);
    }
    let (user, group) = user
        .split_once(':')
        .map_or((user, None), |(user, group)| (user, Some(group)));
    let lines = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = lines
        .filter(|fields| fields.len() > 3)
        .find(|fields| fields[0] == user || fields[2] == user)
        .and_then(|fields| Some((fields[2].parse().ok()?, fields[3].parse().ok()?)));
    let (uid, own) = match (found, user.parse()) {
        (Some(found), _) => found,
        (None, Ok(uid)) => (uid, 0),
        (None, Err(_)) => return None,
    };
    let group = group.map_or(Some(own), |group| group.parse().ok());
    Some((uid, group.unwrap_or(own)))
}

/// An archive of these directories, which are there.
fn archive<'a>(targets: impl Iterator<Item = &'a str>, uid: u64, gid: u64) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for target in targets {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_size(0);
        header.set_mode(MODE);
        header.set_uid(uid);
        header.set_gid(gid);
        let name = format!("{}/", target.trim_start_matches('/'));
        archive.append_data(&mut header, name, std::io::empty())?;
    }
    archive.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nbroken\napp:x:1000:1001::/home/app:/bin/sh\n";

    #[test]
    fn a_user_is_found_as_the_engine_finds_it() {
        for (user, expected) in [
            ("1234:106", Some((1234, 106))),
            ("app", Some((1000, 1001))),
            ("1000", Some((1000, 1001))),
            ("app:7", Some((1000, 7))),
            ("77", Some((77, 0))),
            ("nobody", None),
        ] {
            assert_eq!(numbers(user, PASSWD), expected, "{user}");
        }
        for (user, superuser) in [
            ("", true),
            ("root", true),
            ("0:5", true),
            ("app", false),
            ("00x", false),
        ] {
            assert_eq!(is_superuser(user), superuser, "{user}");
        }
    }

    #[test]
    fn directories_are_packed_with_their_owner() {
        let packed = archive(["/root", "/workspace"].into_iter(), 7, 8).unwrap();
        let mut archive = tar::Archive::new(packed.as_slice());
        let seen: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                let owner = (header.uid().unwrap(), header.gid().unwrap());
                (entry.path().unwrap().to_string_lossy().into_owned(), owner)
            })
            .collect();
        assert_eq!(
            seen,
            [("root/".to_owned(), (7, 8)), ("workspace/".to_owned(), (7, 8))]
        );
    }
}
