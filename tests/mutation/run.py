"""Mutation runner: puts each listed defect into a copy of the checkout, and names the test that finds it.

    .venv/bin/python tests/mutation/run.py [--only ID...] [--small] [--jobs NUMBER] [--until STAGE] ...

It works on what is committed. A mutant goes through stages until a test fails: the tests that the list names for it,
the quick tests of its package, all tests of it, the whole suite; so only survivors of a stage play more. A test that
fails has to be green without the mutant. It is run by hand, and ends with exit 1 if a mutant survives.
`--small` plays at each stage only what the small size plays: its last line says how many die there. `--suite COMMIT`
takes the tests of another commit, to compare two suites on the same mutants.

Each run of pytest is forked from a process that has imported slow packages of others and none of the project's; each
of `--jobs` has a copy of its own.
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
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from mutants import ROOT, Mutant, read_list

PACKAGES = ("vault", "verifiers", "sandbox", "rotation", "quarterturn")
SUITE = ("tests", "conftest.py", *(str(folder.relative_to(ROOT)) for folder in sorted(ROOT.glob("extras/*/tests"))))
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

    def __init__(self, folder: Path, suite: str | None) -> None:
        self.folder, self._log, self._green = folder / "copy", folder / "log", set[tuple[str, ...]]()
        git = ["git", "-C", str(self.folder)]
        commands = [["git", "clone", "--quiet", "--shared", str(ROOT), str(self.folder)]]
        if suite:
            commands.append([*git, "rm", "-r", "--quiet", *SUITE])
            commands.append([*git, "checkout", "--quiet", suite, "--", *SUITE, "pyproject.toml"])
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
        process = get_context("fork").Process(target=_pytest, args=(self.folder, self._log, arguments))
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
    places = [str(place) for place in (folder, *sorted(folder.glob("extras/*")))]
    os.environ |= {"PYTHONPATH": os.pathsep.join(places), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path[:1] = places
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        if package in sys.modules or found is None or not str(found.origin).startswith(str(folder)):
            os._exit(_NOT_THE_COPY)
    imported = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # the slow packages, before pytest saw them
    os._exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *imported, *arguments]))


@dataclass(frozen=True)
class Trial:
    """How each mutant is tested: at which stages, and with which further arguments for pytest."""

    stages: Sequence[str]
    extra: Sequence[str] = ()

    def judge(self, copy: Copy, mutant: Mutant) -> Verdict:
        """Test a mutant stage by stage until a test fails."""
        begun, stage, failed = time.monotonic(), self.stages[0], None
        for stage in self.stages:
            arguments = [*mutant.arguments(stage), *self.extra]
            with copy.mutated(mutant):
                failed = copy.play(arguments, LIMITS[stage])
            if failed is not None:
                test = failed.partition("[")[0]  # with all of its parameters
                named = [test, *self.extra] if test.startswith(("tests/", "extras/")) else arguments
                copy.require_green(named, LIMITS[stage])
                break
        outcome, seconds = "killed" if failed else "survived", round(time.monotonic() - begun, 1)
        return Verdict(mutant.id, mutant.package, outcome, stage, failed or "", seconds)


_COPIES: list[Copy] = []  # of this process


def _make_copy(folder: Path, suite: str | None) -> None:
    own = folder / str(os.getpid())
    own.mkdir()
    _COPIES.append(Copy(own, suite))


def _judge(trial: Trial, mutant: Mutant) -> Verdict:
    return trial.judge(_COPIES[0], mutant)


def _verdicts(mutants: Sequence[Mutant], trial: Trial, suite: str | None, jobs: int) -> Iterator[Verdict]:
    """Test mutants in so many processes; yield each verdict as it comes."""
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ProcessPoolExecutor(jobs, get_context("fork"), _make_copy, (Path(folder), suite)) as pool,
    ):
        trials = [pool.submit(_judge, trial, mutant) for mutant in mutants]
        try:
            yield from (finished.result() for finished in as_completed(trials))
        finally:
            pool.shutdown(cancel_futures=True)


def main() -> int:
    """Test the requested mutants."""
    parser = argparse.ArgumentParser(description="Run the tests against listed defects.")
    parser.add_argument("--only", nargs="+", metavar="ID", help="these mutants, or those of these packages")
    parser.add_argument("--small", action="store_true", help="play only what the small size plays")
    parser.add_argument("--suite", metavar="COMMIT", help="take the tests of this commit")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="run these and no others")
    parser.add_argument("--until", choices=STAGES, default=STAGES[-1], help="the last stage")
    parser.add_argument("--jobs", type=int, default=2, metavar="NUMBER", help="mutants at once (2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the verdicts to this file")
    asked = parser.parse_args()
    mutants = [mutant for mutant in read_list() if not asked.only or {mutant.id, mutant.package} & set(asked.only)]
    if asked.tests:
        mutants = [replace(mutant, tests=tuple(asked.tests)) for mutant in mutants]
    first = 1 if asked.suite else 0  # the tests of another commit have other names
    stages = ("given",) if asked.tests else STAGES[first : STAGES.index(asked.until) + 1]
    sizes = () if asked.suite else ("--small",) if asked.small else ("--all",)  # other commits may have no sizes
    trial = Trial(stages, sizes)
    for name in SLOW_IMPORTS:
        importlib.import_module(name)
    verdicts: list[Verdict] = []
    for verdict in _verdicts(mutants, trial, asked.suite, asked.jobs):
        verdicts.append(verdict)
        shown = f"{verdict.outcome:8} {verdict.id:48} {verdict.seconds:6.1f} s  {verdict.stage:5} {verdict.by}\n"
        sys.stdout.write(shown)
        sys.stdout.flush()
        if asked.json:
            asked.json.write_text(json.dumps([asdict(one) for one in verdicts], indent=1) + "\n", encoding="utf-8")
    survivors = sorted(verdict.id for verdict in verdicts if verdict.outcome == "survived")
    died = (
        f"{len(verdicts) - len(survivors)} of {len(verdicts)} mutants die{' in the small size' if asked.small else ''}"
    )
    sys.stdout.write(f"{died}; {len(survivors)} survive: {', '.join(survivors) or 'none'}\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
