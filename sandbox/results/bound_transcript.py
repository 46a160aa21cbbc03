"""Transcript document of a task in a run: the canonical bytes that the run's result commits to.

    {"goal": as the agent was told it, "served": SHA-256 (hex) of the canonical task as it was served,
     "attempts": [{"ended", "answer", "calls": [{"tool", "arguments", "result", "error"}]}]}

The last attempt is the one that counts. `arguments` is JSON text with sorted keys, because what an agent sends may have
no canonical form; lone surrogates are escaped. Times are not part of it, nor what a language model was asked: the
bytes say what the agent was served, what it did and what it was told. They are made from the sealed outcome alone, so
another worker makes the same bytes.
"""

from __future__ import annotations

import json
from typing import Any

from sandbox.results.outcome import TaskRun
from sandbox.transcript import CallRecord
from vault.canonical import canonical


def transcript_bytes(outcome: TaskRun) -> bytes | None:
    """Return the bytes that a result commits to; None where no attempt at the task left a transcript."""
    attempts = (*outcome.earlier, outcome)
    played = next((attempt for attempt in reversed(attempts) if attempt.served), None)
    if played is None:
        return None
    document = {
        "goal": _sound(played.goal),
        "served": played.served,
        "attempts": [_attempt(attempt) for attempt in attempts],
    }
    return canonical(document, "the transcript")


def _attempt(attempt: TaskRun) -> dict[str, Any]:
    transcript = attempt.transcript
    answer = None if transcript.answer is None else _sound(transcript.answer)
    return {"ended": transcript.ended, "answer": answer, "calls": [_call(call) for call in transcript.calls]}


def _call(call: CallRecord) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return {
        "tool": _sound(call.tool),
        "arguments": _sound(arguments),
        "result": _sound(call.result),
        "error": call.error,
    }


def _sound(text: str) -> str:
    """Escape lone surrogates, which canonical JSON has no form for."""
    return text.encode("utf-8", "backslashreplace").decode()
