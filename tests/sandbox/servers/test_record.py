"""Tests of the recorded tool lists against the installed servers."""

import json

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Unavailable
from sandbox.runs.record import installed_version, record
from sandbox.servers import manifest
from sandbox.servers.registry import SERVERS, tool_table
from sandbox.servers.server import FOLDERS

PROGRAMS = {"email": "dovecot", "postgres": "postgres", "redis": "redis"}
"""What a server's backend needs of the machine, as tests/needs.py calls it."""


@pytest.mark.box
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.needs(PROGRAMS[name]) if name in PROGRAMS else ()) for name in SERVERS],
)
def test_recorded_tools_are_those_of_the_installed_server(name):
    kept = json.loads((FOLDERS / name / manifest.TOOLS).read_text(encoding="utf-8"))
    recorded = json.loads(record(SERVERS[name], BwrapBox()))
    assert recorded == kept, "run `python -m sandbox.runs.record`, then read the difference"


def test_a_task_can_list_twelve_to_eighteen_tools():
    assert len(tool_table()) >= 18
    for described in tool_table().values():
        assert described["inputSchema"]["type"] == "object"


def test_a_server_that_is_not_installed_is_named(tmp_path):
    with pytest.raises(Unavailable, match="mcp-server-git"):
        installed_version("pypi:mcp-server-git", tmp_path)
