//! The methods, each with its parameters and its answer.

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    condition::{ConditionApplied, ConditionList, ConditionParams},
    exec::{
        AliveParams, CancelParams, CreditParams, OutputParams, RunParams, RunResult, SignalParams,
        StartedParams, StdinParams, StdinTaken,
    },
    file::{
        ChmodParams, DirectoryListing, FileContent, FileInfo, MoveParams, PathParams, ReadParams,
        RemoveParams, WriteParams,
    },
    initialize::{InitializeParams, Initialized, Preflight},
    job::{JobInfo, JobList, JobListParams, JobOutput, JobOutputParams, JobRef, JobStarted, JobWaitParams},
    ledger::Ledger,
    policy::{ClassifyParams, HostAccess},
    rpc::{ToolCallParams, ToolReply, ToolReplyParams},
    sandbox::{
        CloseParams, Closed, Empty, OpenParams, Opened, ProgressParams, ReapParams, Reaped, SandboxInfo,
        SandboxList, SandboxRef,
    },
    session::SessionRef,
};

/// A request with its answer.
pub trait Method {
    /// The name on the wire.
    const NAME: &'static str;
    /// What is sent.
    type Params: Serialize + DeserializeOwned + Send + Sync;
    /// What comes back.
    type Answer: Serialize + DeserializeOwned + Send;
}

/// A message that wants no answer.
pub trait Notification {
    /// The name on the wire.
    const NAME: &'static str;
    /// What is sent.
    type Params: Serialize + DeserializeOwned + Send + Sync;
}

/// Declares every method and notification once: its type, its entry in the schema.
macro_rules! messages {
    (methods { $($method:ident = $method_name:literal: $params:ty => $answer:ty, $doc:literal;)* }
     notifications { $($note:ident = $note_name:literal: $note_params:ty, $note_doc:literal;)* }) => {
        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug)]
            pub struct $method;
            impl Method for $method {
                const NAME: &'static str = $method_name;
                type Params = $params;
                type Answer = $answer;
            }
        )*
        $(
            #[doc = $note_doc]
            #[derive(Clone, Copy, Debug)]
            pub struct $note;
            impl Notification for $note {
                const NAME: &'static str = $note_name;
                type Params = $note_params;
            }
        )*

        /// Names of all methods.
        pub const METHODS: &[&str] = &[$($method_name),*];

        /// Adds every message to a schema generator; the caller takes the definitions out.
        pub(crate) fn describe(mut add: impl FnMut(&str, &str, schemars::Schema), generator: &mut schemars::SchemaGenerator) {
            $(
                add($method_name, "params", generator.subschema_for::<$params>());
                add($method_name, "answer", generator.subschema_for::<$answer>());
            )*
            add(Run::NAME, "answerWhenDetached", generator.subschema_for::<JobStarted>());
            $( add($note_name, "params", generator.subschema_for::<$note_params>()); )*
        }
    };
}

/// `exec.run` with `detach`.
#[derive(Clone, Copy, Debug)]
pub struct RunDetached;

impl Method for RunDetached {
    const NAME: &'static str = Run::NAME;
    type Params = RunParams;
    type Answer = JobStarted;
}

messages! {
    methods {
        Initialize = "initialize": InitializeParams => Initialized, "The handshake; comes first.";
        CheckPreflight = "preflight": Empty => Preflight, "What is missing on this machine.";
        Open = "sandbox.open": OpenParams => Opened, "Makes or attaches to a sandbox.";
        Close = "sandbox.close": CloseParams => Closed, "Lets go of a sandbox.";
        List = "sandbox.list": Empty => SandboxList, "Every sandbox of this caller.";
        Inspect = "sandbox.inspect": SandboxRef => SandboxInfo, "One sandbox.";
        Reap = "sandbox.reap": ReapParams => Reaped, "Removes what nobody needs any more.";
        Run = "exec.run": RunParams => RunResult, "Runs a command.";
        WriteStdin = "exec.stdin": StdinParams => StdinTaken, "Feeds a running command.";
        Cancel = "exec.cancel": CancelParams => Empty, "Ends a running command.";
        Signal = "exec.signal": SignalParams => Empty, "Signals a running command.";
        ListJobs = "job.list": JobListParams => JobList, "The jobs of a sandbox.";
        ReadJob = "job.output": JobOutputParams => JobOutput, "What a job has written, by cursor.";
        WaitJob = "job.wait": JobWaitParams => JobInfo, "Waits for the end of a job.";
        KillJob = "job.kill": JobRef => Empty, "Ends a job with everything of it; one that has ended stays as it is.";
        ForgetJob = "job.forget": JobRef => Empty, "Forgets a job that has ended, with its output.";
        CloseSession = "session.close": SessionRef => Empty, "Forgets the state of a session.";
        ReadFile = "file.read": ReadParams => FileContent, "Reads a file or a part of it.";
        WriteFile = "file.write": WriteParams => Empty, "Writes a whole file.";
        StatFile = "file.stat": PathParams => FileInfo, "What a path names.";
        ListDirectory = "file.list": PathParams => DirectoryListing, "What is in a directory.";
        RemoveFile = "file.remove": RemoveParams => Empty, "Removes a file or directory.";
        MakeDirectory = "file.mkdir": PathParams => Empty, "Makes a directory.";
        MoveFile = "file.move": MoveParams => Empty, "Moves a file or directory.";
        ChangeMode = "file.chmod": ChmodParams => Empty, "Sets permission bits.";
        Classify = "policy.classify": ClassifyParams => HostAccess, "How far mounts reach into the host.";
        ListConditions = "condition.list": Empty => ConditionList, "Which conditions can be brought about.";
        ApplyCondition = "condition.apply": ConditionParams => ConditionApplied, "Brings a condition about.";
        ClearCondition = "condition.clear": ConditionParams => Empty, "Undoes a condition.";
        CallTool = "rpc.call": ToolCallParams => ToolReply, "From the adapter: a command calls a tool.";
        ReadToolReply = "rpc.read": ToolReplyParams => ToolReply, "From the adapter: more of a tool's reply.";
        TakeLedger = "ledger.snapshot": Empty => Ledger, "What the subject owns.";
    }
    notifications {
        Credit = "exec.credit": CreditParams, "From the harness: more output may be sent.";
        Started = "exec.started": StartedParams, "From the adapter: a command was accepted.";
        Output = "exec.output": OutputParams, "From the adapter: a piece of output.";
        Alive = "exec.alive": AliveParams, "From the adapter: a command still runs.";
        OpenProgress = "sandbox.progress": ProgressParams, "From the adapter: an open is under way.";
    }
}
