"""Tests of official MCP clients, old and new, through a gateway to the real servers."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from sandbox.boxes.box import ResourceLimits
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.gateway import GatewaySpec, listen, listing, start
from sandbox.servers.registry import SERVERS
from sandbox.transcript import ToolCall
from verifiers.tree import DIRECTORY, FileTree

from ...frozen import content
from ...patience import PATIENCE

pytestmark = pytest.mark.box

URL = "http://127.0.0.1:8700/mcp"
TOOLS = ["filesystem.write_file", "filesystem.read_text_file", "sqlite.create_table"]
TOOLS += ["sqlite.list_tables", "git.git_log"]
OLD_PYTHON = Path(sys.prefix) / "world/python/sqlite/bin/python"
OLD_CLIENT = """
import anyio, httpx, json, sys
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client

def factory(headers=None, timeout=None, auth=None):
    return httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=sys.argv[1]), headers=headers, timeout=None)

async def main():
    async with streamablehttp_client("http://127.0.0.1:8700/mcp", httpx_client_factory=factory) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            good = await session.call_tool("sqlite__list_tables", {})
            bad = await session.call_tool("made__up", {})
            refused = []
            for arguments in ({"a": "x" * 2**21}, {"a": json.loads("[" * 200 + "]" * 200)}):
                try:
                    await session.call_tool("sqlite__list_tables", arguments)
                except McpError as error:
                    refused.append(error.error.message)
            again = await session.call_tool("sqlite__list_tables", {})
    said = {"tools": tools, "good": good.isError, "bad": bad.isError, "text": good.content[0].text}
    print(json.dumps({**said, "refused": refused, "again": again.isError}))

anyio.run(main)
"""


@pytest.fixture(scope="module")
def box():
    made = BwrapBox()
    made.check()
    return made


@pytest.fixture
def worlds():
    made = []
    yield made
    for world in made:
        world.close()


@pytest.fixture
def gateway(box, worlds, tmp_path):
    """Start a gateway in front of a world with the three real servers."""
    started = []

    def begin(names=("filesystem", "git", "sqlite"), **changes):
        sockets = tmp_path / f"gw{len(started)}"
        sockets.mkdir()
        values = {"alias": "r", "goal": "g", "servers": names, "max_steps": 20, **changes}
        spec = GatewaySpec(tools=listing(TOOLS), **values)
        servers = [SERVERS[name] for name in names]
        worlds.append(box.world(servers, FileTree({server.root: DIRECTORY for server in servers}), ResourceLimits()))
        started.append(start(spec, worlds[-1].channel(), listen(sockets)))
        started[-1].ready(PATIENCE)
        return started[-1], sockets / "gateway.sock"

    yield begin
    for one in started:
        one.kill()


async def spoken(path, mode, calls):
    """Connect with the current client, and give the listed names and the results."""
    http = httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(uds=str(path)), timeout=PATIENCE)
    async with http, Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
        tools = (await client.list_tools()).tools
        recorded = {tool["name"]: tool.get("outputSchema") for tool in listing(TOOLS)}
        assert [tool.output_schema for tool in tools] == [recorded[tool.name] for tool in tools]
        return [tool.name for tool in tools], [await client.call_tool(name, arguments) for name, arguments in calls]


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.full)])
def test_the_current_client_works_unchanged(gateway, mode):
    running, path = gateway()
    note = "/data/files/note.txt"
    calls = [
        ("filesystem__write_file", {"path": note, "content": "grüße"}),
        ("filesystem__read_text_file", {"path": note}),
        ("sqlite__create_table", {"query": "CREATE TABLE t (a INTEGER)"}),
        ("sqlite__list_tables", {}),
        ("git__git_log", {"repo_path": "/data"}),
        ("filesystem__fly", {}),
    ]
    names, results = anyio.run(spoken, path, mode, calls)
    assert names == [tool.replace(".", "__") for tool in TOOLS]
    assert [result.is_error for result in results] == [False, False, False, False, True, True]
    assert (results[1].content[0].text, results[1].structured_content) == ("grüße", {"content": "grüße"})
    assert "'t'" in results[3].content[0].text
    transcript = running.finish(PATIENCE)
    assert [call.error for call in transcript.calls] == [False, False, False, False, True, True]
    assert (transcript.unlisted, transcript.errors, running.lost) == (1, 1, ())


@pytest.mark.full
def test_a_client_of_the_line_before_works_unchanged(gateway):
    running, path = gateway()
    done = subprocess.run([OLD_PYTHON, "-I", "-c", OLD_CLIENT, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["tools"] == [tool.replace(".", "__") for tool in TOOLS]
    assert (said["good"], said["bad"], said["text"]) == (False, True, "[]")
    assert ["bytes" in said["refused"][0], "deeper" in said["refused"][1], said["again"]] == [True, True, False]
    assert running.finish(PATIENCE).unlisted == 1


def test_a_reference_solution_is_played_on_the_real_servers(gateway, worlds):
    note = "/data/files/out.txt"
    script = [
        ToolCall("filesystem.write_file", {"path": note, "content": "one"}),
        ToolCall("filesystem.write_file", {"path": note, "content": "two"}),
        ToolCall("filesystem.read_text_file", {"path": note}),
    ]
    faults = [{"tool": "filesystem.write_file", "call": 2, "error": "EIO"}]
    transcript = gateway(("filesystem",), script=script, script_answer="one", faults=faults)[0].finish(PATIENCE)
    assert [call.result for call in transcript.calls][1:] == ["EIO", "one"]
    assert (transcript.ended, transcript.answer) == ("answered", "one")
    assert content(worlds[0].freeze(PATIENCE))["files/out.txt"].data == b"one"
