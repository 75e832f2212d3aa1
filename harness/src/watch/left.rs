//! What a guard tells of the processes that an adapter has left behind, in a file of the run's scratch folder: its log may
//! be read by nobody, and its exit status is the adapter's.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The file of a guard, by its process number.
fn path_of(scratch: &Path, guard: u32) -> PathBuf {
    scratch.join(format!(".left-{guard}"))
}

/// Tells of processes, one a line, before they are ended, in the name of the guard of that process number. The file is there
/// as a whole or not at all.
#[cfg(target_os = "linux")]
pub(super) fn tell_left(
    scratch: &Path,
    guard: u32,
    processes: &[crate::process_table::Process],
) -> io::Result<()> {
    let path = path_of(scratch, guard);
    let half = path.with_extension("half");
    let lines = processes.iter().map(|process| process.describe() + "\n");
    fs::write(&half, lines.collect::<String>())?;
    fs::rename(half, path)
}

/// What the guard with that process number, which has ended, found living when its adapter had ended. `None` when it said
/// nothing: it was killed, or there was none.
pub(crate) fn left_behind(scratch: &Path, guard: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(path_of(scratch, guard)).ok()?;
    Some(text.lines().map(str::to_owned).collect())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::process_table::Process;

    #[test]
    fn nothing_left_differs_from_nothing_said() {
        let scratch = tempfile::tempdir().unwrap();
        let own = std::process::id();
        assert_eq!(left_behind(scratch.path(), own), None);
        tell_left(scratch.path(), own, &[]).unwrap();
        assert_eq!(left_behind(scratch.path(), own), Some(Vec::new()));
        tell_left(scratch.path(), own, &[Process::of(own).unwrap()]).unwrap();
        let told = left_behind(scratch.path(), own).unwrap();
        assert!(
            told.len() == 1 && told[0].contains(&format!("process {own}")),
            "{told:?}"
        );
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    }
}
