"""Text of `task try`: the calls one by one, what they changed, the evidence, and what the verdict means."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterator

from quarterturn import trace_text
from quarterturn.cli.terminal.colour import StatusLine
from sandbox.runs.trial import Trial
from verifiers.language.verdict import Verdict
from verifiers.states.difference import ItemChange, StateDifference

LINES = 20
"""Lines of a text's difference that are shown."""


def lines(trial: Trial) -> Iterator[str]:
    """Describe a trial."""
    data = trial.as_json()
    yield from trace_text.labelled("played", _player(trial))
    yield from trace_text.trace(trial.task.document, data, list(_states(trial)))
    if trial.verdict is not Verdict.TRUE:
        yield from trace_text.missed(data["evidence"])
    yield _verdict(trial)


def _player(trial: Trial) -> str:
    if trial.mutant is None:
        return f"the {'reference solution' if trial.player == 'solution' else 'agent'} {trial.name}"
    if "answer" in trial.mutant:
        return f"the mutant {trial.name}: the solution with another answer"
    change = json.dumps(trial.mutant["change"], ensure_ascii=False)
    return f"the mutant {trial.name}: the solution, and then in the state of {trial.mutant['server']} {change}"


def _states(trial: Trial) -> Iterator[str]:
    """Say what changed in the state of each server that a call reached."""
    if trial.uncompared:
        yield from trace_text.labelled("state", f"not compared: {trial.uncompared}")
    elif not trial.differences:
        yield from trace_text.labelled("state", "unchanged: no call reached a server")
    for server, difference in trial.differences.items():
        yield from trace_text.labelled("state", f"{server}: {_count(difference)}")
        for change in difference.changes:
            yield from trace_text.labelled(f"  {change.kind}", change.item)
            yield from _fields(change)


def _count(difference: StateDifference) -> str:
    if difference.unknown:
        return difference.unknown
    kinds = Counter(change.kind for change in difference.changes)
    more = [f"{difference.left_out} more, not shown"] if difference.left_out else []
    return ", ".join([*(f"{kinds[kind]} {kind}" for kind in sorted(kinds)), *more]) or "unchanged"


def _fields(change: ItemChange) -> Iterator[str]:
    """Yield the fields of an item: as they are, or of one that changed what was taken away and what was put in."""
    for name in dict.fromkeys([*change.before, *change.after]):
        before, after = change.before.get(name), change.after.get(name)
        both = before is not None and after is not None
        text = _changed(before or "", after or "") if both else before if after is None else after
        mark = "" if both or change.kind != "changed" else "- " if after is None else "+ "
        yield from trace_text.labelled(f"    {name}", f"{mark}{text}")


def _changed(before: str, after: str) -> str:
    if "\n" not in before.strip() + after.strip():
        return f"- {before}\n+ {after}"
    delta = difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
    shown = [f"{line[0]} {line[1:]}" for line in list(delta)[2:] if not line.startswith("@@")]
    more = [f"… {len(shown) - LINES} more lines"] if len(shown) > LINES else []
    return "\n".join([*shown[:LINES], *more])


def _verdict(trial: Trial) -> str:
    verdict = trial.verdict.value
    if trial.player == "mutant":
        if trial.verdict is Verdict.FALSE:
            return StatusLine("Verdict: false, ok: the predicate notices what this mutant changes.", "ok")
        return StatusLine(f"Verdict: {verdict}. NO: a mutant has to get false.", "NO")
    if trial.passed:
        return StatusLine("Verdict: true, ok", "ok")
    if trial.player == "solution" and trial.verdict is Verdict.TRUE and trial.unscheduled_errors:
        calls = ", ".join(map(str, trial.unscheduled_errors))
        return StatusLine(
            f"Verdict: true. NO: a solution meets no error that the task does not schedule (call {calls} of "
            f"{len(trial.calls)}).",
            "NO",
        )
    if trial.verdict is Verdict.TRUE:
        return StatusLine(f"Verdict: true. NO: it does not pass ({trial.code}).", "NO")
    needs = ": a reference solution has to get true" if trial.player == "solution" else ""
    return StatusLine(f"Verdict: {verdict}. NO{needs}.", "NO")
