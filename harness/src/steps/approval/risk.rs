//! RISK: what of the host a sandbox can reach is told as it is.

use herm_protocol::{
    method,
    policy::{AccessLevel, ClassifyParams, HostAccess, MountAccess},
};

use crate::{
    scene::{Failure, Scene},
    step::StepResult,
    steps::composed::unknown,
};

/// Mounts as the words of a step name them, and as an engine takes them.
const MOUNTS: &[(&str, &str)] = &[
    ("a directory by its whole path", "/h:/c"),
    ("a directory by its whole path, with blanks around it", " /h:/c "),
    (
        "a directory by its whole path, with two slashes first",
        "//server/share:/x",
    ),
    ("a directory by a path that goes up on its way", "/h/../../i:/x"),
    ("the home of the user", "~:/x"),
    ("a directory in the home of the user", "~/d:/d"),
    ("the home of the user, by its variable in braces", "${HOME}:/x"),
    (
        "a directory in the home of the user, by its variable",
        "$HOME/x:/x",
    ),
    ("the current directory", ".:/x"),
    ("a directory in the current one", "./r:/r"),
    ("the directory above the current one", "..:/x"),
    ("a directory beside the current one", "../u:/u"),
    ("a directory with a hidden name", ".hidden:/x"),
    ("a directory in the long form", "type=bind,source=/h,target=/x"),
    (
        "a directory in the long form, with its other words",
        "type=bind,src=/h,dst=/x",
    ),
    (
        "a directory in the long form, target first",
        "destination=/x,source=/h,type=bind",
    ),
    (
        "a directory in the long form, with a comma in it",
        "type=bind,\"source=/h,i\",target=/x",
    ),
    (
        "a volume whose driver mounts a directory",
        "type=volume,source=herm-v,target=/x,volume-driver=local,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/h",
    ),
    (
        "a volume without a name whose driver mounts a directory",
        "type=volume,dst=/x,volume-opt=device=/h,volume-opt=o=bind,volume-opt=type=none",
    ),
    (
        "a volume whose driver mounts files of another machine",
        "type=volume,src=herm-v,dst=/x,volume-opt=type=nfs,\"volume-opt=o=addr=192.0.2.7,rw\",volume-opt=device=:/export",
    ),
    (
        "a volume of a driver that nobody knows",
        "type=volume,src=herm-v,dst=/x,volume-driver=herm-nobody",
    ),
    ("a volume", "herm-v:/data"),
    ("a volume, to be read only", "herm-v:/data:ro"),
    (
        "a volume in the long form",
        "type=volume,source=herm-v,target=/data",
    ),
    ("a volume without a name", "/data"),
    ("memory", "type=tmpfs,target=/x"),
    ("a directory by its whole path, to be read only", "/h:/c:ro"),
    (
        "a directory by a path that goes up on its way, to be read only",
        "/h/../../i:/x:ro",
    ),
    (
        "a directory in the long form, to be read only",
        "type=bind,source=/h,target=/x,readonly",
    ),
    (
        "a volume whose driver mounts a directory, to be read only",
        "type=volume,src=herm-v,dst=/x,readonly,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/h",
    ),
    (
        "the socket of the engine",
        "/var/run/docker.sock:/var/run/docker.sock",
    ),
    (
        "the socket of the engine, to be read only",
        "/run/docker.sock:/x:ro",
    ),
    (
        "the directory of the engine's socket, to be read only",
        "/var/run:/x:ro",
    ),
    (
        "the socket of the engine, by a path that goes up",
        "/var/tmp/../run/./docker.sock:/x",
    ),
    ("the whole host", "/:/host"),
    (
        "a volume whose driver mounts the whole host",
        "type=volume,src=herm-v,dst=/x,volume-opt=type=none,volume-opt=o=rbind,volume-opt=device=/",
    ),
    ("nothing", ""),
    ("a name without a place", "herm-v"),
    ("a place that is no path", "herm-v:data"),
    ("a path that is neither a name nor a path", "data/x:/x"),
    ("a directory with a word that nobody knows", "/h:/x:sideways"),
    (
        "a directory in the long form without a place",
        "type=bind,source=/h",
    ),
];

/// Several at once, and how far each reaches. The one that reaches furthest is neither the first nor the last.
const SEVERAL: [(&str, AccessLevel); 4] = [
    ("herm-v:/a", AccessLevel::None),
    ("/h:/b:ro", AccessLevel::Read),
    ("/i:/c", AccessLevel::Write),
    ("/k:/d:ro", AccessLevel::Read),
];

/// Asks how far what the words name would reach; nothing is mounted.
pub(crate) async fn ask(scene: &mut Scene, what: &str) -> StepResult {
    let mounts = match what {
        "several mounts" => SEVERAL.iter().map(|(mount, _)| (*mount).to_owned()).collect(),
        "a volume, and then nothing" => vec![mount_of("a volume")?, String::new()],
        one => vec![mount_of(one)?],
    };
    let patience = scene.patience();
    let client = scene.client().await?;
    let params = ClassifyParams { mounts };
    let answer = client.call::<method::Classify>(&params, patience).await;
    if let Some(access) = scene.answer(answer)? {
        scene.notes.value = serde_json::to_value(access).ok();
    }
    Ok(())
}

fn mount_of(words: &str) -> Result<String, Failure> {
    let mut known = MOUNTS.iter();
    let found = known.find(|(name, _)| *name == words);
    found
        .map(|(_, mount)| (*mount).to_owned())
        .ok_or_else(|| unknown(words, "mounted"))
}

/// What it answered is what the words say.
pub(crate) fn reaches(scene: &Scene, how_far: &str) -> StepResult {
    let expected = match how_far {
        "nothing outside" => AccessLevel::None,
        "files outside, and only to read them" => AccessLevel::Read,
        "files outside, and to change them" => AccessLevel::Write,
        "all of the host" => AccessLevel::Control,
        "as far as the furthest of them, each for a reason of its own" => return each(scene),
        other => return Err(unknown(other, "reached")),
    };
    let access = answered(scene)?;
    let [mount] = access.mounts.as_slice() else {
        return Err(Failure::failed("one mount in `mounts`", shown(&access)));
    };
    // Where an engine listens below a directory, whoever changes that has the host: only the machine can tell.
    let fits = match expected {
        AccessLevel::Write => mount.level >= AccessLevel::Write,
        expected => mount.level == expected,
    };
    if fits && access.level == mount.level {
        return Ok(());
    }
    let wanted = format!("the level {} for {:?}, and for all", name(expected), mount.mount);
    Err(Failure::failed(wanted, shown(&access)))
}

fn each(scene: &Scene) -> StepResult {
    let access = answered(scene)?;
    let told: Vec<_> = access
        .mounts
        .iter()
        .map(|mount| (mount.mount.as_str(), mount.level))
        .collect();
    if told != SEVERAL {
        let wanted: Vec<_> = SEVERAL
            .iter()
            .map(|(mount, level)| format!("{mount} {}", name(*level)))
            .collect();
        return Err(Failure::failed(
            format!("these in `mounts`, in this order: {}", wanted.join(", ")),
            shown(&access),
        ));
    }
    if let Some(mount) = access.mounts.iter().find(|mount| mount.reason.trim().is_empty()) {
        let seen = format!("none for {:?}", mount.mount);
        return Err(Failure::failed("a reason for each mount", seen));
    }
    let furthest = SEVERAL.iter().map(|(_, level)| *level).max().unwrap_or_default();
    if access.level == furthest {
        return Ok(());
    }
    Err(Failure::failed(
        format!("the level {} for all of them", name(furthest)),
        shown(&access),
    ))
}

fn answered(scene: &Scene) -> Result<HostAccess, Failure> {
    if let Some(error) = &scene.refusal {
        return Err(error.clone().into());
    }
    let value = scene.notes.value.clone().unwrap_or_default();
    serde_json::from_value(value)
        .map_err(|_| Failure::suite("the backend was not asked how far a mount reaches"))
}

/// A level as it stands in an answer.
fn name(level: AccessLevel) -> String {
    let word = serde_json::to_value(level).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

fn shown(access: &HostAccess) -> String {
    let of_each = access
        .mounts
        .iter()
        .map(|MountAccess { mount, level, reason }| format!("{} for {mount:?} ({reason})", name(*level)));
    let of_each: Vec<_> = of_each.collect();
    format!("the level {}: {}", name(access.level), of_each.join(", "))
}
