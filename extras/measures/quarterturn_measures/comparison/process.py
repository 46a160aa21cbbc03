"""Process that measures the trials with one server: `python -I -m quarterturn_measures.comparison.process`.

The command that compares holds a model's key, and what an agent wrote is never parsed beside it (`process`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn_measures.comparison.played_trial import ServedTask, measure_trial
from quarterturn_measures.process import answer_parent
from sandbox.results.outcome import TaskRun


def _measure_trials(tasks: Sequence[Mapping[str, Any]], runs: Sequence[TaskRun]) -> list[dict[str, Any]]:
    """Measure runs of all tasks, one trial after another."""
    served = [ServedTask(**task) for task in tasks]
    return [
        measure_trial(run, served[place % len(served)], place // len(served) + 1).as_json()
        for place, run in enumerate(runs)
    ]


def main() -> None:
    """Measure trials for the parent process, and end this one."""
    answer_parent(_measure_trials)


if __name__ == "__main__":
    main()
