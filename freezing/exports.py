"""Freezes what `quarterturn export` writes of the example release, and of a run with every kind of call.

Of a table there is its first row, of a log its first sample, and what follows from the other source is left out; so is
Parquet, whose bytes are its library's. `extras/export/tests/test_consumers.py` reads the same records
with the libraries of the three consumers.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from quarterturn.public_records import sources
from quarterturn.public_records.records import PublicRecords, PublicRun, PublicTask
from quarterturn_export import harbor, hugging_face, inspect_log
from sandbox.results.outcome import TaskRun
from sandbox.transcript import CallRecord, ModelCall, Transcript
from vault.ledger.audit.command import read_keys
from vault.ledger.audit.verify import audit
from verifiers.language.verdict import Evidence, Verdict

EXAMPLE = Path(__file__).parents[1] / "examples" / "release"
NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
URL = "https://example.org/dataset"
VERSION = "0.0.0"


def released() -> PublicRecords:
    """Return the records of the example release."""
    release = EXAMPLE / "Historical-2025-12"
    return sources.release(release, audit(release, read_keys(EXAMPLE / "log.vkey")))


def played() -> PublicRecords:
    """Return a run on one of its tasks as a run on a dev set would be: a result, errors of each kind, and an answer."""
    public = released()
    item = next(item for item in public.tasks if item.task.category == "recovery")
    calls = (
        _call("filesystem.create_directory", error=True, injected=True, result="try again"),
        _call("filesystem.create_directory", result="made number-1"),
        _call("nothing__here", listed=False, error=True, refused=True, result="unknown tool"),
        _call("filesystem.read_file", error=True, result="no such file ☃\x00\ud83d".encode(errors="replace").decode()),
    )
    asked = ModelCall("chat", "test-model", 0, {"messages": []}, (("text", "one"),), 7, 3, outcome="ok")
    evidence = Evidence("filesystem.directoryExists", Verdict.TRUE, {"path": "number-1"}, "a folder")
    run = TaskRun(
        item.task.id, "recovery", item.task.max_steps, Verdict.TRUE, evidence,
        Transcript(calls, "done", "answered", (asked,)), phases={"agent": 2.5}, goal=item.task.goal, exit_code=0,
    )  # fmt: skip
    other = TaskRun(
        public.tasks[1].task.id, "single-tool", 8, Verdict.FALSE, Evidence("run", Verdict.FALSE, found="no answer"),
        Transcript((), None, "steps-exceeded"), failure="theirs", code="agent-crashed", exit_code=1,
    )  # fmt: skip
    results = [sources.played(run), sources.played(other)]
    figures = {"success_rate": 0.5, "efficiency": 0.5, "hallucinated_tool_rate": 0.25, "recovery_rate": None}
    tasks = [PublicTask(item.task, "dev", item.provenance), PublicTask(public.tasks[1].task, "dev")]
    about = "One run of an agent, made up."
    return PublicRecords("dev-run", "Made-up run", about, "dev", tasks, [PublicRun(1, "agent", 1, figures, results)])


def files() -> Iterator[tuple[str, bytes]]:
    """Yield the files by their paths."""
    for source, records in (("release", released()), ("run", played())):
        for name, data in hugging_face.files(records, url=URL, now=NOW).items():
            if name.endswith(".jsonl"):
                yield f"hf/{source}/{name}", data.partition(b"\n")[0] + b"\n"
            elif name == hugging_face.CARD or (name == hugging_face.METADATA and source == "run"):
                yield f"hf/{source}/{name}", _without_parquet(data) if name == hugging_face.METADATA else data
        for name, data in inspect_log.files(records, version=VERSION, now=NOW).items():
            if name == "run-1.eval":
                sample = next(member for member, _ in unzipped(data) if member.startswith("samples/"))
                for member, text in unzipped(data):
                    if member in {"header.json", "summaries.json", sample} and (source == "run" or member == sample):
                        yield f"inspect/{source}/{name}/{member}", text
            elif not name.endswith(".eval"):
                yield f"inspect/{source}/{name}", data
    tasks = harbor.files(played())
    for name, data in tasks.items():
        if not name.endswith("solve.py"):  # a copy
            yield f"harbor/{name}", data


def unzipped(log: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the members of an `.eval` file, a value a line."""
    with zipfile.ZipFile(io.BytesIO(log)) as archive:
        for name in archive.namelist():
            value = json.loads(archive.read(name))
            yield name, json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


def _without_parquet(metadata: bytes) -> bytes:
    value = json.loads(metadata)
    for file in value["distribution"]:
        if file["name"].endswith(".parquet"):
            file |= {"sha256": "", "contentSize": ""}
    value["recordSet"] = value["recordSet"][1:2]  # the smallest
    return json.dumps(value).encode() + b"\n"


def _call(
    tool: str, *, result: str, listed: bool = True, error: bool = False, injected: bool = False, refused: bool = False
) -> CallRecord:
    return CallRecord(tool, {"path": "number-1"}, listed, error, injected, result, 0.25, refused)
