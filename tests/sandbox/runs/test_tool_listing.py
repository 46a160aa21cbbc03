"""Tests of a server's first start, and of what is said where it fails, with real processes."""

import platform
from dataclasses import replace

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Malformed, Unavailable
from sandbox.isolation.seccomp import MACHINES
from sandbox.isolation.system_calls import GROUPS
from sandbox.runs import tool_listing
from sandbox.runs.tool_listing import calls_to_try, last_lines, listed, start
from sandbox.servers.registry import SERVERS

BOX = BwrapBox()
NODE = """\
node:internal/modules/cjs/loader:1433
  throw err;
  ^

Error: Cannot find module '/opt/added/board/npm/node_modules/board/dist/cli.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1430:15) {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v24.19.0
"""
SERVER = """\
import json, os, sys, time
tools = [{"name": name, "inputSchema": schema} for name, schema in TOOLS.items()]
about = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, name = message["method"], message.get("params", {}).get("name")
    reply = {"result": about} if method == "initialize" else {"result": {"tools": tools}}
    if method == "tools/call":
        reply = {"result": call(name)}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
"""
FREE, NEEDY = {"type": "object"}, {"type": "object", "required": ["x"], "properties": {"x": {}}}


def server(script, **more):
    return replace(
        SERVERS["filesystem"],
        name="board",
        command=("/usr/bin/env", "python3", "-I", "-c", script),
        environment={},
        **more,
    )


def answering(call, tools, **more):
    body = "\n".join(f"    {line}" for line in call.splitlines())
    return server(f"TOOLS = {tools!r}\ndef call(name):\n    import os, sys, time\n{body}\n{SERVER}", **more)


def says(text):
    return f"return {{'content': [{{'type': 'text', 'text': {text}}}], 'isError': False}}"


FAILS = "return {'content': [{'type': 'text', 'text': 'no \\x1b[31mvault'}], 'isError': True}"


@pytest.mark.box
@pytest.mark.parametrize(
    ("script", "parts"),
    [
        (
            "import sys; sys.exit('one\\ntwo\\nModuleNotFoundError: No module named \\x1b[31mtomli')",
            [
                "board ended with code 1 before it listed its tools",
                r"one / two / ModuleNotFoundError: No module named \x",
            ],
        ),
        ("", ["board ended with code 0", "it wrote nothing on standard error"]),
        (
            "import sys, time; print('waiting for Godot', file=sys.stderr, flush=True); time.sleep(600)",
            [
                "did not list its tools within 1 s, and still runs: it is slow",
                "waiting for Godot",
                "limits.call_seconds",
            ],
        ),
        (
            "import os, time; os.close(1); time.sleep(600)",
            ["did not list its tools: it closed its standard output, and still runs"],
        ),
        (
            "import json; number = json.loads(input())['id']; error = {'code': 1, 'message': 'no licence'}\n"
            "print(json.dumps({'jsonrpc': '2.0', 'id': number, 'error': error}), flush=True); input(); input()",
            ["did not list its tools: it answered `initialize` with an error: no licence, and still runs"],
        ),
        (
            f"TOOLS = {{'read': {{'type': 'array'}}}}\n{SERVER}",
            [
                "it gave `tools/list` an answer that is none of MCP (at tools.0.inputSchema",
                "use another version of it",
            ],
        ),
        (
            "print('\\x1b[1mError: no vault', flush=True); print('more'); import sys; sys.exit(1)",
            [r"its standard output has lines that are not MCP, first '\x1b[1mError: no vault'", "on an empty folder"],
        ),
    ],
)
def test_a_server_that_does_not_list_its_tools_is_told_with_the_true_reason(monkeypatch, script, parts):
    if "600" in script and "close" not in script:
        monkeypatch.setattr(tool_listing, "SECONDS", 1.0)
    with pytest.raises(Unavailable) as caught:
        listed(BOX, server(script))
    assert [part for part in parts if part not in str(caught.value)] == []


@pytest.mark.box
def test_a_server_that_is_not_there_is_named_with_its_command():
    with pytest.raises(Unavailable, match=r"board ended with code 127.*No such file.*`/opt/nothing`.*"):
        listed(BOX, replace(server(""), command=("/opt/nothing",)))


@pytest.mark.box
@pytest.mark.parametrize(
    ("call", "more", "parts"),
    [
        (FAILS, {}, [r"lists its tools, and answered add with an error: no \x1b[31mvault", "`first_call`"]),
        ("sys.stderr.write('no disk'); sys.exit(3)", {}, ["and then ended with code 3", "no disk"]),
        ("time.sleep(600)", {}, ["lists its tools, and did not answer list_notes within 1 s"]),
        (
            "1/0",
            {"first_call": {"tool": "add"}},
            ["answered add with an error", "ZeroDivisionError", "ended with code 1"],
        ),
    ],
)
def test_a_server_whose_calls_fail_is_refused(monkeypatch, call, more, parts):
    if "600" in call:
        monkeypatch.setattr(tool_listing, "SECONDS", 1.0)
        monkeypatch.setattr(tool_listing, "MAX_CALLS", 1)
    with pytest.raises(Unavailable) as caught:
        start(BOX, answering(call, {"add": FREE, "list_notes": FREE}, **more))
    assert [part for part in parts if part not in str(caught.value)] == []


@pytest.mark.box
def test_a_server_starts_on_what_its_manifest_says_and_answers_a_call():
    reads = says("open('notes/a.md').read() if name == 'list_notes' else 'written'")
    seeded = {"start_with": {"files": {"notes/a.md": "milk"}}}
    first = start(BOX, answering(reads, {"add": FREE, "list_notes": FREE, "find": NEEDY}, **seeded))
    assert (sorted(first.tools), first.called, first.answer) == (["add", "find", "list_notes"], "list_notes", "milk")
    assert start(BOX, answering(reads, {"find": NEEDY})).called is None
    with pytest.raises(Malformed, match=r"\$\.first_call\.tool names 'lst', and the server lists add"):
        start(BOX, answering(reads, {"add": FREE}, first_call={"tool": "lst"}))


@pytest.mark.box
def test_a_server_that_lacks_a_group_of_system_calls_is_told_its_name():
    number = GROUPS["watch-files"].calls["inotify_init1"][MACHINES.index(platform.machine())]
    watches = f"import ctypes; watch = ctypes.CDLL(None).syscall({number}, 0); os._exit(1) if watch < 0 else None\n"
    lacking = answering(watches + says("'watching'"), {"watch": FREE})
    with pytest.raises(Unavailable, match=r"with `system_calls: \[watch-files\]` in its manifest it starts"):
        start(BOX, lacking)
    assert start(BOX, replace(lacking, system_calls=("watch-files",))).answer == "watching"


def test_tools_that_read_are_called_first_and_one_that_is_named_alone():
    tools = [{"name": "add"}, {"name": "x", "annotations": {"readOnlyHint": True}}, {"name": "notes-list"}]
    plain = [{**tool, "inputSchema": FREE} for tool in tools]
    assert calls_to_try(server(""), plain) == [("x", {}), ("notes-list", {}), ("add", {})]
    named = server("", first_call={"tool": "add", "arguments": {"y": 1}})
    assert calls_to_try(named, plain) == [("add", {"y": 1})]


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        (NODE, "Error: Cannot find module '/opt/added/board/npm/node_modules/board/dist/cli.js' / at Module."),
        ("Traceback:\n  File x\nTypeError: __init__() got x\n", "Traceback: / File x / TypeError: __init__() got x"),
        ("\n", ""),
    ],
)
def test_the_last_lines_have_the_error_among_the_frames_around_it(stderr, words):
    assert last_lines(stderr).startswith(words)
