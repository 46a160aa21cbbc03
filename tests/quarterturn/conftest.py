"""Fixtures for tests of verbs: real homes with hand-made tasks, and the command line as a function."""

import hashlib
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from quarterturn.app import Application
from quarterturn.cli import run
from quarterturn.home.home import create
from quarterturn.settings import BenchmarkSettings, DatabaseSettings, ServiceSettings, Settings, dump, load
from rotation.calendar import Month
from rotation.month import sets
from rotation.month.sets import DEMO, SetSpec, Stratum
from sandbox.servers.registry import SERVERS
from vault import database as db
from vault.file_lock import locked
from vault.keys.locks import passphrase
from vault.ledger.statements import leaf
from vault.task.document import Task

from ..broken import SOLUTION
from ..patience import PATIENCE
from ..postgres import Server

MONTH = "2026-12"
SQLITE = DatabaseSettings()
EASY = Stratum("filesystem", "single-tool", "easy")
_FEW = {EASY: 1, Stratum("git", "composition", "medium"): 1}
FEW = SetSpec("few", _FEW, _FEW)
"""A set for what plays it in a real box: one task with files and one with a repository in a cohort."""


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def object(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value

    @property
    def data(self) -> Any:
        return self.object["data"]

    @property
    def sentence(self) -> str:
        """Return the last line on standard error; the lines before it are progress."""
        lines = self.err.strip().splitlines()
        return lines[-1] if lines else ""

    def refuses(self, code: int, *words: str) -> "Said":
        """Require this exit code, and a sentence that holds these words; return the result."""
        assert (self.code, [part for part in words if part not in self.sentence]) == (code, []), self.err
        return self


Say = Callable[..., Said]


@pytest.fixture(autouse=True)
def runs_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers close private runs at once and not on the next full minute; forked processes do likewise."""
    monkeypatch.setattr("quarterturn.submissions.store.queue.CLOSING_GRID_SECONDS", 0.001)


class Clock:
    """A clock that stands still until a test moves its `now`."""

    def __init__(self, now: datetime = datetime(2026, 12, 5, 10, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened() -> Iterator[Callable[..., Application]]:
    """Yield a function that opens homes, as other processes would; they are closed at the end."""
    with ExitStack() as stack:
        yield lambda home, *more, **named: stack.enter_context(closing(Application(home, None, *more, **named)))


def with_submitters(house: Application, *names: str) -> Application:
    """Make accounts of submitters in a home."""
    for name in names:
        house.auth.accounts.create(name, "submitter")
    return house


@pytest.fixture
def say(capfd: pytest.CaptureFixture[str]) -> Say:
    """Return a function that runs a command and gives its result."""

    def command(*words: object) -> Said:
        capfd.readouterr()
        code = run([str(word) for word in words])
        out, err = capfd.readouterr()
        return Said(code, out, err)

    return command


def listed(folder: Path) -> dict[str, str]:
    """Return every file and folder below, with a digest of its bytes: equal before and after if nothing was written."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
        if not path.name.endswith(("-wal", "-shm", "lock"))  # made by readers too
    }


def written(stratum: Stratum, number: int) -> dict[str, Any]:
    """Write a task by hand; it is valid, and not proven here."""
    letters = random.Random(f"{stratum} {number}")
    tools = [f"{stratum.server}.{name}" for name in SERVERS[stratum.server].tools]
    tools += [f"filesystem.{name}" for name in SERVERS["filesystem"].tools if stratum.server != "filesystem"]
    recovery = {"faults": [{"tool": tools[0], "call": 1, "error": "try again"}]}
    return {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": "t-" + "".join(letters.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(16)),
        "server": stratum.server,
        "category": stratum.category,
        "difficulty": stratum.difficulty,
        "max_steps": 8,
        "goal": f"Make the folder number-{number}.",
        "initial_state": {},
        "available_tools": tools[:12],
        "success_predicate": {"filesystem.directoryExists": {"path": f"number-{number}"}},
    } | (recovery if stratum.category == "recovery" else {})


def with_files(stratum: Stratum, number: int) -> dict[str, Any]:
    """Write a task by hand that has files whatever its server, so that its predicate has a verdict."""
    servers = dict.fromkeys(("filesystem", stratum.server))
    tools = [f"{server}.{name}" for server in servers for name in list(SERVERS[server].tools)[: 12 // len(servers)]]
    kept = [tool for tool in tools if tool != "filesystem.create_directory"]
    return written(stratum, number) | {"available_tools": ["filesystem.create_directory", *kept][:12]}


def provenance_of(number: int, path: str = "/data/files/number-{}") -> dict[str, Any]:
    """Write what admission asks for beside such a task: a solution that a box can play, and changes that spoil it."""
    call = {"tool": "filesystem.create_directory", "arguments": {"path": path.format(number)}}
    moved = {"move": {"from": f"number-{number}", "to": "elsewhere"}}
    return {
        "template": "by-hand",
        "skeleton": f"by-hand/{number}",
        "solutions": [{"name": "direct", "calls": [call], "answer": None}],
        "mutants": [
            {"name": "gone", "server": "filesystem", "change": {"remove": f"number-{number}"}},
            {"name": "moved", "server": "filesystem", "change": moved},
        ],
        "given": [f"number-{number}"],
    }


def draft_lines(
    *numbers: int, apply: Callable[[dict[str, Any]], object] = lambda _: None, stratum: Stratum = EASY
) -> str:
    """Write drafts by hand, as JSON lines; the last may be changed first."""
    lines = [{"task": written(stratum, number), "provenance": provenance_of(number)} for number in numbers]
    apply(lines[-1])
    return "".join(json.dumps(line) + "\n" for line in lines)


def solution(*_: object) -> dict[str, Any]:
    """Write a provenance that holds what no box ever plays."""
    return {"solutions": [SOLUTION]}


def stocked_up(
    house: Application,
    each: int,
    first: int = 0,
    *,
    public: bool = False,
    template: str = "t",
    write: Callable[[Stratum, int], dict[str, Any]] = written,
    provenance: Callable[[Stratum, int], dict[str, Any]] = solution,
) -> list[str]:
    """Add reviewed tasks of each stratum, each of a skeleton of its own; `template` may name one a `{number}`."""
    added = []
    for stratum in house.benchmark.spec.per_cohort:
        for number in range(first, first + each):
            task = Task.parse(write(stratum, number))
            skeleton = f"{stratum}/{number}"
            named = template.format(number=number)
            names = {"skeleton": skeleton, "template": named}
            house.home.vault.add(task, provenance(stratum, number), author="ada", public_grammar=public, **names)
            house.home.vault.advance(task.id, "admit")
            house.tasks.reviews.decide(task.id, "grace", None)
            added.append(task.id)
    return added


def make(
    folder: Path,
    *,
    of: str = "demo",
    tasks: int = 0,
    live: bool = False,
    database: DatabaseSettings = SQLITE,
    **how: Any,
) -> Path:
    """Make a home of a set with so many reviewed tasks of each stratum, and with a live set if wanted.

    Its set has no reserve, unless it was made without a file: each spare task would be one more to stock.
    """
    benchmark, anybodys = BenchmarkSettings(first_month=MONTH, set=of), ServiceSettings(images=("",))
    chosen, set_file = Settings(benchmark=benchmark, service=anybodys, database=database), sets.SETS[of].text
    create(folder, chosen, None, set_file=set_file.replace("reserve = 1\n", ""))
    house = Application(folder, None)
    stocked_up(house, tasks, **how)
    if live:
        house.month.rotation.run(Month.parse(MONTH).plus(-1))
    house.close()
    return folder


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the limit of every wait in this process to five minutes, for slow machines."""
    for name in (
        "accounts.oidc.WAIT",
        "notices.channels.TIMEOUT_SECONDS",
        "home.home._LOCK_TIMEOUT_SECONDS",
        "public_view._LOCK_TIMEOUT_SECONDS",
    ):
        monkeypatch.setattr(f"quarterturn.{name}", 300.0)
    for name in ("WAIT", "IDLE"):
        monkeypatch.setattr(f"vault.database.{name}", 300.0)
    monkeypatch.setitem(db._ON_POSTGRES["connect_args"], "connect_timeout", 300)


@pytest.fixture(scope="module")
def cheap_derivation() -> Iterator[None]:
    """Derive keys from passphrases at the lowest cost, in this process and its forks; `vault` tests their cost."""
    real = passphrase.Argon2id
    with pytest.MonkeyPatch.context() as patched:
        cheap = {"memory_cost": 8, "iterations": 1, "lanes": 1}
        patched.setattr(passphrase, "Argon2id", lambda **parameters: real(**parameters | cheap))
        yield


@pytest.fixture(scope="session")
def memory() -> Iterator[Path]:
    """Yield a folder in memory, where fsync costs nothing."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="quarterturn-tests-") as folder:
        yield Path(folder)


@pytest.fixture
def tmp_path(memory: Path) -> Iterator[Path]:
    """Yield the test's own folder, in memory: no test here asks what a disk does on fsync."""
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of prepared homes; the workers of a run share it, so that each is made once, and copied."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "homes"
    folder.mkdir(exist_ok=True)
    return folder


def made_once(path: Path, write: Callable[[Path], object]) -> Path:
    """Write a file or folder that workers share, in memory first, unless another worker has; others wait for it."""
    with locked(path.with_name(f"{path.name}.lock"), PATIENCE, "preparing what tests copy"):
        if not path.exists():
            with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
                write(Path(folder) / path.name)
                shutil.move(Path(folder) / path.name, path.with_name(f"{path.name}.part"))
            path.with_name(f"{path.name}.part").rename(path)
    return path


def copy_of(templates: Path, name: str, to: Path, **how: Any) -> Path:
    """Return a test's own copy of a home of a kind; each kind is made once."""
    return Path(shutil.copytree(made_once(templates / name, lambda folder: make(folder, **how)), to))


def committed(number: int) -> bytes:
    """Make a leaf that any log takes: it commits to a task of its own that is never promised."""
    name = "t-" + "".join("abcdefghijklmnopqrstuvwxyz234567"[number >> 5 * place & 31] for place in range(16))
    return leaf.commit(name, number.to_bytes(32, "big"), spec="1.0.0", provenance=bytes(32), public_grammar=False)


def configure(home: Path, **sections: object) -> None:
    """Put these tables into a home's settings."""
    file = home / "quarterturn.toml"
    file.write_text(dump(load(file).model_copy(update=sections)))


@contextmanager
def copied_rows(server: Server, templates: Path, name: str, to: Path, **how: Any) -> Iterator[Path]:
    """Yield a copy of such a home whose rows are in a database of its own on the server."""
    kind = f"{name}-on-{server.folder.name}"
    if not (templates / kind).exists():
        how["database"] = DatabaseSettings(url=server.make())
    copy = copy_of(templates, kind, to, **how)
    with server.copy(load(copy / "quarterturn.toml").database.url) as url:
        configure(copy, database=DatabaseSettings(url=url))
        yield copy


@pytest.fixture
def copy(
    templates: Path, tmp_path: Path, backend: str, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Path]]:
    """Yield a copy of a home of a kind, on the database that the test runs on."""
    with ExitStack() as stack:

        def give(name: str, **how: Any) -> Path:
            if backend == "sqlite":
                return copy_of(templates, name, tmp_path / "home", **how)
            server: Server = request.getfixturevalue("postgres")
            return stack.enter_context(copied_rows(server, templates, name, tmp_path / "home", **how))

        yield give


@pytest.fixture
def home(copy: Callable[..., Path]) -> Path:
    return copy("empty")


@pytest.fixture
def stocked(copy: Callable[..., Path]) -> Path:
    """A home with enough reviewed tasks for the first set and one more cohort."""
    return copy("stocked", tasks=5)


@pytest.fixture
def live(copy: Callable[..., Path]) -> Path:
    return copy("live", tasks=5, live=True)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the small set available under its own name, and make the demo set as small."""
    monkeypatch.setitem(sets.SETS, FEW.name, FEW)  # type: ignore[index]
    monkeypatch.setitem(sets.SETS, DEMO.name, replace(FEW, name=DEMO.name))  # type: ignore[index]


@pytest.fixture
def small(few: None, copy: Callable[..., Path]) -> Path:
    """Return a home with a live set of eight tasks, for boxes in which nothing can be played."""
    return copy("small", tasks=5, live=True)


@pytest.fixture
def playable(few: None, copy: Callable[..., Path]) -> Path:
    """Return a home with a live set of eight tasks that a real box can play: every task has a verdict."""
    return copy("playable", tasks=5, live=True, write=with_files)


@pytest.fixture
def listing() -> Callable[[Path], dict[str, str]]:
    return listed


@pytest.fixture
def document() -> Callable[[Stratum, int], dict[str, Any]]:
    return written


@pytest.fixture
def stock() -> Callable[..., list[str]]:
    return stocked_up
