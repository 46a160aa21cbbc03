"""Audit steps about runs: they are opened, and all figures follow from results bound in time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Any

from vault.commitment import commitment
from vault.errors import Broken
from vault.ledger.audit.audit_state import AuditState, OpenedRun, Outcome
from vault.ledger.audit.task_steps import require_opens
from vault.ledger.release.contents import (
    AGGREGATE,
    ATTESTATION,
    README,
    RESULTS,
    RUNS,
    aggregate,
    attestation,
    readme,
)
from vault.ledger.statements.jcs import canonical, first_difference
from vault.ledger.statements.results import figures, totals_of
from vault.ledger.statements.rules import agree, disagreement, require
from vault.ledger.statements.spot_check import is_chosen
from vault.ledger.tree.merkle import leaf_hash, verify_inclusion

Line = tuple[str, bytes, Any]


def check_runs(case: AuditState) -> Outcome:
    """Check that each run that was served the cohort is opened to its submitter, and no other."""
    served = sorted(number for number, run in case.log.runs.items() if case.cohort in run.served)
    lines = list(case.bundle.lines(RUNS))
    agree("opened.runs", f"{RUNS}: $.run of all lines", served, [line["run"] for *_, line in lines])
    case.runs = [_opened(case, where, line) for where, _, line in lines]
    _require_attempts(case)
    scored = sum(run.run.scored for run in case.runs)
    aborted = len(lines) - scored
    return "proved", f"{len(lines)} runs used the cohort: {scored} scored, {aborted} aborted"


def check_results(case: AuditState) -> Outcome:
    """Check that the cohort's results are bound by each score, complete, and give the totals."""
    groups = groupby(case.bundle.lines(RESULTS), key=lambda line: line[2]["run"])
    scored = [run.line["run"] for run in case.runs if run.run.scored]
    count = 0
    for place, opened in enumerate(case.runs):
        if not opened.run.scored:
            continue
        none: tuple[int | None, Iterable[Line]] = (opened.line["run"], ())
        is_empty = not opened.run.served[case.cohort]  # all of its tasks were withdrawn before
        number, lines = none if is_empty else next(groups, (None, ()))
        agree("result.lines", f"{RESULTS}: $.run after {count} lines", opened.line["run"], number)
        rows = list(lines)
        _require_results(case, opened, rows)
        totals = opened.line["totals"]  # which the results give
        if not case.broken.isdisjoint(opened.run.served[case.cohort]):
            results = [line["result"] for *_, line in rows]
            kept = [result for result in results if result["task"] not in case.broken]
            totals = totals_of(opened.line["run"], case.cohort, kept)
        case.runs[place] = replace(opened, counted=totals)
        count += len(rows)
        _doubt_withdrawn(case, opened, totals)
    stranger, _ = next(groups, (None, ()))
    require("result.lines", stranger is None, f"{RESULTS}: $.run", scored, stranger)
    return "proved", f"{count} results of {len(scored)} runs were bound in time, and are all there"


def check_figures(case: AuditState) -> Outcome:
    """Check that aggregate, attestation and README follow from what was opened."""
    rows = [(run.line["opening"], run.counted) for run in case.runs if run.counted]
    subjects = [(name, task.sha256) for name, task in case.tasks.items()]
    _require_same(case, AGGREGATE, aggregate(case.month, case.cohort, rows))
    _require_same(case, ATTESTATION, attestation(case.month, case.cohort, subjects))
    _require_same(case, README, readme(case.bundle.manifest))
    without = f", without {len(case.broken)} broken tasks" if case.broken else ""
    figured = f"the figures of {len(rows)} runs on {case.cohort}"
    return "proved", f"{figured} follow from the results{without}"


def check_spot_check(case: AuditState) -> Outcome:
    """Check that as many results were chosen to be judged again as the promised seed chooses."""
    says, at = case.retired.leaf.says.get("spot_check"), case.retired.leaf.index
    if says is None:
        return "not asked", f"the set of {case.month} promises no spot check"
    bound = [run for run in case.log.runs.values() if run.set is case.retired.set and run.scored]
    bound = [run for run in bound if run.close and run.close.index < at]
    last = max((run.close.index for run in bound if run.close), default=0)
    seed, log_root = bytes.fromhex(says["seed"]), case.roots.get(last + 1, b"")
    served = {run.open.says["run"]: chain(*run.served.values()) for run in bound}
    marks = [is_chosen(seed, log_root, run, task) for run, tasks in served.items() for task in tasks]
    where, chosen = case.retired.leaf.at("spot_check"), says["chosen"]
    agree("spot_check.chosen", f"{where}.chosen", sum(marks), chosen)
    judged, differed = says["judged"], says["differed"]
    if differed:
        case.doubt("doubt.differed", f"{where}.differed", 0, differed)
    left = f" and {chosen - judged} could not be" if judged < chosen else ""
    return "proved", (
        f"the promised seed chooses {chosen} of the month's {len(marks)} results; the operator "
        f"says that {judged} were judged again{left}, and that {differed} came out otherwise"
    )


def check_full_score(case: AuditState) -> Outcome:
    """Say until when a full score is pending: it needs every cohort of its run."""
    last: dict[str, str] = {}
    for run in case.runs:
        if run.run.scored:
            month, until = run.run.open.says["month"], max(run.run.served).removeprefix("cohort-")
            last[month] = max(until, last.get(month, ""))
    waiting = {month: until for month, until in sorted(last.items()) if until > case.month}
    if not waiting:
        return "proved", "no cohort of these runs is private: with earlier releases all is open"
    case.pending = max(waiting.values())
    months = ", ".join(f"{month} pending until {until}" for month, until in waiting.items())
    return "pending", f"full scores need cohorts that are still private: {months}"


def _opened(case: AuditState, where: str, line: Mapping[str, Any]) -> OpenedRun:
    run = case.log.runs[line["run"]]
    leaves = [run.open.index, run.close.index if run.close else None]
    agree("opened.leaves", f"{where}: $.open and $.close", leaves, [line["open"], line["close"]])
    opening = canonical(line["opening"]), line["salt"]
    require_opens("opened.commitment", "run-open", opening, run.open.digest, where)
    has = [line["totals"] is not None, line["totals_salt"] is not None]
    agree("opened.totals", f"{where}: $.totals and $.totals_salt", [run.scored] * 2, has)
    return OpenedRun(line, run)


def _require_attempts(case: AuditState) -> None:
    """Check the numbers of each submitter's runs in a month, aborted ones and all tracks included.

    All runs of the released month are opened with it: theirs go from 1 on without a gap. Of an
    earlier month those that were served this cohort are opened: theirs rise.
    """
    before: defaultdict[tuple[str, str], int] = defaultdict(int)
    for run in case.runs:
        opening, month = run.line["opening"], run.run.open.says["month"]
        attempt, last = opening["attempt"], before[month, opening["submitter"]]
        if attempt != last + 1 if month == case.month else attempt <= last:
            where = f"{RUNS}: $.opening.attempt of run {run.line['run']}"
            wanted = last + 1 if month == case.month else f"{last + 1} or more"
            raise disagreement("opened.attempt", where, wanted, attempt)
        before[month, opening["submitter"]] = attempt


def _require_results(case: AuditState, opened: OpenedRun, rows: Sequence[Line]) -> None:
    run, number = opened.run, opened.line["run"]
    assert run.close is not None  # noqa: S101 - it is scored
    score, members = run.close.says, run.served[case.cohort]
    ordered = sorted(members, key=lambda task: case.log.commits[task].digest)
    where = f"{RESULTS}: the tasks of run {number}"
    agree("result.lines", where, ordered, [line["result"]["task"] for *_, line in rows])
    last, root = -1, bytes.fromhex(score["results_root"])
    for where, data, line in rows:  # places are written for a refusal only: a release has many lines
        _require_result(case, where, line)
        if line["position"] <= last:
            place, wanted = f"{where}: $.position", f"above {last}"
            raise disagreement("result.lines", place, wanted, line["position"])
        last = line["position"]
        # the result's own bytes stand between two names of the line that are no part of it
        result = data[data.index(b'"result":') + 9 : data.rindex(b',"run":')]
        bound = leaf_hash(commitment("result", result, bytes.fromhex(line["salt"])))
        proof = [bytes.fromhex(part) for part in line["proof"]]
        try:
            verify_inclusion(bound, last, score["count"], proof, root)
        except Broken as error:
            raise disagreement("result.bound", where, root, str(error)) from None
    totals = totals_of(number, case.cohort, [line["result"] for *_, line in rows])
    agree("result.totals", f"{RUNS}: $.totals of run {number}", totals, opened.line["totals"])
    stated = next(t["commitment"] for t in score["totals"] if t["cohort"] == case.cohort)
    opening = canonical(totals), opened.line["totals_salt"]
    require_opens("result.totals", "totals", opening, stated, f"{RUNS}: run {number}")


def _require_result(case: AuditState, where: str, line: Mapping[str, Any]) -> None:
    result, name = line["result"], line["result"]["task"]
    if result["run"] != line["run"]:
        raise disagreement("result.of", f"{where}: $.result.run", line["run"], result["run"])
    if result["cohort"] != case.cohort:
        place = f"{where}: $.result.cohort"
        raise disagreement("result.of", place, case.cohort, result["cohort"])
    if task := case.tasks.get(name) or case.withdrawn.get(name):
        wanted = [task.category, task.max_steps]
        found = [result["category"], result["max_steps"]]
        if wanted != found:
            place = f"{where}: $.result.category and $.result.max_steps"
            raise disagreement("result.of", place, wanted, found)
    calls, most = result["calls"], result["max_steps"]
    if result["passed"] and result["verdict"] != "true":
        place = f"{where}: $.result.verdict"
        raise disagreement("result.passed", place, "true", result["verdict"])
    if result["passed"] and calls > most:
        raise disagreement("result.passed", f"{where}: $.result.calls", f"0 to {most}", calls)
    if (unlisted := result["unlisted"]) > calls:
        place = f"{where}: $.result.unlisted"
        raise disagreement("result.calls", place, f"0 to {calls}", unlisted)


def _doubt_withdrawn(case: AuditState, opened: OpenedRun, counted: Mapping[str, Any]) -> None:
    """Show a run's figures with and without what was withdrawn as broken after it was opened."""
    if case.broken.isdisjoint(opened.run.served[case.cohort]):
        return
    where = f"the figures of run {opened.line['run']}; the effect on ranks is pending until "
    where += max(opened.run.served).removeprefix("cohort-")
    stated = {"with": figures(opened.line["totals"])}
    case.doubt("doubt.withdrawn", where, stated, {"without": figures(counted)})


def _require_same(case: AuditState, name: str, expected: bytes) -> None:
    """Compare a file with what follows from the others."""
    found = b"".join(case.bundle.pieces(name))
    if found == expected:
        return
    at = first_difference(expected, found)
    texts = [piece[at:].decode(errors="replace") for piece in (expected, found)]
    raise disagreement("figures.files", f"{name}: from byte {at} on", *texts)
