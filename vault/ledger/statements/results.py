"""Contents of a run's `score` statement: a Merkle tree of salted results, and salted totals for each cohort.

A result is `{"run", "task", "cohort", "category", "verdict", "passed", "calls", "max_steps", "unlisted", "saw_error",
"skeleton"}`; totals are sums over the results of one cohort, in whole numbers and one exact fraction, so that whoever
opens the results computes the same bytes. The tree's leaves are the results' commitments, in the order of their
tasks' commitments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from vault.ledger.statements.shape import (
    boolean,
    cohort,
    fraction,
    matching,
    natural,
    one_of,
    positive,
    record,
    task_id,
    text,
)
from vault.ledger.tree.merkle import leaf_hash, root

RESULT = record(
    run=positive,
    task=task_id,
    cohort=cohort,
    category=one_of("single-tool", "composition", "recovery"),
    verdict=one_of("true", "false", "unknown"),
    passed=boolean,
    calls=natural,
    max_steps=positive,
    unlisted=natural,
    saw_error=boolean,
    skeleton=matching(r"[0-9a-f]{1,128}", "an opaque tag in lower-case hexadecimal digits"),
)

TOTALS = record(
    run=positive,
    cohort=cohort,
    attempted=natural,
    passed=natural,
    unknown=natural,
    efficiency_sum=fraction,
    calls=natural,
    unlisted=natural,
    recovery_seen=natural,
    recovery_passed=natural,
)

OPENING = record(submitter=text, submission=text, attempt=positive)

_PLACES = 10_000


def in_order(results: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """Put result commitments into the tree's order.

    Args:
        results: `(the task's commitment, the result's commitment)` a result.
    """
    return [result for _, result in sorted(results)]


def results_root(commitments: Sequence[bytes]) -> bytes:
    """Give the root over result commitments that are in order."""
    return root([leaf_hash(item) for item in commitments])


def totals_of(run: int, cohort: str, results: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum up the results of one run on one cohort.

    `efficiency_sum` is the sum of calls / max_steps over passed tasks, as an exact fraction in lowest terms;
    `recovery_seen` counts the recovery tasks in which the agent saw an error, `recovery_passed` those that it passed.
    """
    rows = list(results)
    passed = [row for row in rows if row["passed"]]
    seen = [row for row in rows if row["category"] == "recovery" and row["saw_error"]]
    calls_of: Counter[int] = Counter()  # by max_steps: adding whole numbers first leaves few fractions to add
    for row in passed:
        calls_of[row["max_steps"]] += row["calls"]
    efficiency = sum((Fraction(calls, steps) for steps, calls in calls_of.items()), Fraction(0))
    return {
        "run": run,
        "cohort": cohort,
        "attempted": len(rows),
        "passed": len(passed),
        "unknown": sum(row["verdict"] == "unknown" for row in rows),
        "efficiency_sum": f"{efficiency.numerator}/{efficiency.denominator}",
        "calls": sum(row["calls"] for row in rows),
        "unlisted": sum(row["unlisted"] for row in rows),
        "recovery_seen": len(seen),
        "recovery_passed": sum(row["passed"] for row in seen),
    }


def counted(
    totals: Mapping[str, Any], results: Sequence[Mapping[str, Any]], broken: Container[str]
) -> Mapping[str, Any]:
    """Give a run's totals on a cohort without the tasks that were withdrawn as broken; those that leaked count."""
    left = [row for row in results if row["task"] not in broken]
    return totals if len(left) == len(results) else totals_of(totals["run"], totals["cohort"], left)


def figures(totals: Mapping[str, Any]) -> dict[str, str | None]:
    """Give the four axes of a run on one cohort as decimals with four places, None where nothing can be divided."""
    return {
        "success_rate": _rate(totals["passed"], totals["attempted"]),
        "efficiency": _rate(Fraction(totals["efficiency_sum"]), totals["passed"]),
        "hallucinated_tool_rate": _rate(totals["unlisted"], totals["calls"]),
        "recovery_rate": _rate(totals["recovery_passed"], totals["recovery_seen"]),
    }


def _rate(part: Fraction | int, whole: int) -> str | None:
    if not whole:
        return None
    scaled = round(Fraction(part) / whole * _PLACES)
    return f"{scaled // _PLACES}.{scaled % _PLACES:04d}"
