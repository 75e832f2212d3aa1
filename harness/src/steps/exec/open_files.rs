//! SHELL: which files a command holds open that it has not opened.

use std::{collections::BTreeSet, fs, path::Path};

use herm_protocol::{
    ByteString,
    exec::{Command, Stream},
};

use crate::{
    scene::{Failure, Scene},
    step::StepResult,
    steps::general::show,
};

/// Shell text that tells a line for each file that the shell holds open but its input and its outputs: the number, and
/// what it leads to where that can be seen. The shell itself holds a directory open while it expands the names, and looks
/// at each of them after that.
pub(super) const TELL: &str = "if [ -d /proc/$$/fd ]; then for f in /proc/$$/fd/*; do n=${f##*/}; case $n in 0|1|2) continue;; esac; \
     if [ -h \"$f\" ]; then printf '%s ' \"$n\"; readlink \"$f\" || echo; fi; done; \
     else for n in 3 4 5 6 7 8 9; do if (eval \": <&$n\") 2>/dev/null; then echo \"$n \"; fi; done; fi; echo all";

/// Has a command tell what it holds open.
pub(crate) async fn tell(scene: &mut Scene) -> StepResult {
    let params = scene.command(TELL).await?;
    scene.run(&params).await
}

/// Has a program tell what it holds open, which is a shell that the backend does not know as one.
pub(crate) async fn tell_by_program(scene: &mut Scene) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let words = ["sh", "-c", TELL].map(ByteString::from);
    let params = scene.command_in(&sandbox, Command::Argv(words.to_vec()));
    scene.run(&params).await
}

/// The command holds open nothing that somebody else has opened for it, or for himself.
pub(crate) fn none_but_its_own(scene: &Scene) -> StepResult {
    scene.result()?;
    let seen = scene.record()?.bytes(Stream::Stdout);
    let text = String::from_utf8_lossy(&seen);
    let Some(told) = text.strip_suffix("all\n") else {
        return Err(Failure::failed("a list of open files, to its end", show(&seen)));
    };
    let handed_on = handed_on_by_the_suite();
    let open: Vec<&str> = told
        .lines()
        .map(str::trim)
        .filter(|line| !handed_on.contains(*line))
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(
        "no open files but the command's input and outputs",
        format!("also open, by number: {}", open.join(", ")),
    ))
}

/// What this process was started with and hands on to whatever it starts, as a command would tell it. It is no backend's
/// doing.
fn handed_on_by_the_suite() -> BTreeSet<String> {
    const CLOSED_IN_PROGRAMS: u32 = 0o2_000_000;
    let Ok(entries) = fs::read_dir("/proc/self/fdinfo") else {
        return BTreeSet::new();
    };
    let number_of = |entry: fs::DirEntry| entry.file_name().into_string().ok();
    let handed_on = entries.flatten().filter_map(number_of).filter(|number| {
        let told = fs::read_to_string(Path::new("/proc/self/fdinfo").join(number)).unwrap_or_default();
        let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        flags.is_some_and(|flags| flags & CLOSED_IN_PROGRAMS == 0)
    });
    handed_on
        .map(|number| {
            let target = fs::read_link(Path::new("/proc/self/fd").join(&number)).unwrap_or_default();
            format!("{number} {}", target.display())
        })
        .collect()
}
