//! The executor beside plain commands: a warm exec, the first byte, reads of a job, a gibibyte, and the codec of the wire.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

use std::{
    hint::black_box,
    process::{Command as Process, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use herm::{
    backend::local::{LocalBackend, Mode},
    caller::{Caller, NoControl, NoInput, NoTools, Output},
};
use herm_protocol::{
    Adapter as _,
    exec::{Command, Outcome, RunParams, Stream},
    initialize::InitializeParams,
    job::{JobOutputParams, JobWaitParams},
    sandbox::OpenParams,
};
use herm_resident::wire::{Deframer, MAX_REPLY, Reply, Stream as WireStream, frame};
use tokio::{runtime::Runtime, sync::Notify};

const GIBIBYTE: u64 = 1 << 30;

/// Counts what it is handed, and says when the first byte came.
#[derive(Clone, Default)]
struct Counted {
    bytes: Arc<AtomicU64>,
    first: Arc<Notify>,
}

impl Output for Counted {
    async fn started(&self) {}

    async fn write(&self, _: Stream, data: &[u8]) {
        if self.bytes.fetch_add(data.len() as u64, Ordering::Relaxed) == 0 {
            self.first.notify_one();
        }
    }
}

/// A sandbox that is open already.
struct Warm {
    runtime: Runtime,
    backend: LocalBackend,
    sandbox: String,
}

impl Warm {
    fn open(mode: Mode) -> Self {
        let runtime = Runtime::new().unwrap();
        let backend = LocalBackend::new(mode);
        let opened = runtime.block_on(async {
            let params = InitializeParams {
                protocol: Vec::new(),
                run: "bench".into(),
                scratch: String::new(),
            };
            backend.initialize(params).await.unwrap();
            backend.open_sandbox(OpenParams::default()).await.unwrap()
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
}

impl Drop for Warm {
    fn drop(&mut self) {
        self.runtime.block_on(self.backend.shutdown());
    }
}

fn warm_exec(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exec of true");
    group.bench_function("bash -c true", |bencher| {
        bencher.iter(|| {
            let mut bash = Process::new("bash");
            bash.args(["-c", "true"])
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            assert!(bash.status().unwrap().success());
        });
    });
    for mode in Mode::ALL {
        let warm = Warm::open(mode);
        group.bench_function(format!("local {mode}"), |bencher| {
            bencher.iter(|| warm.runtime.block_on(warm.run("true", Counted::default())));
        });
    }
    group.finish();
}

fn first_byte(criterion: &mut Criterion) {
    let warm = Warm::open(Mode::Resident);
    criterion.bench_function("first byte, local resident", |bencher| {
        bencher.iter_custom(|times| {
            let mut total = Duration::ZERO;
            for _ in 0..times {
                total += warm.runtime.block_on(async {
                    let counted = Counted::default();
                    let first = counted.first.clone();
                    let start = Instant::now();
                    let (elapsed, ()) = tokio::join!(
                        async {
                            first.notified().await;
                            start.elapsed()
                        },
                        warm.run("echo first; true", counted)
                    );
                    elapsed
                });
            }
            total
        });
    });
}

fn gibibyte(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("output");
    group.sample_size(10).throughput(Throughput::Bytes(GIBIBYTE));
    let text = format!("head -c {GIBIBYTE} /dev/zero");
    for mode in Mode::ALL {
        let warm = Warm::open(mode);
        group.bench_function(format!("a gibibyte, local {mode}"), |bencher| {
            bencher.iter(|| {
                let counted = Counted::default();
                warm.runtime.block_on(warm.run(&text, counted.clone()));
                assert_eq!(counted.bytes.load(Ordering::Relaxed), GIBIBYTE);
            });
        });
    }
    group.finish();
}

fn job_reads(criterion: &mut Criterion) {
    const MEBIBYTE: u64 = 1 << 20;
    let warm = Warm::open(Mode::Resident);
    let job = warm.runtime.block_on(async {
        let text = format!("head -c {} /dev/zero", 16 * MEBIBYTE);
        let mut params = RunParams::new(&warm.sandbox, "job", Command::Shell(text.into()));
        params.detach = true;
        let job = warm.backend.start_job(params).await.unwrap().job;
        let wait = JobWaitParams {
            sandbox: warm.sandbox.clone(),
            job: job.clone(),
            within_ms: None,
        };
        warm.backend.wait_job(wait).await.unwrap();
        job
    });
    let mut group = criterion.benchmark_group("job");
    group.throughput(Throughput::Bytes(MEBIBYTE));
    group.bench_function("a mebibyte from a cursor", |bencher| {
        bencher.iter(|| {
            let params = JobOutputParams {
                sandbox: warm.sandbox.clone(),
                job: job.clone(),
                stream: Stream::Stdout,
                from: 3 * MEBIBYTE,
                max: Some(MEBIBYTE),
            };
            let output = warm.runtime.block_on(warm.backend.read_job(params)).unwrap();
            assert!(!output.data.is_empty());
        });
    });
    group.finish();
}

fn codec(criterion: &mut Criterion) {
    const PIECE: usize = 64 * 1024;
    let reply = Reply::Output {
        job: 1,
        stream: WireStream::Stdout,
        offset: 0,
        data: vec![b'x'; PIECE],
    };
    let framed = frame(&reply.encode());
    let mut group = criterion.benchmark_group("wire");
    group.throughput(Throughput::Bytes(PIECE as u64));
    group.bench_function("encode", |bencher| {
        bencher.iter(|| frame(&black_box(&reply).encode()));
    });
    group.bench_function("decode", |bencher| {
        bencher.iter(|| {
            let mut deframer = Deframer::default();
            deframer.add(black_box(&framed));
            let message = deframer.next(MAX_REPLY).unwrap().unwrap();
            Reply::decode(&message).unwrap();
        });
    });
    group.finish();
}

criterion_group! {
    name = executor;
    config = Criterion::default().measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_millis(500));
    targets = codec, warm_exec, first_byte, job_reads, gibibyte
}
criterion_main!(executor);
