//! Calls of tools: let in by name, token and descent, passed on once, over lost connections, and ended with the command.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
mod support;

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    time::Instant,
};

use herm_resident::wire::{
    ErrorKind, MAX_TOOL_DATA, Outcome, Reply, Request, Start, ToolAnswer, ToolCall, ToolFailure, ToolsAllowed,
};
use support::{Client, LIMIT, PLENTY, Ran, Resident, eventually, shell};

fn with_tools(text: &str) -> Start {
    Start {
        attach: Some(PLENTY),
        tools: Some(ToolsAllowed {
            names: vec!["tool".into()],
            max_calls: 3,
            max_bytes: 4_000_000,
        }),
        ..shell(text)
    }
}

/// What is told of calls, next.
fn told(client: &mut Client) -> (u64, ToolCall) {
    client.until(|reply| match reply {
        Reply::Tool { number, told, .. } => Some((*number, told.clone())),
        _ => None,
    })
}

fn say(client: &mut Client, job: u64, number: u64, answer: ToolAnswer) {
    client.send(&Request::Tool { job, number, answer });
}

/// Takes the arguments of the next call, whole.
fn arguments(client: &mut Client, job: u64) -> (u64, Vec<u8>) {
    let mut all = Vec::new();
    loop {
        let (number, told) = told(client);
        let ToolCall::Arguments {
            offset, data, end, ..
        } = told
        else {
            panic!("{told:?} is no piece of arguments");
        };
        assert_eq!(offset, all.len() as u64, "every byte comes once and in order");
        all.extend(data);
        let offset = all.len() as u64;
        say(client, job, number, ToolAnswer::ArgumentsTaken { offset });
        if end {
            return (number, all);
        }
    }
}

fn reply(client: &mut Client, job: u64, number: u64, reply: &[u8]) {
    let total = reply.len() as u64;
    let mut offset = 0;
    loop {
        let from = usize::try_from(offset).unwrap();
        let data = reply[from..reply.len().min(from + MAX_TOOL_DATA)].to_vec();
        say(client, job, number, ToolAnswer::Reply { total, offset, data });
        match told(client) {
            (_, ToolCall::ReplyTaken { offset: taken }) => offset = taken,
            (_, ToolCall::Gone) => return,
            other => panic!("{other:?} in the middle of a reply"),
        }
    }
}

fn finish(client: &mut Client, job: u64) -> Ran {
    client.finish(job, 0, Instant::now())
}

#[test]
fn arguments_and_replies_pass_through_whole_and_in_pieces() {
    let resident = Resident::start();
    let mut client = resident.client();
    let text = "head -c 1000000 /dev/zero | tr '\\0' x | \"$HERM_RPC\" call tool | wc -c; \"$HERM_RPC\" call tool </dev/null | wc -c";
    let job = client.start(with_tools(text));
    let (number, given) = arguments(&mut client, job);
    assert_eq!(given, vec![b'x'; 1_000_000]);
    reply(&mut client, job, number, &vec![7; 3_000_000]);
    let (number, given) = arguments(&mut client, job);
    assert_eq!(given, b"");
    reply(&mut client, job, number, b"");
    assert_eq!(finish(&mut client, job).out(), "3000000\n0\n");
}

#[test]
fn what_is_not_allowed_is_refused_inside() {
    let resident = Resident::start();
    let mut client = resident.client();
    let call = "\"$HERM_RPC\" call tool </dev/null >/dev/null 2>&1; echo $?";
    let text = format!(
        "\"$HERM_RPC\" call other </dev/null; echo $?; (HERM_RPC_TOKEN=0; {call}); (unset HERM_RPC_TOKEN; {call}); \
         head -c 5000000 /dev/zero | \"$HERM_RPC\" call tool; echo $?; {call}; {call}; {call}; {call}"
    );
    let job = client.start(with_tools(&text));
    for _ in 0..3 {
        // The first of the long arguments came, too, before it was known how long they are.
        let number = loop {
            match told(&mut client) {
                (
                    number,
                    ToolCall::Arguments {
                        offset, data, end, ..
                    },
                ) => {
                    let offset = offset + data.len() as u64;
                    say(&mut client, job, number, ToolAnswer::ArgumentsTaken { offset });
                    if end {
                        break number;
                    }
                }
                (_, ToolCall::Gone) => {}
                other => panic!("{other:?}"),
            }
        };
        reply(&mut client, job, number, b"");
    }
    let ran = finish(&mut client, job);
    assert_eq!(ran.out(), "77\n77\n77\n65\n0\n0\n0\n77\n", "{}", ran.err());
    assert!(
        ran.err().contains("the tool other is not allowed"),
        "{}",
        ran.err()
    );
    let plain = client.shell("env | grep HERM_RPC; true");
    assert_eq!(plain.out(), "");
}

#[test]
fn a_token_is_of_no_use_to_another_command_or_to_a_process_from_outside() {
    let resident = Resident::start();
    let mut client = resident.client();
    let given = resident.scratch().join("given");
    let text = format!("export -p > {0}.new; mv {0}.new {0}; sleep 100", given.display());
    let job = client.start(with_tools(&text));
    eventually("the variables", || given.exists());
    let borrowed = client.shell(&format!(
        ". {}; \"$HERM_RPC\" call tool </dev/null; echo $?",
        given.display()
    ));
    assert_eq!(borrowed.out(), "77\n");
    let mut outside = UnixStream::connect(resident.directory().join("tools")).unwrap();
    outside.set_read_timeout(Some(LIMIT)).unwrap();
    let variables = std::fs::read_to_string(&given).unwrap();
    let token = variables
        .split_once("HERM_RPC_TOKEN=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .unwrap()
        .0;
    let _ = outside.write_all(format!("call {token} tool\n\0\0\0\0").as_bytes());
    let mut said = [0; 7];
    outside.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"denied ");
    client.ask(|call| Request::Cancel { call, job });
}

#[test]
fn a_call_goes_on_over_a_lost_connection_and_is_made_once() {
    let resident = Resident::start();
    let mut client = resident.client();
    let text = "head -c 600000 /dev/zero | \"$HERM_RPC\" call tool";
    let start = with_tools(text);
    let request = start.request;
    let job = client.start(start);
    let (number, first) = told(&mut client);
    assert!(matches!(
        first,
        ToolCall::Arguments {
            offset: 0,
            end: false,
            ..
        }
    ));
    // It was not answered, so it is told again.
    drop(client);
    let mut client = resident.client();
    client.ask(|call| Request::Attach {
        call,
        job,
        from: [0; 2],
        credit: PLENTY,
    });
    let other = client.ask(|call| Request::ServeTools {
        call,
        job,
        request: [1; 16],
    });
    assert!(matches!(other, Reply::Error { error, .. } if error.kind == ErrorKind::WrongState));
    let serve = |call| Request::ServeTools { call, job, request };
    assert!(matches!(client.ask(serve), Reply::Done { .. }));
    let (again, given) = arguments(&mut client, job);
    assert_eq!((again, given.len()), (number, 600_000));
    let piece = |offset: usize, length| ToolAnswer::Reply {
        total: 300_000,
        offset: offset as u64,
        data: vec![b'r'; length],
    };
    say(&mut client, job, number, piece(0, 200_000));
    assert_eq!(
        told(&mut client),
        (number, ToolCall::ReplyTaken { offset: 200_000 })
    );
    drop(client);
    let mut client = resident.client();
    client.ask(|call| Request::Attach {
        call,
        job,
        from: [0; 2],
        credit: PLENTY,
    });
    client.ask(serve);
    // What was taken is told again, and what comes again is taken once.
    assert_eq!(
        told(&mut client),
        (number, ToolCall::ReplyTaken { offset: 200_000 })
    );
    say(&mut client, job, number, piece(100_000, 200_000));
    assert_eq!(told(&mut client), (number, ToolCall::Gone));
    // About a call that is over, its end is told again.
    say(&mut client, job, number, piece(0, 1));
    assert_eq!(told(&mut client), (number, ToolCall::Gone));
    let ran = finish(&mut client, job);
    assert_eq!(ran.output[0], vec![b'r'; 300_000]);
}

#[test]
fn calls_end_with_their_command() {
    let resident = Resident::start();
    let mut client = resident.client();
    let start = Start {
        deadline_ms: 300,
        ..with_tools("\"$HERM_RPC\" call tool </dev/null")
    };
    let job = client.start(start);
    let (number, _) = arguments(&mut client, job);
    assert_eq!(told(&mut client), (number, ToolCall::Gone));
    assert_eq!(finish(&mut client, job).ending.outcome, Outcome::TimedOut);

    let path = resident.scratch().join("late");
    let text = format!(
        "(until [ -e {0}.go ]; do sleep 0.01; done; \"$HERM_RPC\" call tool </dev/null 2>/dev/null; echo $? > {0}.new; \
         mv {0}.new {0}) </dev/null >/dev/null 2>&1 &",
        path.display()
    );
    let job = client.start(with_tools(&text));
    finish(&mut client, job).assert_exited(0);
    std::fs::write(path.with_extension("go"), "").unwrap();
    eventually("the code", || path.exists());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "69\n");
}

#[test]
fn code_that_misbehaves_harms_nobody() {
    let resident = Resident::start();
    let mut client = resident.client();
    let script = "\
import os, socket, struct
def connect():
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ['HERM_RPC_SOCKET']); s.settimeout(20); return s
start = ('call %s tool\\n' % os.environ['HERM_RPC_TOKEN']).encode()
for noise in (b'\\0' * 5000, b'x\\n', start + b'\\0\\0\\0\\0more', start + b'\\xff\\xff\\xff\\xff' + b'x' * 9000000):
    s = connect()
    try:
        s.sendall(noise)
    except OSError:
        pass
    print(s.recv(100).split()[0].decode())
s = connect(); s.sendall(start + struct.pack('<I', 10) + b'half'); s.close()
open_ones = [connect() for _ in range(64)]
print(connect().recv(100).split()[0].decode())
[s.close() for s in open_ones]
while True:
    s = connect()
    s.sendall(start + struct.pack('<I', 2) + b'ok' + struct.pack('<I', 0))
    said = s.recv(100)
    if b'denied' not in said: break
print(said.decode())
";
    let text = "command -v python3 >/dev/null || exit 3; python3 -c \"$CODE\"";
    let mut start = with_tools(text);
    start.env.push((b"CODE".to_vec(), script.into()));
    let job = client.start(start);
    let mut done = None;
    while done.is_none() {
        let next = client.until(|reply| match reply {
            Reply::Tool { number, told, .. } => Some(Some((*number, told.clone()))),
            Reply::Finished { .. } => Some(None),
            _ => None,
        });
        match next {
            Some((number, ToolCall::Arguments { data, end: true, .. })) if data == b"ok" => {
                let data = b"fine".to_vec();
                let answer = ToolAnswer::Reply {
                    total: 4,
                    offset: 0,
                    data,
                };
                say(&mut client, job, number, answer);
                done = Some(number);
            }
            Some((number, ToolCall::Arguments { offset, data, .. })) => {
                let offset = offset + data.len() as u64;
                say(&mut client, job, number, ToolAnswer::ArgumentsTaken { offset });
            }
            Some(_) => {}
            // There is no Python on this machine.
            None => return,
        }
    }
    let ran = finish(&mut client, job);
    assert_eq!(
        ran.out(),
        "failed\nfailed\nfailed\ntoo_long\ndenied\nok 4\nfine\n",
        "{}",
        ran.err()
    );
}

#[test]
fn a_client_that_breaks_its_word_is_let_go_and_tools_need_one() {
    let resident = Resident::start();
    let mut client = resident.client();
    let nobody = Start {
        attach: None,
        ..with_tools("true")
    };
    let refused = client.ask(|call| Request::Start {
        call,
        start: Box::new(nobody),
    });
    assert!(matches!(refused, Reply::Error { error, .. } if error.kind == ErrorKind::InvalidArgument));
    let job = client.start(with_tools("\"$HERM_RPC\" call tool </dev/null; echo $?"));
    let (number, _) = arguments(&mut client, job);
    let answer = ToolAnswer::failed(ToolFailure::Failed, "no luck");
    say(&mut client, job, number, answer);
    assert_eq!(told(&mut client), (number, ToolCall::Gone));
    let ran = finish(&mut client, job);
    assert_eq!(ran.out(), "70\n");
    assert_eq!(ran.err(), "call tool: no luck\n");
    let job = client.start(with_tools("\"$HERM_RPC\" call tool </dev/null"));
    let (number, _) = arguments(&mut client, job);
    let beyond = ToolAnswer::Reply {
        total: 3,
        offset: 2,
        data: b"xx".to_vec(),
    };
    say(&mut client, job, number, beyond);
    let said = client.until(|reply| match reply {
        Reply::Error { call: 0, error } => Some(error.kind),
        _ => None,
    });
    assert_eq!(said, ErrorKind::Protocol);
    client.wait_for_end();
    let mut client = resident.client();
    client.ask(|call| Request::Cancel { call, job });
    client.shell("true").assert_exited(0);
}
