"""A sandbox backend to start from: each sandbox is a directory of this machine, each command a process group in it.

It passes every requirement that it declares: `herm run --subject my-backend.toml`. Replace what `Backend` does, method
by method, with what your own tool does. Whatever you cannot do yet, take out of `CAPABILITIES`: it is refused from then
on, and no longer tested. `herm list capabilities` and `herm list choices` explain the words.

It needs Linux: the end of a process group is seen in /proc.
"""

from __future__ import annotations

import errno
import os
import secrets
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Dict, List, Literal, Optional, Sequence, Tuple, Union

from herm_adapter import (
    MAX_MESSAGE_BYTES,
    Adapter,
    AdapterError,
    Argv,
    ChmodParams,
    CloseParams,
    Execution,
    Exited,
    FileContent,
    FileInfo,
    InitializeParams,
    InternalError,
    InvalidArgument,
    LedgerItem,
    MoveParams,
    Opened,
    OpenParams,
    Outcome,
    PathParams,
    Problem,
    Progress,
    ReadParams,
    RemoveParams,
    RunParams,
    SandboxInfo,
    SandboxNotFound,
    SetupFailed,
    Signaled,
    StreamName,
    Unavailable,
    Variable,
    WriteParams,
    file_error,
    length_on_the_wire,
    serve,
)

CAPABILITIES = (
    "argv",
    "cancel",
    "concurrency",
    "cwd",
    "env",
    "files",
    "inspect",
    "ledger",
    "list",
    "preflight",
    "signal",
    "stdin",
    "stdin_stream",
    "streams_apart",
    "timeout",
)

# Where both ways are right, which one is this backend's. `herm list choices` explains each.
CHOICES = {
    "kill_scope": "group",  # a deadline ends the command's process group; what leaves the group lives on
    "latency": "local",
    "left_behind": "keep",  # `server &` runs on when its command has ended, until the sandbox is closed
    "missing_parent": "create",
    "overwrite": "replace",
    "relative_path": "workdir",
    "remove_missing": "error",
    "state": "none",  # every command starts in a shell of its own
    "stream_bytes": "exact",
    "streams": "apart",
    "zero_timeout": "none",
}

# What commands see of this process's own variables. Everything else may be a secret of the agent's.
PASSED_ON = ("HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
DEFAULT_PATH = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Seconds that a command has between being asked to end and being killed.
GRACE = 0.25
# Seconds that what was killed may take to be gone.
KILL_LIMIT = 2.0
# Seconds of silence after which the output of a command that has ended is given up: something else holds its pipe.
DRAIN = 0.3


@dataclass
class Sandbox:
    """An open sandbox."""

    id: str
    directory: bytes
    """Everything of it that is on the disk."""
    cwd: bytes
    """The directory that commands start in."""
    env: Tuple[Variable, ...]
    groups: Dict[int, Group] = field(default_factory=lambda: {})
    """The process groups that live in it, by their number."""
    closed: bool = False


class Backend(Adapter):
    """Sandboxes that are directories of this machine."""

    name = "my-backend"
    version = "0.1.0"
    backend = "local"
    capabilities = CAPABILITIES
    parallelism = 4

    def __init__(self) -> None:
        self._shell = shutil.which("bash") or shutil.which("sh")
        self._lock = threading.Lock()
        self._sandboxes: Dict[str, Sandbox] = {}
        self._scratch = tempfile.gettempdir()
        self._run = "none"
        is_bash = self._shell is not None and os.path.basename(self._shell) == "bash"
        self.choices = {**CHOICES, "shell": "bash" if is_bash else "posix"}

    # The life of a sandbox

    def initialize(self, params: InitializeParams) -> None:
        self._run = params.run
        self._scratch = params.scratch or self._scratch

    def preflight(self) -> Sequence[Problem]:
        problems: List[Problem] = []
        if self._shell is None:
            problems.append(Problem("neither bash nor sh is in PATH", "install bash, or put its directory into PATH"))
        if not os.path.exists("/proc/self/stat"):
            problems.append(Problem("/proc is not mounted", "mount it: mount -t proc proc /proc"))
        return problems

    def open(self, params: OpenParams, progress: Progress) -> Opened:
        sandbox_id = f"{self.name}-{self._run}-{secrets.token_hex(8)}"
        directory = os.fsencode(os.path.join(self._scratch, sandbox_id))
        cwd = params.cwd or os.path.join(directory, b"work")
        try:
            os.makedirs(os.path.join(directory, b"work"), mode=0o700)
        except OSError as error:
            raise file_error("make the sandbox's directory", directory, error) from error
        sandbox = Sandbox(sandbox_id, directory, cwd, params.env)
        with self._lock:
            self._sandboxes[sandbox_id] = sandbox
        return Opened(sandbox_id, cwd=cwd)

    def close(self, params: CloseParams) -> bool:
        with self._lock:
            sandbox = self._sandboxes.get(params.sandbox)
            if sandbox is None or sandbox.closed:
                return False
            # From here on no command starts in it.
            sandbox.closed = True
            groups = list(sandbox.groups.values())
        for group in groups:
            group.end()
            group.reap()
        remove_tree(sandbox.directory)
        # It is forgotten when nothing of it is left, so that what could not be removed is still listed.
        with self._lock:
            self._sandboxes.pop(params.sandbox, None)
        return True

    def shutdown(self) -> None:
        with self._lock:
            left = list(self._sandboxes)
        for sandbox_id in left:
            self.close(CloseParams(sandbox_id))

    def list(self) -> Sequence[SandboxInfo]:
        with self._lock:
            return [SandboxInfo(sandbox.id, cwd=sandbox.cwd) for sandbox in self._sandboxes.values()]

    def inspect(self, sandbox: str) -> SandboxInfo:
        return SandboxInfo(sandbox, cwd=self._sandbox(sandbox).cwd)

    def ledger(self) -> Sequence[LedgerItem]:
        with self._lock:
            sandboxes = list(self._sandboxes.values())
            groups = [group for sandbox in sandboxes for group in sandbox.groups.values()]
        items = [LedgerItem("directory", os.fsdecode(sandbox.directory)) for sandbox in sandboxes]
        return items + [LedgerItem("process", name) for group in groups for name in group.members()]

    def _sandbox(self, sandbox_id: str) -> Sandbox:
        with self._lock:
            sandbox = self._sandboxes.get(sandbox_id)
        if sandbox is None or sandbox.closed:
            raise SandboxNotFound(sandbox_id)
        return sandbox

    # Commands

    def run(self, params: RunParams, execution: Execution) -> Outcome:
        sandbox = self._sandbox(params.sandbox)
        if params.cwd is not None:
            cwd = os.path.join(sandbox.cwd, params.cwd)
        else:
            cwd = sandbox.cwd
            if not os.path.lexists(cwd) and cwd.startswith(sandbox.directory + b"/"):
                os.makedirs(cwd, exist_ok=True)
                execution.notices.append("the working directory had been removed; it was made again, empty")
        refusal = check_directory(cwd)
        if refusal is not None:
            return refusal
        if isinstance(params.command, Argv):
            words = list(params.command.words)
        elif self._shell is None:
            return SetupFailed("shell_not_found", "neither bash nor sh is in PATH; install one")
        else:
            # After `--` the text may begin with a dash.
            words = [os.fsencode(self._shell), b"-c", b"--", params.command.text]
        started = start(words, cwd, environment(sandbox.env, params.env, cwd), params.stdin != "none")
        if isinstance(started, SetupFailed):
            return started
        group = Group(started)
        with self._lock:
            sandbox.groups[group.number] = group
        execution.started()
        execution.on_end(group.end)
        execution.on_signal(group.signal)
        try:
            return execution.conclude(carry(group, params, execution))
        finally:
            if not group.lives():
                group.reap()
                with self._lock:
                    sandbox.groups.pop(group.number, None)

    # Files

    def _path(self, sandbox_id: str, path: bytes) -> bytes:
        return os.path.join(self._sandbox(sandbox_id).cwd, path)

    def read_file(self, params: ReadParams) -> FileContent:
        path = self._path(params.sandbox, params.path)
        longest = MAX_MESSAGE_BYTES - 16 * 1024
        try:
            # Without blocking, as opening a pipe would wait for somebody to write into it.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                refuse_special(path, status)
                if not reaches(file, params.offset, status.st_size):
                    return FileContent(b"", status.st_size)
                wanted = longest + 1 if params.length is None else min(params.length, longest + 1)
                data = file.read(wanted)
        except OSError as error:
            raise file_error("read", path, error) from error
        if length_on_the_wire(data) > longest:
            shown = os.fsdecode(path)
            message = f"what is asked of {shown} does not fit one message"
            raise AdapterError("limit_exceeded", shown, message, "read it in parts, with offset and length")
        return FileContent(data, max(status.st_size, params.offset + len(data) if data else 0))

    def write_file(self, params: WriteParams) -> None:
        path = self._path(params.sandbox, params.path)
        try:
            write_whole(path, params.data)
        except OSError as error:
            raise file_error("write", path, error) from error

    def stat_file(self, params: PathParams) -> FileInfo:
        path = self._path(params.sandbox, params.path)
        try:
            return file_info(os.path.basename(path.rstrip(b"/")), os.lstat(path))
        except OSError as error:
            raise file_error("look at", path, error) from error

    def list_directory(self, params: PathParams) -> Sequence[FileInfo]:
        path = self._path(params.sandbox, params.path)
        entries: List[FileInfo] = []
        try:
            for name in sorted(os.listdir(path)):
                try:
                    entries.append(file_info(name, os.lstat(os.path.join(path, name))))
                except FileNotFoundError:
                    pass  # It went between the list and the look.
        except OSError as error:
            raise file_error("list", path, error) from error
        return entries

    def remove_file(self, params: RemoveParams) -> None:
        path = self._path(params.sandbox, params.path)
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
            elif params.recursive:
                shutil.rmtree(path)
            else:
                os.rmdir(path)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                shown = os.fsdecode(path)
                message = f"failed to remove {shown}: it is a directory that is not empty"
                fix = "set recursive to remove it with everything in it"
                raise AdapterError("is_a_directory", shown, message, fix) from error
            raise file_error("remove", path, error) from error

    def make_directory(self, params: PathParams) -> None:
        path = self._path(params.sandbox, params.path)
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise file_error("make the directory", path, error) from error

    def move_file(self, params: MoveParams) -> None:
        source = self._path(params.sandbox, params.source)
        target = self._path(params.sandbox, params.target)
        try:
            os.lstat(source)
        except OSError as error:
            raise file_error("move", source, error) from error
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.rename(source, target)
        except OSError as error:
            raise file_error(f"move {os.fsdecode(source)} to", target, error) from error

    def change_mode(self, params: ChmodParams) -> None:
        path = self._path(params.sandbox, params.path)
        try:
            os.chmod(path, params.mode)
        except OSError as error:
            raise file_error("set the mode of", path, error) from error


# ---------------------------------------------------------------------------------------------------------------------
# A command's process group
# ---------------------------------------------------------------------------------------------------------------------


class Group:
    """A command's process group. Its leader is our child and is not reaped as long as anything of the group lives: so
    no other group can get its number, and a signal can hit nobody else."""

    def __init__(self, leader: subprocess.Popen[bytes]) -> None:
        self.leader = leader
        self.number = leader.pid
        self._lock = threading.Lock()
        self._reaped = False

    def signal(self, number: int) -> None:
        """Sends a signal to every process of the group; that none is left is no error."""
        with self._lock:
            if not self._reaped:
                try:
                    os.killpg(self.number, number)
                except ProcessLookupError:
                    pass

    def end(self) -> None:
        """Ends every process of the group: asked first, then killed. Returns when nothing of it lives."""
        self.signal(signal.SIGTERM)
        # A stopped process gets to its handler only when it goes on.
        self.signal(signal.SIGCONT)
        if self._gone_within(GRACE):
            return
        self.signal(signal.SIGKILL)
        if not self._gone_within(KILL_LIMIT):
            raise Unavailable(
                f"group {self.number}",
                f"processes of group {self.number} do not end although they were killed; they wait for a device",
                "see what they wait for with ps, and close the sandbox again",
            )

    def members(self) -> List[str]:
        """The group's live processes, each as its number and its start time, which no other process can have."""
        with self._lock:
            return [] if self._reaped else processes_of(self.number)

    def lives(self) -> bool:
        """Whether anything of the group lives."""
        return bool(self.members())

    def await_leader(self) -> Outcome:
        """How the leader ended. It is not reaped."""
        status = os.waitid(os.P_PID, self.number, os.WEXITED | os.WNOWAIT)
        if status is None:
            raise InternalError("learn how a command ended", "the system gives no status")
        if status.si_code == os.CLD_EXITED:
            return Exited(status.si_status)
        return Signaled(status.si_status)

    def reap(self) -> None:
        """Gives the leader's number back to the system. Nothing is signalled any more."""
        with self._lock:
            if not self._reaped:
                self._reaped = True
                self.leader.wait()

    def _gone_within(self, seconds: float) -> bool:
        limit = time.monotonic() + seconds
        pause = 0.001
        while self.lives():
            if time.monotonic() > limit:
                return False
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        return True


def processes_of(group: int) -> List[str]:
    """Live processes of a process group: "number:start time"."""
    found: List[str] = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                text = file.read()
        except OSError:
            continue  # It ended a moment ago.
        # The name in brackets may hold anything; what follows the last bracket is: state, parent, group ...
        words = text[text.rindex(b")") + 2 :].split()
        if int(words[2]) == group and words[0] not in (b"Z", b"X"):
            found.append(f"{entry}:{int(words[19])}")
    return found


def start(
    words: List[bytes], cwd: bytes, variables: Dict[bytes, bytes], has_input: bool
) -> Union[subprocess.Popen[bytes], SetupFailed]:
    """Starts a command as leader of a session and group of its own."""
    tries = 10
    while True:
        try:
            return subprocess.Popen(
                words,
                cwd=cwd,
                env=variables,
                stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            # A program that was written a moment ago is busy while another command is being started. That passes.
            if error.errno == errno.ETXTBSY and tries > 0:
                tries -= 1
                time.sleep(0.01)
                continue
            return not_started(words[0], error)


def not_started(program: bytes, error: OSError) -> SetupFailed:
    """Why a command does not run."""
    shown = program.decode(errors="replace")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return SetupFailed("program_not_found", f"there is no program {shown}: {error.strerror}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.ENOEXEC):
        return SetupFailed("program_denied", f"{shown} cannot be run: {error.strerror}")
    if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
        return SetupFailed("resources_exhausted", f"the system has no room for {shown}: {error.strerror}")
    if error.errno == errno.E2BIG:
        problem = "has more bytes of arguments and variables than the system takes"
        raise InvalidArgument("command", f"{problem}; put data in a file or on standard input") from error
    return SetupFailed("other", f"failed to start {shown}: {error}")


def check_directory(cwd: bytes) -> Optional[SetupFailed]:
    """Why a command cannot start in a directory."""
    shown = cwd.decode(errors="replace")
    try:
        is_directory = stat.S_ISDIR(os.stat(cwd).st_mode)
    except OSError as error:
        if error.errno == errno.ENOTDIR:
            return SetupFailed("cwd_not_a_directory", f"{shown} leads through something that is no directory")
        if error.errno == errno.EACCES:
            return SetupFailed("cwd_denied", f"{shown} may not be entered")
        return SetupFailed("cwd_not_found", f"the directory {shown} does not exist")
    if not is_directory:
        return SetupFailed("cwd_not_a_directory", f"{shown} is not a directory")
    if not os.access(cwd, os.X_OK):
        return SetupFailed("cwd_denied", f"{shown} may not be entered")
    return None


def environment(sandbox: Sequence[Variable], command: Sequence[Variable], cwd: bytes) -> Dict[bytes, bytes]:
    """A command's variables: a few of this process's own, the sandbox's, the command's; later ones win."""
    own = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    names = {name for name in own if name.startswith(b"LC_")} | {os.fsencode(name) for name in PASSED_ON}
    variables = {b"PATH": DEFAULT_PATH, **{name: own[name] for name in names if name in own}}
    for variable in (*sandbox, *command):
        variables[variable.name] = variable.value
    # A shell corrects a wrong PWD; other programs believe it.
    variables[b"PWD"] = os.path.realpath(cwd) if b".." in cwd.split(b"/") else os.path.normpath(cwd)
    return variables


def carry(group: Group, params: RunParams, execution: Execution) -> Outcome:
    """Carries input and output until the leader has ended and what it wrote is told; returns how it ended."""
    leader = group.leader
    if leader.stdin is not None:
        threading.Thread(target=feed, args=(leader.stdin, execution), daemon=True).start()
    assert leader.stdout is not None and leader.stderr is not None, "both were asked for"
    streams: Dict[int, StreamName] = {leader.stdout.fileno(): "stdout", leader.stderr.fileno(): "stderr"}
    poll = select.poll()
    for descriptor in streams:
        poll.register(descriptor, select.POLLIN)
    # It becomes readable when the leader ends.
    watch = os.pidfd_open(leader.pid)
    poll.register(watch, select.POLLIN)
    outcome: Optional[Outcome] = None
    try:
        while streams or outcome is None:
            ready = [descriptor for descriptor, _ in poll.poll(None if outcome is None else DRAIN * 1000)]
            if outcome is not None and not ready:
                break
            if watch in ready:
                poll.unregister(watch)
                outcome = group.await_leader()
                execution.conclude(outcome)
            for descriptor in ready:
                if descriptor in streams:
                    data = os.read(descriptor, 32 * 1024)
                    if data:
                        execution.write(streams[descriptor], data)
                    else:
                        poll.unregister(descriptor)
                        del streams[descriptor]
        return outcome
    finally:
        os.close(watch)
        execution.close_input()
        leader.stdout.close()
        leader.stderr.close()


def feed(pipe: IO[bytes], execution: Execution) -> None:
    """Hands a command its input, and then the end of it."""
    with pipe:
        try:
            for data in execution.input():
                view = memoryview(data)
                while view:
                    view = view[pipe.write(view) :]
        except BrokenPipeError:
            pass  # The command has closed its input, which it may.
        execution.close_input()


# ---------------------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------------------


def refuse_special(path: bytes, status: os.stat_result) -> None:
    """Refuses what is no regular file: a directory, and what could block."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        shown = os.fsdecode(path)
        message = f"{shown} is neither a file nor a directory but a device, socket or pipe"
        raise AdapterError("invalid_argument", shown, message, "name a regular file")


def reaches(file: IO[bytes], offset: int, size: int) -> bool:
    """Goes to an offset of a file; false when no file of this system reaches so far, and this one ends before."""
    try:
        file.seek(offset)
    except OSError as error:
        if error.errno != errno.EINVAL or offset < size:
            raise
        return False
    return True


def write_whole(path: bytes, data: bytes) -> None:
    """Makes `data` the content of a file: readers see the old content or the new, never a part. The mode of a file that
    is there is kept, a new one has that of any file that a command makes, and a link stays a link to a file with the new
    content."""
    target = os.path.realpath(path)
    if path.endswith(b"/"):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    mode = None
    try:
        status = os.stat(target)
        refuse_special(path, status)
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        mode = stat.S_IMODE(status.st_mode)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    temporary = os.path.join(os.path.dirname(target), b".herm-" + os.fsencode(secrets.token_hex(8)))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    # What is not for everybody must not be so for the moment until it has the mode of the old file.
    descriptor = os.open(temporary, flags, 0o666 if mode is None else 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(descriptor, mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def file_info(name: bytes, status: os.stat_result) -> FileInfo:
    """What a path names, as the protocol tells it."""
    kind: Literal["file", "directory", "symlink", "other"] = "other"
    if stat.S_ISREG(status.st_mode):
        kind = "file"
    elif stat.S_ISDIR(status.st_mode):
        kind = "directory"
    elif stat.S_ISLNK(status.st_mode):
        kind = "symlink"
    return FileInfo(name, kind, status.st_size, stat.S_IMODE(status.st_mode))


def remove_tree(path: bytes) -> None:
    """Removes a directory of ours, also what a command has locked away by mode or made deeper than a stack bears."""
    for step in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        words = [os.fsencode(word) for word in step] + [b"--", path]
        subprocess.run(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
        if not os.path.lexists(path):
            return
    shown = os.fsdecode(path)
    raise Unavailable(shown, f"{shown} cannot be removed", "see who writes into it, and close the sandbox again")


if __name__ == "__main__":
    raise SystemExit(serve(Backend()))
