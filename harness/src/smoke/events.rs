//! What an adapter tells of one command, held against the rules: announced once, pieces without gap or overlap, exact
//! totals, nothing after the answer.

use herm_protocol::ByteString;
use serde_json::Value;

use super::complaint::Complaint;

/// A command that was asked for.
#[derive(Debug)]
pub(super) struct Command {
    /// Its name.
    pub(super) exec: String,
    /// How often it was announced.
    starts: u32,
    /// What arrived of standard output and standard error.
    streams: [Vec<u8>; 2],
    /// Where the next piece of each has to begin, as far as is known.
    next: [Option<u64>; 2],
    /// Whether it was answered.
    answered: bool,
}

const STREAMS: [&str; 2] = ["stdout", "stderr"];

impl Command {
    pub(super) fn new(exec: &str) -> Self {
        Self {
            exec: exec.to_owned(),
            starts: 0,
            streams: [Vec::new(), Vec::new()],
            next: [Some(0), Some(0)],
            answered: false,
        }
    }

    /// What arrived of a stream.
    pub(super) fn bytes(&self, stream: &str) -> &[u8] {
        let [stdout, stderr] = &self.streams;
        if stream == "stdout" { stdout } else { stderr }
    }

    /// Whether it was announced.
    pub(super) fn started(&self) -> bool {
        self.starts > 0
    }

    /// Whether it was answered.
    pub(super) fn answered(&self) -> bool {
        self.answered
    }

    /// Takes a notification about it.
    pub(super) fn notified(&mut self, method: &str, params: &Value, complaints: &mut Vec<Complaint>) {
        let exec = &self.exec;
        if self.answered {
            complaints.push(Complaint::new(
                "after_the_answer",
                format!("{method} about {exec} came after its answer"),
                "send the answer last: wait until both streams have ended, send what is left as exec.output, and only then answer",
            ));
            return;
        }
        match method {
            "exec.started" => {
                self.starts += 1;
                if self.starts == 1 && self.streams.iter().any(|stream| !stream.is_empty()) {
                    complaints.push(Complaint::new(
                        "output_before_started",
                        format!("exec.output of {exec} came before exec.started"),
                        "send exec.started first, as soon as the command was accepted",
                    ));
                }
                if self.starts == 2 {
                    complaints.push(Complaint::new(
                        "started_twice",
                        format!("exec.started came twice for {exec}"),
                        "send exec.started once, when the command was accepted",
                    ));
                }
            }
            "exec.output" => self.output(params, complaints),
            _ => {}
        }
    }

    fn output(&mut self, params: &Value, complaints: &mut Vec<Complaint>) {
        let exec = &self.exec;
        // What does not fit its type is told by the schema.
        let Some(index) = STREAMS.iter().position(|name| params["stream"] == *name) else {
            return;
        };
        let Ok(data) = serde_json::from_value::<ByteString>(params["data"].clone()) else {
            return;
        };
        let stream = STREAMS[index];
        if let (Some(offset), Some(next)) = (params["offset"].as_u64(), self.next[index])
            && offset != next
        {
            complaints.push(
                Complaint::new(
                    "offset",
                    format!(
                        "a piece of {stream} of {exec} says offset {offset}, but {next} bytes of {stream} had come before it"
                    ),
                    &format!(
                        "count the bytes (not the characters, not the pieces) of {stream} that were sent, and send that \
                         count as offset: {next} here"
                    ),
                )
                .at("params.offset"),
            );
        }
        let start = params["offset"].as_u64().or(self.next[index]);
        self.next[index] = start.map(|start| start + data.len() as u64);
        self.streams[index].extend_from_slice(data.as_bytes());
    }

    /// Takes its answer.
    pub(super) fn answer(&mut self, result: &Result<Value, Value>, complaints: &mut Vec<Complaint>) {
        self.answered = true;
        let Ok(result) = result else { return };
        let exec = &self.exec;
        if self.starts == 0 && result["outcome"]["type"] != "setup_failed" {
            complaints.push(Complaint::new(
                "not_started",
                format!("exec.started never came for {exec}"),
                "send this notification once, as soon as the command was accepted and before any output: \
                 {\"jsonrpc\":\"2.0\",\"method\":\"exec.started\",\"params\":{\"exec\":…}}, with the exec of the request",
            ));
        }
        for (index, stream) in STREAMS.into_iter().enumerate() {
            let gaps: u64 = result["gaps"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|gap| gap["stream"] == stream)
                .filter_map(|gap| gap["to"].as_u64()?.checked_sub(gap["from"].as_u64()?))
                .sum();
            let arrived = self.streams[index].len() as u64;
            let Some(told) = result[stream]["bytes"].as_u64() else {
                continue;
            };
            if told != arrived + gaps {
                let told_gaps = if gaps > 0 {
                    format!(" and {gaps} were told as gaps")
                } else {
                    String::new()
                };
                complaints.push(
                    Complaint::new(
                        "total",
                        format!(
                            "the answer says {told} bytes of {stream}, but {arrived} arrived as exec.output{told_gaps}"
                        ),
                        &format!(
                            "send all of {stream} as exec.output before the answer, and in result.{stream}.bytes the number of \
                             bytes (not characters) that the command wrote"
                        ),
                    )
                    .at(&format!("result.{stream}.bytes")),
                );
            }
        }
    }
}
