//! What lives on after its command has ended.

use std::{sync::Arc, time::Duration};

use super::{group::Group, output::Pipes, run::GRACE, sandbox::Admission, shell::TextFile};

/// How often is looked whether a group has ended, at first and at most.
const LOOK_AGAIN: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// Watches a group, in the background, until all of it has ended or the sandbox is closed, which ends it. Its pipes are
/// drained as long as somebody holds them: a writer shall not die because its command has ended.
pub(super) fn watch(group: Arc<Group>, pipes: Pipes, text: Option<TextFile>, admission: Admission) {
    tokio::spawn(async move {
        tokio::select! {
            () = admission.closing() => while !group.end(GRACE).await {},
            () = async { tokio::join!(pipes.discard(), reap_when_gone(&group)); } => {}
        }
        group.reap();
        drop(text);
        // Last of all: a close waits for it.
        drop(admission);
    });
}

async fn reap_when_gone(group: &Group) {
    let [mut pause, longest] = LOOK_AGAIN;
    while !group.is_gone().await {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
    group.reap();
}
