"""Tasks and their evidence in words, for the people who review them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from grammars.review import CHECKLIST, Review
from quarterturn.wiring import House
from vault.store import Opened, TaskRecord
from verifiers import predicate


def task(opened: Opened) -> Iterator[str]:
    """Say a task in lines: goal, budget, tools, state, predicate in words, reference solutions, mutants."""
    document, provenance = opened.task.document, opened.provenance
    yield f"{opened.task.id}  {opened.task.server}, {opened.task.category}, {opened.task.difficulty}"
    yield f"Goal       {opened.task.goal}"
    yield f"Budget     {opened.task.max_steps} calls"
    yield f"Tools      {', '.join(opened.task.available_tools)}"
    for fault in document.get("faults", []):
        yield f"Fault      call {fault['call']} of {fault['tool']} answers: {fault['error']}"
    yield f"State      {json.dumps(document['initial_state'], ensure_ascii=False)}"
    yield f"Success    {predicate.in_words(predicate.parse(document['success_predicate']))}"
    for solution in provenance.get("solutions", []):
        yield f"Solution   {solution.get('name', '')}"
        for call in solution["calls"]:
            yield f"             {call['tool']} {json.dumps(call['arguments'], ensure_ascii=False)}"
        yield f"             answer: {solution['answer']}"
    for mutant in provenance.get("mutants", []):
        yield f"Mutant     {mutant['name']}"


def evidence(admission: Mapping[str, Any]) -> Iterator[str]:
    """Say how a task fared at the gates, and what the reviewer is asked."""
    for gate in admission["gates"]:
        yield f"Gate {gate['number']}     {'ok' if gate['ok'] else 'NO'}  {gate['name']}: {gate['detail']}"
    for question in CHECKLIST.values():
        yield f"Question   {question}"
    yield "Decide with --approve, or with --reject and a reason."


def decide(house: House, task_id: str, who: str, refusal: str | None) -> TaskRecord:
    """Record a reviewer's decision; a refusal answers the whole checklist with no."""
    approved = refusal is None
    return house.drafts.review(
        Review(
            task_id,
            who,
            "approve" if approved else "reject",
            dict.fromkeys(CHECKLIST, approved),
            house.now(),
            refusal or "",
        )
    )
