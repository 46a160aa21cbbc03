"""Public view: all public facts of a home as files. Public routes read these and nothing else.

    public/view/dev.json          the dev set, whole
    public/view/rotations.json    turns, cohorts with their sizes, and when the next turn is due
    public/view/findings.json     for months that are over, the number of findings of each kind; they name nobody
    public/view/board/YYYY-MM.json   a month's leaderboard, and its changelog, by leaf of the log

1. What is written here is public from then on, so each file is made by the function that the command line uses too.
2. Of private tasks it has the leaderboard, which is rounded, and how many tasks are live. No id, no hash and no text.
3. A file is written whole, and only where it differs: its bytes are its version.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from grammars.language.load import LIBRARY, library
from quarterturn import wall_clock
from quarterturn.app import Application, shipped_grammar
from quarterturn.leaderboard import caveats, changelog, standings
from quarterturn.tasks import dev_sets
from rotation.calendar import Month
from rotation.findings.store import counts_by_kind
from rotation.month import draw
from rotation.month.sets import COHORTS, SetSpec
from vault.canonical import canonical
from vault.file_lock import locked
from vault.files import write_atomically

DEV, ROTATIONS, FINDINGS, LEADERBOARDS = "dev.json", "rotations.json", "findings.json", "board"
_PATIENCE = 10.0  # seconds to wait for another who draws


def after(house: Application, *, withdrawn: bool = False) -> None:
    """Rewrite what a run, a turn or a withdrawal changes; an error here does not undo what was done."""
    with suppress(Exception):
        _changing(house, withdrawn=withdrawn)


def refresh(house: Application) -> None:
    """Write the whole view; the dev set takes seconds to draw, once for each change of the grammars."""
    folder = house.places.view
    _write(folder / DEV, dev_set(house.spec, folder / DEV))
    _changing(house, withdrawn=True)


def _changing(house: Application, *, withdrawn: bool) -> None:
    """Write all but the dev set.

    A leaderboard is written until the turn after its month is made, and where it is missing. Where a task was
    withdrawn, those of all months are written in which a live cohort was served.
    """
    folder, turns = house.places.view, house.months.turns()
    months = COHORTS - 1 if withdrawn else 1
    _write(folder / ROTATIONS, rotations(house))
    _write(folder / FINDINGS, findings(house))
    for turn in turns:
        month = turn.month.plus(1)
        path = folder / LEADERBOARDS / f"{month}.json"
        if month > turns[-1].month.plus(-months) or not path.exists():
            _write(path, leaderboard(house, month))


def dev_set(spec: SetSpec, written: Path) -> bytes:
    """Give the dev set's tasks; what was written by the same grammars and the same code is not drawn again."""
    version = _version()
    with suppress(OSError, ValueError):
        known = json.loads(written.read_bytes())
        if (known["set"], known["version"]) == (spec.name, version):
            return written.read_bytes()
    grammars = {server: shipped_grammar(server) for server in spec.servers if server in library()}
    tasks = [draft.task for draft in dev_sets.draw(grammars, spec)]
    return canonical({"set": spec.name, "version": version, "tasks": tasks})


def _version() -> str:
    """Hash all that the dev set is drawn by; reading this takes milliseconds, and drawing takes seconds."""
    state = hashlib.sha256()
    sources = (path for path in LIBRARY.parent.rglob("*") if path.suffix in (".py", ".yaml"))
    for path in [*sorted(sources), *map(Path, (dev_sets.__file__, draw.__file__))]:
        state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()


def rotations(house: Application) -> bytes:
    """Give the turns that were made, the cohorts, and when the next turn is due."""
    turns, cohorts = house.months.turns(), house.months.cohorts()
    public = {name for cohort in cohorts for name in caveats.public_cohorts(house, cohort.entered)}
    coming, due = wall_clock.next_turn(house.months, house.settings)
    return _plain(
        {
            "benchmark": house.settings.benchmark.model_dump(include={"origin", "first_month"}),
            "live": str(turns[-1].month.plus(1)) if turns and turns[-1].finished else None,
            "next": {"turn": str(coming), "due": f"{due:%Y-%m-%dT%H:%M:%SZ}"},
            "turns": [
                {
                    "month": str(turn.month),
                    "started_at": turn.started_at.isoformat(),
                    "finished": turn.finished,
                    "release": turn.month.release if (house.places.releases / turn.month.release).is_dir() else None,
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


def findings(house: Application) -> bytes:
    """Count the findings of the months whose turn was made; the live month is left out."""
    over = [turn.month for turn in house.months.turns() if turn.finished]
    all_findings = house.findings.all()
    return _plain(
        {"months": {str(m): counts_by_kind([finding for finding in all_findings if finding.month == m]) for m in over}}
    )


def leaderboard(house: Application, month: Month) -> bytes:
    """Give a month's leaderboard, as `quarterturn leaderboard` shows it, and its changelog."""
    lines = [line.as_json() for line in standings.of_month(house, month)]
    return _plain(
        {
            "month": str(month),
            "sunset": month.cohort,
            "public_grammar": caveats.public_cohorts(house, month),
            "lines": lines,
            "changes": changelog.of_month(house.places.log, month),
        }
    )


def _plain(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _write(path: Path, data: bytes) -> None:
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent, _PATIENCE, "drawing the view", folder=True):
            write_atomically(path, data, path.with_name(".new"))
