"""Reader of results as other tools keep them: Inspect logs, Harbor jobs, and exports to Hugging Face.

| tool | what is read | agent | a pass |
|---|---|---|---|
| Inspect | `*.eval`: its `header.json` and `summaries.json` | `eval.model` | the first score is `C`, true, or 1 |
| Harbor | `result.json` of each trial, at any depth | the agent, and its model | a reward of 1 |
| Hugging Face | `data/runs.jsonl`, `data/results.jsonl`, `data/tasks.jsonl` | the run's submitter | `passed` |

Several samples of an agent on a task become the share that passed. What has no verdict is left out. None of these says
when a task was published.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

from rotation.detection.leaderboards.leaderboard import TaskResult
from rotation.detection.leaderboards.plain_table import MOST_CALLS
from rotation.errors import Malformed

MAX_BYTES = 1 << 28  # of a member of an archive: a small one may unpack to anything
MEMBERS = ("header.json", "summaries.json")
NEXT = "write it again, or give the results as CSV"
Sample = tuple[Path, str, str, bool, Any, Any]  # the file, agent, task, whether it passed, calls, server


def read(path: Path) -> Iterator[TaskResult] | None:
    """Read a log, or a folder of results; None for anything else."""
    if path.suffix == ".eval":
        return _results(_inspect(path))
    if (path / "data" / "results.jsonl").is_file():
        return _results(_hugging_face(path / "data"))
    if logs := sorted(path.glob("*.eval")):
        return _results(sample for log in logs for sample in _inspect(log))
    if trials := sorted(path.rglob("result.json")):
        return _results(sample for trial in trials for sample in _harbor(trial))
    return None


def _results(samples: Iterable[Sample]) -> Iterator[TaskResult]:
    """Make one result of all samples of an agent on a task."""
    together: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        together.setdefault(sample[1:3], []).append(sample)
    for (agent, task), of_both in together.items():
        path, *_, calls, server = of_both[0]
        counted = isinstance(calls, int) and 0 <= calls <= MOST_CALLS and len(of_both) == 1
        share = fmean(passed for _, _, _, passed, _, _ in of_both)
        place = f"{path}, agent {agent!r}, task {task!r}"
        yield TaskResult(place, agent, task, share, calls=calls if counted else None, server=str(server or ""))


def _inspect(path: Path) -> Iterator[Sample]:
    with _readable(path), zipfile.ZipFile(path) as archive:
        if max(archive.getinfo(name).file_size for name in MEMBERS) > MAX_BYTES:
            raise ValueError(f"a member has more than {MAX_BYTES} bytes")
        header, summaries = (json.loads(archive.read(name)) for name in MEMBERS)
    model = _name(path, header, "eval", "model")
    for summary in summaries if isinstance(summaries, list) else ():
        scores = _at(summary, "scores")
        score = next(iter(scores.values()), None) if isinstance(scores, dict) else None
        if score is not None and _at(score, "metadata", "verdict") != "unknown":
            passed, calls = _at(score, "value") in ("C", 1), _at(score, "metadata", "calls")
            yield path, model, _name(path, summary, "id"), passed, calls, _at(summary, "metadata", "server")


def _harbor(path: Path) -> Iterator[Sample]:
    with _readable(path):
        trial = json.loads(path.read_bytes())
    reward = _at(trial, "verifier_result", "rewards", "reward")
    if reward is not None and _at(trial, "task_name"):
        agent = _at(trial, "agent_info", "name") or _name(path, trial, "config", "agent", "name")
        model = _at(trial, "agent_info", "model_info", "name") or _at(trial, "config", "agent", "model_name")
        passed = isinstance(reward, int | float) and reward >= 1
        yield path, f"{agent}, {model}" if model else str(agent), _name(path, trial, "task_name"), passed, None, None


def _hugging_face(folder: Path) -> Iterator[Sample]:
    runs, tasks, results = (_rows(folder / f"{name}.jsonl") for name in ("runs", "tasks", "results"))
    submitters, servers = {str(_at(run, "run")): run for run in runs}, {str(_at(task, "id")): task for task in tasks}
    path = folder / "results.jsonl"
    for row in results:
        if _at(row, "verdict") != "unknown":
            agent, task = _name(path, submitters.get(str(_at(row, "run"))), "submitter"), _name(path, row, "task")
            yield path, agent, task, _at(row, "passed") is True, _at(row, "calls"), _at(servers.get(task), "server")


def _rows(path: Path) -> list[Any]:
    with _readable(path):
        return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Name the file where another tool's result cannot be read."""
    try:
        yield
    except (
        OSError,
        KeyError,
        ValueError,
        RecursionError,
        NotImplementedError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise Malformed(f"{path}: it cannot be read as such a result ({error}); {NEXT}") from error


def _at(value: Any, *names: str) -> Any:
    """Return what stands at a path of names; None where nothing does."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _name(path: Path, value: Any, *names: str) -> str:
    """Return a name that has to be there, and that can be written as UTF-8."""
    name = _at(value, *names)
    if not isinstance(name, str | int) or not str(name) or any("\ud800" <= letter <= "\udfff" for letter in str(name)):
        raise Malformed(f"{path}: there is no {'.'.join(names)} where a result should have it; {NEXT}")
    return str(name)
