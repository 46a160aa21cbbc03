"""Audit step 15: the results that were judged again are those that the promised seed chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vault.commitment import commitment, opens
from vault.errors import Broken
from vault.ledger.audit.evidence import AuditState
from vault.ledger.audit.log_steps import Outcome
from vault.ledger.statements.history import LoggedStatement
from vault.ledger.statements.spot_check import LABEL, is_chosen
from vault.ledger.tree.merkle import root_from


def spot_check(case: AuditState) -> Outcome:
    """15. As many results of the month were chosen to be judged again as the promised seed chooses."""
    promised, at = case.history.last_set(case.retired.index), case.retired.index
    stated, says = (entry.statement.predicate.get("spot_check") for entry in (promised, case.retired))
    if stated is None and says is None:
        return "not asked", f"the set statement of {case.month} promises no spot check"
    if stated is None:
        raise Broken(
            f"leaf {at} opens a spot check, and the set statement at leaf {promised.index} promises none",
            where=f"leaf {at}: $.predicate.spot_check",
            found=says,
        )
    if says is None:
        raise Broken(
            f"the set statement at leaf {promised.index} promises a spot check, and leaf {at} opens none",
            where=f"leaf {at}: $.predicate.spot_check",
            expected={"commitment": stated},
        )
    seed, salt = bytes.fromhex(says["seed"]), bytes.fromhex(says["salt"])
    if not opens(LABEL, seed, salt, bytes.fromhex(stated)):
        raise Broken(
            f"the seed of the spot check at leaf {at} does not open {stated} at leaf {promised.index}",
            where=f"leaf {at}: the commitment to $.predicate.spot_check.seed",
            expected=stated,
            found=commitment(LABEL, seed, salt),
        )
    bound = _bound(case, promised)
    chosen = _chosen(case, seed, bound)
    if says["chosen"] != chosen:
        raise Broken(
            f"the seed at leaf {at} chooses {chosen} results of {case.month}, the leaf says {says['chosen']}",
            where=f"leaf {at}: $.predicate.spot_check.chosen",
            expected=chosen,
            found=says["chosen"],
        )
    if not says["differed"] <= says["judged"] <= chosen:
        raise Broken(
            f"leaf {at} says that of {chosen} chosen results {says['judged']} were judged again, "
            f"and {says['differed']} differed",
            where=f"leaf {at}: $.predicate.spot_check",
            expected="differed <= judged <= chosen",
            found={name: says[name] for name in ("differed", "judged", "chosen")},
        )
    return "proved", _sentence(says, sum(len(tasks) for _, _, tasks in bound))


def _bound(case: AuditState, promised: LoggedStatement) -> Sequence[tuple[int, int, Sequence[str]]]:
    """Give each run that was scored under the month's set: its number, its `score` leaf, and its tasks."""
    bound = []
    for number, run in case.history.runs.items():
        close = run.close
        if not promised.index < run.open.index < case.retired.index or close is None:
            continue
        if close.statement.kind == "score" and close.index < case.retired.index:
            cohorts = run.open.statement.predicate["cohorts"]
            tasks = [task for name in cohorts for task in case.history.members(name, run.open.index)]
            bound.append((number, close.index, tasks))
    return bound


def _chosen(case: AuditState, seed: bytes, bound: Sequence[tuple[int, int, Sequence[str]]]) -> int:
    if not bound:
        return 0
    root = root_from(case.tree.node, 1 + max(leaf for _, leaf, _ in bound))
    return sum(is_chosen(seed, root, number, task) for number, _, tasks in bound for task in tasks)


def _sentence(says: Mapping[str, Any], count: int) -> str:
    chosen, judged, differed = says["chosen"], says["judged"], says["differed"]
    left = f" and {chosen - judged} could not be" if judged < chosen else ""
    came = "none came out otherwise" if not differed else f"{differed} CAME OUT OTHERWISE, and count as they were bound"
    return (
        f"the promised seed chooses {chosen} of the month's {count} results; the operator says that {judged} were "
        f"judged again{left}: {came}"
    )
