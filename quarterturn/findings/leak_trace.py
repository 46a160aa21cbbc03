"""`watch trace`: the source of a leaked text, as names, ids and probabilities, and never a word of a task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from quarterturn.app import Application
from quarterturn.report import Report
from rotation.detection.leak_trace import TraceReport

WORDS = {
    "nothing": "nothing found: the text holds no variant of a task that was served, or too little of one",
    "unvaried": "it is a task as the vault has it, which no run was shown: check who opened it (`access log`)",
    "one": "it came from one recipient",
    "two": "two recipients combined their variants",
    "unclear": "it holds values of a task, but nobody can be named with certainty",
}


def report(house: Application, text: bytes, who: str) -> Report:
    """Trace a text and say what it came to."""
    result = house.leak_tracer.trace(text, who=who)
    trace = result.trace
    data = {
        "verdict": trace.verdict,
        "sha256": result.sha256,
        "logged": result.logged.at.isoformat(),
        "access_log_entry": result.logged.number,
        "key_was_public": list(result.public),
        "tasks": result.tasks,
        "sources": [asdict(source) for source in trace.sources],
        "named": [
            {
                "submitter": recipient.submitter,
                "month": recipient.month,
                "probability": round(sure, 4),
                "runs": list(result.runs[recipient]),
            }
            for recipient, sure in trace.named
        ],
        "probabilities": {name: round(getattr(trace, name), 4) for name in ("one", "two", "unvaried", "nobody")},
    }
    return Report(data, list(_lines(result)))


def _lines(result: TraceReport) -> Iterator[str]:
    trace = result.trace
    yield f"text {result.sha256}, logged {result.logged.at:%Y-%m-%d %H:%M:%S} UTC as entry {result.logged.number}"
    yield f"compared with {result.tasks} tasks that are served in variants: {WORDS[trace.verdict]}"
    for source in trace.sources:
        yield f"task {source.task_id}: {source.values} of its {source.of} free values are in the text"
    for recipient, sure in trace.named:
        runs = ", ".join(map(str, result.runs[recipient]))
        yield f"{recipient.submitter}, {recipient.month} (run {runs}): {sure:.1%}"
    if trace.verdict == "two" and len(trace.named) < 2:  # noqa: PLR2004 - two did it
        yield "who the other one was cannot be told; nobody is named on a guess"
    for task_id in result.public:
        yield f"the key of task {task_id} was public before the text was logged: this is evidence against nobody"
