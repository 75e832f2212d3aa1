//! The docker backend beside plain commands and the engine's own exec: a warm exec, finding a kept sandbox again, a gibibyte.
//!
//! It needs an engine that has the image `herm-test` (`ci/images docker`), and the engine's own client beside it.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

use std::{
    env,
    process::{Command as Process, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use herm::{
    backend::{
        docker::DockerBackend,
        local::{Mode, SpoolFull, Streams},
    },
    caller::{Caller, NoControl, NoInput, NoTools, Output},
    config::{Config, Sources},
};
use herm_protocol::{
    Adapter as _,
    exec::{Command, Outcome, RunParams, Stream},
    initialize::InitializeParams,
    sandbox::{CloseHow, CloseParams, OpenParams},
};
use tokio::runtime::Runtime;

const GIBIBYTE: u64 = 1 << 30;

/// The key of the sandbox that is found again.
const KEY: &str = "bench";

/// Counts what it is handed.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicU64>);

impl Output for Counted {
    async fn started(&self) {}

    async fn write(&self, _: Stream, data: &[u8]) {
        self.0.fetch_add(data.len() as u64, Ordering::Relaxed);
    }
}

/// A backend with a sandbox that is open.
struct Warm {
    runtime: Runtime,
    backend: DockerBackend,
    sandbox: String,
}

impl Warm {
    fn open(mode: Mode, key: Option<&str>) -> Self {
        let runtime = Runtime::new().unwrap();
        let sources = Sources::default()
            .with("bench", "terminal.backend", Some("docker"))
            .with("bench", "terminal.docker_image", Some("herm-test"));
        let config = Config::of_arguments(&sources).unwrap();
        let config = config.docker(&sources).unwrap();
        let backend = DockerBackend::new(config, mode, Streams::default(), SpoolFull::default());
        let params = OpenParams {
            key: key.map(str::to_owned),
            ..OpenParams::default()
        };
        let opened = runtime.block_on(async {
            let own = InitializeParams {
                protocol: Vec::new(),
                run: "bench".into(),
                scratch: String::new(),
            };
            backend.initialize(own).await.unwrap();
            backend.open_sandbox(params).await.unwrap()
        });
        Self {
            runtime,
            backend,
            sandbox: opened.sandbox,
        }
    }

    async fn run(&self, text: &str, output: Counted) {
        let params = RunParams::new(&self.sandbox, "bench", Command::Shell(text.into()));
        let caller = Caller {
            output,
            input: NoInput,
            tools: NoTools,
        };
        let finished = self.backend.execute(params, caller, NoControl).await.unwrap();
        assert_eq!(finished.outcome, Outcome::Exited { code: 0 });
    }

    fn destroy(&self) {
        let params = CloseParams {
            sandbox: self.sandbox.clone(),
            how: CloseHow::Destroy,
        };
        self.runtime.block_on(self.backend.close(params)).unwrap();
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        self.runtime.block_on(self.backend.shutdown());
    }
}

fn plain(words: &[&str]) {
    let mut command = Process::new(words.first().unwrap());
    command
        .args(words.iter().skip(1))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    assert!(command.status().unwrap().success());
}

fn warm_exec(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exec of true");
    group.bench_function("bash -c true", |bencher| {
        bencher.iter(|| plain(&["bash", "-c", "true"]));
    });
    let warm = Warm::open(Mode::Resident, None);
    group.bench_function("docker resident", |bencher| {
        bencher.iter(|| warm.runtime.block_on(warm.run("true", Counted::default())));
    });
    group.sample_size(20);
    group.bench_function("docker exec sh -c true", |bencher| {
        bencher.iter(|| plain(&["docker", "exec", &warm.sandbox, "sh", "-c", "true"]));
    });
    let native = Warm::open(Mode::Native, None);
    group.bench_function("docker native", |bencher| {
        bencher.iter(|| native.runtime.block_on(native.run("true", Counted::default())));
    });
    group.finish();
}

/// A new backend, as a new process has one, finds the sandbox of a key and runs a command in it.
fn reattach(criterion: &mut Criterion) {
    let first = Warm::open(Mode::Resident, Some(KEY));
    criterion.bench_function("reattach to a first result, docker", |bencher| {
        bencher.iter(|| {
            let again = Warm::open(Mode::Resident, Some(KEY));
            again.runtime.block_on(again.run("true", Counted::default()));
        });
    });
    first.destroy();
}

fn gibibyte(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("output");
    group.sample_size(10).throughput(Throughput::Bytes(GIBIBYTE));
    let warm = Warm::open(Mode::Resident, None);
    let text = format!("dd if=/dev/zero bs=65536 count={} 2>/dev/null", GIBIBYTE / 65536);
    group.bench_function("a gibibyte, docker resident", |bencher| {
        bencher.iter(|| {
            let counted = Counted::default();
            warm.runtime.block_on(warm.run(&text, counted.clone()));
            assert_eq!(counted.0.load(Ordering::Relaxed), GIBIBYTE);
        });
    });
    group.finish();
}

/// Where no engine answers nothing can be timed, and that is said.
fn answered() -> bool {
    let mut asked = Process::new("docker");
    let asked = asked
        .args(["image", "inspect", "herm-test"])
        .stdout(Stdio::null());
    let there = asked.status().is_ok_and(|status| status.success());
    if !there {
        let host = env::var("DOCKER_HOST").unwrap_or_default();
        eprintln!(
            "not timed: no engine answers that has the image herm-test (DOCKER_HOST is {host:?}); ci/images docker makes it"
        );
    }
    there
}

fn all(criterion: &mut Criterion) {
    if answered() {
        warm_exec(criterion);
        reattach(criterion);
        gibibyte(criterion);
    }
}

criterion_group! {
    name = docker;
    config = Criterion::default().measurement_time(Duration::from_secs(5)).warm_up_time(Duration::from_millis(500));
    targets = all
}
criterion_main!(docker);
