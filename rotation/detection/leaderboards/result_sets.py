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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rotation.detection.leaderboards.leaderboard import TaskResult
from rotation.detection.leaderboards.plain_table import MOST_CALLS
from rotation.errors import Malformed

MAX_BYTES = 1 << 28  # of one file, also inside an archive: a small one may unpack to anything
NEXT = "write it again, or give the results as CSV"


@dataclass(frozen=True, slots=True)
class _Sample:
    """One attempt of an agent at a task; `place` is the file."""

    place: str
    agent: str
    task: str
    passed: bool
    calls: int | None = None
    server: str = ""


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


def _results(samples: Iterable[_Sample]) -> Iterator[TaskResult]:
    """Make one result of all samples of an agent on a task."""
    together: dict[tuple[str, str], list[_Sample]] = {}
    for sample in samples:
        together.setdefault((sample.agent, sample.task), []).append(sample)
    for (agent, task), of_both in together.items():
        first = of_both[0]
        yield TaskResult(
            place=f"{first.place}, agent {agent!r}, task {task!r}",
            agent=agent,
            task=task,
            share=fmean(sample.passed for sample in of_both),
            calls=first.calls if len(of_both) == 1 else None,
            server=first.server,
        )


def _inspect(path: Path) -> Iterator[_Sample]:
    def member(name: str) -> Callable[[], bytes]:
        def unpack() -> bytes:
            with zipfile.ZipFile(path) as archive:
                if archive.getinfo(name).file_size > MAX_BYTES:
                    raise Malformed(f"{path}: {name} has more than {MAX_BYTES} bytes; {NEXT}")
                return archive.read(name)

        return unpack

    header, summaries = (_json(path, member(name)) for name in ("header.json", "summaries.json"))
    model = _text(path, header, "eval", "model")
    for summary in summaries if isinstance(summaries, list) else []:
        score = next(iter((_at(summary, "scores") or {}).values()), None)
        about = _at(score, "metadata") or {}
        if score is not None and _at(about, "verdict") != "unknown":
            yield _Sample(
                place=str(path),
                agent=model,
                task=_text(path, summary, "id"),
                passed=_at(score, "value") in ("C", 1),
                calls=_calls(about),
                server=str(_at(summary, "metadata", "server") or ""),
            )


def _harbor(path: Path) -> Iterator[_Sample]:
    trial = _json(path, path.read_bytes)
    reward = _at(trial, "verifier_result", "rewards", "reward")
    if reward is not None and _at(trial, "task_name"):
        agent = _at(trial, "agent_info", "name") or _at(trial, "config", "agent", "name") or _text(path, trial, "agent")
        model = _at(trial, "agent_info", "model_info", "name") or _at(trial, "config", "agent", "model_name")
        name = f"{agent}, {model}" if model else str(agent)
        yield _Sample(str(path), name, _text(path, trial, "task_name"), isinstance(reward, int | float) and reward >= 1)


def _hugging_face(folder: Path) -> Iterator[_Sample]:
    runs = {row.get("run"): row for row in _rows(folder / "runs.jsonl")}
    tasks = {row.get("id"): row for row in _rows(folder / "tasks.jsonl")}
    path = folder / "results.jsonl"
    for row in _rows(path):
        if row.get("verdict") != "unknown":
            task = _text(path, row, "task")
            yield _Sample(
                place=str(path),
                agent=_text(path, runs.get(row.get("run")), "submitter"),
                task=task,
                passed=row.get("passed") is True,
                calls=_calls(row),
                server=str(_at(tasks.get(task), "server") or ""),
            )


def _rows(path: Path) -> list[dict[str, Any]]:
    def as_list() -> bytes:
        return b"[" + b",".join(line for line in path.read_bytes().split(b"\n") if line.strip()) + b"]"

    return [row for row in _json(path, as_list) if isinstance(row, dict)]


def _json(path: Path, content: Callable[[], bytes]) -> Any:
    """Read JSON that another tool wrote."""
    try:
        return json.loads(content())
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


def _calls(value: Any) -> int | None:
    """Return a number of calls that a plain table may have too; None for any other."""
    calls = _at(value, "calls")
    return calls if isinstance(calls, int) and 0 <= calls <= MOST_CALLS else None


def _text(path: Path, value: Any, *names: str) -> str:
    """Return a name that has to be there."""
    found = _at(value, *names)
    if (
        not isinstance(found, str | int)
        or not str(found)
        or any("\ud800" <= letter <= "\udfff" for letter in str(found))
    ):
        raise Malformed(f"{path}: there is no {'.'.join(names)} where a result should have it; {NEXT}")
    return str(found)
