"""Logs of runs in the format of Inspect (UK AI Security Institute), one `.eval` file a run. Pure.

An `.eval` file is a zip archive of JSON: `header.json` (what was evaluated, and the figures), `samples/ID_epoch_1.json`
(one task each), `summaries.json`, and `_journal/` as a recorder writes it while a run lasts. The fields are those of
`EvalLog` version 2, as inspect_ai 0.3.285 reads them.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from quarterturn.public_records.records import PublicRecords, PublicResult, PublicRun, PublicTask
from sandbox.results.outcome import TaskRun
from sandbox.servers.registry import wire_name
from sandbox.transcript import CallRecord

VERSION = 2
SCORER = "predicate"
LETTERS = 22
"""Characters of an identifier, as Inspect's own have."""
CARD = "README.md"
Json = dict[str, Any]


def files(records: PublicRecords, *, version: str, now: datetime) -> dict[str, bytes]:
    """Return the files of an export: path -> bytes.

    Args:
        records: what is exported.
        version: this program's version.
        now: when the logs are made; no record says when a run was.
    """
    logs = {f"run-{run.number}.eval": _log(records, run, version, now) for run in records.runs}
    return logs | {CARD: "\n".join(_card(records)).encode() + b"\n"}


def _log(records: PublicRecords, run: PublicRun, version: str, now: datetime) -> bytes:
    tasks = {item.task.id: item for item in records.tasks}
    model = f"quarterturn/{run.submitter}"
    samples = [_sample(tasks[result.task], result, model, now) for result in run.results]
    start = {"version": VERSION, "eval": _spec(records, run, model, version, now), "plan": _plan()}
    header = start | {
        "status": "success" if run.ended else "cancelled",
        "results": _results(run),
        "stats": _stats(run, model, now),
    }
    summaries = [_summary(sample) for sample in samples]
    members: Json = {"_journal/start.json": start}
    members |= {f"samples/{sample['id']}_epoch_1.json": sample for sample in samples}
    members |= {"_journal/summaries/1.json": summaries, "summaries.json": summaries, "header.json": header}
    return _zipped(members, now)


def _zipped(members: Mapping[str, Any], now: datetime) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, value in members.items():
            item = zipfile.ZipInfo(name, now.timetuple()[:6])
            item.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(item, json.dumps(value, ensure_ascii=False))
    return sink.getvalue()


def _spec(records: PublicRecords, run: PublicRun, model: str, version: str, now: datetime) -> Json:
    ids = [result.task for result in run.results]
    name = f"{records.name}/run-{run.number}"
    return {
        "eval_id": _identifier(name, "eval"),
        "run_id": _identifier(name, "run"),
        "created": now.isoformat(),
        "task": f"quarterturn/{records.name}",
        "task_id": _identifier(records.name, "task"),
        "task_version": 0,
        "task_args": {},
        "dataset": {"name": records.name, "samples": len(ids), "sample_ids": ids, "shuffled": False},
        "model": model,
        "model_args": {},
        "config": {"epochs": 1},
        "packages": {"quarterturn": version},
        "scorers": [{"name": SCORER, "options": {}, "metrics": [{"name": name} for name in run.figures]}],
        "metadata": _filled(
            {
                "run": run.number,
                "submitter": run.submitter,
                "attempt": run.attempt,
                "log": records.origin,
                "canary": records.canary,
            }
        ),
    }


def _plan() -> Json:
    return {"name": "plan", "steps": [{"solver": "quarterturn", "params": {}}], "config": {}}


def _results(run: PublicRun) -> Json:
    count = len(run.results)
    unknown = sum(result.verdict == "unknown" for result in run.results)
    metrics = {name: {"name": name, "value": value} for name, value in run.figures.items() if value is not None}
    accuracy = {"name": "accuracy", "value": sum(result.passed for result in run.results) / count} if count else None
    score = {
        "name": SCORER,
        "scorer": SCORER,
        "scored_samples": count - unknown,
        "unscored_samples": unknown,
        "metrics": ({"accuracy": accuracy} if accuracy else {}) | metrics,
    }
    return {"total_samples": count, "completed_samples": count, "scores": [score]}


def _stats(run: PublicRun, model: str, now: datetime) -> Json:
    played = [result.played for result in run.results if result.played]
    read = sum(call.read for item in played for call in item.transcript.model_calls)
    written = sum(call.written for item in played for call in item.transcript.model_calls)
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    moment = now.isoformat()
    return {"started_at": moment, "completed_at": moment, "model_usage": {model: usage} if read + written else {}}


def _sample(item: PublicTask, result: PublicResult, model: str, now: datetime) -> Json:
    task, played = item.task, result.played
    goal = played.goal if played and played.goal else task.in_base(task.goal)
    target = json.dumps(task.document["success_predicate"], ensure_ascii=False)
    sample: Json = {
        "id": task.id,
        "epoch": 1,
        "input": goal,
        "target": target,
        "messages": [{"role": "user", "content": goal, "source": "input"}],
        "output": {"model": model, "choices": []},
        "scores": {SCORER: _score(result)},
        "metadata": _about(item, result),
        "uuid": _identifier(task.id, "sample"),
        "events": [],
    }
    if played is None:
        return sample
    transcript = played.transcript
    for number, call in enumerate(transcript.calls, 1):
        sample["messages"] += _messages(number, call, model)
    if transcript.answer is not None:
        said = {"role": "assistant", "content": transcript.answer, "source": "generate", "model": model}
        sample["messages"].append(said)
        sample["output"] |= {"choices": [{"message": said, "stop_reason": "stop"}], "completion": transcript.answer}
    if transcript.ended == "steps-exceeded":
        sample["limit"] = {"type": "custom", "limit": result.max_steps, "reason": "more tool calls than max_steps"}
    return sample | {"events": list(_events(played, result, target, now)), "total_time": sum(played.phases.values())}


def _score(result: PublicResult) -> Json:
    played = result.played
    passed = "C" if result.passed else "N" if result.verdict == "unknown" else "I"
    return {
        "value": passed,
        "answer": played.transcript.answer if played else None,
        "explanation": json.dumps(played.evidence.as_json(), ensure_ascii=False) if played else None,
        "metadata": {
            "verdict": result.verdict,
            "calls": result.calls,
            "max_steps": result.max_steps,
            "unlisted": result.unlisted,
            "saw_error": result.saw_error,
        },
    }


def _about(item: PublicTask, result: PublicResult) -> Json:
    document, played = item.task.document, result.played
    names = ("server", "category", "difficulty", "max_steps", "available_tools", "initial_state")
    outcome = {"code": played.code, "ended": played.transcript.ended, "exit_code": played.exit_code} if played else {}
    also = {
        "status": item.status,
        "language": item.task.language,
        "faults": document.get("faults"),
        "transcript_commitment": result.transcript,
    }
    return {name: document[name] for name in names} | _filled(also | outcome)


def _messages(number: int, call: CallRecord, model: str) -> Iterator[Json]:
    """Yield a call as two messages: the agent's request, and the server's answer."""
    name, key = wire_name(call.tool), f"call_{number}"
    asked = {"id": key, "function": name, "arguments": dict(call.arguments), "type": "function"}
    yield {"role": "assistant", "content": "", "source": "generate", "model": model, "tool_calls": [asked]}
    answer = {"role": "tool", "content": call.result, "tool_call_id": key, "function": name}
    yield answer | ({"error": _error(call)} if call.error else {})


def _events(played: TaskRun, result: PublicResult, target: str, now: datetime) -> Iterator[Json]:
    """Yield one event a tool call, one a request to a model, and the score."""
    spent = 0.0
    for number, call in enumerate(played.transcript.calls, 1):
        event = {
            "event": "tool",
            "type": "function",
            "id": f"call_{number}",
            "function": wire_name(call.tool),
            "arguments": dict(call.arguments),
            "result": call.result,
            "events": [],
            "working_time": call.seconds,
            "metadata": {"listed": call.listed, "injected": call.injected, "refused": call.refused},
        }
        yield _at(now, spent, event | ({"error": _error(call)} if call.error else {}))
        spent += call.seconds
    for request in played.transcript.as_json()["model_calls"]:
        yield _at(now, spent, {"event": "info", "source": "model", "data": request})
    yield _at(now, spent, {"event": "score", "score": _score(result), "target": target, "scorer": SCORER})


def _at(now: datetime, spent: float, event: Json) -> Json:
    moment = (now + timedelta(seconds=spent)).isoformat()
    return event | {"timestamp": moment, "working_start": spent}


def _error(call: CallRecord) -> Json:
    return {"type": "unknown", "message": call.result}


def _summary(sample: Json) -> Json:
    """Return what a list of samples shows; texts are cut as Inspect cuts them."""
    short = {name: value for name, value in sample["metadata"].items() if isinstance(value, str | int | bool)}
    score = sample["scores"][SCORER]
    return {
        "id": sample["id"],
        "epoch": sample["epoch"],
        "input": sample["input"],
        "target": sample["target"],
        "metadata": short,
        "scores": {SCORER: score | {"explanation": None}},
        "uuid": sample["uuid"],
        "completed": True,
        "message_count": len(sample["messages"]),
    }


def _identifier(*words: str) -> str:
    return sha256("\n".join(words).encode()).hexdigest()[:LETTERS]


def _filled(values: Mapping[str, Any]) -> Json:
    return {name: value for name, value in values.items() if value is not None}


def _card(records: PublicRecords) -> Sequence[str]:
    released = bool(records.origin)
    calls = (
        "- Tool calls and answers: a release commits to transcripts and does not open them, so a sample has the goal, "
        "the verdict and the counts."
        if released
        else "- Requests to language models are `info` events, as they were sent; Inspect's own `model` events have "
        "another form. What the agent printed, and earlier attempts, are in the run's file alone."
    )
    return [
        f"# {records.title}: logs for Inspect",
        "",
        records.about,
        "",
        *([f"Benchmark data must not be in training corpora. Canary GUID: {records.canary}", ""] if released else []),
        f"Licence: {records.license}.",
        "",
        "Each `run-NUMBER.eval` is the log of one run: open the folder with `inspect view`, or read one with",
        "`inspect_ai.log.read_eval_log`. A sample is a task, and its `target` the predicate as JSON. Its score is `C`",
        "for a pass, `I` for a fail, and `N` where nobody can say. Figures are in the results.",
        "",
        "## What has no place here",
        "",
        "- The time of day of a run: `created` and the events' times are those of the export; durations are measured.",
        "- 95 % intervals: tasks of one skeleton are not independent, which Inspect's `stderr` does not know.",
        "- The model: `model` names the submitter, because an agent may ask several models or none.",
        calls,
    ]
