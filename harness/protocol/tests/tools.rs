//! Calls of tools, from an adapter to a harness and back.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use herm_protocol::{
    Adapter, Error, ErrorKind, ExecTools, Execution, Finished, Progress, VERSION,
    client::{Client, ClientOptions, ExecRecord, Fault, HostTools, Uninvited},
    exec::{Command, Outcome, RunParams, Stream},
    initialize::{InitializeParams, Initialized},
    method,
    rpc::Rpc,
    sandbox::{CloseParams, Closed, OpenParams, Opened},
    serve,
    transcript::NoTranscript,
};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex, split};

const LIMIT: Duration = Duration::from_mins(1);

/// Its commands are calls: `TOOL LENGTH`.
#[derive(Default)]
struct Caller(Mutex<Option<ExecTools>>);

#[async_trait]
impl Adapter for Caller {
    async fn initialize(&self, _: InitializeParams) -> Result<Initialized, Error> {
        let initialized = json!({"protocol": VERSION, "name": "caller", "version": "1"});
        Ok(serde_json::from_value(initialized).unwrap())
    }

    async fn open(&self, _: OpenParams, _: Progress) -> Result<Opened, Error> {
        Err(Error::unsupported("open"))
    }

    async fn close(&self, _: CloseParams) -> Result<Closed, Error> {
        Err(Error::unsupported("close"))
    }

    async fn run(&self, params: RunParams, execution: Execution) -> Result<Finished, Error> {
        let Command::Shell(text) = params.command else {
            return Err(Error::unsupported("argv"));
        };
        let text = text.to_string_lossy().into_owned();
        let (tool, length) = text.split_once(' ').unwrap();
        *self.0.lock().unwrap() = Some(execution.tools.clone());
        let arguments = vec![0xc3; length.parse().unwrap()];
        match execution.tools.call(tool, &arguments).await {
            Ok(reply) => execution.output.write(Stream::Stdout, &reply).await,
            Err(error) => {
                let told = format!("{} {}", error.kind(), error.message);
                execution.output.write(Stream::Stderr, told.as_bytes()).await;
            }
        }
        Ok(Outcome::Exited { code: 0 }.into())
    }
}

/// Replies with the number of bytes that it was given, and as many of its own.
struct Tools(Mutex<Vec<String>>);

#[async_trait]
impl HostTools for Tools {
    async fn call(&self, tool: &str, arguments: Vec<u8>) -> Result<Vec<u8>, Error> {
        self.0.lock().unwrap().push(tool.into());
        if tool == "fail" {
            return Err(Error::new(ErrorKind::ToolFailed, tool, "it rained"));
        }
        let mut reply = arguments.len().to_string().into_bytes();
        reply.extend(vec![0xff; arguments.len()]);
        Ok(reply)
    }
}

struct Harness {
    client: Arc<Client>,
    tools: Arc<Tools>,
    adapter: Arc<Caller>,
}

impl Harness {
    async fn new() -> Self {
        let (ours, theirs) = duplex(1 << 16);
        let adapter = Arc::new(Caller::default());
        let (input, output) = split(theirs);
        tokio::spawn(serve(adapter.clone(), input, output));
        let (input, output) = split(ours);
        let client = Arc::new(Client::over(
            input,
            output,
            ClientOptions::default(),
            Arc::new(NoTranscript),
        ));
        let params = InitializeParams {
            protocol: vec![VERSION.into()],
            run: "r".into(),
            scratch: String::new(),
        };
        client.call::<method::Initialize>(&params, LIMIT).await.unwrap();
        Self {
            client,
            tools: Arc::new(Tools(Mutex::default())),
            adapter,
        }
    }

    async fn run(&self, exec: &str, text: &str, rpc: Option<Rpc>) -> ExecRecord {
        let mut params = RunParams::new("s", exec, Command::Shell(text.into()));
        params.rpc = rpc;
        let exec = self.client.run_with_tools(&params, self.tools.clone()).unwrap();
        exec.wait(LIMIT).await.unwrap()
    }

    async fn said(&self, exec: &str, text: &str, rpc: Option<Rpc>) -> String {
        let record = self.run(exec, text, rpc).await;
        String::from_utf8(record.bytes(Stream::Stderr)).unwrap()
    }
}

#[tokio::test]
async fn what_is_longer_than_a_message_goes_in_pieces() {
    let harness = Harness::new().await;
    let rpc = Rpc::allowing(["count"]);
    for length in [0, 1, 1024 * 1024, 20 * 1024 * 1024 + 1] {
        let record = harness
            .run("e", &format!("count {length}"), Some(rpc.clone()))
            .await;
        let reply = record.bytes(Stream::Stdout);
        let expected = length.to_string().into_bytes();
        assert!(reply.starts_with(&expected), "{length}");
        assert_eq!(reply.len(), expected.len() + length);
    }
    assert_eq!(harness.client.uninvited(), []);
}

#[tokio::test]
async fn what_is_not_allowed_is_never_asked_for() {
    let harness = Harness::new().await;
    let few = Rpc {
        max_calls: Some(0),
        ..Rpc::allowing(["count"])
    };
    let short = Rpc {
        max_bytes: Some(3),
        ..Rpc::allowing(["count"])
    };
    for (rpc, kind) in [
        (None, "permission_denied"),
        (Some(Rpc::allowing(["other"])), "permission_denied"),
        (Some(few), "limit_exceeded"),
        (Some(short.clone()), "limit_exceeded"),
    ] {
        let said = harness.said("e", "count 4", rpc).await;
        assert!(said.starts_with(kind), "{said}");
    }
    assert!(harness.tools.0.lock().unwrap().is_empty());
    // The reply is longer than its arguments.
    let said = harness.said("e", "count 3", Some(short)).await;
    assert!(said.starts_with("limit_exceeded the reply of"), "{said}");
    let said = harness.said("e", "fail 0", Some(Rpc::allowing(["fail"]))).await;
    assert_eq!(said, "tool_failed it rained");
    let over = harness.adapter.0.lock().unwrap().clone().unwrap();
    let late = over.call("fail", b"").await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::ExecNotFound);
    assert_eq!(*harness.tools.0.lock().unwrap(), ["count", "fail"]);
    assert_eq!(harness.client.uninvited(), []);
}

/// A client, and the adapter's side of what it talks over.
fn client_over_a_stream() -> (Arc<Client>, DuplexStream) {
    let (ours, theirs) = duplex(1 << 16);
    let (input, output) = split(ours);
    let options = ClientOptions::default();
    let client = Client::over(input, output, options, Arc::new(NoTranscript));
    (Arc::new(client), theirs)
}

/// A command that may call `count`.
fn may_count() -> RunParams {
    let mut params = RunParams::new("s", "e", Command::Shell("x".into()));
    params.rpc = Some(Rpc::allowing(["count"]));
    params
}

/// An adapter that asks what it may not.
#[tokio::test]
async fn calls_that_nothing_has_allowed_are_refused_and_told() {
    let (client, theirs) = client_over_a_stream();
    let tools = Arc::new(Tools(Mutex::default()));
    let exec = client.run_with_tools(&may_count(), tools.clone()).unwrap();
    let (input, mut output) = split(theirs);
    let mut lines = BufReader::new(input).lines();
    let run = lines.next_line().await.unwrap().unwrap();
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let call = |id: u64, exec: &str, call: &str, tool: &str| {
        let params = json!({"sandbox": "s", "exec": exec, "call": call, "tool": tool, "arguments": "ab"});
        json!({"jsonrpc": "2.0", "id": id, "method": "rpc.call", "params": params}).to_string() + "\n"
    };
    let mut kinds = Vec::new();
    for line in [
        call(1, "e", "1", "other"),
        call(2, "another", "1", "count"),
        call(3, "e", "1", "count"),
    ] {
        output.write_all(line.as_bytes()).await.unwrap();
        let answer = lines.next_line().await.unwrap().unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        kinds.push(
            answer["error"]["data"]["kind"]
                .as_str()
                .unwrap_or("none")
                .to_owned(),
        );
    }
    assert_eq!(kinds, ["permission_denied", "exec_not_found", "none"]);
    let result = json!({
        "outcome": {"type": "exited", "code": 0}, "stdout": {"bytes": 0}, "stderr": {"bytes": 0}, "duration_ms": 1
    });
    let answer = json!({"jsonrpc": "2.0", "id": run["id"], "result": result}).to_string() + "\n";
    // Both come at once: what is called behind the answer is too late, although nobody has looked at it.
    let late = answer + &call(5, "e", "2", "count");
    output.write_all(late.as_bytes()).await.unwrap();
    let answer = lines.next_line().await.unwrap().unwrap();
    assert!(answer.contains("exec_not_found"), "{answer}");
    exec.wait(LIMIT).await.unwrap();
    assert_eq!(*tools.0.lock().unwrap(), ["count"]);
    let uninvited = |exec: &str, tool: &str| Uninvited {
        exec: exec.into(),
        tool: tool.into(),
    };
    assert_eq!(
        client.uninvited(),
        [
            uninvited("e", "other"),
            uninvited("another", "count"),
            uninvited("e", "count")
        ]
    );
}

/// An adapter that makes a call again since the answer takes long.
#[tokio::test]
async fn a_call_that_is_made_twice_breaks_the_connection() {
    let (client, theirs) = client_over_a_stream();
    let tools = Arc::new(Tools(Mutex::default()));
    let exec = client.run_with_tools(&may_count(), tools.clone()).unwrap();
    let (_input, mut output) = split(theirs);
    for id in [1, 2] {
        let params = json!({"sandbox": "s", "exec": "e", "call": "1", "tool": "count", "arguments": "ab"});
        let call =
            json!({"jsonrpc": "2.0", "id": id, "method": "rpc.call", "params": params}).to_string() + "\n";
        output.write_all(call.as_bytes()).await.unwrap();
    }
    let fault = exec.wait(LIMIT).await.unwrap_err();
    let (exec, call) = ("e".into(), "1".into());
    assert_eq!(fault, Fault::CalledTwice { exec, call });
    // The first may not have begun when the second broke the connection.
    assert!(tools.0.lock().unwrap().len() <= 1);
}
