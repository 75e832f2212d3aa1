//! CANCEL: commands whose names are alike, one of which is meant.

use herm_protocol::exec::{Stdin, Stream};

use super::together::{Expected, await_all};
use crate::{
    scene::{Failure, Scene},
    step::StepResult,
    steps::composed::unknown,
};

/// What stands around the stem of each name. The first is that of the command that is meant: the others begin with it, end
/// with it, have it in them, are its beginning, or differ in a capital letter.
const AROUND: [(&str, &str); 6] = [
    ("", "e1"),
    ("", "e10"),
    ("0", "e1"),
    ("0", "e10"),
    ("", "e"),
    ("", "E1"),
];

/// A signal that each command waits for, with which it exits.
const SIGUSR1: i32 = 10;

/// How long what must not arrive is waited for.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(300);

/// What is done to the command that is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    Cancelled,
    Signalled,
    Fed,
    GivenRoom,
}

impl Done {
    /// What a command does to whom it is done, or not.
    fn text(self, number: usize) -> String {
        let (begin, end) = (begin_of(number), format!("end {number}"));
        match self {
            Self::Cancelled => format!("printf '{begin}'; sleep 1; echo {end}"),
            Self::Signalled => format!(
                "trap 'exit 4' USR1; printf '{begin}'; i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; echo {end}"
            ),
            Self::Fed => format!("printf '{begin}'; cat"),
            Self::GivenRoom => format!("printf '{begin}'; echo {end}"),
        }
    }
}

fn begin_of(number: usize) -> String {
    format!("begin {number} ")
}

fn end_of(number: usize) -> String {
    format!("end {number}\n")
}

/// Something is done to one of several commands whose names are alike. It is the last command from here on; the others are
/// those that are looked at together.
pub(super) async fn mean_one(scene: &mut Scene, count: usize, how: &str) -> StepResult {
    let done = match how {
        "is cancelled" => Done::Cancelled,
        "is sent a signal" => Done::Signalled,
        "is fed" => Done::Fed,
        "is given room" => Done::GivenRoom,
        other => return Err(unknown(other, "done to one of several commands")),
    };
    if count > AROUND.len() {
        return Err(Failure::suite(format!("there are {} names", AROUND.len())));
    }
    let (patience, stem) = (scene.patience(), scene.token());
    let mut execs = Vec::new();
    for (number, (before, behind)) in AROUND.iter().enumerate().take(count) {
        let mut params = scene.command(done.text(number)).await?;
        params.exec = format!("{before}{stem}{behind}");
        if done == Done::Fed {
            params.stdin = Stdin::Stream;
        }
        if done == Done::GivenRoom {
            params.window = Some(begin_of(number).len() as u64);
        }
        let mut exec = scene.start(&params).await?;
        exec.grants = done != Done::GivenRoom;
        execs.push(exec);
        let output = begin_of(number) + &end_of(number);
        scene.notes.expected.push(Expected::output(output));
    }
    for (number, exec) in execs.iter_mut().enumerate() {
        let begun = begin_of(number).len();
        exec.wait_until(patience, |record| record.bytes(Stream::Stdout).len() >= begun)
            .await?;
    }
    match done {
        Done::Cancelled => execs[0].cancel(patience).await?,
        Done::Signalled => execs[0].signal(SIGUSR1, patience).await?,
        Done::Fed => {
            for (number, exec) in execs.iter_mut().enumerate() {
                // Whoever has ended with another one's input says so below.
                let fed = exec.feed(end_of(number).into_bytes(), true, patience).await;
                scene.answer(fed)?;
                if number == 0 {
                    exec.wait_until(patience, |_| false).await?;
                }
            }
        }
        Done::GivenRoom => give_room(scene, &mut execs).await?,
    }
    await_all(scene, execs, patience).await?;
    scene.notes.expected.remove(0);
    let meant = scene.notes.records.remove(0);
    scene.keep(meant);
    Ok(())
}

/// Gives one command room for all that it prints, and the others only when they have had time to take it for theirs.
async fn give_room(scene: &mut Scene, execs: &mut [herm_protocol::client::Exec]) -> StepResult {
    let (patience, pause) = (scene.patience(), scene.scaled(PAUSE));
    let client = scene.client().await?;
    for (number, exec) in execs.iter_mut().enumerate() {
        if number == 1 {
            tokio::time::sleep(pause).await;
            if let Some(fault) = client.fault() {
                let expected = "output only of the command that was given room";
                return Err(Failure::failed(expected, scene.broken(fault).seen));
            }
        }
        client.grant(&exec.record().exec.clone(), end_of(number).len() as u64);
        if number == 0 {
            exec.wait_until(patience, |_| false).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_alike_and_no_two_are_one() {
        let names = AROUND.map(|(before, behind)| format!("{before}stem.{behind}"));
        let meant = &names[0];
        let others = || names[1..].iter();
        assert!(others().all(|other| other != meant));
        assert!(others().any(|other| other.starts_with(meant)));
        assert!(others().any(|other| other.ends_with(meant)));
        assert!(others().any(|other| meant.starts_with(other)));
        assert!(others().any(|other| other.eq_ignore_ascii_case(meant)));
        assert!(
            others().any(|other| {
                other.contains(meant) && !other.starts_with(meant) && !other.ends_with(meant)
            })
        );
    }
}
