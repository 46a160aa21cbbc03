"""Process that measures a run on a dev set for a worker: `python -I -m quarterturn_measures.process`.

A worker holds keys, and what an agent wrote is never parsed beside them. So a child of its own reads two lines from its
standard input, the tasks and then their runs, and writes one, the measures. Before it reads the second it drops its
user, files, network, and every system call that it does not need, as a judge does.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grammars.language.grammar import Draft
from quarterturn.public_records.sources import dev_trials
from quarterturn.runs.dev_runs import DevRun
from quarterturn_measures.run_measures import measure
from sandbox.isolation.confine import Bounds, give_up
from sandbox.judge.filter import reading_filter
from sandbox.results.outcome import TaskRun, unplayed
from vault.canonical import canonical
from vault.task.document import Task

USER = 65527
MEMORY = 1024**3
DESCRIPTORS = 8
CPU_SECONDS = 60
CHILD_TIMEOUT_SECONDS = 300.0
CHUNK = 1 << 20
CHILD_ERRORS = (OSError, subprocess.SubprocessError, ValueError)
"""What `ask_child` raises where the child could not be started, or failed."""

log = logging.getLogger("quarterturn_measures")


def measured(run: DevRun, drafts: Sequence[Draft]) -> dict[str, Any] | None:
    """Measure a run in a child process; None, and a line in the log, where that fails.

    Args:
        run: the run.
        drafts: its tasks with their provenance, in its order.
    """
    tasks = [{"task": draft.task, "provenance": draft.provenance} for draft in drafts]
    try:
        answer: dict[str, Any] = ask_child(__name__, tasks, run.runs)
    except CHILD_ERRORS as error:
        log.warning("a run was not measured: %s", type(error).__name__)
        return None
    return answer


def ask_child(module: str, public: Any, runs: Sequence[TaskRun]) -> Any:
    """Return what a child process measures of runs; its module calls `answer_parent`.

    Args:
        module: the module.
        public: what is known of the tasks, as plain JSON values.
        runs: what an agent did.

    Raises:
        OSError, ValueError: it could not be started, or its answer could not be read.
        subprocess.SubprocessError: it failed, or took too long.
    """
    lines = [json.dumps(public), json.dumps([outcome.as_json() for outcome in runs])]
    written = "".join(f"{line}\n" for line in lines).encode()
    command = [sys.executable, "-I", "-m", module]
    done = subprocess.run(
        command, input=written, capture_output=True, check=True, env={}, cwd="/", timeout=CHILD_TIMEOUT_SECONDS
    )
    return json.loads(done.stdout)


def answer_parent(measure_runs: Callable[[Any, Sequence[TaskRun]], Any]) -> None:
    """Measure runs for the parent process, and end this one.

    Args:
        measure_runs: measures runs of the first tasks, given what `ask_child` was given of all tasks; it is called
            once with a run in which nothing happened, to load every file that is needed.
    """
    line, rest = _line(b"")
    public = json.loads(line)
    measure_runs(public, [unplayed(Task.trusted(canonical(public[0]["task"])), "theirs", "")])
    give_up(Bounds(USER, MEMORY, DESCRIPTORS, CPU_SECONDS), reading_filter())
    runs, _ = _line(rest)
    measures = measure_runs(public, [TaskRun.from_json(run) for run in json.loads(runs)])
    answer = memoryview(json.dumps(measures).encode())
    while answer:
        answer = answer[os.write(1, answer[:CHUNK]) :]
    os._exit(0)


def _measure_run(tasks: Sequence[Mapping[str, Any]], runs: Sequence[TaskRun]) -> dict[str, Any]:
    drafts = [Draft(item["task"], item["provenance"]) for item in tasks[: len(runs)]]
    (run,) = measure(dev_trials(drafts, [runs]))
    return run.as_json()


def _line(received: bytes) -> tuple[bytes, bytes]:
    """Read up to the end of a line, and give it with what was read beyond."""
    parts = [received]
    while b"\n" not in parts[-1]:
        parts.append(os.read(0, CHUNK))
        if not parts[-1]:
            break
    line, _, rest = b"".join(parts).partition(b"\n")
    return line, rest


def main() -> None:
    """Measure one run for the parent process, and end this one."""
    answer_parent(_measure_run)


if __name__ == "__main__":
    main()
