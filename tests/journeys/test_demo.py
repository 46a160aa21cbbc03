"""Plays the whole demo month as a newcomer does: the real command, real servers, a real box.

Each box plays it with two cohorts of one task. The whole set differs in nothing but its size and is played with
`--exhaustive`.
"""

import json
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from quarterturn import settings
from quarterturn.cli import run as run_cli
from rotation.calendar import Month

from ..patience import PATIENCE, until
from .small import WHOLE, command, small_set, spec

ONE = "git/recovery/hard"
FIGURES = {"success_rate", "efficiency", "hallucinated_tool_rate", "recovery_rate"}

pytestmark = pytest.mark.slow


def played(box: str, home: Path, strata: str) -> dict[str, Any]:
    words = [*command(strata), "demo", "--json", "--box", box, "--home", home]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return data_of(done.stdout)


def data_of(said: str) -> dict[str, Any]:
    assert len(said.splitlines()) == 1, "one object on standard output, and nothing else"
    answer = json.loads(said)
    assert answer["ok"] is True
    data: dict[str, Any] = answer["data"]
    return data


@dataclass
class Served:
    """A demo whose home is served when it was played, and what its process printed."""

    data: dict[str, Any]
    shown: str
    leaderboard: str
    code: int


def served(home: Path, log: Path) -> Served:
    """Play the demo with `--serve`, ask the service for its leaderboard, and end it as Ctrl-C does."""
    words = ["env", "--default-signal=INT", *command(ONE), "demo", "--json", "--serve", "--box", "bwrap"]
    with log.open("wb") as sink:
        process = subprocess.Popen([*words, "--home", str(home)], stdout=subprocess.PIPE, stderr=sink, text=True)
    try:
        assert process.stdout
        said = process.stdout.readline()
        until(lambda: " at http://" in log.read_text() or process.poll() is not None, "the address of the service")
        (url,) = re.findall(r" at (http://127\.0\.0\.1:\d+)", log.read_text())
        with httpx2.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client:
            leaderboard = client.get("/leaderboard").text
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE)
    finally:
        process.kill()
        process.communicate()
    return Served(data_of(said), log.read_text(), leaderboard, code)


def require_the_month(data: dict[str, Any], box: str, strata: str) -> None:
    played, size = spec(strata), spec(strata).cohort_size
    assert data["box"] == box
    assert (data["live"], data["retired"], data["entered"]) == (played.size, size, size)
    assert data["agents"]["null"]["success_rate"] == 0.0
    assert data["agents"]["oracle"]["success_rate"] == 1.0
    assert data["agents"]["rulebook"]["success_rate"] < 1.0, "what it passes depends on the draw"
    for figures in data["agents"].values():
        assert set(figures) >= FIGURES
        assert figures["attempted"] == played.size
        assert figures["unknown"] == 0
    assert data["egress"]["attempts"] >= 12
    assert data["egress"]["escaped"] == 0
    assert data["audit"]["ok"] is True
    assert data["tampered_audit"]["ok"] is False
    assert data["tampered_audit"]["step"] is not None


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "home"


@pytest.fixture(scope="module")
def service(home: Path) -> Served:
    return served(home, home.with_name("demo.log"))


@pytest.fixture(scope="module")
def month(service: Served) -> dict[str, Any]:
    return service.data


@pytest.mark.box
def test_the_demo_plays_a_month_behind_bubblewrap(month: dict[str, Any]) -> None:
    require_the_month(month, "bwrap", ONE)


@pytest.mark.box
def test_each_step_is_one_line_and_the_home_is_served_at_the_end(service: Served, home: Path) -> None:
    *lines, serving = [line for line in service.shown.splitlines() if "http" in line or line[1:2] == "/"]
    names = [line.split("  ")[0].removeprefix(f"{number}/9 ").strip() for number, line in enumerate(lines, 1)]
    assert names == ["home", "wall", "tasks", "first set", "agents", "supply", "turn", "audit", "tampered"]
    assert set(names) == set(service.data["seconds_by_step"])
    assert f"{service.data['egress']['attempts']} attempts to get out of the bwrap box" in lines[1]
    assert "blocked" not in service.shown
    assert serving.endswith("; Ctrl-C ends it.")
    played = Month.parse(settings.load(home / settings.FILE).benchmark.first_month)
    assert json.loads(service.leaderboard)["month"] == str(played.plus(1)), "the month that the turn began"
    assert service.code == 0


@pytest.mark.box
def test_anybody_audits_the_release_and_its_witness_is_gone_from_the_home_that_stays(
    month: dict[str, Any], home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert month["witnesses"] == ["demo-witness"]
    words = ("audit", month["audit"]["bundle"], "--key", month["audit"]["key"])
    assert run_cli([*words, "--policy", month["audit"]["policy"]]) == 0
    assert "cosigned by demo-witness" in capfd.readouterr().out
    assert run_cli([*words, "--json"]) == 0
    assert data_of(capfd.readouterr().out)["ok"] is True
    assert settings.load(home / settings.FILE).ledger.policy == ""
    with small_set(ONE):
        assert run_cli(["doctor", "--home", str(home)]) == 0


@pytest.mark.engine
def test_the_demo_plays_a_month_in_docker(tmp_path: Path) -> None:
    require_the_month(played("docker", tmp_path / "home", ONE), "docker", ONE)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "box", [pytest.param("bwrap", marks=pytest.mark.box), pytest.param("docker", marks=pytest.mark.engine)]
)
def test_the_demo_plays_a_month_of_the_whole_set(box: str, tmp_path: Path) -> None:
    require_the_month(played(box, tmp_path / "home", WHOLE), box, WHOLE)


@pytest.mark.box
def test_the_auditor_needs_nothing_that_the_operator_has(month: dict[str, Any], tmp_path: Path) -> None:
    """The same audit from a process that may import only the standard library and cryptography."""
    key = Path(month["audit"]["key"]).read_text().strip()
    script = (
        "import sys\n"
        "from vault.ledger.audit.verify import audit\n"
        "report = audit(__import__('pathlib').Path(sys.argv[1]), [sys.argv[2]])\n"
        "strangers = {'sqlalchemy', 'sqlmodel', 'pydantic', 'rfc8785', 'yaml', 'mcp'} & set(sys.modules)\n"
        "sys.exit(0 if report.ok and not strangers else 1)\n"
    )
    auditing = [sys.executable, "-c", script, month["audit"]["bundle"], key]
    assert subprocess.run(auditing, cwd=tmp_path, check=False).returncode == 0
