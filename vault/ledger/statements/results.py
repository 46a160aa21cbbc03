"""Results of a run: what its score commits to, the totals of a cohort, and the figures of the four axes.

The Merkle tree of a score has a salted commitment to each result, in the order of the commitments
to their tasks. Totals are whole numbers and one exact fraction, so that everybody computes the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from vault.ledger.statements.forms import Form
from vault.ledger.tree.merkle import leaf_hash, root

# fmt: off
RESULT: Form = {
    "run": "positive", "task": "task", "cohort": "cohort",
    "category": "=single-tool,composition,recovery", "verdict": "=true,false,unknown",
    "passed": "boolean", "calls": "natural", "max_steps": "positive", "unlisted": "natural",
    "saw_error": "boolean", "skeleton": "tag", "transcript": "hash|null",
}
TOTALS: Form = {
    "run": "positive", "cohort": "cohort", "attempted": "natural", "passed": "natural",
    "unknown": "natural", "efficiency_sum": "fraction", "calls": "natural",
    "unlisted": "natural", "recovery_seen": "natural", "recovery_passed": "natural",
}
TRANSCRIPT: Form = {  # the goal and the digest of the task as they were served, and every attempt
    "goal": "string", "served": "hash",
    "attempts": [{
        "ended": "string", "answer": "string|null",
        "calls": [{
            "tool": "string", "arguments": "string", "result": "string", "error": "boolean",
        }],
    }],
}
# fmt: on
_PLACES = 10_000


def in_order(results: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """Put result commitments into the tree's order.

    Args:
        results: `(the task's commitment, the result's commitment)` a result.
    """
    return [result for _, result in sorted(results)]


def results_root(commitments: Sequence[bytes]) -> bytes:
    """Return the root over result commitments that are in order."""
    return root([leaf_hash(item) for item in commitments])


def totals_of(run: int, cohort: str, results: Collection[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum up the results of one run on one cohort.

    `efficiency_sum` is the sum of calls / max_steps over passed tasks; `recovery_seen` counts the
    recovery tasks in which the agent saw an error, `recovery_passed` those that it passed.
    """
    passed = [row for row in results if row["passed"]]
    seen = [row for row in results if row["category"] == "recovery" and row["saw_error"]]
    calls: Counter[int] = Counter()  # by max_steps, so that few fractions are added
    for row in passed:
        calls[row["max_steps"]] += row["calls"]
    efficiency = sum((Fraction(count, steps) for steps, count in calls.items()), Fraction(0))
    sums = {name: sum(row[name] for row in results) for name in ("calls", "unlisted")}
    return sums | {
        "run": run,
        "cohort": cohort,
        "attempted": len(results),
        "passed": len(passed),
        "unknown": sum(row["verdict"] == "unknown" for row in results),
        "efficiency_sum": f"{efficiency.numerator}/{efficiency.denominator}",
        "recovery_seen": len(seen),
        "recovery_passed": sum(row["passed"] for row in seen),
    }


def figures(totals: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the four axes as decimals with four places, None where nothing can be divided."""
    return {
        "success_rate": _rate(totals["passed"], totals["attempted"]),
        "efficiency": _rate(Fraction(totals["efficiency_sum"]), totals["passed"]),
        "hallucinated_tool_rate": _rate(totals["unlisted"], totals["calls"]),
        "recovery_rate": _rate(totals["recovery_passed"], totals["recovery_seen"]),
    }


def _rate(part: Fraction | int, whole: int) -> str | None:
    """Divide, rounded to four places, a half to the even digit."""
    if not whole:
        return None
    scaled = round(Fraction(part) / whole * _PLACES)
    return f"{scaled // _PLACES}.{scaled % _PLACES:04d}"
