"""The smallest honest adapter: commands in a directory of this machine. It declares nothing, and keeps what everybody must."""
import base64, hashlib, json, os, signal, subprocess, sys, tempfile, threading, time

LIMIT = 16 * 1024 * 1024        # the longest line that we read, in bytes
sandboxes, running = {}, {}     # id -> directory; exec id -> Exec
writing, lock = threading.Lock(), threading.Lock()


class Refusal(Exception):
    def __init__(self, code, message, **data):
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


def send(message):
    with writing:
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        sys.stdout.buffer.flush()


def need(params, name, kind):
    """A field that has to be there. A field that we do not know is ignored by itself."""
    if not isinstance(params.get(name), kind):
        raise Refusal(-32602, f"{name} is missing or of the wrong type", kind="invalid_argument", resource=name,
                      fix=f"send {name} as the schema says")
    return params[name]


def refuse_what_is_not_offered(params, names):
    for name in names:
        if params.get(name):
            raise Refusal(-32601, f"{name} is not supported", kind="unsupported", resource=name, fix=f"leave {name} out")


def raw(text):
    """A string that is no valid text comes as {"b64": …}."""
    return base64.b64decode(text["b64"]) if isinstance(text, dict) else text.encode()


def sandbox_of(params):
    name = need(params, "sandbox", str)
    if name not in sandboxes:
        raise Refusal(-32000, f"there is no sandbox {name}", kind="sandbox_not_found", resource=name, fix="open one")
    return sandboxes[name]


class Exec:
    """One command: its output, counted, cut as asked, and sent within the caller's credit."""

    def __init__(self, params, directory):
        self.id, self.directory, self.lost, self.process = need(params, "exec", str), directory, False, None
        command = params.get("command")
        if not isinstance(command, dict) or "shell" not in command:
            refuse_what_is_not_offered({"argv": command}, ["argv"])
            raise Refusal(-32602, "command is missing", kind="invalid_argument", resource="command", fix="send command")
        self.text = raw(command["shell"])
        if b"\0" in self.text:
            raise Refusal(-32602, "command holds a NUL byte", kind="invalid_argument", resource="command", fix="leave it out")
        refuse_what_is_not_offered(params, ["cwd", "env", "timeout_ms", "user", "pty", "session", "detach", "rpc"])
        if params.get("stdin", {}).get("mode", "none") != "none":
            refuse_what_is_not_offered(params, ["stdin"])
        self.capture, self.alive = params.get("capture"), params.get("alive_ms", 5000) / 1000
        if self.capture is not None:
            for part in ["head", "tail"]:
                need(self.capture, part, int)
        self.credit, self.room, self.untaken = params.get("window"), threading.Condition(), {}

    def grant(self, count):
        with self.room:
            if self.credit is not None:
                self.credit += count
            self.room.notify_all()

    def emit(self, stream, offset, data):
        while data:
            with self.room:
                while self.credit == 0 and not self.lost:
                    self.room.wait()
                if self.lost and self.credit == 0:      # whoever waits is to be told of the loss, whatever was not taken
                    return self.untaken.setdefault(stream, offset)
                size = min(len(data), 32768 if self.credit is None else min(self.credit, 32768))
                if self.credit is not None:
                    self.credit -= size
            piece, data = data[:size], data[size:]
            send({"method": "exec.output", "params": {"exec": self.id, "stream": stream, "offset": offset,
                                                      "data": {"b64": base64.b64encode(piece).decode()}}})
            offset += size

    def pump(self, stream, pipe, told):
        total, tail, digest = 0, b"", hashlib.sha256()
        head = 2**62 if self.capture is None else self.capture["head"]
        keep = 0 if self.capture is None else self.capture["tail"]
        while data := os.read(pipe.fileno(), 65536):
            digest.update(data)
            first = data[:max(0, head - total)]
            self.emit(stream, total, first)
            tail = (tail + data[len(first):])[-keep:] if keep else b""
            total += len(data)
        start = total - len(tail)
        sent = min(total, head)
        told[stream] = {"bytes": total, "sha256": digest.hexdigest()}
        self.emit(stream, start, tail)
        if stream in self.untaken:
            told["gaps"].append({"stream": stream, "from": self.untaken[stream], "to": total})
        elif start > sent:
            told["gaps"].append({"stream": stream, "from": sent, "to": start})

    def run(self):
        accepted = time.monotonic()
        send({"method": "exec.started", "params": {"exec": self.id}})
        # Should we be killed ourselves, this one reads the end of its input, and ends the command in our place.
        watch = subprocess.Popen(["sh", "-c", 'read group; read _ || { kill -s KILL -- "-$group"; chmod -R u+rwx -- "$1"; rm -rf -- "$1"; }', "sh", self.directory],
                                 stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        text, files = self.text, []
        if len(text) >= 128 * 1024:     # more than the system takes in one argument: the same shell reads it from memory
            files.append(os.memfd_create("text"))
            with open(files[0], "wb", closefd=False) as file:
                file.write(text)
            text = ". /dev/fd/%d" % files[0]
        # A session of its own, so that everything of it can be ended at once.
        try:
            os.makedirs(self.directory, exist_ok=True)      # whatever a command has done to it, the next one runs
            self.process = subprocess.Popen(["sh", "-c", "--", text], cwd=self.directory, stdin=subprocess.DEVNULL, pass_fds=files,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.directory})
        except OSError:
            watch.communicate(b"\n\n")     # it never began: there is nothing to watch
            raise
        finally:
            for file in files:
                os.close(file)
        watch.stdin.write(b"%d\n" % self.process.pid)
        watch.stdin.flush()
        if self.lost:
            self.end()
        told = {"gaps": []}
        pumps = [threading.Thread(target=self.pump, args=(name, pipe, told), daemon=True)
                 for name, pipe in [("stdout", self.process.stdout), ("stderr", self.process.stderr)]]
        for pump in pumps:
            pump.start()
        while True:
            try:
                status = self.process.wait(self.alive)
                break
            except subprocess.TimeoutExpired:
                send({"method": "exec.alive", "params": {"exec": self.id}})
        self.end()      # what it has left running ends with it: the choice left_behind = end
        watch.communicate(b"\n")
        for pump in pumps:
            while pump.is_alive():
                pump.join(self.alive)
        outcome = ({"type": "sandbox_lost"} if self.lost else {"type": "exited", "code": status} if status >= 0
                   else {"type": "signaled", "number": -status})
        return {"outcome": outcome, "stdout": told["stdout"], "stderr": told["stderr"], "gaps": told["gaps"],
                "duration_ms": int((time.monotonic() - accepted) * 1000)}

    def end(self):
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass    # nothing of it is left


def initialize(params):
    if "herm/1" not in need(params, "protocol", list):
        raise Refusal(-32000, "only herm/1 is spoken", kind="version_mismatch", supported=["herm/1"], fix="offer herm/1")
    need(params, "scratch", str)
    return {"protocol": "herm/1", "name": "smallest", "version": "1", "capabilities": [], "parallelism": 4,
            "choices": {"shell": "posix", "latency": "local", "left_behind": "end", "relative_path": "refuse",
                        "state": "none", "stream_bytes": "exact", "streams": "apart"}}


def open_sandbox(params):
    spec = params.get("spec") or {}
    refuse_what_is_not_offered(params, ["key"])
    refuse_what_is_not_offered(spec, ["image", "cwd", "env", "mounts", "network", "user", "limits", "idle_ms"])
    directory = tempfile.mkdtemp(prefix="smallest-")
    name = os.path.basename(directory)
    sandboxes[name] = directory
    return {"sandbox": name, "state": "created", "exec_mode": "native", "cwd": directory}


def close_sandbox(params):
    if params.get("how", "destroy") != "destroy":
        refuse_what_is_not_offered(params, ["how"])
    directory = sandboxes.pop(need(params, "sandbox", str), None)
    for one in [one for one in list(running.values()) if one.directory == directory]:
        one.lost = True
        one.grant(0)
        one.end()
    if directory:
        subprocess.run(["sh", "-c", 'chmod -R u+rwx -- "$1"; rm -rf -- "$1"', "sh", directory], stderr=subprocess.DEVNULL)
    return {"existed": directory is not None}


def run(params):
    one = Exec(params, sandbox_of(params))
    with lock:
        if running.setdefault(one.id, one) is not one:
            raise Refusal(-32602, f"the exec {one.id} still runs", kind="invalid_argument", resource="exec", fix="choose another name")
    try:
        return one.run()
    finally:
        del running[one.id]


METHODS = {"initialize": initialize, "sandbox.open": open_sandbox, "sandbox.close": close_sandbox, "exec.run": run}


def answer(message):
    name = message["method"]
    try:
        if name not in METHODS:
            raise Refusal(-32601, f"{name} is not supported", kind="unsupported", resource=name, fix="do without it")
        reply = {"result": METHODS[name](message.get("params") or {})}
    except Refusal as refusal:
        reply = {"error": refusal.error}
    except Exception as error:
        reply = {"error": {"code": -32603, "message": f"failed to carry out {name}: {error!r}", "data": {"kind": "internal"}}}
    send({"id": message["id"], **reply})


def receive(line):
    if len(line) > LIMIT:
        return send({"id": None, "error": {"code": -32000, "message": "the message is over 16 MiB",
                                           "data": {"kind": "limit_exceeded", "resource": "message"}}})
    try:
        message = json.loads(line)
        assert isinstance(message, dict) and message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    except (ValueError, AssertionError):
        return send({"id": None, "error": {"code": -32700, "message": "this line is no message"}})
    if "id" in message:     # a request: commands go on while others are answered
        threading.Thread(target=answer, args=(message,), daemon=True).start()
    elif message["method"] == "exec.credit" and message["params"]["exec"] in running:
        running[message["params"]["exec"]].grant(message["params"]["bytes"])


def stop(*_):
    sys.exit()


signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
try:
    for line in iter(sys.stdin.buffer.readline, b""):
        receive(line)
finally:        # the end of our input, or a signal: nothing stays behind
    for name in list(sandboxes):
        close_sandbox({"sandbox": name})
