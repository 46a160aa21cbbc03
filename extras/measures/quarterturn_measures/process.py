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
from collections.abc import Sequence
from typing import Any

from grammars.language.grammar import Draft
from quarterturn.public_records.sources import dev_trials
from quarterturn.runs.dev_runs import DevRun
from quarterturn_measures.run_measures import measure
from sandbox.isolation.confine import Bounds, give_up
from sandbox.judge.filter import reading_filter
from sandbox.results.outcome import TaskRun, unplayed
from vault.task.document import Task

USER = 65527
MEMORY = 1024**3
DESCRIPTORS = 8
CPU_SECONDS = 60
CHILD_TIMEOUT_SECONDS = 300.0
CHUNK = 1 << 20

log = logging.getLogger("quarterturn_measures")


def measured(run: DevRun, drafts: Sequence[Draft]) -> dict[str, Any] | None:
    """Measure a run in a child process; None, and a line in the log, where that fails.

    Args:
        run: the run.
        drafts: its tasks with their provenance, in its order.
    """
    tasks = [{"task": draft.task, "provenance": draft.provenance} for draft in drafts]
    lines = [json.dumps(tasks), json.dumps([outcome.as_json() for outcome in run.runs])]
    command = [sys.executable, "-I", "-m", __name__]
    try:
        written = "".join(f"{line}\n" for line in lines).encode()
        done = subprocess.run(
            command, input=written, capture_output=True, check=True, env={}, cwd="/", timeout=CHILD_TIMEOUT_SECONDS
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        log.warning("a run was not measured: %s", type(error).__name__)
        return None
    return answer


def main() -> None:
    """Measure one run, and end the process."""
    tasks, rest = _line(b"")
    drafts = [Draft(item["task"], item["provenance"]) for item in json.loads(tasks)]
    nothing = [unplayed(Task.parse(draft.task), "theirs", "") for draft in drafts[:1]]
    _measured(drafts[:1], nothing)  # loads every file that is needed
    give_up(Bounds(USER, MEMORY, DESCRIPTORS, CPU_SECONDS), reading_filter())
    runs, _ = _line(rest)
    answer = memoryview(_measured(drafts, [TaskRun.from_json(run) for run in json.loads(runs)]))
    while answer:
        answer = answer[os.write(1, answer[:CHUNK]) :]
    os._exit(0)


def _measured(drafts: Sequence[Draft], runs: Sequence[TaskRun]) -> bytes:
    (run,) = measure(dev_trials(drafts, [runs]))
    return json.dumps(run.as_json()).encode()


def _line(received: bytes) -> tuple[bytes, bytes]:
    """Read up to the end of a line, and give it with what was read beyond."""
    parts = [received]
    while b"\n" not in parts[-1]:
        parts.append(os.read(0, CHUNK))
        if not parts[-1]:
            break
    line, _, rest = b"".join(parts).partition(b"\n")
    return line, rest


if __name__ == "__main__":
    main()
