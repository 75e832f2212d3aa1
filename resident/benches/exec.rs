//! A warm exec of `true` through a connected client beside a bare `bash -c true`, taken in turns: what supervision costs.
//!
//! `cargo bench -p herm-resident` prints the medians, their ratio, and the size of the program.

#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "shared with the tests, where helpers may panic"
)]
#[path = "../tests/support/mod.rs"]
mod support;

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use herm_resident::wire::{Reply, Request};
use support::{PLENTY, Resident, shell};

const ROUNDS: usize = 300;
const MANY: usize = 10_000;

fn main() {
    let resident = Resident::start();
    let mut client = resident.client();
    let (mut bare, mut execs, mut trips) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let status = Command::new("bash")
            .args(["-c", "true"])
            .stdin(Stdio::null())
            .output()
            .expect("bash runs")
            .status;
        bare.push(began.elapsed());
        assert!(status.success());

        let began = Instant::now();
        let mut start = shell("true");
        start.attach = Some(PLENTY);
        let job = client.start(start);
        let ran = client.finish(job, 0, began);
        execs.push(began.elapsed());
        ran.assert_exited(0);
        client.forget(job);

        let began = Instant::now();
        client.ask(|call| Request::Ping { call });
        trips.push(began.elapsed());
    }
    let [bare, execs, trips] = [bare, execs, trips].map(median);
    println!("bash -c true      {bare:>10.1?}");
    println!("through resident  {execs:>10.1?}");
    println!("round trip        {trips:>10.1?}");
    println!(
        "ratio             {:>10.2}",
        execs.as_secs_f64() / bare.as_secs_f64()
    );
    println!("after {MANY} execs {:>+9} kB of memory", many(&mut client));
    println!("1 GiB of output   {:>10.0} MB/s", flood(&mut client));
    println!(
        "program           {:>10} bytes",
        herm_resident::BINARY.map_or(0, <[u8]>::len)
    );
}

/// How much more memory the resident has after many execs.
fn many(client: &mut support::Client) -> i64 {
    let pid = client.welcome.as_ref().map_or(0, |welcome| welcome.pid);
    let taken = || -> i64 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        memory
            .and_then(|memory| memory.trim().trim_end_matches(" kB").parse().ok())
            .unwrap_or(0)
    };
    let before = taken();
    for _ in 0..MANY {
        client.run(support::argv(&["true"])).assert_exited(0);
    }
    taken() - before
}

/// How fast output comes, in megabytes a second, to a client that grants a megabyte of credit.
fn flood(client: &mut support::Client) -> f64 {
    const SIZE: u64 = 1 << 30;
    let began = Instant::now();
    let mut start = shell(&format!("head -c {SIZE} /dev/zero"));
    start.attach = Some(1 << 20);
    let job = client.start(start);
    let mut bytes = 0;
    while bytes < SIZE {
        if let Reply::Output { data, .. } = client.receive() {
            bytes += data.len() as u64;
            client.send(&Request::Credit {
                job,
                bytes: data.len() as u64,
            });
        }
    }
    f64::from(1_u32 << 30) / 1e6 / began.elapsed().as_secs_f64()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
