//! How long it takes to read, check and plan a contract of ten thousand requirements: the bar is one second.

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use herm_harness::{
    catalogue::Catalogue,
    contract::{Contract, Declared, FeatureSource},
    plan::{Plan, Selection},
};

/// What the whole may take.
const BAR: Duration = Duration::from_secs(1);

/// Features like ours, in as many files as there are hundreds.
fn write_features(folder: &Path, requirements: usize) {
    for file in 0..requirements / 100 {
        let mut text = "Feature: EXIT: how a command ended is told as it was\n".to_owned();
        for number in 0..100 {
            let _ = write!(
                text,
                "\n  @id:EXIT-{file:02}{number:02} @must @since:0.1 @profile:core @mutant:success-for-all\n  \
                 Scenario: Requirement {number} of file {file}\n    \
                 A reason with its source (https://example.org/{file}/{number}).\n    \
                 Given an open sandbox\n    \
                 When a command exits with code {}\n    \
                 Then the outcome is exited with code {}\n",
                number % 256,
                number % 256
            );
        }
        fs::write(folder.join(format!("{file}.feature")), text).expect("a temporary folder takes files");
    }
}

fn plan(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    write_features(folder.path(), 10_000);
    let source = FeatureSource::Folder(folder.path().to_owned());
    let work = || {
        let catalogue = Catalogue::embedded().expect("the catalogue is sound");
        let (contract, _) = Contract::load(&source, catalogue);
        Plan::new(&contract, &Declared::default(), &Selection::default())
            .rows
            .len()
    };
    let started = std::time::Instant::now();
    assert_eq!(work(), 10_000);
    let took = started.elapsed();
    println!(
        "10 000 requirements read, checked and planned in {} ms",
        took.as_millis()
    );
    assert!(
        took <= BAR,
        "10 000 requirements took {took:?}; the bar is {BAR:?}"
    );
    let mut group = criterion.benchmark_group("plan");
    group.sample_size(10);
    group.bench_function("10 000 requirements", |bencher| bencher.iter(work));
    group.finish();
}

criterion_group!(benches, plan);
criterion_main!(benches);
