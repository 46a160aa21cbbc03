"""Stress runner: plays tests twenty times beside eight busy loops, and twenty times on one core.

    ./run test --stress FILE... [--rounds N]

It ends with how often each test failed, and keeps the output of each round that failed. Exit code 1 if one did, and 2
where pytest could not play what was named.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

ROUNDS = 20
LOOPS = 8
_BUSY = "import os\nwhile os.getppid() == {parent}: sum(range(100000))"
_PLAYED = {0, 1, 6}  # exit codes of pytest: all passed, some failed, and some need what is not here


def main(arguments: Sequence[str]) -> int:
    """Play what is named under both conditions, and return the exit code."""
    parser = argparse.ArgumentParser(prog="./run test --stress", description=__doc__.partition("\n")[0])
    parser.add_argument("tests", nargs="+", metavar="FILE", help="files, folders or single tests, as pytest takes them")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"how often under each condition (default: {ROUNDS})"
    )
    chosen = parser.parse_args(arguments)
    logs = Path(tempfile.mkdtemp(prefix="quarterturn-stress-"))
    failures: Counter[tuple[str, str]] = Counter()
    with busy_loops(LOOPS):
        code = _play(chosen, f"beside {LOOPS} busy loops", failures, logs)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    code = code or _play(chosen, "on one core", failures, logs)
    os.sched_setaffinity(0, cores)
    for (condition, test), count in failures.most_common():
        print(f"failed {count} of {chosen.rounds} times {condition}: {test}")
    print(f"what they printed is in {logs}" if failures else f"no test failed in {2 * chosen.rounds} rounds")
    return code or (1 if failures else 0)


def _play(chosen: argparse.Namespace, condition: str, failures: Counter[tuple[str, str]], logs: Path) -> int:
    for number in range(1, chosen.rounds + 1):
        report = logs / "report.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *chosen.tests]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        failed = failed_tests(report) if report.exists() else ["(the process ended)"]
        failures.update((condition, test) for test in failed)
        print(f"{number} of {chosen.rounds} {condition}: {len(failed)} failed", flush=True)
        if failed or done.returncode not in _PLAYED:
            (logs / f"{condition} {number}.txt".replace(" ", "-")).write_bytes(done.stdout)
        if report.exists() and done.returncode not in _PLAYED:
            print(done.stdout.decode(errors="replace")[-2000:])
            return 2
    return 0


def failed_tests(report: Path) -> list[str]:
    """Return the names of the tests that failed, from pytest's report in JUnit's format."""
    cases = ET.parse(report).iter("testcase")
    broken = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return sorted({f"{case.get('classname')}::{case.get('name')}" for case in broken})


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Keep so many processes busy for the block; they end with this process too."""
    program = [sys.executable, "-c", _BUSY.format(parent=os.getpid())]
    loops = [subprocess.Popen(program) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
