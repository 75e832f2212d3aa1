//! Input and output of commands in kept sandboxes whose other end goes away, and what a command line cannot have.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::Stdio,
    time::{Duration, Instant},
};

use crate::support::Kept;

#[test]
fn a_session_is_not_for_a_job() {
    let kept = Kept::new();
    let refused = kept.herm(&[
        "exec",
        "--key",
        "k",
        "--session",
        "s",
        "--detach",
        "-c",
        "export A=1",
    ]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.complaint().contains("--detach"), "{refused:?}");
}

#[test]
fn a_state_that_could_not_be_saved_is_told_and_the_code_is_the_commands_own() {
    let kept = Kept::new();
    let session = |text: &str| kept.herm(&["exec", "--key", "k", "--session", "s", "-c", text]);
    session("export A=1").ok();
    // Whatever the shell writes into a file from here on fails, as on a disk that is full.
    let full = "trap '' XFSZ; ulimit -f 0; export A=2";
    let seen = session(&format!("{full}; exit 3"));
    assert_eq!(seen.code, Some(3), "{seen:?}");
    assert!(seen.complaint().contains("could not be saved"), "{seen:?}");
    assert_eq!(session("echo $A").ok(), "1\n");
    let json = kept.herm(&["exec", "--key", "k", "--session", "s", "--json", "-c", full]);
    let told: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(
        told["notices"][0]
            .as_str()
            .unwrap()
            .contains("could not be saved"),
        "{told}"
    );
}

#[test]
fn a_job_reads_what_was_piped_to_it() {
    let kept = Kept::new();
    let input: Vec<u8> = (0..=255).cycle().take(1_000_000).collect();
    let mut child = kept
        .command(&["exec", "--key", "k", "--detach", "-c", "cat > got; echo done"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let mut job = String::new();
    child.stdout.take().unwrap().read_to_string(&mut job).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(kept.herm(&["jobs", "k", "wait", job.trim()]).code, Some(0));
    assert!(fs::read(kept.work("k").join("got")).unwrap() == input);
    // More than a job takes is refused, and nothing runs.
    let mut child = kept
        .command(&["exec", "--key", "k", "--detach", "-c", "touch ran"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(&vec![0; 9 * 1024 * 1024]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("write it to a file"));
    assert!(!kept.work("k").join("ran").exists());
}

#[test]
fn the_id_of_a_job_is_told_although_nobody_reads_it() {
    let kept = Kept::new();
    let (read, write) = std::io::pipe().unwrap();
    drop(read);
    let output = kept
        .command(&["exec", "--key", "k", "--detach", "-c", "sleep 600"])
        .stdout(write)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(141), "{complaint}");
    let job: String = complaint
        .trim_start_matches("herm: the job ")
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    kept.herm(&["jobs", "k", "kill", &job]).ok();
    // An output that was closed before the start.
    let herm = kept.command(&["exec", "--key", "k", "--detach", "-c", "true"]);
    let mut closed = std::process::Command::new("sh");
    closed
        .args(["-c", "exec \"$@\" >&-", "sh"])
        .arg(herm.get_program())
        .args(herm.get_args());
    for (name, value) in herm.get_envs() {
        closed.env(name, value.unwrap());
    }
    let output = closed.stdin(Stdio::null()).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.contains("the job 2 of the sandbox"), "{complaint}");
}

#[test]
fn a_job_that_waits_for_a_reader_is_told_to_whoever_waits_for_it() {
    const FLOOD: &str = "yes 0123456 | head -c 80000000; exit 7";
    let kept = Kept::new();
    let job = kept.herm(&["exec", "--key", "k", "--detach", "-c", FLOOD]).ok();
    let mut waiting = kept
        .command(&["jobs", "k", "wait", job.trim()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut complaint = String::new();
    let mut lines = BufReader::new(waiting.stderr.take().unwrap());
    lines.read_line(&mut complaint).unwrap();
    assert!(
        complaint.contains("waits for a reader") && complaint.contains("output 1 --follow"),
        "{complaint}"
    );
    assert!(kept.herm(&["jobs", "k"]).ok().contains("waits for a reader"));
    // It is read, and ends.
    let read = kept.herm(&["jobs", "k", "output", job.trim(), "--follow"]);
    assert_eq!((read.code, read.stdout.len()), (Some(0), 80_000_000));
    assert_eq!(waiting.wait().unwrap().code(), Some(7));
    // One that needs no reader ends by itself, and what is gone of it is told.
    let text = ["--spool-full", "drop_oldest", "-c", FLOOD];
    let job = kept
        .herm(&[&["exec", "--key", "k", "--detach"], &text[..]].concat())
        .ok();
    assert_eq!(kept.herm(&["jobs", "k", "wait", job.trim()]).code, Some(7));
    let read = kept.herm(&["jobs", "k", "output", job.trim()]);
    let gone = 80_000_000 - read.stdout.len();
    assert!(
        read.complaint()
            .contains(&format!("bytes 0 to {gone} are kept no more")),
        "{}",
        read.complaint()
    );
    assert!(read.stdout.ends_with(b"0123456\n"));
    // A command that is waited for takes no such choice.
    let refused = kept.herm(&["exec", "--spool-full", "drop_oldest", "-c", "true"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn a_reader_of_a_job_that_goes_away_leaves_the_job_alone() {
    let kept = Kept::new();
    let text = "while :; do echo line; sleep 0.01; done";
    let job = kept.herm(&["exec", "--key", "k", "--detach", "-c", text]).ok();
    let mut reader = kept
        .command(&["jobs", "k", "output", job.trim(), "--follow"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(reader.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "line\n");
    let output = reader.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(141), &b""[..])
    );
    assert!(kept.herm(&["jobs", "k"]).ok().contains("runs"));
}

#[test]
fn a_command_that_is_cut_off_stays_as_no_job() {
    let kept = Kept::new();
    for text in ["yes", "while :; do echo a; done", "seq 1 1000000; sleep 600"] {
        for _ in 0..4 {
            let mut child = kept
                .command(&["exec", "--key", "k", "-c", text])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut first = [0];
            child.stdout.take().unwrap().read_exact(&mut first).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(141));
            assert_eq!(kept.herm(&["jobs", "k"]).ok(), "no job\n");
        }
    }
}

#[test]
fn a_lock_whose_owner_was_killed_does_not_stay() {
    let kept = Kept::new();
    kept.herm(&["exec", "--key", "k", "-c", "true"]).ok();
    // As a client leaves them that is killed before it has made the sandbox: with the lock alone, and with half of it.
    let lock = kept.state.join(format!("kept-{}.lock", "0".repeat(32)));
    fs::write(&lock, "").unwrap();
    let half = kept.state.join(format!("kept-{}", "1".repeat(32)));
    fs::create_dir_all(half.join("work")).unwrap();
    // One that somebody holds is no such lock.
    let held = kept.state.join(format!("kept-{}.lock", "2".repeat(32)));
    let holder = fs::File::create(&held).unwrap();
    holder.lock().unwrap();
    // What has files is not half-made.
    let full = kept.state.join(format!("kept-{}", "3".repeat(32)));
    fs::create_dir_all(full.join("work")).unwrap();
    fs::write(full.join("work/file"), "x").unwrap();
    kept.herm(&["ps"]).ok();
    assert!(!lock.exists() && !half.exists());
    assert!(held.exists() && full.exists());
    assert!(kept.herm(&["ps"]).ok().contains('k'));
}

#[test]
fn clients_that_are_killed_at_their_start_leave_no_locks() {
    let kept = Kept::new();
    for round in 0..20_u64 {
        let key = format!("k{round}");
        let mut client = kept
            .command(&["exec", "--key", &key, "-c", "true"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(round * 3));
        let _ = client.kill();
        client.wait().unwrap();
    }
    let began = Instant::now();
    loop {
        let listed = kept.herm(&["ps", "--json"]).stdout;
        let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
        for sandbox in listed.as_array().unwrap() {
            kept.herm(&["rm", sandbox["key"].as_str().unwrap()]).ok();
        }
        kept.herm(&["ps"]).ok();
        let left: Vec<_> = fs::read_dir(&kept.state)
            .map(|left| left.flatten().collect())
            .unwrap_or_default();
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{left:?}");
    }
}

#[test]
fn a_sandbox_whose_resident_is_gone_or_whose_record_is_damaged_is_told() {
    let kept = Kept::new();
    kept.herm(&["exec", "--key", "gone", "--detach", "-c", "sleep 600"])
        .ok();
    kept.herm(&["exec", "--key", "damaged", "-c", "echo x > file"])
        .ok();
    let work = kept.work("damaged");
    for resident in kept.residents("gone") {
        crate::support::kill(resident);
    }
    let listed = kept.herm(&["ps"]);
    assert_eq!(listed.code, Some(0));
    let complaint = listed.complaint();
    assert!(
        complaint.contains("\"gone\"") && complaint.contains("with its jobs"),
        "{complaint}"
    );
    let jobs = kept.herm(&["jobs", "gone"]).complaint();
    assert!(jobs.contains("ended from outside"), "{jobs}");
    assert_eq!(kept.herm(&["jobs", "gone"]).complaint(), "");
    fs::write(work.parent().unwrap().join("key.json"), "{\"key\"").unwrap();
    let complaint = kept.herm(&["ps"]).complaint();
    assert!(
        complaint.contains("key.json") && complaint.contains("herm rm"),
        "{complaint}"
    );
    assert!(
        complaint.contains(work.parent().unwrap().to_str().unwrap()),
        "{complaint}"
    );
    kept.herm(&["rm", "damaged"]).ok();
    assert!(!work.exists());
    assert_eq!(kept.herm(&["rm", "gone"]).code, Some(0));
    assert_eq!(kept.herm(&["ps"]).complaint(), "");
}
