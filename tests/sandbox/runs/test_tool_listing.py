"""Tests of what is said of a server that does not list its tools, with real processes."""

from dataclasses import replace

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Unavailable
from sandbox.runs import tool_listing
from sandbox.runs.tool_listing import listed, said_last
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


def server(script):
    return replace(
        SERVERS["filesystem"], name="board", command=("/usr/bin/env", "python3", "-I", "-c", script), environment={}
    )


@pytest.mark.box
def test_a_server_that_ends_is_named_with_its_code_and_last_words():
    script = "import sys; sys.exit('ModuleNotFoundError: No module named \\x1b[31mtomli')"
    with pytest.raises(Unavailable) as caught:
        listed(BOX, server(script))
    assert "board ended with code 1 before it listed its tools" in str(caught.value)
    assert r"ModuleNotFoundError: No module named \x1b[31mtomli" in str(caught.value)


@pytest.mark.box
def test_a_server_that_is_not_there_is_named_with_its_command():
    with pytest.raises(Unavailable, match=r"board .*`/opt/nothing`.*"):
        listed(BOX, replace(server(""), command=("/opt/nothing",)))


@pytest.mark.box
def test_a_server_that_says_nothing_is_late_and_what_it_wrote_is_shown(monkeypatch):
    monkeypatch.setattr(tool_listing, "SECONDS", 1.0)
    with pytest.raises(Unavailable, match="board did not list its tools within 1 s"):
        listed(BOX, server("import time; time.sleep(600)"))


@pytest.mark.box
@pytest.mark.parametrize("ends", ["time.sleep(600)", "sys.exit(1)"])
def test_the_first_line_of_standard_output_that_is_no_mcp_is_shown(ends, monkeypatch):
    monkeypatch.setattr(tool_listing, "SECONDS", 1.0)
    script = f"import sys, time; print('\\x1b[1mError: no vault at notes', flush=True); print('more'); {ends}"
    with pytest.raises(Unavailable) as caught:
        listed(BOX, server(script))
    assert r"its standard output has lines that are not MCP, first '\x1b[1mError: no vault at notes'" in str(
        caught.value
    )
    assert "without an initial state" in str(caught.value)


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        (NODE, "Error: Cannot find module '/opt/added/board/npm/node_modules/board/dist/cli.js'"),
        ("Traceback:\n  File x\nTypeError: __init__() got 'description'\n", "TypeError: __init__() got 'description'"),
        ("INFO starting\nno database at /nowhere\n\n", "no database at /nowhere"),
        ("", ""),
    ],
)
def test_the_last_words_are_the_error_and_not_the_frames_around_it(stderr, words):
    assert said_last(stderr) == words
