//! MOUNT: a directory of this machine in a sandbox.

use std::{
    fs::Permissions,
    io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use herm_protocol::{
    ByteString,
    exec::{Outcome, Stream},
    sandbox::{Mount, SandboxSpec},
};

use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{
        composed::unknown,
        general::{all_bytes, difference, show},
    },
};

/// A directory that many systems have, with nothing in it.
const USUAL: &str = "/mnt";

/// What is in the directory when it is mounted; it holds every byte value.
const GIVEN: &str = "given";

/// What a command adds to it, with the same content.
const ADDED: &str = "added";

/// A file beside the directory, and what it says.
const BESIDE: (&str, &str) = ("beside", "what lies beside the directory");

/// Links in the directory that lead out of it, on this machine.
const LINKS: [&str; 2] = ["by-its-path", "by-way-of-the-parent"];

/// What a command prints that has changed something.
const CHANGED: &str = "changed ";

/// The directory as the words ask for it: where it is on this machine, and where it is to be in the sandbox.
struct Wanted {
    name: String,
    target: String,
    read_only: bool,
}

impl Wanted {
    fn of(words: &str, token: &str) -> Result<Self, Failure> {
        let (name, target, read_only) = match words {
            ", where there may be one already" => ("shared".into(), USUAL.into(), false),
            ", where there is nothing yet" => ("shared".into(), format!("/{token}/below"), false),
            ", under a name with blanks and quotes" => {
                let name = format!("{token} it's a \"name\" $HOME");
                (name.clone(), format!("/{name}"), false)
            }
            ", under a name with a colon and a comma" => {
                let name = format!("{token}:a,b=ro:rw");
                (name.clone(), format!("/{name}"), false)
            }
            " that can only be read" => ("shared".into(), format!("/{token}"), true),
            other => return Err(unknown(other, "a directory of this machine")),
        };
        Ok(Self {
            name,
            target,
            read_only,
        })
    }
}

/// Opens a sandbox with a directory of this machine in it.
pub(crate) async fn open(scene: &mut Scene, words: &str) -> StepResult {
    let token = scene.token().trim_end_matches('.').to_owned();
    let wanted = Wanted::of(words, &token)?;
    let around = scene.workshop()?.scratch().join(format!("around-{token}"));
    let source = around.join(&wanted.name);
    let made = source.clone();
    blocking(move || make(&around, &made)).await?;
    let mount = Mount {
        source: bytes_of(&source),
        target: wanted.target.as_str().into(),
        read_only: wanted.read_only,
    };
    let spec = SandboxSpec {
        mounts: vec![mount],
        ..SandboxSpec::default()
    };
    scene.notes.mounted = Some(source);
    scene.notes.directory = Some(wanted.target.into());
    scene.open_ready(spec).await.map(|_| ())
}

/// Asks for a directory that is not there.
pub(crate) async fn open_missing(scene: &mut Scene) -> StepResult {
    let token = scene.token().trim_end_matches('.').to_owned();
    let source = scene.workshop()?.scratch().join(format!("missing-{token}"));
    let mount = Mount {
        source: bytes_of(&source),
        target: USUAL.into(),
        read_only: false,
    };
    scene.notes.file = Some(mount.source.clone());
    scene.notes.mounted = Some(source);
    let spec = SandboxSpec {
        mounts: vec![mount],
        ..SandboxSpec::default()
    };
    let opened = scene.open(spec).await;
    scene.answer(opened).map(|_| ())
}

fn bytes_of(path: &Path) -> ByteString {
    path.as_os_str().as_bytes().to_vec().into()
}

/// Makes the directory, which everybody may change, and what is in it and beside it.
fn make(around: &Path, directory: &Path) -> io::Result<()> {
    std::fs::create_dir(around)?;
    std::fs::write(around.join(BESIDE.0), BESIDE.1)?;
    std::fs::create_dir(directory)?;
    let given = directory.join(GIVEN);
    std::fs::write(&given, all_bytes())?;
    symlink(around.join(BESIDE.0), directory.join(LINKS[0]))?;
    symlink(Path::new("..").join(BESIDE.0), directory.join(LINKS[1]))?;
    // A sandbox may run as somebody else.
    std::fs::set_permissions(&given, Permissions::from_mode(0o666))?;
    std::fs::set_permissions(directory, Permissions::from_mode(0o777))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| Failure::suite(error.to_string()))?;
    done.map_err(|error| {
        Failure::inconclusive(format!("failed to work on a directory of this machine: {error}"))
    })
}

/// The directory as the sandbox names it, as a word of a shell.
fn inside(scene: &Scene) -> String {
    shell::word(scene.notes.directory.clone().unwrap_or_default().as_bytes())
}

fn outside(scene: &Scene) -> Result<PathBuf, Failure> {
    scene
        .notes
        .mounted
        .clone()
        .ok_or_else(|| Failure::suite("no directory was mounted"))
}

/// A command prints what is there, as numbers, and adds to it.
pub(crate) async fn read_and_add(scene: &mut Scene) -> StepResult {
    let text = format!(
        "cd {} && od -A n -v -t x1 {GIVEN} && {} >{ADDED}",
        inside(scene),
        shell::print(&all_bytes())
    );
    let params = scene.command(text).await?;
    scene.run(&params).await
}

pub(crate) async fn same_on_both_sides(scene: &mut Scene) -> StepResult {
    let printed = scene.record()?.bytes(Stream::Stdout);
    let expected: Vec<String> = all_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let seen = String::from_utf8_lossy(&printed).into_owned();
    let seen: Vec<&str> = seen.split_whitespace().collect();
    if seen != expected || scene.result()?.outcome != (Outcome::Exited { code: 0 }) {
        let said = scene.record()?.bytes(Stream::Stderr);
        return Err(Failure::failed(
            "the command to see every byte value in the file that this machine has made",
            format!(
                "{}; it saw {} and said {}",
                scene.result()?.outcome,
                show(&printed),
                show(&said)
            ),
        ));
    }
    let added = outside(scene)?.join(ADDED);
    let content = blocking(move || match std::fs::read(added) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        content => content.map(Some),
    })
    .await?;
    let expected = "this machine to see every byte value in the file that the command has made";
    match content {
        Some(content) if content == all_bytes() => Ok(()),
        Some(content) => Err(Failure::failed(
            expected,
            format!("{}{}", show(&content), difference(&all_bytes(), &content)),
        )),
        None => Err(Failure::failed(expected, "no such file is in the directory")),
    }
}

/// A command tries to change the directory, as it is and mounted anew, and tells what has worked.
pub(crate) async fn change(scene: &mut Scene) -> StepResult {
    let target = inside(scene);
    let text = format!(
        "cd {target} || exit 1
try() {{ if \"$@\" 2>/dev/null; then echo \"{CHANGED}$*\"; fi; }}
all() {{
    try sh -c ': >new'; try sh -c 'echo x >>{GIVEN}'; try rm -f {GIVEN}; try mv {GIVEN} other; try chmod 0777 {GIVEN}
    try mkdir below; try ln -s {GIVEN} link; try ln {GIVEN} name
}}
all; mount -o remount,rw {target} 2>/dev/null; mount -o remount,bind,rw {target} 2>/dev/null; umount {target} 2>/dev/null; all"
    );
    let params = scene.command(text).await?;
    scene.run(&params).await
}

pub(crate) async fn unchanged(scene: &mut Scene) -> StepResult {
    let printed = scene.record()?.bytes(Stream::Stdout);
    let printed = String::from_utf8_lossy(&printed).into_owned();
    scene.result()?;
    let directory = outside(scene)?;
    let seen = blocking(move || look(&directory)).await?;
    if let Some(seen) = seen {
        return Err(Failure::failed(
            "the directory to be as it was on this machine",
            seen,
        ));
    }
    if printed.contains(CHANGED) {
        return Err(Failure::failed("every attempt to fail", show(printed.as_bytes())));
    }
    Ok(())
}

/// What is another in the directory than it was when it was made.
fn look(directory: &Path) -> io::Result<Option<String>> {
    let mut names: Vec<String> = std::fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort();
    let mut expected = [LINKS[0], LINKS[1], GIVEN].map(str::to_owned);
    expected.sort();
    if names != expected {
        return Ok(Some(format!("there is {}", names.join(", "))));
    }
    let given = directory.join(GIVEN);
    let mode = std::fs::metadata(&given)?.permissions().mode() & 0o777;
    if mode != 0o666 {
        return Ok(Some(format!("the file has the permissions {mode:o}")));
    }
    let content = std::fs::read(given)?;
    Ok((content != all_bytes()).then(|| format!("the file holds {}", show(&content))))
}

pub(crate) async fn still_missing(scene: &Scene) -> StepResult {
    let directory = outside(scene)?;
    let there = blocking(move || directory.try_exists()).await?;
    if there {
        return Err(Failure::failed(
            "no such directory on this machine",
            "it was made",
        ));
    }
    Ok(())
}

/// A command follows whatever could lead to what lies beside the directory.
pub(crate) async fn look_beyond(scene: &mut Scene) -> StepResult {
    let target = inside(scene);
    let parent = outside(scene)?.parent().map(bytes_of).unwrap_or_default();
    let beside = shell::word(&[parent.as_bytes(), b"/", BESIDE.0.as_bytes()].concat());
    let text = format!(
        "cd {target} || exit 1
cat {} {} ../{} {beside} 2>/dev/null; ls -a .. {} 2>/dev/null; :",
        LINKS[0],
        LINKS[1],
        BESIDE.0,
        shell::word(parent.as_bytes())
    );
    let params = scene.command(text).await?;
    scene.run(&params).await
}

pub(crate) fn nothing_beside(scene: &Scene) -> StepResult {
    let printed = scene.record()?.bytes(Stream::Stdout);
    match &scene.result()?.outcome {
        Outcome::Exited { code: 0 } => {}
        other => {
            return Err(Failure::failed(
                "the directory to be in the sandbox",
                other.to_string(),
            ));
        }
    }
    let told = String::from_utf8_lossy(&printed);
    if told.contains(BESIDE.1) || told.lines().any(|line| line == BESIDE.0) {
        return Err(Failure::failed(
            "nothing of what lies beside the directory on this machine",
            show(&printed),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_directory_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let around = folder.path().join("around");
        let directory = around.join("shared");
        make(&around, &directory).unwrap();
        assert_eq!(look(&directory).unwrap(), None);
        std::fs::set_permissions(directory.join(GIVEN), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(
            look(&directory).unwrap().unwrap(),
            "the file has the permissions 777"
        );
        std::fs::set_permissions(directory.join(GIVEN), Permissions::from_mode(0o666)).unwrap();
        std::fs::write(directory.join(GIVEN), "x").unwrap();
        assert_eq!(look(&directory).unwrap().unwrap(), "the file holds \"x\"");
        std::fs::write(directory.join("new"), "").unwrap();
        assert!(look(&directory).unwrap().unwrap().ends_with(", new"));
    }

    #[test]
    fn links_in_the_directory_lead_out_of_it_on_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let around = folder.path().join("around");
        make(&around, &around.join("shared")).unwrap();
        for link in LINKS {
            let told = std::fs::read_to_string(around.join("shared").join(link)).unwrap();
            assert_eq!(told, BESIDE.1);
        }
    }
}
