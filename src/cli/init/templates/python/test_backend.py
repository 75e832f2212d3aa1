"""Tests of the helper and of the backend: `python3 -m unittest`. What the contract asks is tested by `herm run`."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from typing import Any, Callable, Dict, List, Optional, Sequence

from herm_adapter import (
    Adapter,
    CloseParams,
    Execution,
    Exited,
    JobInfo,
    JobNotFound,
    JobOutput,
    JobOutputParams,
    Opened,
    OpenParams,
    Outcome,
    Progress,
    RunParams,
    Shell,
    Signaled,
    bytes_to_json,
    serve,
)

Json = Dict[str, Any]
FOLDER = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 20.0


def from_wire(value: Any) -> bytes:
    """The bytes of a string or of {"b64": ...}."""
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else str(value).encode()


class Caller:
    """The other side of the conversation: sends lines, and sorts what comes back."""

    def __init__(self, send: Callable[[bytes], None], lines: Callable[[], bytes]) -> None:
        self._send = send
        self._lines = lines
        self._serial = 0
        self._answers: Dict[Any, "queue.Queue[Json]"] = {}
        self._lock = threading.Lock()
        self.notes: List[Json] = []
        self.unaddressed: "queue.Queue[Json]" = queue.Queue()
        self.ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            line = self._lines()
            if not line:
                self.ended.set()
                return
            message = json.loads(line)
            if "method" in message:
                with self._lock:
                    self.notes.append(message)
            elif message["id"] is None:
                self.unaddressed.put(message)
            else:
                self._answers[message["id"]].put(message)

    def send(self, line: bytes) -> None:
        self._send(line)

    def ask(self, method: str, params: Json) -> Callable[[], Json]:
        """Sends a request; what is returned waits for its answer."""
        self._serial += 1
        number = self._serial
        answers = self._answers.setdefault(number, queue.Queue())
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(message).encode() + b"\n")
        return lambda: answers.get(timeout=PATIENCE)

    def call(self, method: str, params: Optional[Json] = None) -> Json:
        """The answer to a request, which must not be refused."""
        answer = self.ask(method, params or {})()
        if "error" in answer:
            raise AssertionError(answer["error"])
        result: Json = answer["result"]
        return result

    def refusal(self, method: str, params: Optional[Json] = None) -> Json:
        """The error of a request that must be refused."""
        error: Json = self.ask(method, params or {})()["error"]
        return error

    def note(self, method: str, params: Json) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def told(self, method: str, exec_name: str) -> List[Json]:
        """What was told of a command."""
        with self._lock:
            notes = [note["params"] for note in self.notes if note["method"] == method]
        return [params for params in notes if params["exec"] == exec_name]

    def output(self, exec_name: str, stream: str = "stdout") -> bytes:
        pieces = [piece for piece in self.told("exec.output", exec_name) if piece["stream"] == stream]
        return b"".join(from_wire(piece["data"]) for piece in pieces)

    def introduce(self, scratch: str = "/tmp") -> Json:
        return self.call("initialize", {"protocol": ["herm/1"], "run": "test", "scratch": scratch})

    def wait_for(self, what: Callable[[], bool]) -> None:
        limit = time.monotonic() + PATIENCE
        while not what():
            if time.monotonic() > limit:
                raise AssertionError("it did not come about in time")
            time.sleep(0.005)


class Scripted(Adapter):
    """An adapter whose commands are functions of the tests."""

    name = "scripted"
    capabilities: Sequence[str] = (
        "argv",
        "cancel",
        "concurrency",
        "cwd",
        "env",
        "signal",
        "stdin",
        "stdin_stream",
        "timeout",
    )

    def __init__(self) -> None:
        self.scripts: Dict[str, Callable[[Execution], Outcome]] = {}
        self.closed: List[str] = []
        self.is_shut_down = False

    def open(self, params: OpenParams, progress: Progress) -> Opened:
        progress.report("half way")
        return Opened("s", cwd=b"/caf\xe9")

    def run(self, params: RunParams, execution: Execution) -> Outcome:
        assert isinstance(params.command, Shell)
        return self.scripts[params.command.text.decode()](execution)

    def close(self, params: CloseParams) -> bool:
        self.closed.append(params.sandbox)
        return params.sandbox == "s"

    def start_job(self, params: RunParams) -> str:
        return "j"

    def list_jobs(self, sandbox: str) -> Sequence[JobInfo]:
        return [JobInfo("j", b"sleep 5", 1.5), JobInfo("k", b"true", 9.0, Exited(0), 4)]

    def read_job(self, params: JobOutputParams) -> JobOutput:
        if params.job != "j":
            raise JobNotFound(params.job)
        return JobOutput(b"56789"[: params.length], 5, False)

    def shutdown(self) -> None:
        self.is_shut_down = True


class HelperTest(unittest.TestCase):
    """The helper, with an adapter that does what the tests say."""

    def setUp(self) -> None:
        self.server_input, our_output = os.pipe()
        our_input, self.server_output = os.pipe()
        self.adapter = Scripted()
        self.codes: List[int] = []
        self.server = threading.Thread(
            target=lambda: self.codes.append(serve(self.adapter, self.server_input, self.server_output)), daemon=True
        )
        self.server.start()
        self.writer = open(our_output, "wb", buffering=0)  # noqa: SIM115
        self.reader = open(our_input, "rb")  # noqa: SIM115
        self.caller = Caller(self.write, self.reader.readline)

    def write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[self.writer.write(view) :]

    def tearDown(self) -> None:
        if not self.writer.closed:
            self.writer.close()
        self.server.join(PATIENCE)
        self.assertFalse(self.server.is_alive(), "the end of its input must end the server")
        os.close(self.server_output)
        self.caller.ended.wait(PATIENCE)
        os.close(self.server_input)
        self.reader.close()

    def run_script(self, script: Callable[[Execution], Outcome], **more: Any) -> Callable[[], Json]:
        self.adapter.scripts["x"] = script
        return self.caller.ask("exec.run", {"sandbox": "s", "exec": "e", "command": {"shell": "x"}, **more})

    def write_all(self, *pieces: bytes) -> Callable[[Execution], Outcome]:
        def script(execution: Execution) -> Outcome:
            for piece in pieces:
                execution.write("stdout", piece)
            return Exited(3)

        return script

    def test_the_handshake_tells_what_is_declared_and_comes_first(self) -> None:
        self.assertEqual(self.caller.refusal("sandbox.open")["data"]["kind"], "not_initialized")
        error = self.caller.refusal("initialize", {"protocol": ["herm/9"], "run": "r", "scratch": "/tmp"})
        self.assertEqual((error["code"], error["data"]["supported"]), (-32000, ["herm/1"]))
        told = self.caller.introduce()
        self.assertEqual((told["protocol"], told["name"]), ("herm/1", "scripted"))
        opened = self.caller.call("sandbox.open", {"spec": {"future": [1]}, "future": None})
        self.assertEqual(opened["cwd"], {"b64": "L2NhZuk="})
        self.assertEqual(self.caller.notes[0]["params"], {"message": "half way"})

    def test_what_is_no_message_is_answered_and_the_conversation_goes_on(self) -> None:
        self.caller.introduce()
        for line, code in (
            (b"hello", -32700),
            (b'{"jsonrpc":"2.0","id":7,"meth', -32700),
            (b"\xff\xfe\x00", -32700),
            (b"[" * 100_000, -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":NaN}}', -32700),
            (b"[1, 2]", -32600),
            (b"{}", -32600),
            (b'{"jsonrpc":"2.0","id":true,"method":"x"}', -32600),
            (b'{"jsonrpc":"2.0","id":1e999,"method":"x"}', -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"x"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[]}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', -32600),
        ):
            self.caller.send(line + b"\n\n  \n")
            answer = self.caller.unaddressed.get(timeout=PATIENCE)
            self.assertEqual(answer["error"]["code"], code, line[:60])
        self.caller.send(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
        self.assertEqual(self.caller.refusal("future.method")["code"], -32601)

    def test_a_line_over_the_limit_is_dropped_and_the_next_one_is_whole(self) -> None:
        self.adapter.max_message_bytes = 1000
        self.caller.introduce()
        self.caller.send(b"x" * 300_000 + b"\n")
        error = self.caller.unaddressed.get(timeout=PATIENCE)["error"]
        self.assertEqual(error["data"]["kind"], "limit_exceeded")
        self.assertIn("300000", error["message"])
        self.caller.call("sandbox.open")

    def test_a_field_that_is_wrong_is_named(self) -> None:
        self.caller.introduce()
        good: Json = {"sandbox": "s", "exec": "e", "command": {"shell": "x"}}
        for change, name in (
            ({"sandbox": None}, "sandbox"),
            ({"command": None}, "command"),
            ({"command": {"argv": []}}, "command.argv"),
            ({"command": {"argv": [""]}}, "command.argv[0]"),
            ({"command": {"argv": ["a", "b\0"]}}, "command.argv[1]"),
            ({"command": {"shell": "a\0"}}, "command.shell"),
            ({"command": {"shell": {"b64": "*"}}}, "command.shell.b64"),
            ({"command": {"shell": "\ud800"}}, "command.shell"),
            ({"timeout_ms": -1}, "timeout_ms"),
            ({"timeout_ms": 1.5}, "timeout_ms"),
            ({"timeout_ms": True}, "timeout_ms"),
            ({"cwd": ""}, "cwd"),
            ({"env": [{"name": "", "value": ""}]}, "env[0].name"),
            ({"env": [{"name": "A=B", "value": ""}]}, "env[0].name"),
            ({"env": [{"name": "A", "value": "\0"}]}, "env[0].value"),
            ({"env": {}}, "env"),
            ({"stdin": {"mode": "telepathy"}}, "stdin.mode"),
        ):
            error = self.caller.refusal("exec.run", {**good, **change})
            self.assertEqual((error["code"], error["data"]["resource"]), (-32602, name), change)
        error = self.caller.refusal("sandbox.open", {"spec": {"cwd": "relative"}})
        self.assertEqual(error["data"]["resource"], "spec.cwd")

    def test_what_is_not_declared_is_refused_before_anything_runs(self) -> None:
        self.adapter.capabilities = ()
        self.caller.introduce()
        good: Json = {"sandbox": "s", "exec": "e", "command": {"shell": "x"}}
        for change in (
            {"command": {"argv": ["x"]}},
            {"cwd": "/"},
            {"env": [{"name": "A", "value": "b"}]},
            {"stdin": {"mode": "bytes", "data": ""}},
            {"timeout_ms": 5},
            {"user": "u"},
            {"pty": {"rows": 1, "columns": 1}},
            {"detach": True},
            {"session": "s"},
            {"rpc": {"allow": ["tool"]}},
        ):
            self.assertEqual(self.caller.refusal("exec.run", {**good, **change})["code"], -32601, change)
        for spec in ({"image": "i"}, {"network": {"mode": "none"}}, {"limits": {"pids": 5}}, {"user": "u"}):
            self.assertEqual(self.caller.refusal("sandbox.open", {"spec": spec})["code"], -32601, spec)
        for method in ("sandbox.list", "sandbox.inspect", "exec.cancel", "session.close", "file.read", "preflight", "x"):
            self.assertEqual(self.caller.refusal(method, {"sandbox": "s"})["code"], -32601, method)

    def test_a_fault_of_the_adapter_is_an_answer(self) -> None:
        self.caller.introduce()
        with unittest.mock.patch("herm_adapter._log") as log:
            error = self.caller.refusal("exec.run", {"sandbox": "s", "exec": "e", "command": {"shell": "none"}})
            self.assertIn("KeyError", log.call_args.args[0])
        self.assertEqual((error["code"], error["data"]["kind"]), (-32603, "internal"))
        self.assertEqual(self.run_script(self.write_all())()["result"]["outcome"], {"type": "exited", "code": 3})

    def test_output_has_offsets_and_totals_and_comes_after_one_announcement(self) -> None:
        self.caller.introduce()
        result = self.run_script(self.write_all(b"ab", "ü".encode(), b"\xff"), capture=None)()["result"]
        self.assertEqual(result["stdout"], {"bytes": 5})
        self.assertNotIn("gaps", result)
        methods = [note["method"] for note in self.caller.notes]
        self.assertEqual(methods, ["exec.started"] + ["exec.output"] * 3)
        self.assertEqual([piece["offset"] for piece in self.caller.told("exec.output", "e")], [0, 2, 4])
        self.assertEqual(self.caller.output("e"), "abü".encode() + b"\xff")

    def test_head_and_tail_are_sent_and_the_gap_between_is_exact(self) -> None:
        self.caller.introduce()
        capture = {"head": 3, "tail": 2, "digest": True}
        result = self.run_script(self.write_all(b"ab", b"cdef", b"g", b"hij"), capture=capture)()["result"]
        pieces = [(piece["offset"], piece["data"]) for piece in self.caller.told("exec.output", "e")]
        self.assertEqual(pieces, [(0, "ab"), (2, "c"), (8, "ij")])
        self.assertEqual(result["gaps"], [{"stream": "stdout", "from": 3, "to": 8}])
        digest = hashlib.sha256(b"abcdefghij").hexdigest()
        self.assertEqual(result["stdout"], {"bytes": 10, "sha256": digest})

    def test_no_more_is_sent_than_there_is_room_for(self) -> None:
        self.caller.introduce()
        answer = self.run_script(self.write_all(b"0123456789"), window=4)
        self.caller.wait_for(lambda: self.caller.output("e") == b"0123")
        time.sleep(0.1)
        self.assertEqual(self.caller.output("e"), b"0123")
        self.caller.note("exec.credit", {"exec": "e", "bytes": 3})
        self.caller.wait_for(lambda: self.caller.output("e") == b"0123456")
        self.caller.note("exec.credit", {"exec": "e", "bytes": 1000})
        self.assertEqual(answer()["result"]["stdout"], {"bytes": 10})

    def test_a_deadline_strikes_although_nobody_makes_room_and_the_rest_is_a_gap(self) -> None:
        self.caller.introduce()
        ended = threading.Event()

        def flood(execution: Execution) -> Outcome:
            execution.on_end(ended.set)
            while not ended.is_set():
                execution.write("stdout", b"x" * 1000)
            return Signaled(9)

        begin = time.monotonic()
        result = self.run_script(flood, window=10, timeout_ms=300)()["result"]
        self.assertLess(time.monotonic() - begin, 3)
        self.assertEqual(result["outcome"], {"type": "timed_out"})
        total = result["stdout"]["bytes"]
        self.assertEqual(result["gaps"], [{"stream": "stdout", "from": 10, "to": total}])

    def test_whichever_comes_first_is_the_outcome(self) -> None:
        self.caller.introduce()

        def late(execution: Execution) -> Outcome:
            execution.conclude(Exited(0))
            time.sleep(0.4)
            return Exited(1)

        self.assertEqual(self.run_script(late, timeout_ms=100)()["result"]["outcome"], {"type": "exited", "code": 0})

    def test_cancel_and_signals_reach_the_hooks_that_come_late(self) -> None:
        self.caller.introduce()
        signals: List[int] = []
        go_on, ended = threading.Event(), threading.Event()

        def script(execution: Execution) -> Outcome:
            go_on.wait(PATIENCE)
            execution.on_signal(signals.append)
            execution.on_end(ended.set)
            ended.wait(PATIENCE)
            return Signaled(9)

        answer = self.run_script(script)
        for number in (10, 12, 64):
            self.caller.call("exec.signal", {"exec": "e", "signal": number})
        self.assertEqual(self.caller.refusal("exec.signal", {"exec": "e", "signal": 65})["code"], -32602)
        go_on.set()
        self.caller.wait_for(lambda: signals == [10, 12, 64])
        self.caller.call("exec.cancel", {"exec": "e"})
        self.assertEqual(answer()["result"]["outcome"], {"type": "cancelled"})
        self.assertEqual(self.caller.refusal("exec.cancel", {"exec": "e"})["data"]["kind"], "exec_not_found")

    def test_closing_answers_whoever_waits_and_nothing_starts_any_more(self) -> None:
        self.caller.introduce()
        ended = threading.Event()

        def script(execution: Execution) -> Outcome:
            execution.on_end(ended.set)
            ended.wait(PATIENCE)
            time.sleep(0.3)
            return Signaled(9)

        answer = self.run_script(script)
        closed = self.caller.ask("sandbox.close", {"sandbox": "s"})
        late = self.caller.refusal("exec.run", {"sandbox": "s", "exec": "late", "command": {"shell": "x"}})
        self.assertEqual(late["data"]["kind"], "sandbox_not_found")
        self.assertEqual(answer()["result"]["outcome"], {"type": "sandbox_lost"})
        self.assertEqual(closed()["result"], {"existed": True})
        self.assertEqual(self.caller.call("sandbox.close", {"sandbox": "other"}), {"existed": False})

    def test_streamed_input_is_answered_when_it_is_taken(self) -> None:
        self.caller.introduce()
        take = threading.Semaphore(0)
        taken: List[bytes] = []

        def script(execution: Execution) -> Outcome:
            pieces = execution.input()
            for _ in range(2):
                take.acquire(timeout=PATIENCE)
                taken.append(next(pieces))
            execution.close_input()
            take.acquire(timeout=PATIENCE)
            return Exited(0)

        answer = self.run_script(script, stdin={"mode": "stream"})
        feeds = [self.caller.ask("exec.stdin", {"exec": "e", "data": data}) for data in ("a", {"b64": "/w=="}, "c")]
        take.release(2)
        self.assertEqual([feed()["result"]["open"] for feed in feeds], [True, True, False])
        self.assertEqual(taken, [b"a", b"\xff"])
        self.assertEqual(self.caller.call("exec.stdin", {"exec": "e", "eof": True}), {"open": False})
        take.release()
        answer()

    def test_given_input_and_no_input_both_end(self) -> None:
        self.caller.introduce()

        def repeat(execution: Execution) -> Outcome:
            for data in execution.input():
                execution.write("stderr", data)
            return Exited(0)

        self.run_script(repeat)()
        self.assertEqual(self.caller.output("e", "stderr"), b"")
        self.run_script(repeat, stdin={"mode": "bytes", "data": {"b64": "AP8="}})()
        self.assertEqual(self.caller.output("e", "stderr"), b"\0\xff")

    def test_a_silent_command_is_said_to_be_alive_until_its_answer(self) -> None:
        self.caller.introduce()

        def sleep(_: Execution) -> Outcome:
            time.sleep(0.5)
            return Exited(0)

        self.run_script(sleep, alive_ms=50)()
        count = len(self.caller.told("exec.alive", "e"))
        self.assertGreaterEqual(count, 3)
        time.sleep(0.2)
        self.assertEqual(len(self.caller.told("exec.alive", "e")), count)

    def test_jobs_are_started_listed_and_read_where_they_are_declared(self) -> None:
        self.caller.introduce()
        detached: Json = {"sandbox": "s", "exec": "e", "command": {"shell": "x"}, "detach": True}
        self.assertEqual(self.caller.refusal("exec.run", detached)["code"], -32601)
        self.assertEqual(self.caller.refusal("job.list", {"sandbox": "s"})["code"], -32601)
        self.adapter.capabilities = (*self.adapter.capabilities, "jobs")
        self.assertEqual(self.caller.call("exec.run", detached), {"job": "j"})
        jobs = self.caller.call("job.list", {"sandbox": "s"})["jobs"]
        nothing = {"bytes": 0}
        expected = {"job": "j", "command": "sleep 5", "age_ms": 1500, "stdout": nothing, "stderr": nothing}
        self.assertEqual(jobs[0], expected)
        self.assertEqual((jobs[1]["outcome"], jobs[1]["stdout"]), ({"type": "exited", "code": 0}, {"bytes": 4}))
        place = {"sandbox": "s", "job": "j", "stream": "stderr", "from": 2, "max": 3}
        gap = {"stream": "stderr", "from": 2, "to": 5}
        told = self.caller.call("job.output", place)
        self.assertEqual(told, {"data": "567", "offset": 5, "end": False, "gap": gap})
        error = self.caller.refusal("job.output", {**place, "job": "x"})
        self.assertEqual((error["data"]["kind"], error["data"]["resource"]), ("job_not_found", "x"))
        self.assertEqual(self.caller.refusal("job.wait", place)["code"], -32601)

    def test_the_end_of_input_ends_what_runs_and_lets_the_adapter_clean_up(self) -> None:
        self.caller.introduce()
        ended = threading.Event()

        def script(execution: Execution) -> Outcome:
            execution.on_end(ended.set)
            ended.wait(PATIENCE)
            return Signaled(9)

        answer = self.run_script(script)
        self.caller.wait_for(lambda: "x" in self.adapter.scripts)
        self.writer.close()
        self.assertEqual(answer()["result"]["outcome"], {"type": "sandbox_lost"})
        self.server.join(PATIENCE)
        self.assertTrue(self.adapter.is_shut_down)
        self.assertEqual(self.codes, [0])

    def test_bytes_go_as_text_where_they_are_text(self) -> None:
        self.assertEqual(bytes_to_json("naïve\n\0".encode()), "naïve\n\0")
        self.assertEqual(bytes_to_json(b"\xff\0"), {"b64": "/wA="})


class BackendTest(unittest.TestCase):
    """The backend, as a process of its own."""

    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [sys.executable, "backend.py"],
            cwd=FOLDER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin = self.process.stdin
        self.stdout = open(self.process.stdout.fileno(), "rb", closefd=False)  # noqa: SIM115
        self.addCleanup(self.process.stdout.close)
        self.caller = Caller(self.write, self.stdout.readline)
        self.caller.introduce(self.scratch.name)
        self.sandbox: str = self.caller.call("sandbox.open")["sandbox"]
        self.serial = 0

    def write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[self.stdin.write(view) :]

    def tearDown(self) -> None:
        self.stdin.close()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
        self.caller.ended.wait(PATIENCE)
        self.stdout.close()
        left = os.listdir(self.scratch.name)
        self.scratch.cleanup()
        self.assertEqual(left, [], "nothing is left when the backend has ended")

    def start(self, text: str, **more: Any) -> Callable[[], Json]:
        self.serial += 1
        name = f"e{self.serial}"
        params = {"sandbox": self.sandbox, "exec": name, "command": {"shell": text}, **more}
        return self.caller.ask("exec.run", params)

    def outcome(self, text: str, **more: Any) -> Json:
        answer: Json = self.start(text, **more)()["result"]["outcome"]
        return answer

    def last_output(self) -> bytes:
        return self.caller.output(f"e{self.serial}")

    def is_gone(self, mark: str) -> bool:
        """Whether no process has this word on its command line."""
        for entry in os.listdir("/proc"):
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    if entry.isdigit() and mark.encode() in file.read().split(b"\0"):
                        return False
            except OSError:
                continue
        return True

    def test_a_deadline_ends_everything_of_a_command(self) -> None:
        mark = f"1000.{os.getpid()}1"
        begin = time.monotonic()
        outcome = self.outcome(f"trap '' TERM; sleep {mark} & echo so far; sleep {mark}", timeout_ms=300)
        self.assertEqual(outcome, {"type": "timed_out"})
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(self.last_output(), b"so far\n")
        self.assertTrue(self.is_gone(mark))
        self.assertEqual(self.outcome("exit 7"), {"type": "exited", "code": 7})

    def test_what_is_left_behind_lives_until_the_sandbox_is_closed(self) -> None:
        mark = f"1000.{os.getpid()}2"
        begin = time.monotonic()
        self.assertEqual(self.outcome(f"sleep {mark} & echo started"), {"type": "exited", "code": 0})
        self.assertLess(time.monotonic() - begin, 3)
        self.assertEqual(self.last_output(), b"started\n")
        self.assertFalse(self.is_gone(mark))
        self.assertEqual(self.caller.call("sandbox.close", {"sandbox": self.sandbox}), {"existed": True})
        self.assertTrue(self.is_gone(mark))
        self.assertEqual(self.caller.refusal("exec.run", {
            "sandbox": self.sandbox, "exec": "x", "command": {"shell": "true"},
        })["data"]["kind"], "sandbox_not_found")  # fmt: skip

    def test_many_commands_run_at_the_same_time_and_keep_their_own_output(self) -> None:
        answers = [self.start(f"sleep 0.2; echo {number}", window=1000) for number in range(30)]
        self.assertTrue(all(answer()["result"]["outcome"] == {"type": "exited", "code": 0} for answer in answers))
        for number in range(30):
            self.assertEqual(self.caller.output(f"e{number + 1}"), f"{number}\n".encode())

    def test_a_flood_with_a_tiny_window_holds_up_nobody_else(self) -> None:
        flood = self.start("yes", window=10)
        self.caller.wait_for(lambda: len(self.caller.output("e1")) == 10)
        self.assertEqual(self.outcome("echo meanwhile"), {"type": "exited", "code": 0})
        self.caller.call("exec.cancel", {"exec": "e1"})
        self.assertEqual(flood()["result"]["outcome"], {"type": "cancelled"})
        self.assertEqual(self.caller.output("e1"), b"y\ny\ny\ny\ny\n")

    def test_a_megabyte_of_input_comes_back(self) -> None:
        data = os.urandom(1 << 20)
        answer = self.start(
            "cat",
            stdin={"mode": "bytes", "data": {"b64": base64.b64encode(data).decode()}},
            capture={"head": 0, "tail": 0, "digest": True},
        )
        self.assertEqual(answer()["result"]["stdout"]["sha256"], hashlib.sha256(data).hexdigest())

    def test_files_are_what_commands_see_and_refusals_name_them(self) -> None:
        place = {"sandbox": self.sandbox, "path": "deep/er/f"}
        self.caller.call("file.write", {**place, "data": {"b64": "AP8K"}})
        self.assertEqual(self.outcome("od -An -tx1 deep/er/f"), {"type": "exited", "code": 0})
        self.assertEqual(self.last_output(), b" 00 ff 0a\n")
        self.outcome("(: > usual; [ $(stat -c %a usual) = $(stat -c %a deep/er/f) ] && echo as usual; rm usual)")
        self.assertIn(b"as usual", self.last_output())
        self.caller.call("file.chmod", {**place, "mode": 0o751})
        self.caller.call("file.write", {**place, "data": "new"})
        told = self.caller.call("file.stat", place)
        self.assertEqual(told, {"name": "f", "kind": "file", "size": 3, "mode": 0o751})
        self.caller.call("file.move", {"sandbox": self.sandbox, "from": "deep/er/f", "to": "up/g"})
        listing = self.caller.call("file.list", {"sandbox": self.sandbox, "path": "."})
        self.assertEqual([entry["name"] for entry in listing["entries"]], ["deep", "up"])
        content = self.caller.call("file.read", {"sandbox": self.sandbox, "path": "up/g", "offset": 1, "length": 1})
        self.assertEqual(content, {"data": "e", "size": 3})
        for method, path, kind in (
            ("file.read", "none", "not_found"),
            ("file.read", "up", "is_a_directory"),
            ("file.remove", "up", "is_a_directory"),
            ("file.list", "up/g", "not_a_directory"),
            ("file.read", "/dev/zero", "invalid_argument"),
        ):
            error = self.caller.refusal(method, {"sandbox": self.sandbox, "path": path})
            self.assertEqual(error["data"]["kind"], kind, (method, path))
            self.assertIn(path, error["message"])
        self.caller.call("file.remove", {"sandbox": self.sandbox, "path": "up", "recursive": True})

    def test_a_signal_asks_for_the_end_and_everything_goes(self) -> None:
        mark = f"1000.{os.getpid()}3"
        self.start(f"echo on; sleep {mark}")
        self.caller.wait_for(lambda: self.last_output() == b"on\n")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(PATIENCE), 128 + signal.SIGTERM)
        self.assertTrue(self.is_gone(mark))

    def test_a_caller_that_reads_no_more_is_the_end(self) -> None:
        reader, writer = os.pipe()
        command = [sys.executable, "backend.py"]
        deaf = subprocess.Popen(
            command, cwd=FOLDER, stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.DEVNULL, bufsize=0
        )
        os.close(writer)
        os.close(reader)
        assert deaf.stdin is not None
        with deaf, deaf.stdin:
            deaf.stdin.write(b"hello\n")
            self.assertEqual(deaf.wait(PATIENCE), 1)


if __name__ == "__main__":
    unittest.main()
