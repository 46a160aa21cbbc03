"""Parser of a judge's reply, which the runner trusts for nothing beyond its shape.

A judge gives one line for each probe, from left to right, and nothing about the connectives: the runner puts the
evidence tree together from the predicate that it knows, and works out `all`, `any` and `not` itself.

    {"probes": [["true" | "false" | "unknown", what was found, whether the probe broke], ...],
     "spent": share, "unreadable": whether a reader could make nothing of a namespace's state}
    {"cases": [[a line for each probe, as above], ...]}
    {"mutants": [[name, "broken" | "mistake" | "damage" | "wide" | "twin", verdict], ...]}

The judge of a server's own predicates says as much of these alone; "unknown" is a probe that gave no value:

    {"own": [["true" | "false" | "unknown", what was found], ...]}
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.errors import Malformed
from sandbox.strict_json import strict_object
from vault.errors import Malformed as NotStrict
from verifiers.language.predicate import AllOf, AnyOf, Not, Predicate, Probe, probes
from verifiers.language.verdict import Evidence, Verdict, all_of, any_of

MAX_BYTES = 4 * 1024 * 1024
MAX_FOUND = 4000
"""Characters of what is said of one probe."""
KINDS = ("broken", "mistake", "damage", "wide", "twin")
VERDICTS = tuple(verdict.value for verdict in Verdict)


@dataclass(frozen=True, slots=True)
class CaseReply:
    """A judge's reply about one case.

    Attributes:
        evidence: the predicate's evidence tree.
        spent: the largest share of a budget that it took, from 0 to 1: steps or bytes of reading, or steps
            of judging.
        unreadable: whether a reader could make nothing of a namespace's state.
    """

    evidence: Evidence
    spent: float
    unreadable: bool


def leaves(evidence: Evidence) -> list[list[Any]]:
    """Return what a judge says of each probe."""
    if not evidence.children:
        return [[evidence.verdict.value, plain(evidence.found), evidence.broken]]
    return [line for child in evidence.children for line in leaves(child)]


def plain(text: str) -> str:
    """Cut a text to the cap, and escape what no strict JSON holds."""
    return text[:MAX_FOUND].encode("utf-8", "backslashreplace").decode()[:MAX_FOUND]


def parsed(data: bytes, predicate: Predicate) -> CaseReply:
    """Put the evidence tree of a predicate together from a judge's reply.

    Raises:
        Malformed: it is not as a judge says it.
    """
    document = _document(data, {"probes", "spent", "unreadable"})
    spent = document["spent"]
    if type(spent) not in {int, float} or not 0 <= spent <= 1 or not isinstance(document["unreadable"], bool):
        raise Malformed("a judge reports a reading in an unknown form")
    return CaseReply(_evidence(document["probes"], predicate), float(spent), document["unreadable"])


def parsed_cases(data: bytes, predicate: Predicate, number: int) -> list[Evidence]:
    """Put the evidence trees of so many cases together from a judge's reply.

    Raises:
        Malformed: it is not as a judge says it.
    """
    return [_evidence(lines, predicate) for lines in _list(_document(data, {"cases"})["cases"], number)]


def _evidence(lines: object, predicate: Predicate) -> Evidence:
    probe_lines = _list(lines, sum(1 for _ in probes(predicate)))
    for line in probe_lines:
        if not _fits(line, (str, str, bool)) or line[0] not in VERDICTS or len(line[1]) > MAX_FOUND:
            raise Malformed("a judge reports a probe in an unknown form")
    return _put_together(predicate, iter(probe_lines))


def parsed_mutants(data: bytes) -> list[tuple[str, str, Verdict]]:
    """Return name, kind and verdict of each mutant from a judge's reply.

    Raises:
        Malformed: it is not as a judge says it.
    """
    lines = _list(_document(data, {"mutants"})["mutants"], None)
    for line in lines:
        if not _fits(line, (str, str, str)) or line[1] not in KINDS or line[2] not in VERDICTS:
            raise Malformed("a judge reports a mutant in an unknown form")
    return [(line[0], line[1], Verdict(line[2])) for line in lines]


def parsed_own(data: bytes, number: int) -> list[list[str]]:
    """Return value and sentence of so many own predicates from the reply of their judge.

    Raises:
        Malformed: it is not as that judge says it.
    """
    lines = _list(_document(data, {"own"})["own"], number)
    for line in lines:
        if not _fits(line, (str, str)) or line[0] not in VERDICTS or len(line[1]) > MAX_FOUND:
            raise Malformed("a judge reports an own predicate in an unknown form")
    return lines


def counted_against(predicate: Predicate, why: str) -> Evidence:
    """Return the evidence for an unreadable state that is blamed on the agent: each probe counts against it.

    So the whole is false, whatever the predicate: a probe below an odd number of *not*s is true.
    """
    return _against(predicate, Verdict.FALSE, why)


def _against(predicate: Predicate, verdict: Verdict, why: str) -> Evidence:
    match predicate:
        case Probe(name, arguments):
            return Evidence(name, verdict, arguments, why)
        case Not(operand):
            return _connected("not", [_against(operand, verdict.negated(), why)])
        case AllOf(operands):
            return _connected("all", [_against(operand, verdict, why) for operand in operands])
        case AnyOf(operands):
            return _connected("any", [_against(operand, verdict, why) for operand in operands])


def _put_together(predicate: Predicate, lines: Iterator[Sequence[Any]]) -> Evidence:
    match predicate:
        case Probe(name, arguments):
            verdict, observation, broken = next(lines)
            return Evidence(name, Verdict(verdict), arguments, observation, broken=broken)
        case Not(operand):
            return _connected("not", [_put_together(operand, lines)])
        case AllOf(operands):
            return _connected("all", [_put_together(operand, lines) for operand in operands])
        case AnyOf(operands):
            return _connected("any", [_put_together(operand, lines) for operand in operands])


def _connected(op: str, children: Sequence[Evidence]) -> Evidence:
    verdicts = [child.verdict for child in children]
    verdict = verdicts[0].negated() if op == "not" else all_of(verdicts) if op == "all" else any_of(verdicts)
    return Evidence(op, verdict, children=tuple(children), broken=any(child.broken for child in children))


def reply_object(data: bytes, max_size: int = MAX_BYTES) -> dict[str, Any]:
    """Read a judge's reply as one JSON object.

    Raises:
        Malformed: it is none, or larger.
    """
    try:
        return strict_object(data, "a judge's reply", max_size=max_size)
    except NotStrict as error:
        raise Malformed(str(error)) from None


def _document(data: bytes, names: Collection[str]) -> dict[str, Any]:
    document = reply_object(data)
    if document.keys() != set(names):
        raise Malformed("a judge's reply has no known form")
    return document


def _list(lines: object, number: int | None) -> list[Any]:
    if not isinstance(lines, list) or number not in (None, len(lines)):
        raise Malformed("a judge's reply has no known form")
    return lines


def _fits(line: object, kinds: Sequence[type]) -> bool:
    return isinstance(line, list) and [type(value) for value in line] == list(kinds)


def written(**document: Any) -> bytes:
    """Write a judge's reply."""
    return json.dumps(document).encode()
