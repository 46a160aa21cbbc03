"""Measures whether a home of 100,000 sealed tasks costs as much time and memory per task as one of 1,000.

A home of N small tasks is made, of which four cohorts of 200 are live and the others wait. (A `set` statement names all
live tasks in one leaf of the log, so a live set ends at some three thousand.) Each piece of work is done by a process
of its own, which says how much processor time it took (on a busy machine the clock would say more about the others) and
how much memory it held at most:

    import      drafts and their evidence are kept, in files of 500, and reviewed; what proves them before runs in
                boxes, and how long it takes to compare them with others is measured by `duplicates`
    first turn  four cohorts are promised and go live
    turn        one cohort retires and is published, another is promised and goes live
    export      what was published is written once more
    re-wrap     everything is wrapped again under a fresh key of the ring

`--rounds 3` measures 100,000 tasks too, which takes a quarter of an hour.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from report import Found, Table

from grammars.admission.gates import NAMES, Admission, Gate
from grammars.language.grammar import Draft
from quarterturn.app import Application
from quarterturn.home.home import create
from quarterturn.keys.rekeying import KeyFiles
from quarterturn.settings import BenchmarkSettings, Settings
from rotation.calendar import Month
from rotation.month.set_file import COHORTS
from rotation.month.sets import SetSpec, Stratum
from vault.store.rewrap import Rewrapping

SIZES = (1_000, 10_000, 100_000)
FILE = 500
COHORT = 200
MONTH = Month.parse("2026-12")
STRATUM = Stratum("filesystem", "single-tool", "easy")
TOOLS = ("create_directory", "directory_tree", "edit_file", "get_file_info", "list_allowed_directories")
MORE = ("list_directory", "move_file", "read_multiple_files", "read_text_file", "search_files", "write_file")
LETTERS = "abcdefghijklmnop"


def bench(rounds: int = 0) -> Found:
    """Measure every step at each size."""
    rows = [row for size in SIZES[: rounds or 2] for row in _measured(size)]
    base = {row["work"]: row for row in rows if row["tasks"] == SIZES[0]}
    for row in rows:
        row["of the smallest"] = round(row["ms a task"] / base[row["work"]]["ms a task"], 2)
    columns = ("work", "tasks", "ms a task", "of the smallest", "MiB at most")
    about = "Processor time a task (at a turn and an export: a retired task), and the most memory of the process."
    return Found("Homes of many sealed tasks, beside one of a thousand.", [], tables=[Table(about, columns, rows)])


def _measured(size: int) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder:
        home = Path(folder) / "home"
        create(home, Settings(benchmark=BenchmarkSettings(first_month=str(MONTH))), None)
        for work in PIECES:
            command = [sys.executable, __file__, work, home, str(size)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            said = json.loads(done.stdout)
            row = {"work": work, "tasks": size, "ms a task": round(1000 * said["seconds"] / said["units"], 3)}
            sys.stderr.write(f"  {row}, {said['memory']} MiB\n")
            yield row | {"MiB at most": said["memory"]}


# -- the pieces, each in a process of its own -------------------------------------------------------------------------


def _import(house: Application, size: int) -> int:
    keep(house, [draft(number) for number in range(size)])
    return size


def keep(house: Application, drafts: Sequence[Draft]) -> None:
    """Keep drafts and their evidence, in files of 500, and review them."""
    for first in range(0, len(drafts), FILE):
        some = drafts[first : first + FILE]
        admitted = [(one, _admission(one.id)) for one in some]
        house.tasks.drafts.keep_all(admitted, author="ada", public_grammar=False)
        house.tasks.reviews.decide_all([one.id for one in some], "grace", None)


def _first_turn(house: Application, _: int) -> int:
    house.month.rotation.run(MONTH.plus(-1))
    return COHORT * COHORTS


def _turn(house: Application, _: int) -> int:
    house.month.rotation.run(MONTH)
    return COHORT


def _export(house: Application, _: int) -> int:
    shutil.rmtree(house.home.places.releases / MONTH.release)
    house.month.rotation.republish(MONTH)
    return COHORT


def _rewrap(house: Application, size: int) -> int:
    work = Rewrapping(
        house.home.engine, house.home.ring, KeyFiles(house.home.places, house.home.ring), "ada", house.home.now
    )
    work.begin()
    work.rewrap()
    work.finish()
    return size


PIECES: dict[str, Callable[[Application, int], int]] = {
    "import": _import,
    "first turn": _first_turn,
    "turn": _turn,
    "export": _export,
    "re-wrap": _rewrap,
}


def draft(number: int, template: str = "bench") -> Draft:
    """Make a small draft of its own number."""
    name = f"{number:x}".rjust(16, "0").translate(str.maketrans("0123456789abcdef", LETTERS))
    task = {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": f"t-{name}",
        "server": STRATUM.server,
        "category": STRATUM.category,
        "difficulty": STRATUM.difficulty,
        "max_steps": 8,
        "goal": f"Make the folder number-{number} beside the ledger of {name}.",
        "initial_state": {},
        "available_tools": [f"filesystem.{tool}" for tool in (*TOOLS, *MORE, "list_directory_with_sizes")],
        "success_predicate": {"filesystem.directoryExists": {"path": f"number-{number}"}},
    }
    return Draft(
        task, {"template": template, "skeleton": f"bench/{number}", "solutions": [], "mutants": [], "given": []}
    )


def _admission(task_id: str) -> Admission:
    gates = tuple(Gate(number, name, ok=True, detail="ok") for number, name in NAMES.items())
    return Admission(task_id, gates, {"solutions": {}, "mutants": {}})


def main() -> None:
    """Do one step and print its cost."""
    work, home, size = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    with closing(Application(home, None)) as house:
        house.benchmark.spec = SetSpec("bench", {STRATUM: COHORT})  # of any size
        before = resource.getrusage(resource.RUSAGE_SELF)
        units = PIECES[work](house, size)
        after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    json.dump({"seconds": seconds, "units": units, "memory": int(memory.split()[1]) // 1024}, sys.stdout)


if __name__ == "__main__":
    main()
