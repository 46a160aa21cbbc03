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
WITH_HOME = ("service", "worker")
UNITS = {
    "quarterturn.service": ["serve"],
    "quarterturn-runner.service": ["runner", "start"],
    "quarterturn-signer.service": ["signer"],
}
"""A unit, and what it starts."""


def composed(file: str, tmp_path: Path) -> dict[str, Any]:
    given = {"DOCKER_GROUP": "101", "QUARTERTURN_PASSPHRASE": "test-phrase", "QUARTERTURN_SERVICE": "https://bench"}
    environment, command = os.environ | given, ["docker-compose", "--file", DEPLOY / file, "config"]
    said = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stderr == ""
    document: dict[str, Any] = yaml.safe_load(said.stdout)
    return document


@pytest.fixture(scope="module")
@needing("docker-compose")
def composition(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("compose")
    own, elsewhere = composed("compose.yaml", folder), composed("runner.yaml", folder)
    assert set(elsewhere["services"]) == {"runner"}
    return {**own, "services": own["services"] | elsewhere["services"]}


@pytest.mark.needs("docker-compose")
def test_the_group_of_the_engines_socket_must_be_named():
    command = ["docker-compose", "--file", DEPLOY / "compose.yaml", "config", "--quiet"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "the number of the group that owns the socket of the engine" in said.stderr


@pytest.mark.slow
def test_the_services_may_do_little_and_write_nowhere_else(composition):
    for name in (*WITH_HOME, "runner"):
        service = composition["services"][name]
        assert service["mem_limit"] == service["memswap_limit"] == "4g"
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service


def test_only_what_plays_runs_may_ask_the_engine_and_only_the_service_is_reached(composition):
    service, worker, runner, database = (composition["services"][name] for name in (*WITH_HOME, "runner", "database"))
    assert not any("docker.sock" in str(volume) for volume in (*service["volumes"], *database["volumes"]))
    assert "ports" not in database
    assert all("127.0.0.1" in str(port) for port in service["ports"])
    assert composition["networks"]["inside"]["internal"] is True
    assert set(database["networks"]) == {"inside"}
    assert set(worker["networks"]) == {"inside", "outside"}, "models, endpoints and witnesses are outside"
    for player in (worker, runner):
        assert any("docker.sock" in str(volume) for volume in player["volumes"])
        assert any("/dev/shm" in str(volume) for volume in player["volumes"]), "the lock of the machine"
        assert player.get("ports", []) == []


def test_one_machine_has_the_home_and_the_database_and_a_runner_has_neither(composition):
    with_home = [name for name, service in composition["services"].items() if "home:" in str(service["volumes"])]
    assert with_home == [*WITH_HOME]
    only = {name: composition["services"][name]["command"] for name in WITH_HOME}
    assert [words[words.index("--only") + 1] for words in only.values()] == ["sealed", "open"]
    runner = composition["services"]["runner"]
    assert set(runner["environment"]) == {"TMPDIR"}
    assert "networks" not in runner
    assert [secret["source"] for secret in runner["secrets"]] == ["token"]
    assert "--to=https://bench" in runner["command"]


def test_no_password_stands_in_what_is_composed(composition):
    assert "POSTGRES_PASSWORD" not in composition["services"]["database"]["environment"]
    for name in WITH_HOME:
        environment = composition["services"][name]["environment"]
        assert ":" not in environment["QUARTERTURN_DATABASE"].partition("://")[2], "a password is in a file"
        assert [secret["source"] for secret in composition["services"][name]["secrets"]] == ["pgpass"]


def test_the_composed_command_is_accepted_by_the_command_line(composition, capsys):
    for name in WITH_HOME:
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
@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_the_unit_and_finds_it_hardened(tmp_path, name):
    unit = tmp_path / name
    text = (DEPLOY / name).read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/quarterturn/.venv/bin/quarterturn", "/bin/true"))
    said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    judge = ["systemd-analyze", "security", "--offline=true", "--threshold=25", unit]  # tenths of its ten points
    judged = subprocess.run(judge, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout[-300:]
    parsed = RawConfigParser(strict=False)
    parsed.optionxform = str
    parsed.read_string(text)
    service, words = parsed["Service"], UNITS[name]
    assert (service["NoNewPrivileges"], service["ProtectSystem"], service["MemoryMax"]) == ("yes", "strict", "70%")
    assert service["User"] == name.removesuffix(".service")
    assert service["ExecStart"].split()[1 : 1 + len(words)] == words


def test_a_restart_of_the_runners_unit_leaves_what_is_played_alone():
    text = (DEPLOY / "quarterturn-runner.service").read_text(encoding="utf-8")
    assert "\nKillMode=process\n" in text
    assert "HOME" not in text
    assert "DATABASE" not in text
