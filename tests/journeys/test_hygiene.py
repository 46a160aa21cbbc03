"""Plays a whole month under watch: keys and the text of private tasks are in memory alone."""

from __future__ import annotations

import itertools
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from quarterturn.app import Application
from quarterturn.cli import run as quarterturn
from rotation.month.sets import SetSpec, Stratum
from vault.keys import signing
from vault.store.blobs import OwnKey
from vault.task.document import Task
from vault.task.lifecycle import TaskState

from ..patience import until
from .leaks import Files, Hit, Needles, Processes, content_of, files_below, forms
from .small import command, small_set
from .test_secrecy import document

STRATA = "filesystem/single-tool/easy,sqlite/recovery/hard"
STEM = f"zephyr{secrets.token_hex(8)}"
PASSPHRASE = f"amaranthine{secrets.token_hex(8)}"
WORDS = {"a task": STEM.encode(), "the passphrase": PASSPHRASE.encode()}
IMPORTED = Stratum("filesystem", "single-tool", "easy")
TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))

AGENT = """
import json, os, urllib.request
task = json.load(urllib.request.urlopen(os.environ["QUARTERTURN_URL"] + "/task"))
print(task["goal"])
raise SystemExit("GOAL" in task["goal"])
"""


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Yield a folder for temporary files whose path leaves room for a socket's name (about 100 bytes)."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


# -- the controls -----------------------------------------------------------------------------------------------------

LEAKS = {
    "a file for a moment": "p = Path(place); p.write_bytes(b'..' + word + b'..'); p.unlink()",
    "a file without a name": "f = tempfile.TemporaryFile(dir=folder); f.write(word); f.close()",
    "a name": "p = Path(place + word.decode()); p.write_bytes(b''); p.unlink()",
    "a database's journal": (
        "d = sqlite3.connect(place); d.execute('PRAGMA journal_mode=WAL'); d.execute('CREATE TABLE t (x)');"
        "d.execute('INSERT INTO t VALUES (?)', (word,)); d.commit(); d.execute('DELETE FROM t'); d.commit(); d.close()"
    ),
    "gzip": "Path(place).write_bytes(gzip.compress(word))",
    "shared memory": "p = Path('/dev/shm', Path(place).name); p.write_bytes(word); p.unlink()",
}
HEADER = (
    "import gzip, os, sqlite3, sys, tempfile, time\nfrom pathlib import Path\nplace, folder = sys.argv[1:]\nword = {}\n"
)


@pytest.mark.slow
@pytest.mark.needs("root")
def test_a_leak_to_a_disk_is_noticed_however_short_it_is(short_folder: Path) -> None:
    words = {name: f"leak{secrets.token_hex(8)}".encode() for name in LEAKS}
    encoded = {form: f"form{secrets.token_hex(8)}".encode() for form, _ in forms(b"x" * 12)}
    with Files(Needles(words | encoded), [short_folder], TEMPORARY) as files:
        for number, (name, code) in enumerate(LEAKS.items()):
            script = HEADER.format(words[name]) + code
            subprocess.run([sys.executable, "-c", script, short_folder / f"leak-{number}", short_folder], check=True)
        for form, raw in encoded.items():
            (short_folder / form).write_bytes(b"{" + dict(forms(raw))[form] + b"}")
    assert {hit.name for hit in files.found} == words.keys() | encoded.keys()
    assert {hit.name: hit.form for hit in files.found if hit.name in encoded}.keys() == encoded.keys()


MOTHER = """
import subprocess, sys
word = sys.stdin.readline().strip()
words, names = ([word], {}) if sys.argv[1] == "argument" else ([], {"X": word})
subprocess.run([sys.executable, "-c", "import sys; sys.stdin.read()", *words], env=names, check=True)
"""


def saw(processes: Processes, name: str) -> bool:
    return bool(processes.open) and name in {hit.name for hit in processes.found.copy()}


@pytest.mark.slow
def test_a_word_that_a_process_is_given_is_noticed() -> None:
    words = {"argument": secrets.token_hex(12), "variable": secrets.token_hex(12)}
    with Processes(Needles({how: word.encode() for how, word in words.items()}), os.getpid()) as processes:
        for how, word in words.items():
            with subprocess.Popen([sys.executable, "-c", MOTHER, how], stdin=subprocess.PIPE, text=True) as mother:
                mother.stdin.write(f"{word}\n")
                mother.stdin.flush()
                until(partial(saw, processes, how), "the look at a process that lives until it was seen")
            assert mother.returncode == 0
    assert {hit.name for hit in processes.found} == words.keys()
    assert processes.open, "nobody closed the cores of these"


# -- the month --------------------------------------------------------------------------------------------------------


def written(stratum: Stratum, number: int) -> dict[str, Any]:
    """Write a task by hand, with unique words in its goal and in its state."""
    task = document(stratum, number) | {
        "goal": f"For {STEM}-goal-{number}, make the folder number-{number}.",
        "initial_state": {"filesystem": {"files": {f"{STEM}-name-{number}.txt": f"{STEM}-state-{number}\n"}}},
    }
    for fault in task.get("faults", []):
        fault["error"] = f"{STEM}-error-{number}"
    return task


def line_to_import(number: int) -> str:
    """Write a line for `task import`, whose provenance has unique words too."""
    made = {"tool": "filesystem.create_directory", "arguments": {"path": f"/data/files/number-{number}"}}
    gone = {"name": f"{STEM}-mutant-{number}", "server": "filesystem", "change": {"remove": f"number-{number}"}}
    moved = {"move": {"from": f"number-{number}", "to": f"{STEM}-elsewhere-{number}"}}
    provenance = {
        "template": f"{STEM}-template-{number}",
        "skeleton": f"{STEM}-skeleton-{number}",
        "solutions": [{"name": f"{STEM}-solution-{number}", "calls": [made], "answer": None}],
        "mutants": [gone, {"name": "moved", "server": "filesystem", "change": moved}],
        "given": [f"number-{number}"],
    }
    return json.dumps({"task": written(IMPORTED, number), "provenance": provenance}) + "\n"


class Month:
    """One home, and the verbs that are run on it: what reads alone in this process, the others in their own."""

    def __init__(self, home: Path, temporary: Path, spec: SetSpec, capfd: pytest.CaptureFixture[str]) -> None:
        self.home, self.spec, self._capfd = home, spec, capfd
        self.environment = os.environ | {"QUARTERTURN_PASSPHRASE": PASSPHRASE, "TMPDIR": str(temporary)}
        self.said = b""

    def play(self, *words: str | Path, shows: bool = False) -> None:
        """Run a verb, and keep its output; what one has to show that `shows` a task is left out."""
        line = [*command(STRATA), *map(str, words), "--home", self.home]
        done = subprocess.run(line, env=self.environment, capture_output=True, check=False)
        assert done.returncode == 0, (words, done.stderr.decode()[-1000:])
        self.said += (b"" if shows else done.stdout) + done.stderr

    def read(self, *words: str) -> None:
        """Run a verb that only reads, and keep its output."""
        self._capfd.readouterr()
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("QUARTERTURN_PASSPHRASE", PASSPHRASE)
            assert quarterturn([*words, "--home", str(self.home)]) == 0, words
        self.said += "".join(self._capfd.readouterr()).encode()

    def house(self) -> closing[Application]:
        """Open the home in this process."""
        return closing(Application(self.home, PASSPHRASE.encode()))

    def stock_up(self) -> None:
        """Add the other tasks that two turns need, without admission."""
        with self.house() as house:
            numbers = itertools.count(1)
            for stratum, place in itertools.product(self.spec.per_cohort, range(self.spec.cohorts + 1)):
                if (stratum, place) != (IMPORTED, 0):
                    number = next(numbers)
                    task, skeleton = Task.parse(written(stratum, number)), f"{STEM}-skeleton-{number}"
                    note = {"note": f"{STEM}-note-{number}"}
                    house.home.vault.add(
                        task, note, author="ada", public_grammar=False, skeleton=skeleton, template="t"
                    )
                    house.home.vault.advance(task.id, "admit")
                    house.tasks.reviews.decide(task.id, "grace", None)

    def keys(self) -> dict[str, bytes]:
        """Return every key of the home, unwrapped."""
        with self.house() as house:
            ring = {f"key {number} of the ring": key for number, key in enumerate(keys_in(house.home.ring))}
            assert ring
            places, uses = house.home.places, {"log": signing.LOG, "endpoint": signing.ENDPOINT, "month": signing.MONTH}
            paths = {"log": places.log_key, "endpoint": places.endpoint_key, "month": places.month_key}
            signers = {f"the {name}'s key": signing.load(paths[name], house.home.ring, uses[name]) for name in uses}
            own = {name: OwnKey(name, house.home.engine, house.home.ring) for name in ("index-key", "variant-master")}
            vault = {name: key.get(house.home.now(), os.urandom, None) for name, key in own.items()}
        return ring | {name: key.private_bytes_raw() for name, key in signers.items()} | vault

    def published(self) -> set[str]:
        """Return the numbers of the tasks that were published."""
        with self.house() as house:
            ids = [record.id for record in house.home.vault.records(TaskState.PUBLISHED)]
            goals = [house.home.vault.open(task_id, who="tester", why="hygiene").task.goal for task_id in ids]
        return {re.search(r"number-(\d+)", goal)[1] for goal in goals}

    def require_that_agents_were_given_it(self) -> None:
        """Require that agents were served the words: otherwise the month would be clean for no reason."""
        with self.house() as house:
            runs = house.runs.store.results(1, who="tester", why="hygiene")
        assert len(runs) == self.spec.size
        assert all(f"{STEM}-goal-" in run.output and run.failure is None for run in runs)
        assert STEM not in repr(runs)


def keys_in(thing: object) -> Iterator[bytes]:
    """Yield the 32-byte values that are found in an object, at any depth."""
    if isinstance(thing, bytes) and len(thing) == 32:
        yield thing
    elif isinstance(thing, dict | list | tuple):
        for item in thing.values() if isinstance(thing, dict) else thing:
            yield from keys_in(item)
    elif type(thing).__module__.startswith("vault."):
        for name in (*getattr(thing, "__dict__", ()), *getattr(type(thing), "__slots__", ())):
            yield from keys_in(getattr(thing, name, None))


@pytest.fixture
def few() -> Iterator[SetSpec]:
    """A set with one task a server in a cohort; one of them is imported, and one recovers from an error."""
    with small_set(STRATA) as spec:
        yield spec


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.needs("root")
def test_a_month_leaves_no_word_and_no_key_outside_of_memory(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    short_folder: Path,
    few: SetSpec,
    capfd: pytest.CaptureFixture[str],
) -> None:
    agent = tmp_path_factory.mktemp("agent") / "agent.py"
    agent.write_text(AGENT)
    for folder in list(agent.parents)[:3]:
        folder.chmod(0o755)
    drafts = tmp_path / "drafts.jsonl"  # what a person brings along lies where they put it
    drafts.write_text(line_to_import(0))
    homes = tmp_path / "homes"
    homes.mkdir()
    month, near, far = Month(homes / "home", short_folder, few, capfd), [homes, short_folder], [*TEMPORARY, Path.home()]

    with Files(None, near, far) as birth:
        month.play("init", "--passphrase", "--month", "2026-12")
        before = {f"{name}, before": key for name, key in month.keys().items()}
        month.play("keys", "rotate", "--as", "ada")
    needles = Needles(WORDS | before | month.keys())
    assert birth.looked > 10
    assert birth.search(needles) == set()

    with Files(needles, near, far) as files, Processes(needles, os.getpid()) as processes:
        month.play("task", "import", drafts, "--as", "ada", "--box", "bwrap")
        imported = json.loads(drafts.read_text())["task"]["id"]
        month.play("task", "try", imported, "--as", "ada", "--box", "bwrap", shows=True)
        month.play("task", "review", "--batch", "--approve", "--as", "grace")
        month.stock_up()
        month.play("turn", "run")
        words = ["--as", "me", "--set", "private", "--box", "bwrap", "--agent", f"python3 {agent}"]
        month.play("run", *words)
        month.play("turn", "run", "--month", "2026-12", "--early")
        month.play("backup", homes / "copy", "--with-keys")
        month.read("release", "path", "2026-12")
        for verb in (
            ["leaderboard"],
            ["turn", "status"],
            ["task", "list"],
            ["access", "log", "--verify"],
            ["keys", "list"],
        ):
            month.read(*verb, "--json")

    public = month.published()
    assert len(public) == few.cohort_size
    assert processes.found == set()
    assert processes.open == set()
    assert len(processes.seen) > few.size, "it looked while agents and worlds lived"
    assert set(needles.hits(month.said, "what was said")) == set()
    told = {hit for hit in files.found if may_be_read(hit, homes, public)}
    assert {hit.word.rpartition("-")[2] for hit in told} == public, "the release was seen, with all that it opens"
    assert files.found - told - {hit for hit in files.found if in_memory(hit)} == set()
    left = files_below(Path("/dev/shm"))
    assert not [path for path in left for _ in needles.hits(content_of(path), str(path))]
    month.require_that_agents_were_given_it()


def may_be_read(hit: Hit, homes: Path, public: set[str]) -> bool:
    """Return whether a hit is a published task's word in the public folder of the home or of its copy."""
    inside = re.match(rf"{re.escape(str(homes))}/(home|\.?copy[.0-9a-f]*)/public/", hit.place)
    return inside is not None and hit.word.rpartition("-")[2] in public


def in_memory(hit: Hit) -> bool:
    """Return whether a hit lay in a folder of ours on a tmpfs."""
    return re.match(r"/dev/shm/quarterturn-[a-z]+-", hit.place) is not None
