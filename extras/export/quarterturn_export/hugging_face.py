"""Export to Hugging Face: tables as JSON Lines and Parquet, a dataset card, and Croissant metadata. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterturn.public_records.records import PublicRecords
from quarterturn_export import croissant
from quarterturn_export.columns import Table, json_lines, tables
from quarterturn_export.parquet import parquet

CARD = "README.md"
METADATA = "croissant.json"
KIBI = 1000
SIZES = ((KIBI, "n<1K"), (10 * KIBI, "1K<n<10K"), (100 * KIBI, "10K<n<100K"))


def files(records: PublicRecords, *, url: str, now: datetime) -> dict[str, bytes]:
    """Return the files of an export: path -> bytes.

    Args:
        records: what is exported.
        url: where the dataset is, or will be.
        now: when it is made.
    """
    made = tables(records)
    data = {f"data/{table.name}.jsonl": json_lines(table) for table in made}
    data |= {f"data/{table.name}.parquet": parquet(table) for table in made if table.rows}
    described = croissant.metadata(records, made, data, url=url, now=now)
    card = "\n".join((*_head(records, made), *_body(records, made)))
    return data | {
        METADATA: json.dumps(described, indent=1, ensure_ascii=False).encode() + b"\n",
        CARD: card.encode() + b"\n",
    }


def _head(records: PublicRecords, made: Sequence[Table]) -> Iterator[str]:
    """Write the YAML that the hub reads; every value in it is quoted as JSON, which is YAML too."""
    rows = sum(len(table.rows) for table in made)
    yield "---"
    yield f"pretty_name: {json.dumps(records.title)}"
    yield f"license: {json.dumps(records.license)}"
    yield f"language: {json.dumps(sorted({task.task.language for task in records.tasks}))}"
    yield 'tags: ["agents", "benchmark", "mcp", "tool-use"]'
    yield f"size_categories: [{json.dumps(next((name for most, name in SIZES if rows < most), '100K<n<1M'))}]"
    yield "configs:"
    for table in made:
        if table.rows:
            yield f"- config_name: {table.name}"
            yield "  data_files:"
            yield f"  - split: {records.split}"
            yield f"    path: data/{table.name}.parquet"
            if table.name == "tasks":
                yield "  default: true"
    yield "---"


def _body(records: PublicRecords, made: Sequence[Table]) -> Iterator[str]:
    yield f"\n# {records.title}\n"
    yield f"{records.about}\n"
    if records.canary:
        yield f"Benchmark data must not be in training corpora. Canary GUID: {records.canary}\n"
    if records.license == "other":
        yield "Nobody named a licence at the export: ask whoever publishes this dataset.\n"
    yield f"`{METADATA}` describes the files as Croissant 1.1. Each table is there as Parquet, and as JSON Lines with"
    yield "the same rows.\n"
    for table in made:
        yield f"## {table.name}: {len(table.rows)} rows\n"
        yield f"{table.about}\n"
        yield "| column | type | content |\n|---|---|---|"
        for column in table.columns:
            yield f"| `{column.name}` | {column.type} | {column.about} |"
        yield ""
    yield "## What has no place here\n"
    yield from _left_out(records)


def _left_out(records: PublicRecords) -> Iterator[str]:
    yield "- Types inside the JSON texts: a table has one type a column, and the states of the servers differ."
    yield "- 95 % intervals of the figures: tasks of one skeleton are not independent, so compute them by skeleton."
    if records.origin:
        yield "- The log, inclusion proofs, and signatures: audit the release itself. `document`, `salt` and"
        yield "  `commitment` alone show that a task is the one that was committed to."
        yield "- Transcripts: a release commits to them and does not open them."
    elif records.runs:
        yield "- What the agent printed, its requests to models, and earlier attempts: they are in the run's file."
