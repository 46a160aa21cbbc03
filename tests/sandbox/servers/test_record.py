"""Tests of the recorded tool lists against the installed servers."""

import json

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Unavailable
from sandbox.runs.record import installed_version, record
from sandbox.servers import manifest
from sandbox.servers.registry import SERVERS, tool_table
from sandbox.servers.server import FOLDERS


@pytest.mark.box
@pytest.mark.parametrize("server", SERVERS)
def test_recorded_tools_are_those_of_the_installed_server(server):
    kept = json.loads((FOLDERS / server / manifest.TOOLS).read_text(encoding="utf-8"))
    recorded = json.loads(record(SERVERS[server], BwrapBox()))
    assert recorded == kept, "run `python -m sandbox.runs.record`, then read the difference"


def test_a_task_can_list_twelve_to_eighteen_tools():
    assert len(tool_table()) >= 18
    for described in tool_table().values():
        assert described["inputSchema"]["type"] == "object"


def test_a_server_that_is_not_installed_is_named(tmp_path):
    with pytest.raises(Unavailable, match="mcp-server-git"):
        installed_version("pypi:mcp-server-git", tmp_path)
