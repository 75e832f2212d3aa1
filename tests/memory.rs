//! Output is not held: a gibibyte takes no more memory than 64 MiB, in `herm exec` and in its resident.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

const MEBIBYTE: u64 = 1 << 20;

/// Kibibytes that either side may ever take: of a build for development, half as many without its program, which is several
/// times as large as the one that is shipped.
const MOST: u64 = if cfg!(debug_assertions) { 16 } else { 32 } * 1024;

/// Kibibytes by which either side may grow from 64 MiB of output to a gibibyte.
const GROWTH: u64 = 4 * 1024;

/// The most that a process has ever taken of memory, in kibibytes.
fn peak(pid: &str) -> u64 {
    let of = |name: &str| {
        let line = field(pid, name);
        line.trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let program = if cfg!(debug_assertions) { of("RssFile:") } else { 0 };
    of("VmHWM:") - program
}

fn field(pid: &str, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.unwrap().trim().to_owned()
}

/// The peaks of client and resident when so much has been printed.
fn peaks(mebibytes: u64) -> [u64; 2] {
    // When it says so, everything but what fits into pipes and windows has been handed over.
    let text = format!(
        "head -c {} /dev/zero; echo $PPID >&2; read -r end",
        mebibytes * MEBIBYTE
    );
    let mut client = Command::new(env!("CARGO_BIN_EXE_herm"))
        .args(["exec", "-c", &text])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut supervisor = String::new();
    BufReader::new(client.stderr.take().unwrap())
        .read_line(&mut supervisor)
        .unwrap();
    let resident = field(supervisor.trim(), "PPid:");
    let peaks = [peak(&client.id().to_string()), peak(&resident)];
    drop(client.stdin.take());
    client.wait().unwrap();
    peaks
}

#[test]
fn a_gibibyte_takes_no_more_than_64_mebibytes() {
    let few = peaks(64);
    let many = peaks(1024);
    println!("peaks of client and resident in KiB: {few:?} for 64 MiB, {many:?} for 1 GiB");
    for (side, (few, many)) in ["client", "resident"].iter().zip(few.into_iter().zip(many)) {
        assert!(
            few.max(many) <= MOST,
            "the {side} takes {few} and {many} KiB, more than {MOST}"
        );
        assert!(many <= few + GROWTH, "the {side} grows from {few} to {many} KiB");
    }
}
