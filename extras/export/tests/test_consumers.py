"""Tests that the consumers' own libraries read what is exported: pyarrow, mlcroissant and inspect_ai.

They run in an environment of their own, `.venv/consumers`, which `./run test --exhaustive` makes.
`tests/contracts/frozen/exports` holds what they read when it was frozen, and every run compares with that.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from freezing import exports
from quarterturn_export import folder, hugging_face, inspect_log

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive, pytest.mark.needs("consumers")]

PYTHON = Path(__file__).parents[3] / ".venv" / "consumers" / "bin" / "python"
CROISSANT = """
import json, sys
import mlcroissant
from pyarrow import parquet
place = sys.argv[1]
dataset = mlcroissant.Dataset(jsonld=place + "/croissant.json")
issues = dataset.metadata.issues
rows = {item.id: len(list(dataset.records(item.id))) for item in dataset.metadata.record_sets}
tables = {name: parquet.read_table(f"{place}/data/{name}.parquet").num_rows for name in rows}
version = dataset.metadata.ctx.conforms_to.value
print(json.dumps([rows, tables, sorted(issues.errors), sorted(issues.warnings), version]))
"""
INSPECT = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries
logs = []
for place in sorted(item.name for item in list_eval_logs(sys.argv[1])):
    log = read_eval_log(place)
    samples = [{
        "id": sample.id,
        "roles": [message.role for message in sample.messages],
        "tools": [call.function for m in sample.messages if m.role == "assistant" for call in m.tool_calls or ()],
        "errors": [message.error is not None for message in sample.messages if message.role == "tool"],
        "events": [event.event for event in sample.events],
        "score": sample.scores["predicate"].value,
        "completion": sample.output.completion,
        "limit": sample.limit.type if sample.limit else None,
    } for sample in log.samples]
    metrics = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    summaries = len(read_eval_log_sample_summaries(place))
    logs.append([log.version, log.status, log.eval.model, metrics, samples, summaries])
print(json.dumps(logs))
"""


def read(program: str, place: Path) -> Any:
    """Read an export in the consumers' environment."""
    command = [PYTHON, "-I", "-c", program, str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("records", [exports.released, exports.played], ids=["release", "run"])
def test_croissant_is_valid_and_gives_every_row(records, tmp_path):
    public = records()
    folder.write(tmp_path / "out", hugging_face.files(public, url=exports.URL, now=exports.NOW))
    rows, tables, errors, warnings, version = read(CROISSANT, tmp_path / "out")
    results = sum(len(run.results) for run in public.runs)
    assert rows == tables == {"tasks": len(public.tasks), "runs": len(public.runs), "results": results}
    assert (errors, warnings, version) == ([], [], "http://mlcommons.org/croissant/1.1")


def test_inspect_reads_each_run_of_a_release(tmp_path):
    folder.write(tmp_path / "out", inspect_log.files(exports.released(), version="0", now=exports.NOW))
    logs = read(INSPECT, tmp_path / "out")
    assert [(version, status, model) for version, status, model, *_ in logs] == [
        (2, "success", f"quarterturn/test-{name}") for name in ("able", "fair", "weak")
    ]
    assert [round(metrics["accuracy"] * 6) for *_, metrics, _, _ in logs] == [6, 4, 2]
    assert all(len(samples) == summaries == 6 for *_, samples, summaries in logs)


def test_inspect_reads_calls_errors_and_the_answer_of_a_run(tmp_path):
    folder.write(tmp_path / "out", inspect_log.files(exports.played(), version="0", now=exports.NOW))
    ((_, _, _, metrics, samples, _),) = read(INSPECT, tmp_path / "out")
    first, second = sorted(samples, key=lambda sample: not sample["errors"])
    assert metrics["hallucinated_tool_rate"] == 0.25
    assert first["roles"] == ["user", *("assistant", "tool") * 4, "assistant"]
    assert first["tools"][2:] == ["nothing__here", "filesystem__read_file"]
    assert first["errors"] == [True, False, True, True]
    assert first["events"] == [*("tool",) * 4, "info", "score"]
    assert (first["score"], first["completion"]) == ("C", "done")
    assert (second["score"], second["limit"]) == ("I", "custom")
