"""Public view: all public facts of a home as files. Public routes read these and nothing else.

    public/view/dev.json          the dev set, whole
    public/view/rotations.json    turns, cohorts with their sizes, and when the next turn is due
    public/view/findings.json     for months that are over, the number of findings of each kind; they name nobody
    public/view/board/YYYY-MM.json   a month's leaderboard, and its changelog, by leaf of the log
    public/view/names.json        the names that owners chose for their agents, of those that a leaderboard shows
    public/view/results/RELEASE.json  how many retired tasks each run passed, by server, category and language
    public/view/passes/RELEASE.json   for each retired task, how many runs were served it, and which passed it
    public/view/tasks/SET.json    the list of the public tasks of the dev set (`dev`) and of each release, without goals
    public/view/archives/RELEASE.tar   a release in one file (`vault.ledger.release.archive`), and RELEASE.tar.sha256

1. What is written here is public from then on, so each file is made by the service that the command line uses too.
2. Of private tasks it has the leaderboard, which is rounded, and how many tasks are live. No id, no hash and no text.
3. A file is written whole, and only where it differs: its bytes are its version.
4. A display name is in its own file alone, so that no leaderboard changes with it, not even a past one.
5. A file that could not be written undoes nothing. It is logged, and `doctor` and `/readyz` say which files are behind.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from grammars.language.labels import ENGLISH
from quarterturn.errors import Refused, where
from rotation.calendar import Month
from rotation.findings.store import Findings, counts_by_kind
from rotation.generation import shipped_dev_sets
from rotation.leaderboard import changelog
from rotation.leaderboard.caveats import Caveats
from rotation.leaderboard.leaderboard import Leaderboard
from rotation.month.sets import SetSpec, Stratum
from rotation.month.store import MonthStore
from vault.canonical import canonical, digest
from vault.file_lock import locked
from vault.files import write_atomically
from vault.ledger.release.archive import archive, archive_digest
from vault.ledger.release.contents import BROKEN, RESULTS, TASKS, WITHDRAWN

DEV, ROTATIONS, FINDINGS, LEADERBOARDS, TASK_LISTS = "dev.json", "rotations.json", "findings.json", "board", "tasks"
NAMES, RETIRED, PASSES = "names.json", "results", "passes"
ARCHIVES, ARCHIVE, DIGEST = "archives", ".tar", ".tar.sha256"
ABOUT = ("measures", "operator", "score_meaning")
"""What the settings say of a benchmark, for its front page."""
_LOCK_TIMEOUT_SECONDS = 10.0  # for another who draws

log = logging.getLogger("quarterturn.public_view")


@dataclass(frozen=True, slots=True)
class HomeFacts:
    """Public facts of a home that no store holds.

    Attributes:
        benchmark: its origin and its first month.
        releases: the folder of the releases.
        log: the folder of the public log.
        next_turn: gives the month whose turn comes next, and when it is due.
    """

    benchmark: Mapping[str, Any]
    releases: Path
    log: Path
    next_turn: Callable[[], tuple[Month, datetime]]


class PublicDocuments:
    """Makes the documents of the view.

    Args:
        facts: the home's own facts.
        months: cohorts and turns.
        leaderboard: the leaderboards.
        caveats: what makes a score say less.
        findings: what the detectors found.
        names: gives the display names, by submitter and agent.
    """

    def __init__(
        self,
        facts: HomeFacts,
        months: MonthStore,
        leaderboard: Leaderboard,
        caveats: Caveats,
        findings: Findings,
        *,
        names: Callable[[], Mapping[tuple[str, str], str]],
    ) -> None:
        self._facts, self._months, self._leaderboard = facts, months, leaderboard
        self._caveats, self._findings, self._names = caveats, findings, names

    def rotations(self) -> bytes:
        """Return the turns that were made, the cohorts, and when the next turn is due."""
        turns, cohorts = self._months.turns(), self._months.cohorts()
        public = self._caveats.all_public_cohorts()
        coming, due = self._facts.next_turn()
        releases = self._facts.releases
        return _plain(
            {
                "benchmark": dict(self._facts.benchmark),
                "live": str(turns[-1].month.plus(1)) if turns and turns[-1].finished else None,
                "next": {"turn": str(coming), "due": f"{due:%Y-%m-%dT%H:%M:%SZ}"},
                "turns": [
                    {
                        "month": str(turn.month),
                        "started_at": turn.started_at.isoformat(),
                        "finished": turn.finished,
                        "release": turn.month.release if (releases / turn.month.release).is_dir() else None,
                    }
                    for turn in turns
                ],
                "cohorts": [
                    {
                        "id": cohort.id,
                        "state": cohort.state,
                        "entered": str(cohort.entered),
                        "retires": str(cohort.retires),
                        "tasks": len(cohort.tasks),
                        "public_grammar": cohort.id in public,
                    }
                    for cohort in cohorts
                ],
            }
        )

    def releases(self) -> list[str]:
        """Name the releases that were published."""
        turns = [turn.month.release for turn in self._months.turns()]
        return [name for name in turns if (self._facts.releases / name).is_dir()]

    def release_tasks(self, release: str) -> bytes:
        """List the tasks of a release."""
        lines = (self._facts.releases / release / TASKS).read_bytes().splitlines()
        return task_list(release, ((json.loads(line), hashlib.sha256(line).hexdigest()) for line in lines))

    def release_results(self, release: str) -> bytes:
        """Count the tasks of a release that each run was served and passed, by server, category and language."""
        folder = self._facts.releases / release
        tasks = {task["id"]: task for name in (TASKS, WITHDRAWN) for task in _lines(folder / name)}
        broken = {line["task"] for line in _lines(folder / BROKEN)}
        attempted: Counter[tuple[int, str, str]] = Counter()
        passed: Counter[tuple[int, str, str]] = Counter()
        for line in (folder / RESULTS).read_bytes().splitlines():
            result = json.loads(line)["result"]
            if result["task"] not in broken:
                for by in ("server", "category", "language"):
                    kind = (result["run"], by, tasks[result["task"]].get(by, ENGLISH))
                    attempted[kind] += 1
                    passed[kind] += result["passed"]
        keys = ("run", "by", "name", "attempted", "passed")
        counts = [(*kind, attempted[kind], passed[kind]) for kind in sorted(attempted)]
        return _plain([dict(zip(keys, count, strict=True)) for count in counts])

    def release_passes(self, release: str) -> bytes:
        """Count the runs that were served each task of a release, and name those that passed it."""
        folder = self._facts.releases / release
        passes: dict[str, dict[str, Any]] = {task["id"]: {"served": 0, "passed": []} for task in _lines(folder / TASKS)}
        for result in (line["result"] for line in _lines(folder / RESULTS)):
            if (of := passes.get(result["task"])) is not None:  # a withdrawn one has no page
                of["served"] += 1
                of["passed"] += [result["run"]] if result["passed"] else []
        return _plain(passes)

    def archive(self, release: str) -> bytes:
        """Return a release in one file."""
        return b"".join(archive(self._facts.releases / release))

    def archive_digest(self, release: str) -> bytes:
        """Return the digest of that file, as `sha256sum` writes it."""
        return f"{archive_digest(self._facts.releases / release)}  {release}{ARCHIVE}\n".encode()

    def findings(self) -> bytes:
        """Count the findings of the months whose turn was made; the live month is left out."""
        over = [turn.month for turn in self._months.turns() if turn.finished]
        found = self._findings.all()
        return _plain(
            {"months": {str(m): counts_by_kind([finding for finding in found if finding.month == m]) for m in over}}
        )

    def leaderboard(self, month: Month) -> bytes:
        """Return a month's leaderboard, as `quarterturn leaderboard` shows it, and its changelog."""
        return _plain(
            {
                "month": str(month),
                "sunset": self._months.sunset(month),
                "public_grammar": self._caveats.public_cohorts(month),
                "lines": [line.as_json() for line in self._leaderboard.of_month(month)],
                "changes": changelog.of_month(self._facts.log, month),
            }
        )

    def names(self, listed: Collection[tuple[str, str]]) -> bytes:
        """Return the display names of agents, as far as `listed` has their submitters and names."""
        keys = ("submitter", "name", "display_name")
        chosen = sorted((*agent, name) for agent, name in self._names().items() if agent in listed)
        return _plain({"names": [dict(zip(keys, entry, strict=True)) for entry in chosen]})


def _lines(file: Path) -> Iterator[Any]:
    """Read JSON lines; a release without such tasks has no such file."""
    yield from map(json.loads, file.read_bytes().splitlines() if file.is_file() else ())


def task_list(of: str, tasks: Iterable[tuple[Mapping[str, Any], str]]) -> bytes:
    """List public tasks of a set, each given with the SHA-256 of its canonical bytes."""
    mix = ("server", "category", "difficulty", "max_steps")
    return _plain(
        [{"id": task["id"], "set": of, "sha256": sha256} | {k: task[k] for k in mix} for task, sha256 in tasks]
    )


class PublicViewWriter:
    """Writes the view.

    Args:
        folder: where it is.
        documents: what stands in it.
        months: the turns, which say of which months there are leaderboards.
        recount: makes a month's figures again that still count a broken task.
    """

    def __init__(
        self, folder: Path, documents: PublicDocuments, months: MonthStore, recount: Callable[[Month], None]
    ) -> None:
        self._folder, self._documents, self._months, self._recount = folder, documents, months, recount

    def update(self) -> None:
        """Write what has changed; an error is logged, and does not undo what was done."""
        with _logged("the public view"):
            self._write()

    def update_names(self) -> None:
        """Write the display names alone; an error is logged, and the next update of the view writes them."""
        with _logged("the display names"):
            _write(self._folder / NAMES, self._names)

    def refresh(self, dev_set: Callable[[Path], bytes]) -> None:
        """Write the whole view; the dev set takes seconds to draw, once for each change of the grammars."""
        drawn = dev_set(self._folder / DEV)
        _write(self._folder / DEV, lambda: drawn)
        tasks = ((task, digest(task)) for task in json.loads(drawn)["tasks"])
        _write(self._folder / TASK_LISTS / DEV, lambda: task_list("dev", tasks))
        self._write()

    def behind(self) -> list[str]:
        """Name the files whose bytes are not what the home's rows say."""
        current = ((path, make()) for path, make in self._current())
        return [path.relative_to(self._folder).as_posix() for path, data in current if not _is(path, data)]

    def _write(self) -> None:
        """Write all but the dev set; of leaderboards those of months with a live cohort, and missing ones."""
        for month in self._open_months():
            with _logged(f"the figures of {month}"):
                self._recount(month)
        for path, make in self._current():
            _write(path, make)

    def _current(self) -> Iterator[tuple[Path, Callable[[], bytes]]]:
        yield self._folder / ROTATIONS, self._documents.rotations
        yield self._folder / FINDINGS, self._documents.findings
        for month in self._open_months():
            yield self._path(month), partial(self._documents.leaderboard, month)
        yield self._folder / NAMES, self._names
        for release in self._documents.releases():
            made = {
                f"{TASK_LISTS}/{release}.json": self._documents.release_tasks,
                f"{RETIRED}/{release}.json": self._documents.release_results,
                f"{PASSES}/{release}.json": self._documents.release_passes,
                f"{ARCHIVES}/{release}{ARCHIVE}": self._documents.archive,
                f"{ARCHIVES}/{release}{DIGEST}": self._documents.archive_digest,
            }
            for name, make in made.items():
                if not (self._folder / name).exists():  # a release never changes
                    yield self._folder / name, partial(make, release)

    def _names(self) -> bytes:
        """Make the display names of the agents of all leaderboards that are written; nobody learns of others."""
        leaderboards = (json.loads(path.read_bytes()) for path in (self._folder / LEADERBOARDS).glob("*.json"))
        lines = (line for leaderboard in leaderboards for line in leaderboard["lines"])
        return self._documents.names({(line["submitter"], line["name"]) for line in lines})

    def _open_months(self) -> list[Month]:
        """Return the months whose leaderboard may still change, or is missing."""
        turns = self._months.turns()
        private = self._months.cohorts("promised", "live", "retired")
        oldest = min((cohort.entered for cohort in private), default=None)
        months = [turn.month.plus(1) for turn in turns]
        return [month for month in months if (oldest and month >= oldest) or not self._path(month).exists()]

    def _path(self, month: Month) -> Path:
        return self._folder / LEADERBOARDS / f"{month}.json"


def dev_set(spec: SetSpec, used: Callable[[Iterable[str]], int], written: Path) -> bytes:
    """Return the dev set's tasks; what was written by the same grammars and the same code is not drawn again.

    Another set file, or other shipped grammars, can draw skeletons that private tasks of today have. Then the dev set
    that is public stays, and the log says so.

    Args:
        spec: the home's set.
        used: counts the skeletons, among those of these ids, that private tasks have.
        written: where the dev set that is public lies, if there is one.

    Raises:
        Refused: private tasks have such skeletons, and no dev set is public yet.
    """
    version = shipped_dev_sets.version()
    known = None
    with suppress(OSError, ValueError):
        known = json.loads(written.read_bytes())
        mix = Counter(Stratum(task["server"], task["category"], task["difficulty"]) for task in known["tasks"])
        if (known["set"], known["version"], mix) == (spec.name, version, Counter(spec.dev)):
            return written.read_bytes()
    drafts = shipped_dev_sets.drafts(spec)
    if count := used(draft.skeleton for draft in drafts):
        cause = (
            f"the dev set of '{spec.name}' would publish {count} skeletons that private tasks have: set `dev` in the "
            "home's set.toml back to what it was until the cohorts of today are published"
        )
        if known is None:
            raise Refused(cause)
        log.warning("the dev set stays as it is: %s", cause)
        return written.read_bytes()
    return canonical({"set": spec.name, "version": version, "tasks": [draft.task for draft in drafts]})


def _plain(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _is(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data


def _write(path: Path, make: Callable[[], bytes]) -> None:
    """Write a file where it differs; it is made with the lock held, so that of two writers the later knows more."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent, _LOCK_TIMEOUT_SECONDS, "drawing the view", folder=True):
        if not _is(path, data := make()):
            write_atomically(path, data, path.with_name(".new"))


@contextmanager
def _logged(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        log.error("%s cannot be brought up to date: %s", what, where(error))  # noqa: TRY400 - its words may quote a task
