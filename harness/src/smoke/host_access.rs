//! How far mounts let commands reach.

use herm_protocol::policy::{AccessLevel, ClassifyParams, HostAccess, MountAccess};
use serde_json::{Value, json};

use super::{
    complaint::Complaint,
    refusal::{describe_error, result_message},
    walk::{ANSWER, Walk},
};

/// Mounts, with the least that each lets commands reach.
const MOUNTS: [(&str, AccessLevel); 2] = [
    ("/etc:/mnt/host:ro", AccessLevel::Read),
    ("/etc:/mnt/host-too", AccessLevel::Write),
];

pub(super) async fn host_access(walk: &mut Walk<'_>) {
    let example = HostAccess {
        level: AccessLevel::Write,
        mounts: MOUNTS
            .iter()
            .map(|(mount, level)| MountAccess {
                mount: (*mount).to_owned(),
                level: *level,
                reason: "/etc of the host".into(),
            })
            .collect(),
    };
    let example = serde_json::to_value(&example).unwrap_or_default();
    walk.expect(
        "a level for each mount, in their order, and that of the mount that reaches furthest for all of them",
        [result_message(walk.talk.next_id(), &example)],
    );
    let asked = ClassifyParams {
        mounts: MOUNTS.iter().map(|(mount, _)| (*mount).to_owned()).collect(),
    };
    match walk.call("policy.classify", &json!(asked), ANSWER).await {
        None => {}
        Some(Err(error)) => walk.complain(
            Complaint::new(
                "refused",
                format!("policy.classify was refused: {}", describe_error(&error)),
                "answer for every mount that docker run takes, or take host_access out of what you declare",
            )
            .of_its_own(),
        ),
        // What has another shape is told by the schema.
        Some(Ok(answer)) => {
            if let Ok(access) = serde_json::from_value(answer) {
                judge(walk, &access);
            }
        }
    }
}

fn judge(walk: &mut Walk<'_>, access: &HostAccess) {
    for complaint in complaints(access) {
        walk.complain(complaint);
    }
    let levels = access.mounts.iter().map(|mount| name(mount.level));
    walk.note(levels.collect::<Vec<_>>().join(", "));
}

fn complaints(access: &HostAccess) -> Vec<Complaint> {
    let seen: Vec<_> = access.mounts.iter().map(|mount| mount.mount.as_str()).collect();
    if seen != MOUNTS.map(|(mount, _)| mount) {
        let what = format!(
            "result.mounts tells of {seen:?}; expected {:?}",
            MOUNTS.map(|(mount, _)| mount)
        );
        let to_do =
            "send one entry for each mount of the request, in its order, with the mount as it was sent";
        return vec![Complaint::new("mounts", what, to_do).at("result.mounts")];
    }
    let mut complaints = Vec::new();
    for (index, (one, (mount, least))) in access.mounts.iter().zip(MOUNTS).enumerate() {
        if one.level < least {
            let (seen, least) = (name(one.level), name(least));
            let what = format!(
                "{mount} is told as {seen}, and commands reach the files of the host: expected {least}"
            );
            let to_do =
                "tell what a mount lets commands do with files of the host: none, read, write, control";
            complaints.push(
                Complaint::new("level", what, to_do)
                    .at(&format!("result.mounts[{index}].level"))
                    .of_its_own(),
            );
        }
    }
    let furthest = access
        .mounts
        .iter()
        .map(|mount| mount.level)
        .max()
        .unwrap_or_default();
    if access.level < furthest {
        let what = format!(
            "result.level is {}, and one mount reaches as far as {}",
            name(access.level),
            name(furthest)
        );
        let to_do = "a sandbox reaches as far as the mount that reaches furthest: send the highest level of result.mounts";
        complaints.push(
            Complaint::new("level", what, to_do)
                .at("result.level")
                .of_its_own(),
        );
    }
    complaints
}

/// A level as the protocol writes it.
fn name(level: AccessLevel) -> String {
    match json!(level) {
        Value::String(name) => name,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is complained of when both mounts and the whole are told as these levels.
    fn told(levels: [AccessLevel; 2], whole: AccessLevel) -> Vec<String> {
        let mounts = MOUNTS.iter().zip(levels).map(|((mount, _), level)| MountAccess {
            mount: (*mount).to_owned(),
            level,
            reason: "r".into(),
        });
        let access = HostAccess {
            level: whole,
            mounts: mounts.collect(),
        };
        complaints(&access)
            .into_iter()
            .map(|complaint| complaint.kind)
            .collect()
    }

    #[test]
    fn every_level_that_is_too_low_is_complained_of() {
        use AccessLevel::{Control, None, Read, Write};
        assert!(told([Read, Write], Write).is_empty());
        assert!(told([Control, Control], Control).is_empty());
        assert_eq!(told([None, Write], Write), ["level"]);
        assert_eq!(told([Read, Read], Read), ["level"]);
        assert_eq!(told([Read, Write], Read), ["level"]);
        assert_eq!(told([None, None], None).len(), 2);
    }

    #[test]
    fn mounts_are_answered_in_their_order() {
        let access = HostAccess {
            level: AccessLevel::Write,
            mounts: Vec::new(),
        };
        let kinds: Vec<_> = complaints(&access)
            .into_iter()
            .map(|complaint| complaint.kind)
            .collect();
        assert_eq!(kinds, ["mounts"]);
    }
}
