"""Tables of an export to Hugging Face: their columns, and a row for each task, run and result. Pure.

A value that is no plain one is a column of JSON text: readers of tables need one type a column, and the states of ten
servers have none in common. JSON Lines, Parquet and Croissant are all made from these columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from quarterturn.public_records.records import PublicRecords, PublicResult, PublicRun, PublicTask

ColumnType = Literal["text", "texts", "integer", "number", "boolean"]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its type, and what it holds; a value may be null where the description says so."""

    name: str
    type: ColumnType
    about: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its rows."""

    name: str
    about: str
    columns: Sequence[Column]
    rows: Sequence[Row]


TASK = (
    Column("id", "text", "Identifier of the task."),
    Column("status", "text", "Why the task is public: dev, retired, or withdrawn before its cohort retired."),
    Column("server", "text", "MCP server that the task is counted under."),
    Column("category", "text", "single-tool, composition or recovery."),
    Column("difficulty", "text", "easy, medium or hard."),
    Column("language", "text", "Language of the goal: a BCP 47 tag."),
    Column("max_steps", "integer", "How many tool calls are allowed."),
    Column("goal", "text", "What the agent is told; of a task with variants the first one."),
    Column("servers", "texts", "All MCP servers that run."),
    Column("available_tools", "texts", "The tools that the agent is given, as server.tool."),
    Column("initial_state", "text", "JSON: the data of each server at the beginning."),
    Column("success_predicate", "text", "JSON: what has to be true at the end."),
    Column("faults", "text", "JSON: the scheduled errors of a recovery task."),
    Column("free", "text", "JSON: free parameters of the goal and their values, one variant a submitter."),
    Column("solutions", "text", "JSON: reference solutions as tool calls, with the answer; [] where not opened."),
    Column("provenance", "text", "JSON: grammar, skeleton, parameters and seed; null where not opened."),
    Column("spec", "text", "Version of the specification that the task was made under."),
    Column("document", "text", "The task as it was hashed and committed to: canonical JSON (RFC 8785)."),
    Column("sha256", "text", "SHA-256 of the document's bytes, in hex."),
    Column("commitment", "text", "Commitment in the public log, in hex; null for a dev task."),
    Column("salt", "text", "Salt that opens the commitment, in hex; null for a dev task."),
)
RUN = (
    Column("run", "integer", "Number of the run."),
    Column("submitter", "text", "Who submitted the agent, by pseudonym."),
    Column("attempt", "integer", "The how many-th run of the submitter in its month."),
    Column("ended", "boolean", "Whether the run was played to its end and has a score."),
    Column("success_rate", "number", "Tasks passed / attempted; null without a score."),
    Column("efficiency", "number", "Mean of calls / max_steps over passed tasks, lower is better; null for none."),
    Column("hallucinated_tool_rate", "number", "Calls to unlisted tools / all calls; null for no call."),
    Column("recovery_rate", "number", "Of the recovery tasks whose error was seen, the share passed; null for none."),
)
RESULT = (
    Column("run", "integer", "Number of the run."),
    Column("task", "text", "Identifier of the task."),
    Column("verdict", "text", "What the predicate came to: true, false or unknown."),
    Column("passed", "boolean", "Whether the verdict is true and no budget was exceeded."),
    Column("calls", "integer", "How many tool calls were made."),
    Column("max_steps", "integer", "How many were allowed."),
    Column("unlisted", "integer", "How many were to tools that the task does not list."),
    Column("saw_error", "boolean", "Whether the agent was shown a scheduled error."),
    Column("transcript", "text", "JSON: calls with results, and the answer; null in a release, which opens none."),
    Column("evidence", "text", "JSON: what the predicate looked at and found; null in a release."),
    Column("transcript_commitment", "text", "Commitment to the transcript, in hex; null for a run on a dev set."),
)


def tables(records: PublicRecords) -> list[Table]:
    """Return the tables of an export; one without runs has the tasks alone."""
    tasks = Table("tasks", "One task a row.", TASK, [_task(item) for item in records.tasks])
    if not records.runs:
        return [tasks]
    results = [row for run in records.runs for row in _results(run)]
    return [
        tasks,
        Table("runs", "One run a row.", RUN, [_run(run) for run in records.runs]),
        Table("results", "One result a row: a task in a run.", RESULT, results),
    ]


def json_lines(table: Table) -> bytes:
    """Write a table as JSON Lines."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in table.rows)


def _task(item: PublicTask) -> Row:
    task, raw = item.task, item.task.canonical()
    document = task.document
    plain = {name: document[name] for name in ("id", "server", "category", "difficulty", "max_steps", "spec")}
    return _ordered(TASK, plain | {
        "status": item.status,
        "language": task.language,
        "goal": task.in_base(task.goal),
        "servers": list(task.servers),
        "available_tools": list(task.available_tools),
        "initial_state": _text(document["initial_state"]),
        "success_predicate": _text(document["success_predicate"]),
        "faults": _text(document.get("faults", [])),
        "free": _text(document.get("free", {})),
        "solutions": _text(item.solutions),
        "provenance": None if item.provenance is None else _text(item.provenance),
        "document": raw.decode(),
        "sha256": sha256(raw).hexdigest(),
        "commitment": item.commitment,
        "salt": item.salt,
    })  # fmt: skip


def _run(run: PublicRun) -> Row:
    plain = {"run": run.number, "submitter": run.submitter, "attempt": run.attempt, "ended": run.ended}
    return _ordered(RUN, plain | dict(run.figures))


def _results(run: PublicRun) -> Iterator[Row]:
    for result in run.results:
        yield _ordered(RESULT, {"run": run.number} | _plain(result) | _played(result))


def _plain(result: PublicResult) -> dict[str, Any]:
    names = ("task", "verdict", "passed", "calls", "max_steps", "unlisted", "saw_error")
    return {name: getattr(result, name) for name in names} | {"transcript_commitment": result.transcript}


def _played(result: PublicResult) -> dict[str, Any]:
    if result.played is None:
        return {"transcript": None, "evidence": None}
    played = result.played
    return {"transcript": _text(played.transcript.as_json()), "evidence": _text(played.evidence.as_json())}


def _ordered(columns: Sequence[Column], values: Mapping[str, Any]) -> Row:
    return {column.name: values[column.name] for column in columns}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=dict)
