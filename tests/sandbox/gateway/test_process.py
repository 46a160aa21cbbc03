"""Tests of the gateway as a process: its privileges, and what its runner keeps when it dies."""

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.errors import Lost
from sandbox.gateway import FORK_SERVER, GatewaySpec, listen, listing, start
from sandbox.gateway.confine import UNPRIVILEGED
from sandbox.gateway.warmup import _requests
from sandbox.transcript import ToolCall
from sandbox.world import frames

from ...patience import PATIENCE, until
from ..processes import limits_of, pid_of, require_confined

pytestmark = pytest.mark.slow

READ = "filesystem__read_text_file"


@pytest.fixture
def begin(channel, tmp_path):
    """Start a gateway on a channel on which nobody answers."""
    started = []

    def begin(**changes):
        values = {"alias": "r-1", "goal": "find the kingfisher", "servers": ("filesystem",), "max_steps": 5, **changes}
        tools = listing(["filesystem.read_text_file", "git.git_log"])
        listener = None if "script" in changes else listen(tmp_path)
        started.append(start(GatewaySpec(tools=tools, **values), channel[0], listener))
        started[-1].ready(PATIENCE)
        return started[-1]

    yield begin
    for gateway in started:
        gateway.kill()


@pytest.fixture
def ask(tmp_path):
    """Send one request over the gateway's socket; give the status and the JSON of the response."""

    def ask(method, path, body=b"", timeout=PATIENCE):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1:8700", f"Content-Length: {len(data)}"]
        lines += ["Connection: close", "Content-Type: application/json", "Accept: application/json, text/event-stream"]
        with socket.socket(socket.AF_UNIX) as end:
            end.settimeout(timeout)
            end.connect(str(tmp_path / "gateway.sock"))
            end.sendall("\r\n".join([*lines, "", ""]).encode() + data)
            answer = b""
            while part := end.recv(65536):
                answer += part
        head, _, content = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(content) if content else None

    return ask


def call(name, arguments=None, number=1):
    params = {"name": name, "arguments": arguments or {}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_an_agent_is_told_its_task_before_any_server_is_up(begin, ask):
    gateway = begin()
    status, task = ask("GET", "/task")
    assert status == 200
    assert (task["alias"], task["goal"], task["max_steps"]) == ("r-1", "find the kingfisher", 5)
    assert [tool["name"] for tool in task["tools"]] == [READ, "git__git_log"]
    assert ask("POST", "/answer", {"answer": "a kingfisher"}) == (200, {"accepted": True})
    assert gateway.wait(PATIENCE)
    transcript = gateway.finish(PATIENCE)
    assert (transcript.ended, transcript.answer, transcript.calls) == ("answered", "a kingfisher", ())


def test_a_server_that_ended_is_an_error_and_a_fact(begin, ask, channel):
    gateway = begin()
    channel[1].sendall(frames.pack(1, b""))
    _, reply = ask("POST", "/mcp", call(READ, {"path": "x"}))
    assert reply["result"]["isError"]
    assert ask("POST", "/mcp", call("git__git_log"))[1]["result"]["isError"], "a listed tool whose server does not run"
    assert gateway.lost == ("filesystem",)
    assert gateway.finish(PATIENCE).errors == 2


def test_the_world_goes_away_and_the_gateway_stays(begin, ask, channel):
    gateway = begin()
    channel[1].close()
    assert ask("POST", "/mcp", call(READ))[1]["result"]["isError"]
    assert gateway.finish(PATIENCE).ended == "agent-exited"


def test_a_gateway_that_is_killed_in_a_call_loses_nothing(begin, ask):
    gateway = begin()
    ask("POST", "/mcp", call("made__up"))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, "POST", "/mcp", call(READ, {"path": "x"}))
        until(lambda: len(gateway._book.transcript("gateway-lost").calls) == 2, "the call in the log")
        assert not asked.done()
        os.kill(pid_of(gateway.child.pidfd), 9)
        with pytest.raises((IndexError, OSError)):  # nothing was said, or it was hung up
            asked.result(PATIENCE)
    transcript = gateway.finish(PATIENCE)
    assert transcript.ended == "gateway-lost"
    assert [(record.tool, record.listed) for record in transcript.calls] == [
        ("made__up", False),
        ("filesystem.read_text_file", True),
    ]


def test_the_wall_clock_of_an_idle_session_runs_out(begin, ask):
    gateway = begin(wall=0.4)
    assert not gateway.wait(0.6), "it starts with the first request"
    ask("GET", "/task")
    assert gateway.wait(PATIENCE)
    assert ask("POST", "/answer", {"answer": "late"})[0] == 409
    assert gateway.finish(PATIENCE).ended == "time-exceeded"


def test_a_script_is_played_through_the_same_session(begin):
    script = [ToolCall("no.such", {}), ToolCall("filesystem.read_text_file", {"path": "a"})]
    faults = [{"tool": "filesystem.read_text_file", "call": 1, "error": "try again"}]
    transcript = begin(script=script, script_answer="42", faults=faults, servers=()).finish(PATIENCE)
    assert (transcript.ended, transcript.answer) == ("answered", "42")
    assert [(record.listed, record.injected) for record in transcript.calls] == [(False, False), (True, True)]


def test_a_script_whose_server_does_not_come_up_is_not_begun(begin, channel):
    channel[1].sendall(frames.pack(1, b""))
    gateway = begin(script=[ToolCall("filesystem.read_text_file", {"path": "a"})])
    assert (gateway.finish(PATIENCE).calls, gateway.lost) == ((), ("filesystem",))


def test_a_solution_is_given_in_wire_names(begin, ask):
    begin(solution={"calls": [ToolCall("filesystem.read_text_file", {"path": "a"})], "answer": "42"})
    assert ask("GET", "/solution") == (200, {"calls": [{"tool": READ, "arguments": {"path": "a"}}], "answer": "42"})


def test_the_gateway_survives_whatever_an_agent_sends(begin, ask, channel, tmp_path):
    """The interpreter's own files cannot be read any more, so no code path may import an unloaded module."""
    gateway = begin(max_steps=1000)
    channel[1].sendall(frames.pack(1, b"no json\n{}\n\xff\n") + frames.pack(1, b"") + frames.pack(9, b"whose?"))
    hostile = (b"\x16\x03\x01\x02\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET \xff\xff\r\n\r\n")
    for message in (*_requests(), *hostile):
        if b"/answer" in message:
            continue
        with socket.socket(socket.AF_UNIX) as end, suppress(OSError):
            end.settimeout(PATIENCE)
            end.connect(str(tmp_path / "gateway.sock"))
            end.sendall(message)
            end.shutdown(socket.SHUT_WR)
            while end.recv(65536):
                pass
    for name in ("x" * 5000, "\u202e", "filesystem__read_text_file", "filesystem.read_text_file", ""):
        assert ask("POST", "/mcp", call(name, {"path": {"deep": [None, 1e300, -0.0, "é"]}}))[0] == 200
    assert ask("GET", "/task")[0] == 200
    assert gateway.finish(PATIENCE).ended == "agent-exited"


def test_the_privileges_that_the_process_gave_up(begin):
    pid = pid_of(begin().child.pidfd)
    require_confined(pid, UNPRIVILEGED, "ipc", "mnt", "net", "pid", "uts")
    if os.geteuid() == 0:
        assert not list(Path(f"/proc/{pid}/root").iterdir()), "its root holds nothing"
    limits = limits_of(pid)
    assert limits["Max processes"] == limits["Max file size"] == limits["Max core file size"] == ["0", "0"]


def test_a_fork_server_that_died_is_replaced(begin):
    FORK_SERVER._running()
    FORK_SERVER._process.kill()
    FORK_SERVER._process.wait()
    assert begin().finish(PATIENCE).ended == "agent-exited"


def test_a_gateway_that_does_not_come_up_is_lost(begin):
    gateway = begin()
    gateway.kill()
    gateway._book.ready = False
    with pytest.raises(Lost):
        gateway.ready(0.1)
    assert gateway.over()
    assert gateway.finish(1).ended == "gateway-lost"
