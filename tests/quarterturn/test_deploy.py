"""Tests of the deployment files: each is read by the program that it is for."""

import os
import re
import subprocess
import tomllib
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from quarterturn.cli import run
from quarterturn.extras import ENTRY_POINTS

from ..needs import needing

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "quarterturn" / "deploy"
WORKERS = ("worker-sealed", "worker-open")
SERVICES = ("web", *WORKERS)


def composed(tmp_path: Path) -> dict[str, Any]:
    environment = os.environ | {"DOCKER_GROUP": "101", "QUARTERTURN_PASSPHRASE": "test-phrase"}
    command = ["docker-compose", "--file", DEPLOY / "compose.yaml", "config"]
    said = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stderr == ""
    document: dict[str, Any] = yaml.safe_load(said.stdout)
    return document


@pytest.fixture(scope="module")
@needing("docker-compose")
def composition(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return composed(tmp_path_factory.mktemp("compose"))


@pytest.mark.needs("docker-compose")
def test_the_group_of_the_engines_socket_must_be_named():
    command = ["docker-compose", "--file", DEPLOY / "compose.yaml", "config", "--quiet"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "the number of the group that owns the socket of the engine" in said.stderr


@pytest.mark.slow
def test_the_services_may_do_little_and_write_nowhere_else(composition):
    for name in SERVICES:
        service = composition["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service


def test_only_workers_may_ask_the_engine_and_only_the_web_is_reached(composition):
    web, database = (composition["services"][name] for name in ("web", "database"))
    assert not any("docker.sock" in str(volume) for volume in (*web["volumes"], *database["volumes"]))
    assert "ports" not in database
    assert all("127.0.0.1" in str(port) for port in web["ports"])
    assert composition["networks"]["inside"]["internal"] is True
    for worker in (composition["services"][name] for name in WORKERS):
        assert any("docker.sock" in str(volume) for volume in worker["volumes"])
        assert worker.get("ports", []) == []
        assert list(worker["networks"]) == list(database["networks"]) or set(worker["networks"]) == {"inside"}


def test_each_class_of_runs_has_a_worker_and_both_see_the_machines_lock(composition):
    commands = {name: composition["services"][name]["command"] for name in WORKERS}
    assert [commands[name][1:3] for name in WORKERS] == [["--only", "sealed"], ["--only", "open"]]
    assert all(any("/dev/shm" in str(one) for one in composition["services"][name]["volumes"]) for name in WORKERS)


def test_no_password_stands_in_what_is_composed(composition):
    assert "POSTGRES_PASSWORD" not in composition["services"]["database"]["environment"]
    for name in SERVICES:
        environment = composition["services"][name]["environment"]
        assert ":" not in environment["QUARTERTURN_DATABASE"].partition("://")[2], "a password is in a file"
        assert [secret["source"] for secret in composition["services"][name]["secrets"]] == ["pgpass"]


def test_the_composed_command_is_accepted_by_the_command_line(composition, capsys):
    for name in SERVICES:
        verb, *options = composition["services"][name]["command"]
        assert run([verb, "--help"]) == 0
        helped = capsys.readouterr().out
        assert all(option in helped for option in options if option.startswith("--"))


def test_the_image_is_built_from_the_lock_and_runs_as_nobody():
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    final = lines.rpartition("\nFROM ")[2]
    assert "--require-hashes" in lines
    assert "requirements/service.txt" in lines
    assert re.search(r"^USER 65532:65532$", final, re.MULTILINE)
    copied = re.findall(r"^COPY (\w+) /opt/quarterturn/rooms/\w+$", lines, re.MULTILINE)
    assert set(copied) == {"vault", "verifiers", "grammars", "sandbox", "rotation", "quarterturn"}
    assert not re.search(r"^(ADD|COPY) \.", lines, re.MULTILINE), "nothing of a checkout gets in by chance"


def test_the_image_names_entry_points_of_extras_as_they_name_them_themselves():
    projects = [tomllib.loads(path.read_text()) for path in ROOT.glob("extras/*/pyproject.toml")]
    known = {point for one in projects for point in one["project"]["entry-points"][ENTRY_POINTS].items()}
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    named = set(re.findall(r"([\w-]+) = (quarterturn_[\w.]+:\w+)", text.replace("\\n", "\n")))
    assert {name for name, _ in named} == {"--attack", "judge", "measure", "runs"}
    assert named <= known


@pytest.mark.needs("systemd-analyze")
def test_systemd_understands_the_unit_and_finds_it_hardened(tmp_path):
    unit = tmp_path / "quarterturn.service"
    text = (DEPLOY / "quarterturn.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/quarterturn/.venv/bin/quarterturn", "/bin/true"))
    said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    judge = ["systemd-analyze", "security", "--offline=true", "--threshold=25", unit]  # tenths of its ten points
    judged = subprocess.run(judge, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout[-300:]
    parsed = RawConfigParser(strict=False)
    parsed.optionxform = str
    parsed.read_string(text)
    service = parsed["Service"]
    assert (service["NoNewPrivileges"], service["ProtectSystem"], service["User"]) == ("yes", "strict", "quarterturn")
    assert service["ExecStart"].split()[1:] == ["serve"]


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("only", ["sealed", "open"])
def test_systemd_understands_the_unit_of_a_worker_of_one_class(tmp_path, only):
    unit, more = tmp_path / "quarterturn.service", tmp_path / "quarterturn.service.d"
    more.mkdir()
    for source, target in (("quarterturn.service", unit), ("worker.conf", more / "worker.conf")):
        text = (DEPLOY / source).read_text(encoding="utf-8")
        target.write_text(text.replace("/opt/quarterturn/.venv/bin/quarterturn", "/bin/true").replace("sealed", only))
    said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    [last] = re.findall(r"^ExecStart=(/.*)$", (DEPLOY / "worker.conf").read_text(encoding="utf-8"), re.MULTILINE)
    assert last.split()[1:] == ["worker", "--only", "${QUARTERTURN_CLASS}"]
