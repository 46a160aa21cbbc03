"""Coverage of the claims in a task's predicate, from the sealed replies of the claim judge; no model is asked. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sandbox.claim_judge.exchange import replies
from sandbox.results.outcome import TaskRun
from verifiers.answer.claims import claims_in, coverage, reply_outcome
from verifiers.language.predicate import CLAIMS
from verifiers.language.verdict import Evidence, Verdict


def claim_coverage(run: TaskRun) -> Fraction | None:
    """Return the coverage of all its claims, unknown ones counted 0; None where it has none, or nobody was asked.

    An empty answer covers nothing, and nobody has to be asked about it.
    """
    claims = [claim for node in _judged(run.evidence) for claim in claims_in(node.looked_at)]
    said = replies(run.claims)
    if not claims or (said is None and (run.transcript.answer or "").strip()):
        return None
    return coverage([reply_outcome((said or {}).get(claim.id)) for claim in claims]).low


def claims_reached(run: TaskRun) -> int | None:
    """Return 1 where the claims of each `answer.claims` reach its threshold, else 0; None as for `claim_coverage`."""
    if claim_coverage(run) is None:
        return None
    return int(all(node.verdict is Verdict.TRUE for node in _judged(run.evidence)))


def _judged(evidence: Evidence) -> Iterator[Evidence]:
    if evidence.op == CLAIMS:
        yield evidence
    for child in evidence.children:
        yield from _judged(child)
