"""Text of the task verbs: tasks, the yield of a draw, and withdrawals, as lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quarterturn.cli.terminal.colour import StatusLine
from quarterturn.trace_text import MAX_SHOWN_CHARACTERS
from rotation.generation.yield_stats import YieldStats
from rotation.month.sets import SetSpec, Stratum
from rotation.runs.withdrawal import Withdrawn
from vault.store.tasks import OpenedTask, TaskRecord
from vault.task import variant
from vault.task.document import Task
from verifiers.language import predicate


def task(opened: OpenedTask) -> Iterator[str]:
    """Describe a task: goal, budget, tools, state, predicate in words, reference solutions, mutants."""
    document, provenance = opened.task.document, opened.provenance
    yield f"{opened.task.id}  {opened.task.server}, {opened.task.category}, {opened.task.difficulty}"
    yield f"Traceable  {traceable(opened.task)}"
    yield f"Goal       {opened.task.goal}"
    yield f"Budget     {opened.task.max_steps} calls"
    yield f"Tools      {', '.join(opened.task.available_tools)}"
    for fault in document.get("faults", []):
        yield f"Fault      call {fault['call']} of {fault['tool']} answers: {fault['error']}"
    yield f"State      {json.dumps(document['initial_state'], ensure_ascii=False)}"
    yield f"Success    {predicate.in_words(predicate.parse(document['success_predicate'], filled=False))}"
    for solution in provenance.get("solutions", []):
        yield f"Solution   {solution.get('name', '')}"
        for call in solution["calls"]:
            yield f"             {call['tool']} {json.dumps(call['arguments'], ensure_ascii=False)}"
        yield f"             answer: {solution['answer']}"
    for mutant in provenance.get("mutants", []):
        yield f"Mutant     {mutant['name']}"


def traceable(task: Task) -> str:
    """Say whether a leak of the task could be traced to a run."""
    bits = variant.bits(task.free)
    if task.variant_key is not None:
        return f"yes: each submitter is served their own of 2^{bits:.0f} variants; {{{{...}}}} stands for what differs"
    return f"not traceable: 2^{variant.LEAST_BITS} variants are needed and there are 2^{bits:.0f}; it is served plain"


def yield_lines(tally: YieldStats) -> Iterator[str]:
    """Describe a draw in one line, and each template with a problem in another."""
    shut = "".join(f"; gate {gate} rejected {count}" for gate, count in tally.shut.items())
    score = "" if tally.mutation_score is None else f"; {tally.mutation_score:.1%} of the mutated states fail"
    yield f"{tally.drawn} drawn, {len(tally.admitted)} admitted{shut}{score}"
    for name, template in sorted(tally.templates.items()):
        if template.broken:
            yield (
                f"{name} is broken: {template.stayed_out} of {template.drawn} draws were rejected, "
                f"the last at {template.why}"
            )
        if template.survived:
            yield f"{name}: {template.survived} of {template.mutants} mutated states pass unnoticed"


def kept_out(failures: Sequence[Mapping[str, Any]], file: Path) -> Iterator[str]:
    """Say of each draft that an import refused which gates failed, and of its solutions which call and predicate."""
    for failure in failures:
        for gate in failure["gates"]:
            yield StatusLine(f"{failure['id']}  NO  gate {gate['number']} ({gate['name']}): {gate['detail']}", "NO")
        for name, solution in failure["solutions"].items():
            if call := solution["call"]:
                yield f"  {name}, call {call['number']} of {call['of']}  {call['tool']}"
                yield f"    error     {_short(call['error'])}"
            if leaf := solution["leaf"]:
                below = "" if leaf["expected"] == "true" else "not "
                yield f"  {name}, {leaf['place']}  {leaf['verdict']}"
                yield f"    expected  {below}{leaf['predicate']} {_short(_plain(leaf['looked_at']))}"
                yield f"    found     {_short(leaf['found'])}"
    line = failures[0]["line"]
    yield f"Nothing was kept. Next: quarterturn task try {file} --line {line}, which plays it call by call."


def imported_rows(records: Sequence[TaskRecord], spec: SetSpec) -> list[dict[str, Any]]:
    """Return imported tasks as plain JSON values: id, state, stratum, and whether the set has that stratum."""
    strata = [(record, Stratum.of(record)) for record in records]
    return [
        {
            "id": record.id,
            "state": record.state.value,
            "stratum": str(stratum),
            "stratum_in_set": stratum in spec.per_cohort,
        }
        for record, stratum in strata
    ]


def imported_lines(rows: Sequence[Mapping[str, Any]], spec: SetSpec) -> Iterator[str]:
    """Yield imported tasks as lines, and say of those which cannot go live why not."""
    for row in rows:
        yield StatusLine(f"{row['id']}  {row['state']}", row["state"])
    strata = sorted({row["stratum"] for row in rows if not row["stratum_in_set"]})
    for stratum in strata:
        of_server = [str(known) for known in spec.per_cohort if known.server == stratum.partition("/")[0]]
        has = f"of that server it has {', '.join(sorted(of_server))}" if of_server else "it has no task of that server"
        ids = ", ".join(row["id"] for row in rows if row["stratum"] == stratum)
        yield f"Cannot go live: the set '{spec.name}' has no stratum {stratum}; {has}. It concerns {ids}."


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}… ({len(text):,} characters)"


def withdrawal_row(task_id: str, entry: Withdrawn | None) -> dict[str, Any]:
    """Return a withdrawal as plain JSON values."""
    if entry is None:
        return {"id": task_id, "leaf": None}
    plain = {name: getattr(entry, name) for name in ("leaf", "cause", "reason", "cohort", "replacement")}
    return plain | {"id": task_id, "month": str(entry.month)}


def withdrawal_line(task_id: str, entry: Withdrawn | None) -> str:
    """Say at which leaf a task was withdrawn, and what took its place."""
    if entry is None:
        return f"{task_id} was withdrawn; it was never promised, so the log says nothing of it."
    if entry.cohort is None:
        return f"{task_id} left the reserve at leaf {entry.leaf}."
    took = (
        f"{entry.replacement} took its place" if entry.replacement else "no reserve was left, so its place stays empty"
    )
    counts = (
        "It counts in no figure any more; the release of its cohort will show why."
        if entry.cause == "broken"
        else "Results of runs that were opened before go on counting."
    )
    return f"{task_id} was withdrawn from {entry.cohort} at leaf {entry.leaf}; {took}. {counts}"
