//! OUT: the ways in which a caller gives room for output.

use std::time::Duration;

use herm_protocol::client::Fault;

use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{composed::unknown, general::answer_in_words},
};

/// More room than a number of 32 bits holds: nothing of it is in these.
const VERY_MUCH: u64 = 1 << 32;

/// How long is waited for what must not come.
const A_WHILE: Duration = Duration::from_millis(300);

/// Runs a command that prints so many bytes; its caller has room for some, and gives more in a way of its own.
pub(crate) async fn print_with_room_given(
    scene: &mut Scene,
    bytes: usize,
    how: &str,
    room: u64,
) -> StepResult {
    let (patience, a_while) = (scene.patience(), scene.scaled(A_WHILE));
    let mut params = scene.command(shell::numbered(bytes)).await?;
    params.window = Some(room);
    scene.notes.content = Some(shell::numbered_bytes(bytes));
    let client = scene.client().await?;
    let mut exec = scene.start(&params).await?;
    exec.grants = false;
    let give = |bytes: u64| client.grant(&params.exec, bytes);
    match how {
        "before the command has begun" => give(bytes as u64),
        "in one go that is very large" => give(VERY_MUCH),
        "first as none at all" => {
            let arrived = exec.wait_until(patience, |record| printed(record) > 0).await;
            arrived.map_err(|fault| scene.broken(fault))?;
            give(0);
            match exec.wait_until(a_while, |_| false).await {
                Err(Fault::Hung { .. }) => give(bytes as u64),
                // More came than there was room for.
                Err(fault) => return Err(scene.broken(fault)),
                Ok(()) => {
                    let seen = answer_in_words(exec.record());
                    return Err(Failure::failed("the command to wait for room", seen));
                }
            }
        }
        "in no other way than before it began" => {}
        other => return Err(unknown(other, "a way to give room")),
    }
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

/// How many bytes have arrived.
fn printed(record: &herm_protocol::client::ExecRecord) -> usize {
    record.pieces.iter().map(|piece| piece.data.len()).sum()
}
