"""What a private task says is nowhere but in memory: not on disk, not in an argument, not in a variable, not in a word
that anything of ours prints."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grammars.grammar import Draft
from quarterturn import reading
from quarterturn.home import create
from quarterturn.settings import Benchmark, Settings
from quarterturn.wiring import House
from rotation.calendar import Month
from rotation.sets import DEMO, Stratum
from sandbox.servers import SERVERS
from vault.errors import VaultError
from vault.task import Task

QUARTERTURN = Path(sys.prefix) / "bin" / "quarterturn"
GOAL, STATE, PASSPHRASE = "amaranthine-zephyr-goal", "amaranthine-zephyr-state", "amaranthine-zephyr-phrase"
WORDS = tuple(word.encode() for word in (GOAL, STATE, PASSPHRASE))

AGENT = """
import json, os, time, urllib.request
task = json.load(urllib.request.urlopen(os.environ["QUARTERTURN_URL"] + "/task"))
print(task["goal"])
time.sleep(0.5)
raise SystemExit("GOAL" in task["goal"])
"""


def document(stratum: Stratum, number: int) -> dict[str, Any]:
    """Write a task by hand, with a word in its goal and one in its state that are nowhere else."""
    letters = random.Random(f"{stratum} {number}")
    servers = dict.fromkeys([stratum.server, "filesystem"])
    tools = [f"{server}.{name}" for server in servers for name in SERVERS[server].tools]
    task: dict[str, Any] = {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": "t-" + "".join(letters.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(16)),
        "server": stratum.server,
        "category": stratum.category,
        "difficulty": stratum.difficulty,
        "max_steps": 8,
        "goal": f"For {GOAL}, make the folder number-{number}.",
        "initial_state": {"filesystem": {"files": {"notes.txt": f"{STATE}\n"}}},
        "available_tools": [tools[0], *[tool for tool in tools[1:] if tool.startswith("filesystem.")][:13]][:14],
        "success_predicate": {"filesystem.directoryExists": {"path": f"number-{number}"}},
    }
    if stratum.category == "recovery":
        task["faults"] = [{"tool": tools[0], "call": 1, "error": "try again"}]
    return task


def live_home(folder: Path) -> Path:
    """Make a home with a passphrase and a live set of such tasks."""
    create(folder, Settings(benchmark=Benchmark(first_month="2026-12")), PASSPHRASE.encode())
    house = House(folder, PASSPHRASE.encode())
    for stratum, number in itertools.product(DEMO.per_cohort, range(4)):
        task = Task.parse(document(stratum, number))
        skeleton = f"{stratum}/{number}"
        house.vault.add(task, {"note": STATE}, author="ada", public_grammar=False, skeleton=skeleton, template="t")
        house.vault.advance(task.id, "admit")
        reading.decide(house, task.id, "grace", None)
    house.rotation.run(Month.parse("2026-11"))
    house.close()
    return folder


class Watch:
    """Looks at every process and at folders of this machine, again and again, for the words."""

    def __init__(self, folders: list[Path], but: set[int]) -> None:
        self.folders, self.but = folders, but
        self.found: set[str] = set()
        self.processes: set[int] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.look()

    def _watch(self) -> None:
        while not self._stop.is_set():
            self.look()
            time.sleep(0.05)

    def look(self) -> None:
        for place, content in itertools.chain(self._of_processes(), self._of_files()):
            self.found |= {f"{word.decode()} in {place}" for word in WORDS if word in content}

    def _of_processes(self) -> Iterator[tuple[str, bytes]]:
        for process in Path("/proc").glob("[0-9]*"):
            number = int(process.name)
            self.processes.add(number)
            for file in ("cmdline", "environ", "comm"):
                if file != "environ" or number not in self.but:
                    yield f"{file} of {self._name(process)}", read(process / file)

    def _of_files(self) -> Iterator[tuple[str, bytes]]:
        for folder in self.folders:
            for parent, _, names in os.walk(folder):
                for name in names:
                    yield f"{parent}/{name}", read(Path(parent) / name) + os.fsencode(name)

    @staticmethod
    def _name(process: Path) -> str:
        return read(process / "cmdline")[:80].replace(b"\0", b" ").decode(errors="replace")


def read(path: Path) -> bytes:
    try:
        return path.read_bytes() if not path.is_symlink() and (path.is_file() or "proc" in path.parts) else b""
    except OSError:
        return b""


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder for temporary files whose path leaves room for a socket's name (a hundred bytes or so)."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.box
@pytest.mark.slow
def test_no_word_of_a_task_is_anywhere_while_it_is_run(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, short_folder: Path
) -> None:
    home = live_home(tmp_path / "home")
    agent = tmp_path_factory.mktemp("agent") / "agent.py"
    agent.write_text(AGENT)
    for folder in list(agent.parents)[:3]:
        folder.chmod(0o755)
    words = ["run", "--as", "me", "--set", "private", "--box", "bwrap", "--agent", f"python3 {agent}", "--home", home]
    environment = os.environ | {"QUARTERTURN_PASSPHRASE": PASSPHRASE, "TMPDIR": str(short_folder)}
    process = subprocess.Popen(
        [QUARTERTURN, *map(str, words), "--json"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with Watch([home, short_folder, Path("/dev/shm")], but={process.pid}) as watch:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err.decode()[-1000:]
    assert watch.found == set()
    assert len(watch.processes) > 24, "it looked while agents and worlds lived"
    assert not [word for word in WORDS if word in out + err]
    for verb in (["board"], ["turn", "status"], ["task", "list"], ["access", "log"]):
        command = [QUARTERTURN, *verb, "--home", home, "--json"]
        said = subprocess.run(command, env=environment, capture_output=True, check=True)
        assert not [word for word in WORDS if word in said.stdout + said.stderr]
    require_that_agents_were_given_it(home)


def require_that_agents_were_given_it(home: Path) -> None:
    """Without this, the test above would also pass where nothing is ever served."""
    house = House(home, PASSPHRASE.encode())
    runs = house.runs.results(1, who="tester", why="secrecy")
    house.close()
    assert len(runs) == 24
    assert all(GOAL in run.output and run.failure is None for run in runs)
    assert not any(word.decode() in repr(run) for run in runs for word in WORDS)


SAYINGS: list[Callable[[Any], str]] = [repr, str, "{}".format, "{!r}".format]


@pytest.mark.parametrize("stratum", list(DEMO.per_cohort), ids=str)
def test_nothing_that_holds_a_task_shows_it(stratum: Stratum, tmp_path: Path) -> None:
    plain = document(stratum, 1)
    task = Task.parse(plain)
    draft = Draft(plain, {"skeleton": "s", "template": "t", "note": STATE})
    create(tmp_path / "home", Settings(benchmark=Benchmark(first_month="2026-12")), None)
    house = House(tmp_path / "home", None)
    record = house.vault.add(task, {"note": STATE}, author="ada", public_grammar=False, skeleton="s", template="t")
    opened = house.vault.open(task.id, who="tester", why="secrecy")
    house.close()
    for thing in (task, draft, record, opened, house, [task], {"task": task}):
        for say in SAYINGS:
            assert not [word for word in WORDS if word.decode() in say(thing)]


@pytest.mark.parametrize(
    "spoil",
    [
        {"goal": 3},
        {"max_steps": GOAL},
        {"category": GOAL},
        {"available_tools": [GOAL] * 12},
        {"initial_state": {"filesystem": GOAL}},
        {"success_predicate": GOAL},
        {"id": GOAL},
        {"spec": GOAL},
    ],
    ids=lambda spoil: next(iter(spoil)),
)
def test_a_refusal_quotes_nothing_of_the_task(spoil: dict[str, Any]) -> None:
    with pytest.raises(VaultError) as error:
        Task.parse(document(Stratum("filesystem", "single-tool", "easy"), 1) | spoil)
    assert not [word for word in WORDS if word.decode() in str(error.value) + repr(error.value)]
