//! The client against adapters that keep the protocol and adapters that break it, each in its own way.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use herm_protocol::{
    Adapter, Error, Execution, Finished, Progress, VERSION,
    client::{CallError, Client, ClientOptions, Fault, Launch, Stopped},
    exec::{Command, Outcome, RunParams, Stdin, Stream},
    initialize::{InitializeParams, Initialized, Limits},
    method::{CheckPreflight, Close, Initialize, Open},
    sandbox::{CloseHow, CloseParams, Closed, Empty, OpenParams, OpenState, Opened},
    serve,
    transcript::NoTranscript,
};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

const SOON: Duration = Duration::from_secs(5);

/// Writes back what it is fed; the text says what else it does.
struct Echo;

#[async_trait]
impl Adapter for Echo {
    async fn initialize(&self, _: InitializeParams) -> Result<Initialized, Error> {
        Ok(Initialized {
            protocol: VERSION.into(),
            name: "echo".into(),
            version: "1".into(),
            homepage: None,
            backend: None,
            mode: None,
            emulated: false,
            capabilities: vec![],
            choices: [].into(),
            limits: Limits {
                max_message_bytes: Some(100_000),
                max_commands: None,
            },
            parallelism: 1,
        })
    }

    async fn open(&self, _: OpenParams, progress: Progress) -> Result<Opened, Error> {
        progress.report("opening").await;
        let (sandbox, exec_mode) = ("s".into(), "native".into());
        Ok(Opened {
            sandbox,
            state: OpenState::Created,
            exec_mode,
            cwd: None,
            notices: vec![],
            policy: None,
        })
    }

    async fn close(&self, _: CloseParams) -> Result<Closed, Error> {
        panic!("this adapter cannot close")
    }

    async fn run(&self, params: RunParams, mut execution: Execution) -> Result<Finished, Error> {
        let Command::Shell(text) = params.command else {
            return Err(Error::unsupported("argv"));
        };
        if text.as_bytes() == b"wait" {
            execution.control.next().await;
            return Ok(Outcome::Cancelled.into());
        }
        execution.output.write(Stream::Stdout, text.as_bytes()).await;
        while let Some(data) = execution.input.next().await {
            execution.output.write(Stream::Stderr, &data).await;
        }
        Ok(Outcome::Exited { code: 3 }.into())
    }
}

fn client_of(adapter: impl Adapter) -> Arc<Client> {
    let (near, far) = tokio::io::duplex(1000);
    let (far_reader, far_writer) = tokio::io::split(far);
    tokio::spawn(serve(adapter, far_reader, far_writer));
    over(near)
}

fn over(stream: DuplexStream) -> Arc<Client> {
    let (reader, writer) = tokio::io::split(stream);
    let options = ClientOptions {
        max_message_bytes: 10_000,
    };
    Arc::new(Client::over(reader, writer, options, Arc::new(NoTranscript)))
}

fn hello() -> InitializeParams {
    InitializeParams {
        protocol: vec![VERSION.into()],
        run: "r".into(),
        scratch: String::new(),
    }
}

/// An adapter that answers the first request with these lines, `ID` standing for its id, and then stays silent.
fn scripted(lines: &'static [&'static str]) -> Arc<Client> {
    let (near, far) = tokio::io::duplex(1_000_000);
    tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(far);
        let mut requests = BufReader::new(reader).lines();
        let first = requests.next_line().await.unwrap().unwrap();
        let first: serde_json::Value = serde_json::from_str(&first).unwrap();
        for line in lines {
            let line = line.replace("ID", &first["id"].to_string()) + "\n";
            if writer.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
        while let Ok(Some(_)) = requests.next_line().await {}
    });
    over(near)
}

async fn preflight(client: &Client) -> Result<(), CallError> {
    client
        .call::<CheckPreflight>(&Empty {}, Duration::from_millis(300))
        .await
        .map(|_| ())
}

async fn fault_of(lines: &'static [&'static str]) -> Fault {
    let client = scripted(lines);
    for _ in 0..20 {
        if let Err(CallError::Fault(fault)) = preflight(&client).await {
            return fault;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no fault was noticed")
}

#[tokio::test]
async fn a_conversation_from_start_to_end() {
    let client = client_of(Echo);
    let early = preflight(&client).await.unwrap_err();
    assert!(early.to_string().contains("came before initialize"), "{early}");
    assert_eq!(
        client.call::<Initialize>(&hello(), SOON).await.unwrap().name,
        "echo"
    );
    let opened = client.call::<Open>(&OpenParams::default(), SOON).await.unwrap();

    let mut params = RunParams::new(&opened.sandbox, "e1", Command::Shell("x".repeat(5000).into()));
    params.stdin = Stdin::Stream;
    params.window = Some(7);
    let mut exec = client.run(&params).unwrap();
    assert!(exec.feed("in", false, SOON).await.unwrap().open);
    assert!(exec.feed("put", true, SOON).await.unwrap().open);
    exec.wait_until(SOON, |_| false).await.unwrap();
    let record = exec.record();
    assert_eq!(record.bytes(Stream::Stdout), "x".repeat(5000).as_bytes());
    assert_eq!(record.bytes(Stream::Stderr), b"input");
    assert_eq!(record.result().unwrap().outcome, Outcome::Exited { code: 3 });
    assert_eq!(record.result().unwrap().stdout.bytes, 5000);
    assert_eq!(record.starts, 1);
    assert!(
        record
            .pieces
            .iter()
            .all(|piece| piece.after_start && piece.data.len() <= 7)
    );
}

#[tokio::test]
async fn a_running_command_can_be_cancelled_and_an_ended_one_not() {
    let client = client_of(Echo);
    client.call::<Initialize>(&hello(), SOON).await.unwrap();
    let mut params = RunParams::new("s", "e1", Command::Shell("wait".into()));
    params.alive_ms = Some(10);
    let mut exec = client.run(&params).unwrap();
    exec.wait_until(SOON, |record| record.alive >= 2).await.unwrap();
    exec.cancel(SOON).await.unwrap();
    exec.wait_until(SOON, |_| false).await.unwrap();
    assert_eq!(exec.record().result().unwrap().outcome, Outcome::Cancelled);
    let error = exec.cancel(SOON).await.unwrap_err();
    assert!(error.to_string().contains("exec_not_found"), "{error}");
}

#[tokio::test]
async fn output_without_a_window_is_unbounded() {
    let client = client_of(Echo);
    client.call::<Initialize>(&hello(), SOON).await.unwrap();
    let exec = client
        .run(&RunParams::new("s", "e", Command::Shell("y".repeat(6000).into())))
        .unwrap();
    assert_eq!(exec.wait(SOON).await.unwrap().bytes(Stream::Stdout).len(), 6000);
}

#[tokio::test]
async fn a_wrong_version_is_refused_with_the_right_ones() {
    let client = client_of(Echo);
    let params = InitializeParams {
        protocol: vec!["herm/99".into()],
        ..hello()
    };
    let error = client.call::<Initialize>(&params, SOON).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().data.supported, [VERSION]);
}

#[tokio::test]
async fn a_bad_line_is_answered_and_the_connection_lives() {
    let client = client_of(Echo);
    client.call::<Initialize>(&hello(), SOON).await.unwrap();
    for (line, code) in [
        ("{oops\n".to_owned(), -32700),
        ("[]\n".into(), -32600),
        ("x".repeat(200_000) + "\n", -32000),
    ] {
        client.send_line(line.into_bytes());
        assert_eq!(client.next_unaddressed(SOON).await.unwrap().code, code);
    }
    let error = client
        .call_raw("no.such", &serde_json::json!({}), SOON)
        .await
        .unwrap_err();
    assert_eq!(error.refusal().unwrap().code, -32601);
    let error = client
        .call_raw("exec.run", &serde_json::json!({"sandbox": "s"}), SOON)
        .await
        .unwrap_err();
    assert_eq!(error.refusal().unwrap().message, "exec is missing");
}

#[tokio::test]
async fn a_panic_of_the_adapter_is_an_answer() {
    let client = client_of(Echo);
    client.call::<Initialize>(&hello(), SOON).await.unwrap();
    let params = CloseParams {
        sandbox: "s".into(),
        how: CloseHow::Destroy,
    };
    let error = client.call::<Close>(&params, SOON).await.unwrap_err();
    assert!(error.to_string().contains("this adapter cannot close"), "{error}");
}

#[tokio::test]
async fn each_breach_of_the_protocol_is_a_fault_of_its_own() {
    for (lines, kind) in [
        (&["hello, I am starting"][..], "adapter_noise"),
        (&[r#"{"jsonrpc":"1.0","id":ID,"result":{}}"#], "adapter_nonsense"),
        (
            &[r#"{"jsonrpc":"2.0","id":ID,"result":{"problems":7}}"#],
            "adapter_nonsense",
        ),
        (
            &[r#"{"jsonrpc":"2.0","method":"exec.output","params":{"exec":1}}"#],
            "adapter_nonsense",
        ),
        (
            &[r#"{"jsonrpc":"2.0","id":9,"method":"rpc.call","params":{}}"#],
            "adapter_nonsense",
        ),
        (
            &[r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#],
            "adapter_answered_unasked",
        ),
        (
            &[r#"{"jsonrpc":"2.0","id":"ID","result":{}}"#],
            "adapter_answered_unasked",
        ),
        (
            &[
                r#"{"jsonrpc":"2.0","id":ID,"result":{"problems":[]}}"#,
                r#"{"jsonrpc":"2.0","id":ID,"result":{"problems":[]}}"#,
            ],
            "adapter_answered_twice",
        ),
        (&[], "adapter_hung"),
    ] {
        assert_eq!(fault_of(lines).await.kind(), kind, "{lines:?}");
    }
}

#[tokio::test]
async fn a_line_without_end_is_a_flood() {
    let (near, far) = tokio::io::duplex(1000);
    let client = over(near);
    let flood = tokio::spawn(async move {
        let (_reader, mut writer) = tokio::io::split(far);
        while writer.write_all(&[b'x'; 1000]).await.is_ok() {}
    });
    let error = client.call::<CheckPreflight>(&Empty {}, SOON).await.unwrap_err();
    assert!(
        matches!(error, CallError::Fault(Fault::Flooded { .. })),
        "{error}"
    );
    drop(client);
    flood.await.unwrap();
}

#[tokio::test]
async fn output_beyond_its_credit_is_a_flood() {
    let (near, far) = tokio::io::duplex(100_000);
    let client = over(near);
    tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(far);
        BufReader::new(reader).lines().next_line().await.unwrap();
        let line = r#"{"jsonrpc":"2.0","method":"exec.output","params":{"exec":"e","stream":"stdout","offset":0,"data":"12345"}}"#;
        writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    let mut params = RunParams::new("s", "e", Command::Shell("x".into()));
    params.window = Some(4);
    let fault = client.run(&params).unwrap().wait(SOON).await.unwrap_err();
    assert!(matches!(fault, Fault::Flooded { .. }), "{fault}");
}

#[tokio::test]
async fn notifications_about_nothing_are_a_flood_in_the_end() {
    let (near, far) = tokio::io::duplex(1_000_000);
    let client = over(near);
    tokio::spawn(async move {
        let (_reader, mut writer) = tokio::io::split(far);
        let line = r#"{"jsonrpc":"2.0","method":"exec.alive","params":{"exec":"nobody"}}"#;
        while writer.write_all(format!("{line}\n").as_bytes()).await.is_ok() {}
    });
    let error = client.call::<CheckPreflight>(&Empty {}, SOON).await.unwrap_err();
    assert!(
        matches!(error, CallError::Fault(Fault::Flooded { .. })),
        "{error}"
    );
}

fn shell(text: &str) -> Launch {
    Launch {
        program: "sh".into(),
        arguments: vec!["-c".into(), text.into()],
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        directory: None,
    }
}

fn start(launch: &Launch) -> Arc<Client> {
    Arc::new(Client::start(launch, ClientOptions::default(), Arc::new(NoTranscript)).unwrap())
}

#[tokio::test]
async fn a_crash_is_told_with_its_status_and_last_words() {
    let client = start(&shell("read line; echo 'no such engine' >&2; exit 7"));
    let error = client
        .call::<CheckPreflight>(&Empty {}, SOON)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("exit status: 7") && error.contains("no such engine"),
        "{error}"
    );
    let again = preflight(&client).await.unwrap_err();
    assert!(
        matches!(again, CallError::Fault(Fault::Crashed { .. })),
        "{again}"
    );
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_command_is_told() {
    let client = start(&shell("read line; exit 1"));
    let exec = client
        .run(&RunParams::new("s", "e", Command::Shell("x".into())))
        .unwrap();
    assert!(matches!(exec.wait(SOON).await, Err(Fault::Crashed { .. })));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let launch = Launch {
        program: "no-such-adapter".into(),
        ..shell("")
    };
    let fault = Client::start(&launch, ClientOptions::default(), Arc::new(NoTranscript))
        .err()
        .unwrap();
    assert!(fault.to_string().contains("no-such-adapter"), "{fault}");
}

#[tokio::test]
async fn an_adapter_is_stopped_by_the_least_that_works() {
    let grace = Duration::from_millis(300);
    let polite = start(&shell("while read line; do :; done"));
    assert!(matches!(polite.stop(grace).await, Some(Stopped::AtEndOfInput(_))));
    let deaf = start(&shell("exec sleep 60"));
    assert_eq!(deaf.stop(grace).await, Some(Stopped::WhenAsked));
    let thorough = start(&shell("trap 'sleep 1; exit' TERM; while :; do sleep 0.1; done"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(thorough.stop(grace).await, Some(Stopped::WhenAsked));
    let stubborn = start(&shell("trap '' TERM; while :; do sleep 0.1; done"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(stubborn.stop(grace).await, Some(Stopped::WhenKilled));
}
