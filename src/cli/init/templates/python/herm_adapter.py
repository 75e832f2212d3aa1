"""Serve a sandbox backend to herm: the protocol `herm/1` in one file of the standard library (Python 3.9 or newer).

You write a class with three methods, `open`, `run` and `close`, and hand it to `serve`:

    from herm_adapter import Adapter, Execution, Exited, Opened, OpenParams, Outcome, Progress, RunParams, serve

    class Backend(Adapter):
        name = "my-backend"
        capabilities = ("argv",)                      # `herm list capabilities` explains each
        choices = {"shell": "posix", ...}             # `herm list choices` says which your capabilities call for

        def open(self, params: OpenParams, progress: Progress) -> Opened: ...
        def run(self, params: RunParams, execution: Execution) -> Outcome: ...
        def close(self, params: CloseParams) -> bool: ...

    if __name__ == "__main__":
        raise SystemExit(serve(Backend()))

What this file keeps for you, so that none of your methods has to think of it:

* lines and JSON-RPC: limits on length, lines that are no message, unknown fields and methods, typed errors;
* a thread for every request, so that nobody waits for anybody else's command;
* refusals: whatever your class does not declare in `capabilities` is refused before your method is called, and so is
  what no backend could do (a NUL byte in an argument, a variable without a name, a deadline of minus one);
* output: the caller's credit, offsets, the first and last bytes that were asked for, gaps, totals, SHA-256;
* a command's events: `exec.started` once, `exec.alive` while it runs, and one answer after everything else;
* a command's end: its deadline, its cancellation, and the closing of its sandbox call the hook that you give to
  `Execution.on_end`, and whichever comes first, the command's own end included, is the outcome that is told;
* the end of it all: when the caller goes away, or on SIGTERM, SIGINT or SIGHUP, everything that runs is ended and your
  `shutdown` is called.

Methods are called from many threads at the same time. What they print goes to standard error, which is the log:
standard output belongs to the protocol. To refuse a call raise one of the errors below; any other exception is told to
the caller as a fault of the backend, with its traceback in the log.

Text that any system may hold (arguments, paths, variables, input, output) is `bytes` everywhere, because it need not be
valid UTF-8. On the wire it is a JSON string where it is, and `{"b64": "..."}` where it is not.
"""

from __future__ import annotations

import base64
import binascii
import enum
import errno
import functools
import hashlib
import heapq
import itertools
import json
import math
import os
import select
import signal
import sys
import threading
import time
import traceback
import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Literal, Mapping, Optional, Sequence, Set, Tuple, Union, cast

VERSION = "herm/1"
"""The version of the protocol that this file speaks."""

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""The longest message, in bytes without its newline, that is read when the adapter declares nothing else."""

if sys.version_info < (3, 9):
    raise SystemExit("herm_adapter needs Python 3.9 or newer; run the adapter with such a python3")

# The largest piece of output in one message, in bytes.
_PIECE = 32 * 1024
# Messages that may wait for the caller to read them before a command that goes on writing has to wait, too.
_QUEUE = 256
# Seconds between `exec.alive` notifications when the caller names none.
_ALIVE = 5.0
# The longest name of a session, in bytes.
_SESSION = 256
# Seconds that a command which was ended by force waits for the caller to make room for the rest of its output.
_PATIENCE = 0.25
# Seconds that closing waits for the sandbox's commands to end before the backend is asked to remove it.
_CLOSE_GRACE = 2.0
# Seconds that everything under way may take to end when the caller has gone.
_END_GRACE = 3.0
# Seconds that the caller has to take what is left to be told after its input has ended.
_LAST_LINES = 2.0
# Linux takes no longer argument or variable than this, in bytes with its final NUL (execve(2)).
_LONGEST_STRING = 128 * 1024

Json = Dict[str, Any]
StreamName = Literal["stdout", "stderr"]
ErrorKind = Literal[
    "already_exists", "credential_missing", "exec_not_found", "internal", "invalid_argument", "is_a_directory",
    "job_not_found", "limit_exceeded", "not_a_directory", "not_found", "not_initialized", "permission_denied",
    "sandbox_not_found", "timed_out", "tool_failed", "unavailable", "unsupported", "version_mismatch",
]  # fmt: skip
SetupFailure = Literal[
    "cwd_not_found", "cwd_not_a_directory", "cwd_denied", "shell_not_found", "program_not_found", "program_denied",
    "limit_unavailable", "resources_exhausted", "other",
]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Errors: raise one to refuse a call
# ---------------------------------------------------------------------------------------------------------------------


class AdapterError(Exception):
    """A call that is refused: what kind of thing is wrong, with which resource, and what the caller can do.

    `message` is one sentence for people that names the resource; `fix` an imperative sentence.
    """

    def __init__(self, kind: ErrorKind, resource: str, message: str, fix: Optional[str] = None) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.resource = resource
        self.message = message
        self.fix = fix
        self.supported: Tuple[str, ...] = ()
        codes = {"unsupported": -32601, "invalid_argument": -32602, "internal": -32603}
        self.code = codes.get(kind, -32000)

    def to_json(self) -> Json:
        """The error object of JSON-RPC."""
        data: Json = {"kind": self.kind, "resource": self.resource}
        if self.fix is not None:
            data["fix"] = self.fix
        if self.supported:
            data["supported"] = list(self.supported)
        return {"code": self.code, "message": self.message, "data": data}


class Unsupported(AdapterError):
    """The method or option is not offered."""

    def __init__(self, what: str) -> None:
        fix = "leave it out, or use a backend that declares the capability"
        super().__init__("unsupported", what, f"{what} is not supported by this backend", fix)


class InvalidArgument(AdapterError):
    """An argument that cannot be used; `problem` reads on after the field's name. Nothing was done."""

    def __init__(self, field_name: str, problem: str) -> None:
        super().__init__(
            "invalid_argument", field_name, f"{field_name} {problem}", f"correct {field_name} and call again"
        )


class SandboxNotFound(AdapterError):
    """There is no such sandbox, or none any more."""

    def __init__(self, sandbox: str) -> None:
        message = f"sandbox {json.dumps(sandbox)} does not exist or is closed"
        super().__init__("sandbox_not_found", sandbox, message, "open a sandbox with sandbox.open")


class JobNotFound(AdapterError):
    """There is no such job, or none any more."""

    def __init__(self, job: str) -> None:
        message = f"job {json.dumps(job)} is not known"
        super().__init__("job_not_found", job, message, "see job.list for those that are")


class Unavailable(AdapterError):
    """The engine, host or service behind the backend cannot be reached or does not do its part."""

    def __init__(self, resource: str, message: str, fix: str) -> None:
        super().__init__("unavailable", resource, message, fix)


class InternalError(AdapterError):
    """The adapter itself failed while doing `what`."""

    def __init__(self, what: str, cause: object) -> None:
        message = f"failed to {what}: {cause}"
        super().__init__("internal", what, message, "report this as a fault of the backend")


def file_error(action: str, path: bytes, error: OSError) -> AdapterError:
    """The typed error for what the system said about a path; `action` reads on after "failed to"."""
    kinds: Dict[int, ErrorKind] = {
        errno.ENOENT: "not_found",
        errno.EACCES: "permission_denied",
        errno.EPERM: "permission_denied",
        errno.EROFS: "permission_denied",
        errno.EISDIR: "is_a_directory",
        errno.ENOTDIR: "not_a_directory",
        errno.EEXIST: "already_exists",
        errno.ENOTEMPTY: "already_exists",
        errno.ENOSPC: "limit_exceeded",
        errno.EDQUOT: "limit_exceeded",
        errno.EFBIG: "limit_exceeded",
        errno.EMFILE: "limit_exceeded",
        errno.ENFILE: "limit_exceeded",
        errno.ENOMEM: "limit_exceeded",
        errno.ENAMETOOLONG: "invalid_argument",
        errno.ELOOP: "invalid_argument",
        errno.EINVAL: "invalid_argument",
    }
    fixes: Dict[ErrorKind, str] = {
        "not_found": "check the path, or make what it leads through",
        "permission_denied": "give the user access, or use another path",
        "is_a_directory": "name a file",
        "not_a_directory": "name a directory; part of the path is none",
        "already_exists": "remove what is there, or use another path",
        "limit_exceeded": "free space or descriptors, and try again",
        "invalid_argument": "use another path",
    }
    kind = kinds.get(error.errno or 0, "internal")
    shown = path.decode(errors="replace")
    return AdapterError(kind, shown, f"failed to {action} {shown}: {error.strerror or error}", fixes.get(kind))


# ---------------------------------------------------------------------------------------------------------------------
# Reading parameters: every problem names the field
# ---------------------------------------------------------------------------------------------------------------------


class _Fields:
    """The fields of a JSON object. Fields that nobody asks for are ignored, as the protocol wants it."""

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, dict):
            raise InvalidArgument(path or "params", "is not an object")
        self._value: Json = value
        self._path = path

    def name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def get(self, key: str) -> object:
        """The value, or `None` when it is not there or null."""
        return self._value.get(key)

    def need(self, key: str) -> object:
        value = self.get(key)
        if value is None:
            raise InvalidArgument(self.name(key), "is missing")
        return value

    def text(self, key: str) -> str:
        return _text(self.need(key), self.name(key))

    def optional_text(self, key: str) -> Optional[str]:
        return None if self.get(key) is None else self.text(key)

    def data(self, key: str) -> bytes:
        return _bytes(self.need(key), self.name(key))

    def optional_data(self, key: str) -> Optional[bytes]:
        return None if self.get(key) is None else self.data(key)

    def whole(self, key: str, least: int = 0, most: int = 2**64 - 1) -> int:
        value = self.need(key)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise InvalidArgument(self.name(key), f"is not a whole number from {least} to {most}")
        return value

    def optional_whole(self, key: str) -> Optional[int]:
        return None if self.get(key) is None else self.whole(key)

    def flag(self, key: str) -> bool:
        value = self.get(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise InvalidArgument(self.name(key), "is neither true nor false")
        return value

    def items(self, key: str) -> List[Tuple[str, object]]:
        """The elements of a list, each with its name; none when the list is not there."""
        value = self.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise InvalidArgument(self.name(key), "is not a list")
        items = cast(List[object], value)
        return [(f"{self.name(key)}[{index}]", item) for index, item in enumerate(items)]

    def fields(self, key: str) -> _Fields:
        """The object of that name; an empty one when it is not there."""
        value = self.get(key)
        return _Fields({} if value is None else value, self.name(key))


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(name, "is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(name, "holds half of a character (a lone surrogate)") from None
    return value


def _bytes(value: object, name: str) -> bytes:
    if isinstance(value, dict) and "b64" in value:
        try:
            return base64.b64decode(_text(cast(Json, value)["b64"], f"{name}.b64"), validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidArgument(f"{name}.b64", f"is not base64: {error}") from None
    if not isinstance(value, str):
        raise InvalidArgument(name, 'is neither a string nor {"b64": "..."}')
    return _text(value, name).encode()


def bytes_to_json(data: bytes) -> Union[str, Json]:
    """Bytes as they go over the wire: a string where they are valid UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(data).decode("ascii")}


def length_on_the_wire(data: bytes) -> int:
    """How many bytes of a message such data takes, for what has to fit into one message."""
    return len(_encode(bytes_to_json(data)))


def _encode(value: object) -> bytes:
    # A lone surrogate can only come from the caller's own id; as an escape it goes back as it came.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


# ---------------------------------------------------------------------------------------------------------------------
# What calls bring
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InitializeParams:
    """`initialize`: the first call."""

    protocol: Tuple[str, ...]
    """The versions that the caller speaks."""
    run: str
    """The id of this run; whatever the backend makes should carry it."""
    scratch: str
    """A directory for temporary files that the caller removes after the run."""


@dataclass(frozen=True)
class Variable:
    """An environment variable. Its name is not empty and has no `=` in it; neither part has a NUL byte."""

    name: bytes
    value: bytes


@dataclass(frozen=True)
class Mount:
    """A directory of the host inside the sandbox."""

    source: bytes
    target: bytes
    read_only: bool


@dataclass(frozen=True)
class Network:
    """What of the network a sandbox reaches: whatever there is, nothing, or only these hosts."""

    mode: Literal["default", "none", "allow"]
    hosts: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Limits:
    """Bounds on resources; `None` where there is none."""

    memory_bytes: Optional[int] = None
    pids: Optional[int] = None
    cpu_millis: Optional[int] = None
    disk_bytes: Optional[int] = None


@dataclass(frozen=True)
class OpenParams:
    """`sandbox.open`: what the sandbox shall be like. Only what your class declares can be set here."""

    key: Optional[str] = None
    """The caller's stable name; opening a known key attaches."""
    image: Optional[str] = None
    """The image or template to start from."""
    cwd: Optional[bytes] = None
    """The absolute path of the directory that commands start in; your own working directory when `None`."""
    env: Tuple[Variable, ...] = ()
    """Variables that every command sees."""
    mounts: Tuple[Mount, ...] = ()
    network: Network = Network("default")
    limits: Limits = Limits()
    user: Optional[str] = None
    idle_ms: Optional[int] = None
    """How long nothing may go on in it before it ends, in milliseconds."""


@dataclass(frozen=True)
class CloseParams:
    """`sandbox.close`: which sandbox, and what becomes of it."""

    sandbox: str
    how: Literal["detach", "stop", "destroy"] = "destroy"


@dataclass(frozen=True)
class Argv:
    """A program with its arguments, at least one word, the first one not empty; no shell reads them."""

    words: Tuple[bytes, ...]


@dataclass(frozen=True)
class Shell:
    """Text for the shell that the choice `shell` names. It may be empty, or begin with a dash."""

    text: bytes


Command = Union[Argv, Shell]


@dataclass(frozen=True)
class Capture:
    """How much of a command's output the caller wants; `Execution.write` sees to it."""

    head: int
    tail: int
    digest: bool


@dataclass(frozen=True)
class Pty:
    """The size of a terminal, in characters."""

    rows: int
    columns: int


@dataclass(frozen=True)
class RunParams:
    """`exec.run`: a command. Only what your class declares can be set here."""

    sandbox: str
    exec: str
    """The caller's name for this command."""
    command: Command
    cwd: Optional[bytes] = None
    """The directory it starts in; the sandbox's own when `None`."""
    env: Tuple[Variable, ...] = ()
    """Variables on top of the sandbox's; these win."""
    stdin: Literal["none", "bytes", "stream"] = "none"
    """Whether it has input: `Execution.input` gives what comes."""
    timeout: Optional[float] = None
    """Seconds, counted from the call. `Execution.on_end` says when they are over; you need not count them yourself."""
    session: Optional[str] = None
    """The session whose state it starts from and leaves behind; its command is text then."""
    user: Optional[str] = None
    pty: Optional[Pty] = None
    detach: bool = False
    """Whether it goes on as a job: such a call comes to `Adapter.start_job`, and never to `run`."""
    capture: Optional[Capture] = None
    window: Optional[int] = None
    alive: float = _ALIVE
    stdin_data: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class ReadParams:
    """`file.read`: `length` bytes from `offset` on, all to the end when `None`; past the end there are none."""

    sandbox: str
    path: bytes
    offset: int = 0
    length: Optional[int] = None


@dataclass(frozen=True)
class WriteParams:
    """`file.write`: the file's content becomes `data`, all at once: no reader sees a part of it."""

    sandbox: str
    path: bytes
    data: bytes


@dataclass(frozen=True)
class PathParams:
    """`file.stat`, `file.list` and `file.mkdir`."""

    sandbox: str
    path: bytes


@dataclass(frozen=True)
class RemoveParams:
    """`file.remove`: a directory goes with everything in it only when `recursive`."""

    sandbox: str
    path: bytes
    recursive: bool = False


@dataclass(frozen=True)
class MoveParams:
    """`file.move`."""

    sandbox: str
    source: bytes
    target: bytes


@dataclass(frozen=True)
class ChmodParams:
    """`file.chmod`: permission bits."""

    sandbox: str
    path: bytes
    mode: int


@dataclass(frozen=True)
class JobOutputParams:
    """`job.output`: at most `length` bytes of a stream, from the offset `start` on. It is answered at once."""

    sandbox: str
    job: str
    stream: StreamName
    start: int = 0
    length: int = 1024 * 1024


@dataclass(frozen=True)
class ConditionParams:
    """`condition.apply` and `condition.clear`: an act on the backend's world that its own interface has no word for."""

    name: str
    sandbox: Optional[str] = None
    """The sandbox that it strikes; `None` for one of the whole backend."""


def _variables(fields: _Fields, key: str) -> Tuple[Variable, ...]:
    variables: List[Variable] = []
    for name, item in fields.items(key):
        entry = _Fields(item, name)
        variable = Variable(entry.data("name"), entry.data("value"))
        if not variable.name:
            raise InvalidArgument(entry.name("name"), "is empty")
        if b"=" in variable.name:
            raise InvalidArgument(entry.name("name"), 'has a "=" in it')
        _refuse_nul(entry.name("name"), variable.name)
        _refuse_nul(entry.name("value"), variable.value)
        _refuse_long(entry.name("value"), len(variable.name) + 1 + len(variable.value))
        variables.append(variable)
    return tuple(variables)


def _path(fields: _Fields, key: str) -> bytes:
    path = fields.data(key)
    if not path:
        raise InvalidArgument(fields.name(key), "is empty")
    _refuse_nul(fields.name(key), path)
    return path


def _refuse_nul(name: str, data: bytes) -> None:
    if b"\0" in data:
        raise InvalidArgument(name, "has a NUL byte in it, which no system can pass on")


def _refuse_long(name: str, length: int) -> None:
    if length >= _LONGEST_STRING:
        problem = f"has {length} bytes, and the system takes fewer than {_LONGEST_STRING}"
        raise InvalidArgument(name, f"{problem}; put the data in a file or on standard input")


def _open_params(fields: _Fields) -> OpenParams:
    spec = fields.fields("spec")
    network = Network("default")
    if spec.get("network") is not None:
        wish = spec.fields("network")
        mode = wish.text("mode")
        if mode != "allow" and wish.get("hosts"):
            problem = "goes with the mode allow; leave it out, or ask for that mode"
            raise InvalidArgument(wish.name("hosts"), problem)
        if mode == "none":
            network = Network("none")
        elif mode == "allow":
            network = Network("allow", tuple(_text(host, name) for name, host in wish.items("hosts")))
        elif mode != "default":
            raise InvalidArgument(wish.name("mode"), "is none of default, none and allow")
    mounts: List[Mount] = []
    for name, item in spec.items("mounts"):
        mount = _Fields(item, name)
        mounts.append(Mount(_path(mount, "source"), _path(mount, "target"), mount.flag("read_only")))
    cwd = None if spec.get("cwd") is None else _path(spec, "cwd")
    if cwd is not None and not cwd.startswith(b"/"):
        raise InvalidArgument(spec.name("cwd"), f"is not absolute: {cwd.decode(errors='replace')}")
    limits = spec.fields("limits")
    return OpenParams(
        key=fields.optional_text("key"),
        image=spec.optional_text("image"),
        cwd=cwd,
        env=_variables(spec, "env"),
        mounts=tuple(mounts),
        network=network,
        limits=Limits(
            memory_bytes=limits.optional_whole("memory_bytes"),
            pids=limits.optional_whole("pids"),
            cpu_millis=limits.optional_whole("cpu_millis"),
            disk_bytes=limits.optional_whole("disk_bytes"),
        ),
        user=spec.optional_text("user"),
        idle_ms=spec.optional_whole("idle_ms"),
    )


def _close_params(fields: _Fields) -> CloseParams:
    how = fields.optional_text("how")
    if how is None or how == "destroy":
        return CloseParams(fields.text("sandbox"))
    if how == "stop":
        return CloseParams(fields.text("sandbox"), "stop")
    if how == "detach":
        return CloseParams(fields.text("sandbox"), "detach")
    raise InvalidArgument("how", "is none of detach, stop and destroy")


def _command(fields: _Fields) -> Command:
    fields.need("command")
    command = fields.fields("command")
    if command.get("argv") is not None:
        words = tuple(_bytes(word, name) for name, word in command.items("argv"))
        if not words:
            raise InvalidArgument("command.argv", "is empty; its first element names the program")
        if not words[0]:
            raise InvalidArgument("command.argv[0]", "is empty; it names the program")
        for index, word in enumerate(words):
            _refuse_nul(f"command.argv[{index}]", word)
            _refuse_long(f"command.argv[{index}]", len(word))
        return Argv(words)
    if command.get("shell") is not None:
        text = command.data("shell")
        _refuse_nul("command.shell", text)
        return Shell(text)
    raise InvalidArgument("command", "has neither argv nor shell")


def _session(fields: _Fields) -> str:
    name = fields.text("session")
    if not 1 <= len(name.encode("utf-8", "surrogatepass")) <= _SESSION:
        raise InvalidArgument("session", f"is no name of 1 to {_SESSION} bytes")
    return name


def _run_params(fields: _Fields) -> RunParams:
    stdin: Literal["none", "bytes", "stream"] = "none"
    stdin_data = b""
    if fields.get("stdin") is not None:
        given = fields.fields("stdin")
        mode = given.text("mode")
        if mode == "bytes":
            stdin, stdin_data = "bytes", given.data("data")
        elif mode == "stream":
            stdin = "stream"
        elif mode != "none":
            raise InvalidArgument("stdin.mode", "is none of none, bytes and stream")
    capture = None
    if fields.get("capture") is not None:
        wish = fields.fields("capture")
        capture = Capture(wish.whole("head"), wish.whole("tail"), wish.flag("digest"))
    pty = None
    if fields.get("pty") is not None:
        size = fields.fields("pty")
        pty = Pty(size.whole("rows", most=65535), size.whole("columns", most=65535))
    timeout = fields.optional_whole("timeout_ms")
    alive = fields.optional_whole("alive_ms")
    return RunParams(
        sandbox=fields.text("sandbox"),
        exec=fields.text("exec"),
        command=_command(fields),
        cwd=None if fields.get("cwd") is None else _path(fields, "cwd"),
        env=_variables(fields, "env"),
        stdin=stdin,
        stdin_data=stdin_data,
        timeout=None if timeout is None else timeout / 1000,
        session=None if fields.get("session") is None else _session(fields),
        user=fields.optional_text("user"),
        pty=pty,
        detach=fields.flag("detach"),
        capture=capture,
        window=fields.optional_whole("window"),
        alive=_ALIVE if alive is None else max(alive, 10) / 1000,
    )


# ---------------------------------------------------------------------------------------------------------------------
# What calls answer
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Opened:
    """Answer to `sandbox.open`: from now on the sandbox runs commands."""

    sandbox: str
    """The id that every later call names."""
    cwd: Optional[bytes] = None
    """The directory that commands start in."""
    state: Literal["created", "attached", "recreated"] = "created"
    exec_mode: str = "native"
    notices: Sequence[str] = ()
    """What the caller should know: what was lost, healed or weakened."""

    def to_json(self) -> Json:
        """As it goes over the wire."""
        answer: Json = {"sandbox": self.sandbox, "state": self.state, "exec_mode": self.exec_mode}
        return _with(answer, cwd=self.cwd, notices=list(self.notices))


@dataclass(frozen=True)
class SandboxInfo:
    """A sandbox as listed or inspected."""

    sandbox: str
    state: Literal["starting", "running", "paused", "stopped"] = "running"
    cwd: Optional[bytes] = None
    key: Optional[str] = None

    def to_json(self) -> Json:
        """As it goes over the wire."""
        return _with({"sandbox": self.sandbox, "state": self.state}, cwd=self.cwd, key=self.key)


@dataclass(frozen=True)
class FileContent:
    """Answer to `file.read`: the bytes that were asked for, and the size of the whole file."""

    data: bytes
    size: int

    def to_json(self) -> Json:
        """As it goes over the wire."""
        return {"data": bytes_to_json(self.data), "size": self.size}


@dataclass(frozen=True)
class FileInfo:
    """What a path names; links are not followed."""

    name: bytes
    kind: Literal["file", "directory", "symlink", "other"]
    size: int
    mode: int
    """Permission bits, 0 to 0o7777."""

    def to_json(self) -> Json:
        """As it goes over the wire."""
        return {"name": bytes_to_json(self.name), "kind": self.kind, "size": self.size, "mode": self.mode}


@dataclass(frozen=True)
class Problem:
    """One thing that is missing on this machine, and the step that mends it."""

    what: str
    fix: str


@dataclass(frozen=True)
class MountAccess:
    """How far one mount reaches into the host, and why."""

    mount: str
    """As it was asked for."""
    level: str
    """`none`, `read`, `write`, or `control` where the host does what a command wants."""
    reason: str


@dataclass(frozen=True)
class LedgerItem:
    """One thing that the backend has made and that still exists."""

    kind: str
    """`process`, `container`, `instance`, `mount`, `file`, `socket`, `remote`, or your own word."""
    id: str
    """Stable, and never given to another thing."""


@dataclass(frozen=True)
class Exited:
    """The command exited by itself; a shell's 126 and 127 are here, too."""

    code: int

    def to_json(self) -> Json:
        """As it goes over the wire."""
        return {"type": "exited", "code": self.code}


@dataclass(frozen=True)
class Signaled:
    """A signal ended it that the backend did not send."""

    number: int
    cause: Literal["out_of_memory", "unknown"] = "unknown"

    def to_json(self) -> Json:
        """As it goes over the wire."""
        return {"type": "signaled", "number": self.number, "cause": self.cause}


@dataclass(frozen=True)
class TimedOut:
    """Its deadline passed, and everything of it was ended."""

    def to_json(self) -> Json:
        """As it goes over the wire."""
        return {"type": "timed_out"}


@dataclass(frozen=True)
class Cancelled:
    """Its caller ended it."""

    def to_json(self) -> Json:
        """As it goes over the wire."""
        return {"type": "cancelled"}


@dataclass(frozen=True)
class SandboxLost:
    """The sandbox that it ran in is gone."""

    def to_json(self) -> Json:
        """As it goes over the wire."""
        return {"type": "sandbox_lost"}


@dataclass(frozen=True)
class TransportLost:
    """The connection to the sandbox was lost; how the command ended is not known, and must not be made up."""

    def to_json(self) -> Json:
        """As it goes over the wire."""
        return {"type": "transport_lost"}


@dataclass(frozen=True)
class SetupFailed:
    """Nothing of the command ran; the message is for people and names what was in the way."""

    kind: SetupFailure
    message: str

    def to_json(self) -> Json:
        """As it goes over the wire."""
        return {"type": "setup_failed", "kind": self.kind, "message": self.message}


Outcome = Union[Exited, Signaled, TimedOut, Cancelled, SandboxLost, TransportLost, SetupFailed]
"""How a command ended: a closed set. Never tell an exit code that you do not know."""


@dataclass(frozen=True)
class JobInfo:
    """A job: its id, what was run, how many seconds ago, how it ended (`None` while it runs), and how many bytes it has
    written until now."""

    job: str
    command: bytes
    age: float
    outcome: Optional[Outcome] = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0

    def to_json(self) -> Json:
        """As it goes over the wire."""
        answer: Json = {
            "job": self.job,
            "command": bytes_to_json(self.command),
            "age_ms": int(self.age * 1000),
            "stdout": {"bytes": self.stdout_bytes},
            "stderr": {"bytes": self.stderr_bytes},
        }
        return _with(answer, outcome=None if self.outcome is None else self.outcome.to_json())


@dataclass(frozen=True)
class JobOutput:
    """Answer to `job.output`. Where `offset` is past what was asked for, the bytes between are kept no more."""

    data: bytes
    offset: int
    end: bool
    """Whether the job has ended and nothing follows `data`."""


@dataclass(frozen=True)
class Condition:
    """A condition that can be brought about; `herm list conditions` explains each."""

    name: str
    does: str
    """What is done for it here, in one line for people."""
    names: Optional[str] = None
    """What an error that comes of it has to name; only for conditions that take something away."""


def _with(answer: Json, **more: object) -> Json:
    """The answer with those of the fields that hold something."""
    for name, value in more.items():
        if value is not None and value != []:
            answer[name] = bytes_to_json(value) if isinstance(value, bytes) else value
    return answer


# ---------------------------------------------------------------------------------------------------------------------
# The class that you derive from
# ---------------------------------------------------------------------------------------------------------------------


class Adapter:
    """A sandbox backend: override `open`, `run` and `close`, and what stands behind the capabilities you declare."""

    name: str = "unnamed"
    """The backend's name in reports."""
    version: str = "0"
    homepage: Optional[str] = None
    backend: Optional[str] = None
    """What kind of place commands run in: `local`, `docker`, `ssh` ..."""
    mode: Optional[str] = "native"
    """How commands are run there."""
    emulated: bool = False
    """Whether the service behind it is an emulation."""
    capabilities: Sequence[str] = ()
    """What works; everything else is refused before your methods are called."""
    choices: Mapping[str, str] = {}
    """Which way holds where both are right."""
    parallelism: int = 1
    """How many requirements may be tested at the same time."""
    max_message_bytes: int = MAX_MESSAGE_BYTES
    """The longest message that is read."""

    def initialize(self, params: InitializeParams) -> None:
        """The first call; it comes alone. Keep `params.scratch` and `params.run` if you make things."""

    def preflight(self) -> Sequence[Problem]:
        """What is missing on this machine; an empty list when nothing is. Needs `preflight`."""
        raise Unsupported("preflight")

    def open(self, params: OpenParams, progress: Progress) -> Opened:
        """Opens a sandbox that is ready to run commands. A failed open leaves nothing behind."""
        raise NotImplementedError

    def run(self, params: RunParams, execution: Execution) -> Outcome:
        """Runs a command to its end, and tells how it ended.

        Call `execution.started()` when it runs, `execution.on_end(hook)` with what ends everything of it,
        `execution.write(...)` with what it writes; and return the outcome that the command itself has. Where its
        deadline, a cancellation or the closing of its sandbox came first, that is told instead of what you return.
        """
        raise NotImplementedError

    def close(self, params: CloseParams) -> bool:
        """Closes a sandbox; returns whether there was anything to close, which is no error. Its commands were ended."""
        raise NotImplementedError

    def list(self) -> Sequence[SandboxInfo]:
        """Every sandbox of this caller. Needs `list`."""
        raise Unsupported("sandbox.list")

    def inspect(self, sandbox: str) -> SandboxInfo:
        """One sandbox. Needs `inspect`."""
        raise Unsupported("sandbox.inspect")

    def read_file(self, params: ReadParams) -> FileContent:
        """Reads a file or a part of it. This and all that follow need `files`."""
        raise Unsupported("file.read")

    def write_file(self, params: WriteParams) -> None:
        """Writes a whole file."""
        raise Unsupported("file.write")

    def stat_file(self, params: PathParams) -> FileInfo:
        """What a path names."""
        raise Unsupported("file.stat")

    def list_directory(self, params: PathParams) -> Sequence[FileInfo]:
        """What is in a directory, hidden names included, in the order of their bytes."""
        raise Unsupported("file.list")

    def remove_file(self, params: RemoveParams) -> None:
        """Removes a file or directory."""
        raise Unsupported("file.remove")

    def make_directory(self, params: PathParams) -> None:
        """Makes a directory with its parents."""
        raise Unsupported("file.mkdir")

    def move_file(self, params: MoveParams) -> None:
        """Moves a file or directory."""
        raise Unsupported("file.move")

    def change_mode(self, params: ChmodParams) -> None:
        """Sets permission bits."""
        raise Unsupported("file.chmod")

    def start_job(self, params: RunParams) -> str:
        """Starts a command that goes on as a job; returns the job's id. All about jobs needs `jobs`."""
        raise Unsupported("detach")

    def list_jobs(self, sandbox: str) -> Sequence[JobInfo]:
        """Every job of a sandbox that was not forgotten, the oldest first."""
        raise Unsupported("job.list")

    def read_job(self, params: JobOutputParams) -> JobOutput:
        """What a job has written, from a place on; answered at once with what is there."""
        raise Unsupported("job.output")

    def wait_job(self, sandbox: str, job: str, seconds: Optional[float]) -> JobInfo:
        """Waits for the end of a job, no longer than so many seconds; tells how it stands then."""
        raise Unsupported("job.wait")

    def kill_job(self, sandbox: str, job: str) -> None:
        """Ends a job with everything of it; one that has ended stays as it is."""
        raise Unsupported("job.kill")

    def forget_job(self, sandbox: str, job: str) -> None:
        """Forgets a job that has ended, with its output."""
        raise Unsupported("job.forget")

    def close_session(self, sandbox: str, session: str) -> None:
        """Forgets the state of a session; one that is not known is no error. Needs `sessions`."""
        raise Unsupported("session.close")

    def list_conditions(self) -> Sequence[Condition]:
        """Which acts on its own world the backend can carry out for the tests, such as stopping a container."""
        raise Unsupported("condition.list")

    def apply_condition(self, params: ConditionParams) -> Sequence[Variable]:
        """Brings a condition about; returns variables that adapters are to be started with meanwhile, if any."""
        raise Unsupported("condition.apply")

    def clear_condition(self, params: ConditionParams) -> None:
        """Undoes a condition; one that does not hold is no error."""
        raise Unsupported("condition.clear")

    def classify(self, mounts: Sequence[str]) -> Sequence[MountAccess]:
        """How far each of these mounts would reach, in their order; nothing is mounted. Needs `host_access`."""
        raise Unsupported("policy.classify")

    def ledger(self) -> Sequence[LedgerItem]:
        """Everything that the backend has made and that still exists. Needs `ledger`."""
        raise Unsupported("ledger.snapshot")

    def shutdown(self) -> None:
        """The caller has gone, and every command was ended: remove every sandbox that is not meant to outlive it."""


# ---------------------------------------------------------------------------------------------------------------------
# The caller's side of one running command
# ---------------------------------------------------------------------------------------------------------------------


class Ending(enum.Enum):
    """Why a command is ended before its time."""

    DEADLINE = "deadline"
    CANCEL = "cancel"
    CLOSE = "close"

    def outcome(self) -> Outcome:
        """What is told of a command that was ended for this reason."""
        if self is Ending.DEADLINE:
            return TimedOut()
        return Cancelled() if self is Ending.CANCEL else SandboxLost()


class Progress:
    """Tells the caller of `sandbox.open` how far it is."""

    def __init__(self, writer: _Writer) -> None:
        self._writer = writer

    def report(self, message: str) -> None:
        """One step, for people."""
        self._writer.send(_notification("sandbox.progress", {"message": message}))


class Execution:
    """What `Adapter.run` has to do with: output, input, and the wishes of the caller. Use it from any thread."""

    def __init__(self, params: RunParams, writer: _Writer) -> None:
        self.accepted = time.monotonic()
        self.params = params
        self._writer = writer
        self._recorder = _Recorder(params.exec, params.capture, params.window, writer)
        self._input = _Input(params, writer)
        self._lock = threading.Condition()
        self._ending: Optional[Ending] = None
        self._own: Optional[Outcome] = None
        self._end_hook: Optional[Callable[[], None]] = None
        self._end_called = False
        self._signal_hook: Optional[Callable[[int], None]] = None
        self._signals: List[int] = []
        self._signalling = False
        self._answered = False
        self._returned = threading.Event()
        self.notices: List[str] = []
        """What the caller should know; add to it while the command runs."""
        self.job: Optional[str] = None
        """The job under which something that it has left running goes on; needs `jobs`."""

    def started(self) -> None:
        """The command was accepted and begins to run. Called by itself before the first output at the latest."""
        self._recorder.start()

    def write(self, stream: StreamName, data: bytes) -> None:
        """Takes bytes that the command wrote; returns when the caller has room for more, which is the back pressure.

        It never blocks for long once the command is ended by force: what the caller has no room for is told as a gap.
        """
        self._recorder.write(stream, data)

    def input(self) -> Iterator[bytes]:
        """What the command shall read, piece by piece; it ends where the input ends. Nothing when there is no input.

        Asking for the next piece tells the caller that there is room for more.
        """
        return self._input.pieces()

    def close_input(self) -> None:
        """The command reads no more: what still comes is told to be unread. Called by itself when `run` returns."""
        self._input.close()

    def on_end(self, hook: Callable[[], None]) -> None:
        """Gives what ends everything of the command, at once and for sure; `run` should return soon after it.

        It is called at most once, from a thread of its own: when the deadline passes, the caller cancels, or the
        sandbox is closed; also when that has happened before this call.
        """
        with self._lock:
            self._end_hook = hook
        self._call_end_hook()

    def on_signal(self, hook: Callable[[int], None]) -> None:
        """Gives what sends the command a signal by its number. Signals come one after the other, in order."""
        with self._lock:
            self._signal_hook = hook
        self._send_signals()

    @property
    def ending(self) -> Optional[Ending]:
        """Why the command is being ended by force, or `None`."""
        with self._lock:
            return self._ending

    def conclude(self, outcome: Outcome) -> Outcome:
        """The command has ended by itself, and so: no deadline changes its outcome any more. Returns what is told.

        Call it when the command's own end is known and there is still output to collect. It is called by itself with
        what `run` returns.
        """
        with self._lock:
            if self._ending is not None:
                return self._ending.outcome()
            if self._own is None:
                self._own = outcome
            return self._own

    # What follows is for the server in this file.

    def force(self, ending: Ending) -> None:
        """Ends the command; its own end may have come first. Whoever waits for room for its output waits no longer."""
        with self._lock:
            if self._own is None and self._ending is None:
                self._ending = ending
        self._recorder.hurry()
        self._input.close()
        self._call_end_hook()

    def signal(self, number: int) -> None:
        """Passes a signal on."""
        with self._lock:
            self._signals.append(number)
        self._send_signals()

    def credit(self, amount: int) -> None:
        """Lets so many more bytes be sent."""
        self._recorder.grant(amount)

    def feed(self, message_id: object, data: bytes, eof: bool) -> None:
        """Queues a piece of input; it is answered when it is taken."""
        self._input.feed(message_id, data, eof)

    def alive(self) -> bool:
        """Tells that the command still runs; returns whether it does."""
        with self._lock:
            if self._answered:
                return False
            if not self._writer.is_full():
                self._writer.post(_notification("exec.alive", {"exec": self.params.exec}))
            return True

    def returned(self) -> None:
        """The backend's `run` has returned."""
        self._input.close()
        self._returned.set()

    def await_return(self, seconds: float) -> bool:
        """Waits for the backend's `run` to return."""
        return self._returned.wait(max(seconds, 0))

    def finish(self, outcome: Outcome) -> Json:
        """Tells the rest of the output; returns the answer, after which nothing more is told."""
        duration = int((time.monotonic() - self.accepted) * 1000)
        outcome = self.conclude(outcome)
        if not isinstance(outcome, SetupFailed):
            self._recorder.start()
        forced = isinstance(outcome, (TimedOut, Cancelled, SandboxLost, TransportLost))
        if forced:
            self._recorder.hurry()
        answer = {"outcome": outcome.to_json(), **self._recorder.finish(), "duration_ms": duration}
        self.mute()
        return _with(answer, notices=list(self.notices), job=self.job)

    def mute(self) -> None:
        """From now on nothing is told of the command."""
        with self._lock:
            self._answered = True

    def _call_end_hook(self) -> None:
        with self._lock:
            if self._ending is None or self._end_hook is None or self._end_called:
                return
            self._end_called = True
            hook = self._end_hook
        _in_thread(lambda: _logged("end a command", hook))

    def _send_signals(self) -> None:
        with self._lock:
            if self._signal_hook is None or self._signalling or not self._signals:
                return
            self._signalling = True
        _in_thread(self._signal_loop)

    def _signal_loop(self) -> None:
        while True:
            with self._lock:
                if not self._signals or self._signal_hook is None:
                    self._signalling = False
                    return
                number, hook = self._signals.pop(0), self._signal_hook
            _logged("send a signal", functools.partial(hook, number))


class _Input:
    """What a command is fed."""

    def __init__(self, params: RunParams, writer: _Writer) -> None:
        self._writer = writer
        self._lock = threading.Condition()
        self._queue: deque[Tuple[object, bytes]] = deque()
        self._ended = params.stdin != "stream"
        self._closed = False
        self._given = params.stdin_data if params.stdin == "bytes" else None

    def pieces(self) -> Iterator[bytes]:
        if self._given is not None:
            yield self._given
            return
        while True:
            with self._lock:
                while not self._queue and not self._ended and not self._closed:
                    self._lock.wait()
                if not self._queue or self._closed:
                    return
                message_id, data = self._queue.popleft()
            self._answer(message_id, True)
            yield data

    def feed(self, message_id: object, data: bytes, eof: bool) -> None:
        with self._lock:
            taken = not self._closed and not self._ended
            if taken:
                self._queue.append((message_id, data))
                self._ended = eof
                self._lock.notify_all()
        if not taken:
            self._answer(message_id, False)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            left = [message_id for message_id, _ in self._queue]
            self._queue.clear()
            self._lock.notify_all()
        for message_id in left:
            self._answer(message_id, False)

    def _answer(self, message_id: object, is_open: bool) -> None:
        self._writer.post(_response(message_id, {"open": is_open}))


class _Stream:
    """What is known of one stream of output."""

    def __init__(self, name: StreamName, digest: bool) -> None:
        self.name: StreamName = name
        self.lock = threading.Lock()
        self.total = 0
        self.sent = 0
        self.given_up = False
        self.tail = bytearray()
        self.digest = hashlib.sha256() if digest else None

    def keep_tail(self, data: bytes, limit: int) -> None:
        """Keeps the last `limit` bytes; the buffer is cut only when it has doubled, so the cost stays linear."""
        if limit and data:
            self.tail += data[-limit:]
            if len(self.tail) > 2 * limit:
                del self.tail[:-limit]

    def take_tail(self, limit: int) -> bytes:
        tail = bytes(self.tail[-limit:]) if limit else b""
        self.tail.clear()
        return tail


class _Recorder:
    """Counts, digests and bounds the output of one command, and sends it within the caller's credit."""

    def __init__(self, exec_name: str, capture: Optional[Capture], window: Optional[int], writer: _Writer) -> None:
        digest = capture is not None and capture.digest
        self._exec = exec_name
        self._capture = capture
        self._writer = writer
        self._room = threading.Condition()
        self._credit = window
        # Seconds that may still be waited for room, and the time from which a full queue is not waited for; `None`
        # while nothing presses.
        self._patience: Optional[float] = None
        self._limit: Optional[float] = None
        self._starting = threading.Lock()
        self._started = False
        self._closed = False
        self._streams: Dict[StreamName, _Stream] = {
            "stdout": _Stream("stdout", digest),
            "stderr": _Stream("stderr", digest),
        }

    def start(self) -> None:
        # Whoever comes second waits for the first, so that no output overtakes the announcement.
        with self._starting:
            if not self._started:
                self._started = True
                self._writer.post(_notification("exec.started", {"exec": self._exec}))

    def grant(self, amount: int) -> None:
        with self._room:
            if self._credit is not None:
                self._credit += amount
                self._room.notify_all()

    def hurry(self) -> None:
        """From now on nobody waits long for the caller to make room."""
        with self._room:
            if self._patience is None:
                self._patience = _PATIENCE
                self._limit = time.monotonic() + _PATIENCE
                self._room.notify_all()

    def write(self, name: StreamName, data: bytes) -> None:
        if not data:
            return
        self.start()
        stream = self._streams[name]
        with stream.lock:
            if self._closed:
                return
            offset = stream.total
            stream.total += len(data)
            if stream.digest is not None:
                stream.digest.update(data)
            head = data
            if self._capture is not None:
                split = max(self._capture.head - offset, 0)
                head = data[:split]
                stream.keep_tail(data[split:], self._capture.tail)
            if not stream.given_up:
                stream.sent += self._send_pieces(name, offset, head)
                stream.given_up = stream.sent < offset + len(head) and bool(head)

    def finish(self) -> Json:
        """Sends what is left; returns totals and gaps. Later writes are dropped."""
        answer: Json = {}
        gaps: List[Json] = []
        self._closed = True
        for name, stream in self._streams.items():
            with stream.lock:
                tail = b"" if self._capture is None else stream.take_tail(self._capture.tail)
                begin = stream.total - len(tail)
                sent = begin + self._send_pieces(name, begin, tail)
                for start, end in _joined([(stream.sent, begin), (sent, stream.total)]):
                    gaps.append({"stream": name, "from": start, "to": end})
                answer[name] = {"bytes": stream.total}
                if stream.digest is not None:
                    answer[name]["sha256"] = stream.digest.hexdigest()
        return _with(answer, gaps=gaps)

    def _send_pieces(self, name: StreamName, offset: int, data: bytes) -> int:
        """Sends data in pieces within the caller's credit; returns how many bytes went."""
        sent = 0
        while sent < len(data):
            size = self._take_credit(min(len(data) - sent, _PIECE))
            if size == 0:
                return sent
            piece = {
                "exec": self._exec,
                "stream": name,
                "offset": offset + sent,
                "data": bytes_to_json(data[sent : sent + size]),
            }
            if not self._writer.send(_notification("exec.output", piece), self._deadline):
                return sent
            sent += size
        return sent

    def _deadline(self) -> Optional[float]:
        return self._limit

    def _take_credit(self, wanted: int) -> int:
        """Waits for room for at least one byte and takes room for at most `wanted`; 0 when there will be none."""
        with self._room:
            while self._credit is not None and self._credit <= 0:
                if self._writer.broken or (self._patience is not None and self._patience <= 0):
                    return 0
                begin, pressed = time.monotonic(), self._patience
                self._room.wait(1.0 if pressed is None else pressed)
                if pressed is not None:
                    self._patience = pressed - (time.monotonic() - begin)
            if self._credit is None:
                return wanted
            size = min(wanted, self._credit)
            self._credit -= size
            return size


def _joined(stretches: List[Tuple[int, int]]) -> List[Tuple[int, int]]:
    """Those of the stretches that are not empty; neighbours become one."""
    joined: List[Tuple[int, int]] = []
    for start, end in stretches:
        if start >= end:
            continue
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


# ---------------------------------------------------------------------------------------------------------------------
# Lines in and out
# ---------------------------------------------------------------------------------------------------------------------


def _notification(method: str, params: Json) -> bytes:
    return _encode({"jsonrpc": "2.0", "method": method, "params": params}) + b"\n"


def _response(message_id: object, result: object) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": message_id, "result": result}) + b"\n"


def _refusal(message_id: object, error: AdapterError) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": message_id, "error": error.to_json()}) + b"\n"


class _Writer:
    """Sends lines from a thread of its own, in the order in which they were given."""

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._lock = threading.Condition()
        self._lines: deque[bytes] = deque()
        self._closing = False
        self._done = threading.Event()
        self.broken = False
        """Whether nobody reads any more."""
        _in_thread(self._loop)

    def post(self, line: bytes) -> None:
        """Never waits: a caller that does not read must still be able to end its input."""
        with self._lock:
            if not self.broken:
                self._lines.append(line)
                self._lock.notify_all()

    def is_full(self) -> bool:
        """Whether the caller is behind with reading."""
        with self._lock:
            return len(self._lines) >= _QUEUE

    def send(self, line: bytes, deadline: Optional[Callable[[], Optional[float]]] = None) -> bool:
        """Waits while the caller is behind with reading, until a deadline that may come while it waits.

        Returns whether the line will be sent.
        """
        with self._lock:
            while len(self._lines) >= _QUEUE and not self.broken:
                until = None if deadline is None else deadline()
                left = 0.1 if until is None else until - time.monotonic()
                if left <= 0:
                    return False
                self._lock.wait(min(left, 0.1))
            if self.broken:
                return False
            self._lines.append(line)
            self._lock.notify_all()
            return True

    def close(self, seconds: float) -> bool:
        """Sends what is left; returns whether the caller has taken it in time."""
        with self._lock:
            self._closing = True
            self._lock.notify_all()
        return self._done.wait(seconds) and not self.broken

    def _loop(self) -> None:
        while True:
            with self._lock:
                while not self._lines and not self._closing:
                    self._lock.wait()
                if not self._lines:
                    break
                batch = b"".join(self._lines)
                self._lines.clear()
                self._lock.notify_all()
            try:
                _write_all(self._descriptor, batch)
            except OSError as error:
                _log(f"the caller reads no more: {error}")
                with self._lock:
                    self.broken = True
                    self._lines.clear()
                    self._lock.notify_all()
                self._on_broken()
                break
        self._done.set()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class _Lines:
    """Reads lines, holding no more of one than the limit, until the input ends or `wake` is called."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waker, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self.limit = MAX_MESSAGE_BYTES

    def wake(self) -> None:
        """Ends the reading; safe in a signal handler."""
        try:
            os.write(self._wake, b"!")
        except OSError:
            pass  # The pipe is full: it wakes all the same.

    def close(self) -> None:
        os.close(self._waker)
        os.close(self._wake)

    def __iter__(self) -> Iterator[Union[bytes, int]]:
        """Lines without newlines; for a line over the limit its length. The last line may lack its newline."""
        line, length = bytearray(), 0
        while True:
            chunk = self._read()
            if chunk is None:
                return
            if not chunk:
                if length:
                    yield bytes(line) if length <= self.limit else length
                return
            start = 0
            while True:
                end = chunk.find(b"\n", start)
                part = chunk[start:] if end < 0 else chunk[start:end]
                length += len(part)
                if length <= self.limit:
                    line += part
                else:
                    line.clear()
                if end < 0:
                    break
                yield bytes(line) if length <= self.limit else length
                line, length, start = bytearray(), 0, end + 1

    def _read(self) -> Optional[bytes]:
        """The next bytes, none at the end of input, `None` when woken."""
        try:
            readable, _, _ = select.select([self._descriptor, self._waker], [], [])
            if self._waker in readable:
                return None
            return os.read(self._descriptor, 64 * 1024)
        except OSError as error:
            _log(f"the input cannot be read: {error}")
            return b""


class _Clock:
    """Calls functions at their time, from one thread. They must not block."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._heap: List[Tuple[float, int, Callable[[], None]]] = []
        self._serial = itertools.count()
        self._stopped = False
        _in_thread(self._loop)

    def at(self, when: float, call: Callable[[], None]) -> None:
        with self._lock:
            heapq.heappush(self._heap, (when, next(self._serial), call))
            self._lock.notify_all()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._heap.clear()
            self._lock.notify_all()

    def _loop(self) -> None:
        while True:
            with self._lock:
                if self._stopped:
                    return
                now = time.monotonic()
                if not self._heap:
                    self._lock.wait()
                    continue
                when, _, call = self._heap[0]
                if when > now:
                    # A longer wait than the system takes is an overflow; an hour is long enough to look again.
                    self._lock.wait(min(when - now, 3600.0))
                    continue
                heapq.heappop(self._heap)
            _logged("keep the time", call)


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


def _logged(what: str, work: Callable[[], None]) -> None:
    """Does something that nobody waits for; what goes wrong is told in the log."""
    try:
        work()
    except BaseException:
        _log(f"failed to {what}:\n{traceback.format_exc()}")


def _log(text: str) -> None:
    """Writes to the log without the locks of `print`, which a thread could hold when the process ends."""
    try:
        os.write(2, f"herm_adapter: {text}\n".encode(errors="replace"))
    except OSError:
        pass  # A log that nobody reads is no reason to stop.


# ---------------------------------------------------------------------------------------------------------------------
# The server
# ---------------------------------------------------------------------------------------------------------------------


# What each option needs. Methods that are not here need nothing, or are not known.
_METHOD_NEEDS = {
    "sandbox.list": "list",
    "sandbox.inspect": "inspect",
    "preflight": "preflight",
    "ledger.snapshot": "ledger",
    "policy.classify": "host_access",
    "exec.stdin": "stdin_stream",
    "exec.cancel": "cancel",
    "exec.signal": "signal",
}


class _NotAMessage(Exception):
    """A line that is no message."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _parse_message(line: bytes) -> Json:
    try:
        value = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _NotAMessage(-32700, f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise _NotAMessage(-32600, "not a JSON-RPC 2.0 message: not an object")
    message = cast(Json, value)
    if message.get("jsonrpc") != "2.0":
        raise _NotAMessage(-32600, 'not a JSON-RPC 2.0 message: "jsonrpc" is not "2.0"')
    if "method" not in message:
        if "id" not in message:
            raise _NotAMessage(-32600, 'not a JSON-RPC 2.0 message: neither "method" nor "id"')
        if ("result" in message) == ("error" in message):
            raise _NotAMessage(-32600, 'not a JSON-RPC 2.0 message: not exactly one of "result" and "error"')
        return message
    if not isinstance(message["method"], str):
        raise _NotAMessage(-32600, 'not a JSON-RPC 2.0 message: "method" is not a string')
    if not isinstance(message.get("params", {}), dict):
        raise _NotAMessage(-32600, 'not a JSON-RPC 2.0 message: "params" is not an object')
    message_id = message.get("id", 0)
    is_number = isinstance(message_id, (int, float)) and not isinstance(message_id, bool) and math.isfinite(message_id)
    if not is_number and not isinstance(message_id, str):
        raise _NotAMessage(-32600, 'not a JSON-RPC 2.0 message: "id" is neither a string nor a number')
    return message


def _variable(variable: Variable) -> Json:
    return {"name": bytes_to_json(variable.name), "value": bytes_to_json(variable.value)}


def _condition(condition: Condition) -> Json:
    return _with({"name": condition.name, "does": condition.does}, names=condition.names)


def _host_access(mounts: Sequence[MountAccess]) -> Json:
    levels = ["none", "read", "write", "control"]
    furthest = max((levels.index(access.level) for access in mounts), default=0)
    listed = [{"mount": access.mount, "level": access.level, "reason": access.reason} for access in mounts]
    return {"level": levels[furthest], "mounts": listed}


def _condition_params(fields: _Fields) -> ConditionParams:
    return ConditionParams(fields.text("name"), fields.optional_text("sandbox"))


def _strike(known: weakref.ref[Execution]) -> None:
    execution = known()
    if execution is not None:
        execution.force(Ending.DEADLINE)


class _Server:
    """Keeps the conversation with one caller."""

    def __init__(self, adapter: Adapter, input_descriptor: int, output_descriptor: int) -> None:
        self._adapter = adapter
        self._lines = _Lines(input_descriptor)
        self._writer = _Writer(output_descriptor, self._lines.wake)
        self._clock = _Clock()
        self._lock = threading.Condition()
        self._executions: Dict[str, Execution] = {}
        self._closing: Set[str] = set()
        self._calls = 0
        self._initialized = False
        self._signal: Optional[int] = None

    def stop(self, number: int) -> None:
        """A signal asks for the end."""
        self._signal = number
        self._lines.wake()

    def serve(self) -> int:
        for line in self._lines:
            if isinstance(line, int):
                self._refuse_long_line(line)
            elif line.strip():
                self._receive(line)
        self._end()
        in_time = self._writer.close(_LAST_LINES)
        self._lines.close()
        if self._signal is not None:
            return 128 + self._signal
        return 0 if in_time else 1

    def _end(self) -> None:
        """Ends every command, waits for what is under way, and lets the adapter clean up."""
        limit = time.monotonic() + _END_GRACE
        for execution in self._running():
            execution.force(Ending.CLOSE)
        with self._lock:
            while self._calls and time.monotonic() < limit:
                self._lock.wait(max(limit - time.monotonic(), 0.01))
        _logged("shut down", self._adapter.shutdown)
        self._clock.stop()

    def _running(self, sandbox: Optional[str] = None) -> List[Execution]:
        with self._lock:
            executions = list(self._executions.values())
        return [execution for execution in executions if sandbox in (None, execution.params.sandbox)]

    # Lines

    def _refuse_long_line(self, length: int) -> None:
        message = f"a message of {length} bytes is over the limit of {self._lines.limit} bytes"
        error = AdapterError("limit_exceeded", "message", message, "send it in smaller pieces")
        self._writer.post(_refusal(None, error))

    def _receive(self, line: bytes) -> None:
        try:
            message = _parse_message(line)
        except _NotAMessage as problem:
            error = InvalidArgument("message", f"is {problem}")
            error.code = problem.code
            self._writer.post(_refusal(None, error))
            return
        if "method" not in message:
            return
        method, params = message["method"], _Fields(message.get("params", {}))
        if "id" not in message:
            self._notification(method, params)
            return
        message_id = message["id"]
        try:
            self._request(message_id, method, params)
        except AdapterError as error:
            self._writer.post(_refusal(message_id, error))
        except Exception as error:
            _log(traceback.format_exc())
            self._writer.post(_refusal(message_id, InternalError(f"handle {method}", error)))

    def _notification(self, method: str, params: _Fields) -> None:
        if method == "exec.credit":
            try:
                name, amount = params.text("exec"), params.whole("bytes")
            except AdapterError as error:
                _log(f"exec.credit: {error}")
                return
            with self._lock:
                execution = self._executions.get(name)
            if execution is not None:
                execution.credit(amount)

    def _request(self, message_id: object, method: str, params: _Fields) -> None:
        """Answers at once, or starts a thread that does. Nothing here may block."""
        if method == "initialize":
            self._writer.post(_response(message_id, self._initialize(params)))
            return
        if not self._initialized:
            message = f"{method} came before initialize"
            raise AdapterError("not_initialized", method, message, "send initialize first")
        if method in _METHOD_NEEDS:
            self._need(_METHOD_NEEDS[method])
        if method == "exec.run":
            self._run(message_id, params)
        elif method == "sandbox.close":
            self._close(message_id, params)
        elif method == "exec.stdin":
            data = params.optional_data("data") or b""
            self._execution(params).feed(message_id, data, params.flag("eof"))
        elif method == "exec.cancel":
            self._execution(params).force(Ending.CANCEL)
            self._writer.post(_response(message_id, {}))
        elif method == "exec.signal":
            number = params.whole("signal", 1, 64)
            self._execution(params).signal(number)
            self._writer.post(_response(message_id, {}))
        else:
            self._spawn(message_id, lambda: self._call(method, params))

    def _spawn(self, message_id: object, work: Callable[[], object]) -> None:
        """Does the work of a request in a thread of its own, and answers it."""

        def answer() -> None:
            try:
                try:
                    line = _response(message_id, work())
                except AdapterError as error:
                    line = _refusal(message_id, error)
                except BaseException as error:
                    _log(traceback.format_exc())
                    cause = f"{type(error).__name__}: {error}"
                    line = _refusal(message_id, InternalError("handle the request", cause))
                self._writer.post(line)
            finally:
                with self._lock:
                    self._calls -= 1
                    self._lock.notify_all()

        with self._lock:
            self._calls += 1
        try:
            _in_thread(answer)
        except RuntimeError as error:
            with self._lock:
                self._calls -= 1
            message = f"no thread can be started for the request: {error}"
            raise AdapterError("limit_exceeded", "threads", message, "wait for other calls to end") from None

    # Methods

    def _need(self, capability: str, asked: object = True) -> None:
        if asked and capability not in self._adapter.capabilities:
            raise Unsupported(capability)

    def _initialize(self, params: _Fields) -> Json:
        offered = tuple(_text(version, name) for name, version in params.items("protocol"))
        if VERSION not in offered:
            message = f"none of the offered protocol versions ({', '.join(offered)}) is spoken here"
            error = AdapterError("version_mismatch", "protocol", message, f"offer {VERSION}")
            error.supported = (VERSION,)
            raise error
        adapter = self._adapter
        adapter.initialize(InitializeParams(offered, params.text("run"), params.text("scratch")))
        self._lines.limit = adapter.max_message_bytes
        self._initialized = True
        answer: Json = {
            "protocol": VERSION,
            "name": adapter.name,
            "version": adapter.version,
            "emulated": adapter.emulated,
            "capabilities": list(adapter.capabilities),
            "choices": dict(adapter.choices),
            "limits": {"max_message_bytes": adapter.max_message_bytes},
            "parallelism": adapter.parallelism,
        }
        return _with(answer, homepage=adapter.homepage, backend=adapter.backend, mode=adapter.mode)

    def _execution(self, params: _Fields) -> Execution:
        name = params.text("exec")
        with self._lock:
            execution = self._executions.get(name)
        if execution is None:
            fix = "nothing needs to be done if it has ended; its answer says how"
            raise AdapterError("exec_not_found", name, f"exec {json.dumps(name)} is not running", fix)
        return execution

    def _run(self, message_id: object, fields: _Fields) -> None:
        params = _run_params(fields)
        self._need("argv", isinstance(params.command, Argv))
        for capability, asked in (
            ("cwd", params.cwd is not None),
            ("env", bool(params.env)),
            ("stdin", params.stdin != "none"),
            ("stdin_stream", params.stdin == "stream"),
            ("timeout", params.timeout is not None),
            ("user", params.user is not None),
            ("pty", params.pty is not None),
            ("jobs", params.detach),
            ("sessions", params.session is not None),
        ):
            self._need(capability, asked)
        if params.session is not None and isinstance(params.command, Argv):
            raise InvalidArgument("session", "is the state of a shell, and an argument list has none")
        if fields.get("rpc") is not None:
            raise Unsupported("rpc")
        timeout = params.timeout
        if timeout == 0:
            if self._adapter.choices.get("zero_timeout") == "refuse":
                raise InvalidArgument("timeout_ms", "is 0, which is no length of time")
            timeout = None
        if params.detach:
            self._spawn(message_id, lambda: {"job": self._adapter.start_job(params)})
            return
        execution = Execution(params, self._writer)
        with self._lock:
            if params.sandbox in self._closing:
                raise SandboxNotFound(params.sandbox)
            if params.exec in self._executions:
                raise InvalidArgument("exec", f"{json.dumps(params.exec)} is running already")
            self._executions[params.exec] = execution
        if timeout is not None:
            # A deadline far away must not keep in memory what has ended long before it.
            known = weakref.ref(execution)
            self._clock.at(execution.accepted + timeout, lambda: _strike(known))
        self._keep_alive(execution)
        try:
            self._spawn(message_id, lambda: self._run_one(params, execution))
        except AdapterError:
            self._forget(execution)
            raise

    def _keep_alive(self, execution: Execution) -> None:
        def tell() -> None:
            if execution.alive():
                self._keep_alive(execution)

        self._clock.at(time.monotonic() + execution.params.alive, tell)

    def _run_one(self, params: RunParams, execution: Execution) -> Json:
        try:
            try:
                outcome = self._adapter.run(params, execution)
            finally:
                execution.returned()
            return execution.finish(outcome)
        finally:
            self._forget(execution)

    def _forget(self, execution: Execution) -> None:
        execution.mute()
        with self._lock:
            self._executions.pop(execution.params.exec, None)

    def _open(self, fields: _Fields) -> Json:
        params = _open_params(fields)
        self._need("attach", params.key is not None)
        for capability, asked in (
            ("cwd", params.cwd is not None),
            ("env", bool(params.env)),
            ("image", params.image is not None),
            ("mounts", bool(params.mounts)),
            ("network_none", params.network.mode == "none"),
            ("network_allow", params.network.mode == "allow"),
            ("limits_memory", params.limits.memory_bytes is not None),
            ("limits_pids", params.limits.pids is not None),
            ("limits_cpu", params.limits.cpu_millis is not None),
            ("limits_disk", params.limits.disk_bytes is not None),
            ("user", params.user is not None),
            ("reap", params.idle_ms is not None),
        ):
            self._need(capability, asked)
        return self._adapter.open(params, Progress(self._writer)).to_json()

    def _close(self, message_id: object, fields: _Fields) -> None:
        params = _close_params(fields)
        self._need("attach", params.how != "destroy")
        self._need("persist_files", params.how == "stop")
        running: List[Execution] = []
        if params.how != "detach":
            # From here on, in the order of the lines, nothing is started in it any more.
            with self._lock:
                self._closing.add(params.sandbox)
            running = self._running(params.sandbox)
            for execution in running:
                execution.force(Ending.CLOSE)

        def close() -> Json:
            try:
                limit = time.monotonic() + _CLOSE_GRACE
                for execution in running:
                    execution.await_return(limit - time.monotonic())
                return {"existed": self._adapter.close(params)}
            finally:
                with self._lock:
                    self._closing.discard(params.sandbox)

        self._spawn(message_id, close)

    def _call(self, method: str, params: _Fields) -> object:
        adapter = self._adapter
        if method == "sandbox.open":
            return self._open(params)
        if method == "sandbox.list":
            return {"sandboxes": [info.to_json() for info in adapter.list()]}
        if method == "sandbox.inspect":
            return adapter.inspect(params.text("sandbox")).to_json()
        if method == "preflight":
            return {"problems": [{"what": item.what, "fix": item.fix} for item in adapter.preflight()]}
        if method == "policy.classify":
            params.need("mounts")
            mounts = [_text(mount, name) for name, mount in params.items("mounts")]
            return _host_access(adapter.classify(mounts))
        if method == "ledger.snapshot":
            return {"items": [{"kind": item.kind, "id": item.id} for item in adapter.ledger()]}
        if method.startswith("file."):
            self._need("files")
            return self._call_file(method, params)
        if method.startswith("job."):
            self._need("jobs")
            return self._call_job(method, params)
        if method == "session.close":
            self._need("sessions")
            self._adapter.close_session(params.text("sandbox"), _session(params))
            return {}
        if method == "condition.list":
            return {"conditions": [_condition(condition) for condition in adapter.list_conditions()]}
        if method == "condition.apply":
            variables = adapter.apply_condition(_condition_params(params))
            return _with({}, environment=[_variable(variable) for variable in variables])
        if method == "condition.clear":
            adapter.clear_condition(_condition_params(params))
            return {}
        raise Unsupported(method)

    def _call_job(self, method: str, params: _Fields) -> object:
        adapter = self._adapter
        sandbox = params.text("sandbox")
        if method == "job.list":
            return {"jobs": [info.to_json() for info in adapter.list_jobs(sandbox)]}
        job = params.text("job")
        if method == "job.output":
            name = params.text("stream")
            if name not in ("stdout", "stderr"):
                raise InvalidArgument("stream", "is neither stdout nor stderr")
            stream: StreamName = "stdout" if name == "stdout" else "stderr"
            start = params.optional_whole("from") or 0
            most = params.optional_whole("max")
            length = 1024 * 1024 if most is None else most
            output = adapter.read_job(JobOutputParams(sandbox, job, stream, start, length))
            answer: Json = {"data": bytes_to_json(output.data), "offset": output.offset, "end": output.end}
            gap = {"stream": stream, "from": start, "to": output.offset}
            return _with(answer, gap=gap if output.offset > start else None)
        if method == "job.wait":
            within = params.optional_whole("within_ms")
            return adapter.wait_job(sandbox, job, None if within is None else within / 1000).to_json()
        if method == "job.kill":
            adapter.kill_job(sandbox, job)
        elif method == "job.forget":
            adapter.forget_job(sandbox, job)
        else:
            raise Unsupported(method)
        return {}

    def _call_file(self, method: str, params: _Fields) -> object:
        adapter = self._adapter
        sandbox = params.text("sandbox")
        if method == "file.read":
            offset = params.optional_whole("offset") or 0
            length = params.optional_whole("length")
            return adapter.read_file(ReadParams(sandbox, _path(params, "path"), offset, length)).to_json()
        if method == "file.write":
            adapter.write_file(WriteParams(sandbox, _path(params, "path"), params.data("data")))
        elif method == "file.stat":
            return adapter.stat_file(PathParams(sandbox, _path(params, "path"))).to_json()
        elif method == "file.list":
            entries = adapter.list_directory(PathParams(sandbox, _path(params, "path")))
            return {"entries": [entry.to_json() for entry in entries]}
        elif method == "file.remove":
            adapter.remove_file(RemoveParams(sandbox, _path(params, "path"), params.flag("recursive")))
        elif method == "file.mkdir":
            adapter.make_directory(PathParams(sandbox, _path(params, "path")))
        elif method == "file.move":
            adapter.move_file(MoveParams(sandbox, _path(params, "from"), _path(params, "to")))
        elif method == "file.chmod":
            mode = params.whole("mode", most=0o7777)
            adapter.change_mode(ChmodParams(sandbox, _path(params, "path"), mode))
        else:
            raise Unsupported(method)
        return {}


def serve(adapter: Adapter, input_descriptor: Optional[int] = None, output_descriptor: Optional[int] = None) -> int:
    """Serves until the caller ends its input, goes away, or a signal asks for the end; returns the exit code for it.

    Without descriptors it takes this process's standard streams for itself: from then on what is printed goes to
    standard error, and neither your code nor a program that you start can take a byte of the conversation by accident.
    """
    if input_descriptor is None:
        input_descriptor = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
    if output_descriptor is None:
        sys.stdout.flush()
        output_descriptor = os.dup(1)
        os.dup2(2, 1)
    os.set_blocking(output_descriptor, True)
    server = _Server(adapter, input_descriptor, output_descriptor)
    if threading.current_thread() is threading.main_thread():
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, lambda number, _: server.stop(number))
    return server.serve()
