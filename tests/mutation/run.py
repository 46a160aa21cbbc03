"""Mutation runner: puts each listed defect into a copy of the checkout, and names the test that finds it.

    .venv/bin/python tests/mutation/run.py [--only ID...] [--suite COMMIT] [--tests PATH...] [--until STAGE] [--small]

It works on what is committed. A mutant goes through stages until a test fails: the tests that the list names for it,
the quick tests of its package, all tests of it, the whole suite. Before a stage counts, the same tests have to be
green without a mutant. It is run by hand, and ends with exit 1 if a mutant survives. `--small` plays of each stage what
the small size plays. `--suite COMMIT` takes the tests of another commit, to compare two suites on the same mutants.

Each run of pytest is forked from this process, which has imported slow packages of others and none of the project's.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from mutants import ROOT, SELECTED, Mutant, read_list

PACKAGES = ("vault", "verifiers", "sandbox", "rotation", "quarterturn")
STAGES = ("named", "quick", "package", "suite")
LIMITS = {"named": 600.0, "given": 7200.0, "quick": 1800.0, "package": 7200.0, "suite": 6 * 3600.0}
"""Seconds for one run of pytest; one that never ends counts as found."""
SLOW_IMPORTS = (
    "hypothesis",
    "schemathesis.pytest",
    "sqlmodel",
    "alembic",
    "fastapi",
    "jsonschema",
    "mcp",
    "docker",
    "typer",
)
_PASSED = {0, 5, 6}  # 5: no test of this kind; 6: what could run is green, and some tests could not on this machine
_RED = {1, 2}  # a test failed, or could not be collected
_NOT_THE_COPY = 70
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """Outcome of a mutant: `killed` at a stage by a test, or `survived` up to it."""

    id: str
    package: str
    outcome: str
    stage: str
    by: str
    seconds: float


class Copy:
    """A throw-away copy of the last commit that holds one mutant at a time."""

    def __init__(self, folder: Path, suite: str | None, size: Sequence[str] = ()) -> None:
        self.folder, self._log, self._green = folder / "copy", folder / "log", set[tuple[str, ...]]()
        self._size = tuple(size)
        git = ["git", "-C", str(self.folder)]
        commands = [["git", "clone", "--quiet", "--shared", str(ROOT), str(self.folder)]]
        if suite:
            commands.append([*git, "rm", "-r", "--quiet", "tests"])
            commands.append([*git, "checkout", "--quiet", suite, "--", "tests", "pyproject.toml"])
        for command in commands:
            subprocess.run(command, check=True)
        by_hash = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", *PACKAGES, "grammars"]
        subprocess.run([sys.executable, *by_hash], cwd=self.folder, check=True)  # by time, a mutant may go unseen

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Keep a mutant in the copy for the block."""
        path = self.folder / mutant.file
        text = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(text), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")

    def require_green(self, arguments: Sequence[str], limit: float) -> None:
        """Refuse to continue where tests fail without any mutant."""
        if tuple(arguments) not in self._green and (found := self.play(arguments, limit)) is not None:
            raise SystemExit(f"without any mutant {' '.join(arguments)} is red: {found}")
        self._green.add(tuple(arguments))

    def play(self, arguments: Sequence[str], limit: float) -> str | None:
        """Run pytest; give the first test that failed, or None."""
        process = get_context("fork").Process(target=_pytest, args=(self.folder, self._log, [*self._size, *arguments]))
        process.start()
        process.join(limit)
        late = process.is_alive()
        with suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)  # what the tests left behind, too
        process.join()
        if late:
            return f"nothing ended within {limit:.0f} s"
        said = self._log.read_text(encoding="utf-8", errors="replace")
        if process.exitcode in _PASSED:
            return None
        if process.exitcode not in _RED:
            raise SystemExit(f"pytest {' '.join(arguments)} gave exit {process.exitcode}:\n{said[-2000:]}")
        found = _FAILED.search(said)
        return found[1] if found else f"pytest ended with: {said[-300:].strip()}"


def _pytest(folder: Path, log: Path, arguments: Sequence[str]) -> None:
    """Run pytest in a forked process on the copy, and on nothing of the checkout."""
    os.setsid()
    os.chdir(folder)
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path[0] = str(folder)
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        if package in sys.modules or found is None or not str(found.origin).startswith(str(folder)):
            os._exit(_NOT_THE_COPY)
    imported = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # the slow packages, before pytest saw them
    os._exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *imported, *arguments]))


def judge(copy: Copy, mutant: Mutant, stages: Sequence[str]) -> Verdict:
    """Test a mutant stage by stage until a test fails."""
    begun = time.monotonic()
    for stage in stages:
        arguments = mutant.arguments(stage)
        if stage != STAGES[0]:  # those that are named were played before the first mutant, all together
            copy.require_green(arguments, LIMITS[stage])
        with copy.mutated(mutant):
            found = copy.play(arguments, LIMITS[stage])
        if found is not None:
            break
    outcome, seconds = "killed" if found else "survived", round(time.monotonic() - begun, 1)
    return Verdict(mutant.id, mutant.package, outcome, stage, found or "", seconds)


def main() -> int:
    """Test the requested mutants."""
    parser = argparse.ArgumentParser(description="Run the tests against listed defects.")
    parser.add_argument("--only", nargs="+", metavar="ID", help="these mutants, or those of these packages")
    parser.add_argument("--suite", metavar="COMMIT", help="take the tests of this commit")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="run these and no others")
    parser.add_argument("--until", choices=STAGES, default=STAGES[-1], help="the last stage")
    parser.add_argument("--small", action="store_true", help="the tests of the small size alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the verdicts to this file")
    asked = parser.parse_args()
    mutants = [one for one in read_list() if not asked.only or {one.id, one.package} & set(asked.only)]
    if asked.tests:
        mutants = [replace(one, tests=tuple(asked.tests)) for one in mutants]
    first = 1 if asked.suite else 0  # the tests of another commit have other names
    stages = ("given",) if asked.tests else STAGES[first : STAGES.index(asked.until) + 1]
    for name in SLOW_IMPORTS:
        importlib.import_module(name)
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        sizes = () if asked.suite else ("--small",) if asked.small else ("--all",)
        copy = Copy(Path(folder), asked.suite, sizes)
        if stages[0] == STAGES[0]:
            named = sorted({test for mutant in mutants for test in mutant.tests})
            copy.require_green([*named, *SELECTED[stages[0]]], LIMITS["package"])
        for mutant in mutants:
            verdicts.append(one := judge(copy, mutant, stages))
            sys.stdout.write(f"{one.outcome:8} {one.id:48} {one.seconds:6.1f} s  {one.stage:5} {one.by}\n")
            sys.stdout.flush()
            if asked.json:
                asked.json.write_text(json.dumps([asdict(one) for one in verdicts], indent=1) + "\n", encoding="utf-8")
    survivors = [one.id for one in verdicts if one.outcome == "survived"]
    sys.stdout.write(f"{len(verdicts)} mutants, {len(survivors)} survived: {', '.join(survivors) or 'none'}\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
