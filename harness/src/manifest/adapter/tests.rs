//! Adapters of small fake tools: files in a folder, and shells of one line.

use std::path::Path;

use herm_protocol::{
    exec::Command,
    ledger::LedgerItem,
    sandbox::{Mount, Network, OpenState, ResourceLimits, Variable},
};

use super::*;
use crate::catalogue::Catalogue;

const HEAD: &str = r#"
name = "fake"
[open]
run = ["mkdir", "{scratch}/{run}-{sandbox}"]
[exec]
run = ["{command}"]
shell = ["sh", "-c", "--", "{text}"]
[close]
run = ["rm", "-r", "{scratch}/{run}-{sandbox}"]
"#;

fn manifest(folder: &Path, text: &str) -> Manifest {
    let path = folder.join("fake.toml");
    std::fs::write(&path, text).unwrap();
    Manifest::load(&path, &Catalogue::embedded().unwrap()).unwrap()
}

async fn adapter(folder: &Path, text: &str) -> ManifestAdapter {
    let adapter = ManifestAdapter::new(manifest(folder, text));
    let params = InitializeParams {
        protocol: Vec::new(),
        run: "run-1".into(),
        scratch: folder.display().to_string(),
    };
    adapter.initialize(params).await.unwrap();
    adapter
}

async fn open(adapter: &ManifestAdapter) -> Result<Opened, Error> {
    let (lines, _kept) = tokio::sync::mpsc::channel(1);
    adapter.open(OpenParams::default(), Progress::to(lines)).await
}

fn struck(name: &str, sandbox: Option<&str>) -> ConditionParams {
    ConditionParams {
        name: name.into(),
        sandbox: sandbox.map(str::to_owned),
    }
}

#[tokio::test]
async fn an_opening_that_fails_half_way_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text = HEAD.replace(
        "\"mkdir\", \"{scratch}/{run}-{sandbox}\"",
        "\"sh\", \"-c\", 'mkdir \"$0\"; echo no room >&2; exit 3', \"{scratch}/{run}-{sandbox}\"",
    );
    let adapter = adapter(folder.path(), &text).await;
    let error = open(&adapter).await.unwrap_err();
    assert!(error.message.contains("code 3: no room"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_sandbox_that_could_not_be_closed_can_be_closed_again() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(folder.path(), HEAD).await;
    let opened = open(&adapter).await.unwrap();
    assert_eq!(opened.state, OpenState::Created);
    let place = folder.path().join(format!("run-1-{}", opened.sandbox));
    let away = folder.path().join("away");
    std::fs::rename(&place, &away).unwrap();
    let params = CloseParams {
        sandbox: opened.sandbox,
        how: CloseHow::Destroy,
    };
    let error = adapter.close(params.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    std::fs::rename(&away, &place).unwrap();
    assert!(adapter.close(params.clone()).await.unwrap().existed);
    assert!(!adapter.close(params).await.unwrap().existed);
}

#[tokio::test]
async fn what_is_not_declared_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(folder.path(), HEAD).await;
    let unsupported = |error: Error| assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    unsupported(adapter.preflight().await.unwrap_err());
    unsupported(adapter.ledger().await.unwrap_err());
    unsupported(adapter.list().await.unwrap_err());
    unsupported(adapter.list_conditions().await.unwrap_err());
    unsupported(adapter.apply_condition(struck("stop", None)).await.unwrap_err());
    unsupported(adapter.clear_condition(struck("stop", None)).await.unwrap_err());
}

const SPECIFIED: &str = r#"
name = "fake"
capabilities = ["image", "limits_cpu", "limits_disk", "limits_memory", "limits_pids", "mounts", "network_none", "user"]
[open]
run = [
    "sh", "-c", 'printf "%s\n" "$@" >"$0"', "{scratch}/made",
    { each = "mounts", words = ["rw", "{source}", "{target}"] }, { each = "read_only_mounts", words = ["ro", "{source}", "{target}"] },
    { when = "network_none", words = ["--network", "none"] }, { unless = "network_none", words = ["--network", "all"] },
    { when = "memory_bytes", words = ["--memory", "{memory_bytes}"] }, { when = "pids", words = ["--pids", "{pids}"] },
    { when = "cpu_millis", words = ["--cpu", "{cpus} {cpu_millis}"] }, { when = "disk_bytes", words = ["--disk", "{disk_bytes}"] },
    { when = "user", words = ["--user", "{user}"] },
    { when = "image", words = ["{image}"] }, { unless = "image", words = ["usual"] },
]
[exec]
run = ["sh", "-c", 'printf "%s\n" "$@" >"$0"', "{scratch}/ran", { when = "user", words = ["{user}"] }, { when = "network_none", words = ["alone"] }, "{command}"]
shell = ["sh", "-c", "--", "{text}"]
"#;

async fn open_as(adapter: &ManifestAdapter, spec: SandboxSpec) -> Result<Opened, Error> {
    let (lines, _kept) = tokio::sync::mpsc::channel(1);
    adapter
        .open(OpenParams { key: None, spec }, Progress::to(lines))
        .await
}

#[tokio::test]
async fn what_a_sandbox_is_asked_to_be_reaches_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(folder.path(), SPECIFIED).await;
    let lines_of = |name: &str| lines(&std::fs::read(folder.path().join(name)).unwrap());
    open(&adapter).await.unwrap();
    assert_eq!(lines_of("made"), ["--network", "all", "usual"]);
    let mount = |source: &str, read_only| Mount {
        source: source.into(),
        target: "/in side".into(),
        read_only,
    };
    let spec = SandboxSpec {
        image: Some("other".into()),
        mounts: vec![mount("/a", true), mount("/b,c", false)],
        network: Some(Network::None),
        limits: ResourceLimits {
            memory_bytes: Some(1 << 40),
            pids: Some(64),
            cpu_millis: Some(1250),
            disk_bytes: Some(7),
        },
        user: Some("somebody".into()),
        ..SandboxSpec::default()
    };
    let sandbox = open_as(&adapter, spec).await.unwrap().sandbox;
    let expected = "rw|/b,c|/in side|ro|/a|/in side|--network|none|--memory|1099511627776|--pids|64|--cpu|1.250 1250|--disk|7|--user|somebody|other";
    assert_eq!(lines_of("made").join("|"), expected);
    let mut params = RunParams::new(&sandbox, "e", Command::Shell("true".into()));
    for (user, told) in [(None, "somebody"), (Some("nobody"), "nobody")] {
        params.user = user.map(str::to_owned);
        let (words, _) = adapter.words(&params).unwrap();
        let words: Vec<_> = words[4..].iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words, [told, "alone", "sh", "-c", "--", "true"]);
    }
}

#[tokio::test]
async fn what_no_sandbox_can_be_is_refused_before_a_command_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(folder.path(), SPECIFIED).await;
    let limits = |limits| SandboxSpec {
        limits,
        ..SandboxSpec::default()
    };
    let image = |image: &str| SandboxSpec {
        image: Some(image.into()),
        ..SandboxSpec::default()
    };
    let mount = |source: &str, target: &str| SandboxSpec {
        mounts: vec![Mount {
            source: source.into(),
            target: target.into(),
            read_only: false,
        }],
        ..SandboxSpec::default()
    };
    let none = ResourceLimits::default;
    for (spec, field) in [
        (
            limits(ResourceLimits {
                memory_bytes: Some(0),
                ..none()
            }),
            "limits.memory_bytes",
        ),
        (
            limits(ResourceLimits {
                pids: Some(u64::MAX),
                ..none()
            }),
            "limits.pids",
        ),
        (
            limits(ResourceLimits {
                cpu_millis: Some(0),
                ..none()
            }),
            "limits.cpu_millis",
        ),
        (
            limits(ResourceLimits {
                disk_bytes: Some(0),
                ..none()
            }),
            "limits.disk_bytes",
        ),
        (image(""), "image"),
        (image("--privileged"), "image"),
        (image("a\0b"), "image"),
        (mount("/a", "b"), "mounts[0]"),
        (mount("", "/b"), "mounts[0]"),
        (mount("/a\0", "/b"), "mounts[0]"),
    ] {
        let error = open_as(&adapter, spec).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message.starts_with(field), "{error}");
    }
    assert!(!folder.path().join("made").exists());
}

#[tokio::test]
async fn preflight_tells_everything_that_is_missing_in_the_order_of_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        r#"{}
[[preflight]]
run = ["sh", "-c", "sleep 0.2; echo slow >&2; exit 1"]
missing = "the first"
fix = "mend the first"
[[preflight]]
run = ["true"]
missing = "nothing"
fix = "nothing"
[[preflight]]
run = ["no-such-tool-of-herm"]
missing = "the third"
fix = "install it"
"#,
        HEAD.replace(
            "name = \"fake\"",
            "name = \"fake\"\ncapabilities = [\"preflight\"]"
        )
    );
    let problems = adapter(folder.path(), &text)
        .await
        .preflight()
        .await
        .unwrap()
        .problems;
    let told: Vec<_> = problems.iter().map(|problem| problem.what.as_str()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("the first (") && told[0].contains("slow"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("the third (") && told[1].contains("no-such-tool-of-herm"),
        "{told:?}"
    );
}

const LEDGER: &str = r#"
[[ledger]]
kind = "file"
run = ["find", "{scratch}", "-name", "{run}-*"]
remove = ["rm", "-r", "{item}"]
[[ledger]]
kind = "container"
run = ["sh", "-c", 'printf "%s\n\n  two  \n" "$0"', "{run}"]
"#;

fn with_ledger() -> String {
    HEAD.replace("name = \"fake\"", "name = \"fake\"\ncapabilities = [\"ledger\"]") + LEDGER
}

#[tokio::test]
async fn a_ledger_has_one_item_a_line_of_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(folder.path(), &with_ledger()).await;
    let item = |kind: &str, id: String| LedgerItem {
        kind: kind.into(),
        id,
    };
    let containers = [
        item("container", "  two  ".into()),
        item("container", "run-1".into()),
    ];
    assert_eq!(adapter.ledger().await.unwrap().items, containers);
    let sandbox = open(&adapter).await.unwrap().sandbox;
    let path = folder.path().join(format!("run-1-{sandbox}"));
    let items = adapter.ledger().await.unwrap().items;
    assert_eq!(items[2], item("file", path.display().to_string()));
    adapter.shutdown().await;
    assert_eq!(adapter.ledger().await.unwrap().items, containers);
}

#[tokio::test]
async fn a_ledger_that_cannot_be_taken_is_an_error_and_not_empty() {
    let folder = tempfile::tempdir().unwrap();
    let text = with_ledger().replace("\"find\", ", "\"sh\", \"-c\", \"echo gone >&2; exit 1\", ");
    let error = adapter(folder.path(), &text).await.ledger().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.message.contains("the kind file") && error.message.contains("gone"),
        "{error}"
    );
}

#[tokio::test]
async fn cleaning_removes_what_the_ledger_lists_for_a_run_and_tells_what_it_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = manifest(folder.path(), &with_ledger());
    for name in ["run-1-a", "run-1-b", "run-2-c"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let cleaned = manifest.clean("run-1", folder.path()).await.unwrap();
    let gone = cleaned
        .iter()
        .filter(|thing| thing.problem.is_none())
        .map(|thing| thing.item.kind.as_str());
    assert_eq!(gone.collect::<Vec<_>>(), ["file", "file"]);
    let kept: Vec<_> = cleaned
        .iter()
        .filter_map(|thing| thing.problem.as_ref())
        .collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept[0].contains("no `remove`"), "{kept:?}");
    assert!(!folder.path().join("run-1-a").exists() && folder.path().join("run-2-c").exists());
    // A folder that is gone has nothing in it.
    let left = manifest
        .left_by("run-1", &folder.path().join("gone"))
        .await
        .unwrap();
    assert!(left.iter().all(|item| item.kind == "container"), "{left:?}");
}

#[tokio::test]
async fn a_command_that_only_says_that_it_removes_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let text = with_ledger().replace("\"rm\", \"-r\", \"{item}\"", "\"true\", \"{item}\"");
    let manifest = manifest(folder.path(), &text);
    std::fs::create_dir(folder.path().join("run-1-a")).unwrap();
    let cleaned = manifest.clean("run-1", folder.path()).await.unwrap();
    let problem = cleaned[0].problem.as_ref().unwrap();
    assert!(problem.contains("says that it has worked"), "{problem}");
}

const CONDITIONS: &str = r#"
[conditions."engine.missing"]
does = "the engine's address is one where nobody listens"
names = "{scratch}/no-engine"
environment = { ENGINE = "unix://{scratch}/no-engine" }
[conditions."disk.full"]
does = "a file of the subject says so"
apply = ["touch", "{scratch}/full"]
clear = ["rm", "{scratch}/full"]
[conditions.pause]
does = "a mark is put beside the sandbox"
apply = ["mkdir", "{scratch}/{run}-{sandbox}/paused"]
clear = ["rmdir", "{scratch}/{run}-{sandbox}/paused"]
[conditions.remove]
does = "its folder is removed"
apply = ["rm", "-r", "{scratch}/{run}-{sandbox}"]
[conditions."image.missing"]
does = "the command breaks half-way"
apply = ["sh", "-c", 'touch "$0"; echo no such image >&2; exit 1', "{scratch}/half"]
clear = ["rm", "{scratch}/half"]
"#;

#[tokio::test]
async fn conditions_are_listed_with_what_they_do() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(folder.path(), &format!("{HEAD}{CONDITIONS}")).await;
    let listed = adapter.list_conditions().await.unwrap().conditions;
    let names: Vec<_> = listed.iter().map(|condition| condition.name.as_str()).collect();
    assert_eq!(
        names,
        ["disk.full", "engine.missing", "image.missing", "pause", "remove"]
    );
    assert_eq!(
        listed[1].names,
        Some(format!("{}/no-engine", folder.path().display()))
    );
    let applied = adapter
        .apply_condition(struck("engine.missing", None))
        .await
        .unwrap();
    let address = format!("unix://{}/no-engine", folder.path().display());
    assert_eq!(applied.environment, [Variable::new("ENGINE", address.as_str())]);
}

#[tokio::test]
async fn a_condition_holds_until_it_is_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(folder.path(), &format!("{HEAD}{CONDITIONS}")).await;
    let full = folder.path().join("full");
    for _ in 0..2 {
        adapter.apply_condition(struck("disk.full", None)).await.unwrap();
        assert!(full.exists());
    }
    for _ in 0..2 {
        adapter.clear_condition(struck("disk.full", None)).await.unwrap();
        assert!(!full.exists());
    }
}

#[tokio::test]
async fn a_condition_strikes_a_sandbox_that_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(folder.path(), &format!("{HEAD}{CONDITIONS}")).await;
    let (one, other) = (
        open(&adapter).await.unwrap().sandbox,
        open(&adapter).await.unwrap().sandbox,
    );
    let place = |id: &str| folder.path().join(format!("run-1-{id}"));
    adapter
        .apply_condition(struck("pause", Some(&one)))
        .await
        .unwrap();
    assert!(place(&one).join("paused").exists() && !place(&other).join("paused").exists());
    // Clearing it elsewhere is not clearing it here.
    adapter
        .clear_condition(struck("pause", Some(&other)))
        .await
        .unwrap();
    assert!(place(&one).join("paused").exists());
    adapter
        .clear_condition(struck("pause", Some(&one)))
        .await
        .unwrap();
    assert!(!place(&one).join("paused").exists());
    for (params, kind) in [
        (struck("pause", Some("nobody")), ErrorKind::SandboxNotFound),
        (struck("pause", None), ErrorKind::InvalidArgument),
        (struck("disk.full", Some(&one)), ErrorKind::InvalidArgument),
        (struck("stop", Some(&one)), ErrorKind::Unsupported),
    ] {
        assert_eq!(adapter.apply_condition(params).await.unwrap_err().kind(), kind);
    }
    adapter
        .apply_condition(struck("remove", Some(&other)))
        .await
        .unwrap();
    assert!(!place(&other).exists());
}

#[tokio::test]
async fn a_condition_that_cannot_be_brought_about_is_unavailable_and_undone() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(folder.path(), &format!("{HEAD}{CONDITIONS}")).await;
    let error = adapter
        .apply_condition(struck("image.missing", None))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.message.contains("bring about image.missing") && error.message.contains("no such image"),
        "{error}"
    );
    assert!(!folder.path().join("half").exists());
}

#[tokio::test]
async fn what_still_holds_is_undone_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(folder.path(), &format!("{HEAD}{CONDITIONS}")).await;
    let sandbox = open(&adapter).await.unwrap().sandbox;
    adapter.apply_condition(struck("disk.full", None)).await.unwrap();
    adapter
        .apply_condition(struck("pause", Some(&sandbox)))
        .await
        .unwrap();
    adapter.shutdown().await;
    // The manifest itself.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn an_id_that_is_an_option_or_no_text_is_given_to_no_command() {
    let folder = tempfile::tempdir().unwrap();
    let text = with_ledger()
        .replace(
            r#""find", "#,
            r#""sh", "-c", 'printf "%s\n" --all " x" "$(printf "a\377")" "$(printf "b\033")"', "#,
        )
        .replace(
            r#""rm", "-r", "{item}""#,
            r#""sh", "-c", 'echo "$0" >> "$1"', "{item}", "{scratch}/removed""#,
        );
    let manifest = manifest(folder.path(), &text);
    let cleaned = manifest.clean("run-1", folder.path()).await.unwrap();
    let problems = cleaned.iter().filter(|thing| thing.item.kind == "file");
    let problems: Vec<_> = problems.map(|thing| thing.problem.as_deref().unwrap()).collect();
    for (problem, part) in problems
        .iter()
        .zip(["an option", "has worked", "not valid UTF-8", "a control"])
    {
        assert!(problem.contains(part), "{problem}");
    }
    assert_eq!(problems.len(), 4);
    assert_eq!(
        std::fs::read_to_string(folder.path().join("removed")).unwrap(),
        " x\n"
    );
}

#[tokio::test]
async fn an_opening_that_prints_no_id_but_an_option_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let text = HEAD.replace(
        r#"run = ["mkdir", "{scratch}/{run}-{sandbox}"]"#,
        "id = \"output\"\nrun = [\"echo\", \"--force\"]",
    );
    let error = open(&adapter(folder.path(), &text).await).await.unwrap_err();
    assert!(error.message.contains("taken for an option"), "{error}");
}

#[tokio::test]
async fn a_command_that_prints_without_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let text = with_ledger().replace(r#""find", "#, r#""sh", "-c", 'echo $$ > "$0/pid"; yes; :', "#);
    let error = adapter(folder.path(), &text).await.ledger().await.unwrap_err();
    assert!(error.message.contains("more than 4194304 bytes"), "{error}");
    let group = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    let alive = || {
        let all = crate::process_table::all();
        all.into_iter()
            .any(|process| process.parent.to_string() == group.trim() && !process.ended)
    };
    for _ in 0..100 {
        if !alive() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("yes is still running");
}

#[tokio::test]
async fn a_command_has_ended_although_what_it_started_holds_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let text = with_ledger().replace(r#""find", "#, r#""sh", "-c", 'echo mine; sleep 20 &', "#);
    let start = std::time::Instant::now();
    let items = adapter(folder.path(), &text).await.ledger().await.unwrap().items;
    assert!(items.iter().any(|item| item.id == "mine"), "{items:?}");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn what_a_killed_adapter_had_open_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = runtime.block_on(async {
        let adapter = adapter(folder.path(), HEAD).await;
        let closed = open(&adapter).await.unwrap().sandbox;
        let open = open(&adapter).await.unwrap().sandbox;
        let params = CloseParams {
            sandbox: closed,
            how: CloseHow::Destroy,
        };
        assert!(adapter.close(params).await.unwrap().existed);
        // As a killed process does: it says nothing any more.
        std::mem::forget(adapter);
        folder.path().join(format!("run-1-{open}"))
    });
    assert!(place.exists());
    drop(runtime);
    let start = std::time::Instant::now();
    while place.exists() && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!place.exists());
}
