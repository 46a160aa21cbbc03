"""Tests of servers' definitions: equal everywhere for one commit, another where a pin, a tool or a program changes."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.errors import NotFound
from sandbox.kinds.common.state_kind import ROOT
from sandbox.servers.definition import definition, server_digest
from sandbox.servers.registry import SERVERS


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of the folders that definitions are made of, as a machine has it that has run them."""
    for folder in ("kinds", "servers", "images/world"):
        shutil.copytree(ROOT / "sandbox" / folder, tmp_path / "sandbox" / folder)
    for place in (tmp_path / "sandbox" / "kinds").glob("*/backend"):
        (place / "__pycache__").mkdir(exist_ok=True)
        (place / "__pycache__" / "service.cpython-399.pyc").write_bytes(b"of this machine")
    return tmp_path


def changed(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"#\n")


@pytest.mark.full
def test_two_processes_give_the_same_digests():
    program = (
        "import json; from sandbox.servers.definition import *; from sandbox.servers.registry import SERVERS;"
        "print(json.dumps({name: server_digest(name) for name in sorted(SERVERS, reverse=True)}))"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(ROOT)},
            cwd=folder,
            check=True,
            capture_output=True,
        ).stdout
        for seed, zone, folder in (("1", "UTC", "/"), ("2", "Asia/Tokyo", "/tmp"))
    ]
    assert outputs[0] == outputs[1]
    digests = json.loads(outputs[0])
    assert digests == {name: server_digest(name) for name in SERVERS}
    assert len(set(digests.values())) == len(SERVERS)


@pytest.mark.parametrize("name", SERVERS)
def test_another_checkout_of_the_same_files_gives_the_same_definition(name, checkout):
    assert definition(SERVERS[name], checkout) == definition(SERVERS[name])


@pytest.mark.parametrize("name", SERVERS)
def test_each_server_depends_on_the_lock_that_pins_it(name):
    files = definition(SERVERS[name])["files"]
    by_npm = SERVERS[name].package.startswith("npm:")
    lock = "sandbox/images/world/npm/package-lock.json" if by_npm else f"sandbox/servers/{name}/requirements.txt"
    assert lock in files
    assert ("sandbox/images/world/node.txt" in files) == by_npm


@pytest.mark.parametrize("name", SERVERS)
def test_each_file_that_a_definition_names_changes_it(name, checkout):
    before = definition(SERVERS[name], checkout)
    for path in before["files"]:
        changed(checkout / path)
        after = definition(SERVERS[name], checkout)
        assert after["files"][path] != before["files"][path]
        assert {key for key in before if after[key] != before[key]} == {"files"}


def test_a_program_of_this_repository_belongs_to_the_server_that_it_runs_for():
    files = {name: definition(server)["files"] for name, server in SERVERS.items()}
    assert "sandbox/kinds/forge/backend/__main__.py" in files["github"]
    assert "sandbox/kinds/forge/backend/handlers/issues.py" in files["github"]
    assert "sandbox/kinds/postgres/backend/template.sql" in files["postgres"]
    ours = {name for name, server in SERVERS.items() if server.backend}
    assert {name for name in files if "sandbox/kinds/common/backend/program.py" in files[name]} == ours


def test_another_version_tool_command_or_backend_is_another_definition():
    git, redis = SERVERS["git"], SERVERS["redis"]
    assert redis.backend
    others = [
        (git, replace(git, version="2026.10.20")),
        (git, replace(git, command=(*git.command, "--verbose"))),
        (git, replace(git, environment={**git.environment, "LANG": "C"})),
        (git, replace(git, tools={name: tool for name, tool in git.tools.items() if name != "git_status"})),
        (git, replace(git, tools={**git.tools, "git_status": {**git.tools["git_status"], "description": "Other."}})),
        (redis, replace(redis, backend=replace(redis.backend, command=(*redis.backend.command, "-v")))),
        (redis, replace(redis, backend=replace(redis.backend, environment={"LANG": "C"}))),
    ]
    for server, other in others:
        assert definition(other) != definition(server)


def test_an_unknown_server_is_refused_by_name():
    with pytest.raises(NotFound, match="there is no server 'fax'; the servers are calendar"):
        server_digest("fax")
