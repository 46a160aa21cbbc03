"""Audit steps 10 to 12 and 14: runs are closed and opened, and all figures follow from committed results."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from vault.commitment import commitment, opens
from vault.errors import Broken
from vault.ledger.audit.evidence import AuditState, OpenedRun
from vault.ledger.audit.log_steps import Outcome
from vault.ledger.audit.run_rules import require_attempts, require_served
from vault.ledger.release import contents
from vault.ledger.statements.history import LoggedRun, LoggedStatement
from vault.ledger.statements.jcs import canonical, shared
from vault.ledger.statements.results import counted, totals_of
from vault.ledger.tree.merkle import leaf_hash, verify_inclusion

_BEFORE, _BEHIND = b'"result":', b',"run":'  # of the result in a line of results.jsonl


class ResultLine(NamedTuple):
    """A line of `results.jsonl`: the result's bytes in it, and what all of it says."""

    result: bytes
    says: Mapping[str, Any]


def runs(case: AuditState) -> Outcome:
    """10. Every run before the retirement is closed, and each that used the cohort is opened to its pseudonym.

    A run is of a known track, of its set's month, and was served the cohorts of its track; attempts are in order.
    """
    for number, run in case.history.runs.items():
        require_served(case.history, run.open)
        _require_closed(case, number, run)
    lines = [shared(line) for _, line in case.bundle.lines(contents.RUNS, contents.RUN_LINE)]
    used = [n for n, run in sorted(case.history.runs.items()) if case.cohort in run.open.statement.predicate["cohorts"]]
    opened = [line["run"] for line in lines]
    if opened != used:
        raise Broken(
            f"{contents.RUNS} opens the runs {opened}, the log says that {used} were served {case.cohort}",
            where=f"{contents.RUNS}: $.run of all lines",
            expected=used,
            found=opened,
        )
    case.runs = [_opened(line, case.history.runs[line["run"]]) for line in lines]
    require_attempts(case.month, case.runs)
    scored = sum(run.scored for run in case.runs)
    later = [number for number, run in case.history.runs.items() if run.close is None]
    still = f"; opened since and not closed at this checkpoint: {later}" if later else ""
    return "proved", f"{len(lines)} runs used the cohort: {scored} scored, {len(lines) - scored} aborted{still}"


def results(case: AuditState) -> Outcome:
    """11. The retired cohort's results lie under each score's root, are complete, and add up to the totals."""
    groups = groupby(case.bundle.lines(contents.RESULTS, contents.RESULT_LINE), key=lambda item: item[1]["run"])
    scored = [run for run in case.runs if run.scored]
    count, case.counted, broken = 0, [], case.history.broken()
    for run in scored:
        number, lines = next(groups, (None, iter(())))
        rows = [ResultLine(_result_in(line), value) for line, value in lines]
        if number != run.line["run"]:
            raise Broken(
                f"{contents.RESULTS} should go on with run {run.line['run']}, it does with {number}",
                where=f"line {count + 1} of {contents.RESULTS}: $.run",
                expected=run.line["run"],
                found=number,
            )
        _require_results(case, run, rows)
        case.counted.append(counted(run.line["totals"], [row.says["result"] for row in rows], broken))
        count += len(rows)
    if stranger := next(groups, None):
        raise Broken(
            f"{contents.RESULTS} opens results of run {stranger[0]}, which has no score on {case.cohort}",
            where=f"line {count + 1} of {contents.RESULTS}: $.run",
            found=stranger[0],
        )
    return "proved", f"{count} results of {len(scored)} runs were bound in time, are all there, and give the totals"


def figures(case: AuditState) -> Outcome:
    """12. Aggregate, attestation and README follow from what was opened."""
    scored = [run.line["opening"] for run in case.runs if run.scored]
    rows = list(zip(scored, case.counted, strict=True))
    subjects = [(name, task.sha256) for name, task in case.tasks.items()]
    _require_same(case, contents.AGGREGATE, lambda: contents.aggregate(case.month, case.cohort, rows))
    _require_same(case, contents.ATTESTATION, lambda: [contents.attestation(case.month, case.cohort, subjects)])
    says = case.bundle.manifest
    also = {
        "page": contents.PAGE in says["files"],
        "withdrawn": bool(case.withdrawn),
        "broken": contents.BROKEN in says["files"],
    }
    text = contents.readme(case.month, case.cohort, says["origin"], says["canary"], **also)
    _require_same(case, contents.README, lambda: [text.encode()])
    broken = [entry for entry in case.history.withdrawn(case.cohort) if entry.statement.name in case.history.broken()]
    exception = f", without {len(broken)} broken tasks" if broken else ""
    return (
        "proved",
        f"the figures of {len(rows)} runs on {case.cohort} are those that follow from the results{exception}",
    )


def full_score(case: AuditState) -> Outcome:
    """14. A full score needs every cohort of its run: pending until the last one is opened."""
    last: dict[str, str] = {}
    for run in case.runs:
        if run.scored:
            says = run.run.open.statement.predicate
            month = max(name.removeprefix("cohort-") for name in says["cohorts"])
            last[says["month"]] = max(month, last.get(says["month"], ""))
    waiting = {month: until for month, until in sorted(last.items()) if until > case.month}
    if not waiting:
        return "proved", "no cohort of these runs is still private: with the earlier bundles every score is open"
    case.pending = max(waiting.values())
    pending_months = ", ".join(f"{month} pending until {until}" for month, until in waiting.items())
    return "pending", f"full scores need cohorts that are still private: {pending_months}"


def _result_in(line: bytes) -> bytes:
    """Take the result's canonical bytes out of a canonical line, where they stand: they were compared there already.

    Its neighbours are a list of hexadecimal digits before it and a run's number and more such digits behind it, so the
    first name before it and the last one behind it are those of the line, and never a part of the result.
    """
    return line[line.index(_BEFORE) + len(_BEFORE) : line.rindex(_BEHIND)]


def _require_closed(case: AuditState, number: int, run: LoggedRun) -> None:
    if run.close is None or run.close.index > case.retired.index:
        if run.open.index < case.retired.index:
            raise Broken(
                f"run {number}, opened at leaf {run.open.index}, has neither score nor abort before {case.cohort} "
                f"retires at leaf {case.retired.index}",
                where=f"the leaf that closes run {number}",
                expected=f"after {run.open.index} and before {case.retired.index}",
                found=run.close.index if run.close else None,
            )
        return
    opened, closed = run.open.statement.predicate, run.close.statement.predicate
    if closed["month"] != opened["month"] or closed.get("track", opened["track"]) != opened["track"]:
        raise Broken(
            f"run {number} opens and closes in another month or track: leaves {run.open.index}, {run.close.index}",
            where=f"leaf {run.close.index}: $.predicate.month and $.predicate.track",
            expected=[opened["month"], opened["track"]],
            found=[closed["month"], closed.get("track")],
        )
    if run.close.statement.kind == "abort" and run.close.digest != run.open.digest:
        raise Broken(
            f"the abort of run {number} at leaf {run.close.index} is not of the run at {run.open.index}",
            where=f"leaf {run.close.index}: $.subject[0].digest",
            expected=run.open.digest,
            found=run.close.digest,
        )


def _opened(line: Mapping[str, Any], run: LoggedRun) -> OpenedRun:
    number = line["run"]
    if run.close is None or (line["open"], line["close"]) != (run.open.index, run.close.index):
        raise Broken(
            f"the opening of run {number} names the leaves {line['open']} and {line['close']}, not its own",
            where=f"{contents.RUNS}: $.open and $.close of run {number}",
            expected=[run.open.index, run.close.index if run.close else None],
            found=[line["open"], line["close"]],
        )
    payload, salt = canonical(line["opening"]), bytes.fromhex(line["salt"])
    if not opens("run-open", payload, salt, bytes.fromhex(run.open.digest)):
        raise Broken(
            f"the opening of run {number} does not open {run.open.digest} at leaf {run.open.index}",
            where=f"{contents.RUNS}: the commitment to $.opening of run {number}",
            expected=run.open.digest,
            found=commitment("run-open", payload, salt),
        )
    opened = OpenedRun(line, run)
    if (line["totals"] is not None) != opened.scored or (line["totals_salt"] is not None) != opened.scored:
        raise Broken(
            f"run {number} must open totals exactly if it was scored",
            where=f"{contents.RUNS}: $.totals and $.totals_salt of run {number}",
            expected=[opened.scored, opened.scored],
            found=[line["totals"] is not None, line["totals_salt"] is not None],
        )
    return opened


def _require_results(case: AuditState, run: OpenedRun, rows: Sequence[ResultLine]) -> None:
    number, score = run.line["run"], _score(run)
    says, opened = score.statement.predicate, run.run.open
    named = opened.statement.predicate["cohorts"]
    _require_count(case, opened, says["count"])
    totals = sorted(item["cohort"] for item in says["totals"])
    if totals != sorted(named):
        raise Broken(
            f"the score of run {number} at leaf {score.index} has not one total for each of its cohorts",
            where=f"leaf {score.index}: $.predicate.totals",
            expected=sorted(named),
            found=totals,
        )
    members = case.history.members(case.cohort, opened.index)
    tasks = [row.says["result"]["task"] for row in rows]
    if sorted(tasks) != sorted(members):
        wrong = sorted(set(tasks) ^ set(members)) or ["a task twice"]
        raise Broken(
            f"run {number} must open one result for each task of {case.cohort}: see {wrong[0]}",
            where=f"{contents.RESULTS}: the tasks of run {number}",
            expected=sorted(members),
            found=sorted(tasks),
        )
    _require_tree_order(case, number, rows)
    root = bytes.fromhex(says["results_root"])
    for row in rows:
        _require_result(case, row, says["count"], root)
    _require_totals(case, run, score, [row.says["result"] for row in rows])


def _require_tree_order(case: AuditState, number: int, rows: Sequence[ResultLine]) -> None:
    places = [(case.history.commits[row.says["result"]["task"]].digest, row.says["position"]) for row in rows]
    if places != sorted(places) or len({place for _, place in places}) != len(places):
        raise Broken(
            f"the results of run {number} are not in the order of their tasks' commitments",
            where=f"{contents.RESULTS}: the commitments and positions of run {number}",
            expected="rising commitments, each at a position of its own",
            found=places,
        )
    if [place for _, place in places] != sorted(place for _, place in places):
        raise Broken(
            f"the positions of the results of run {number} do not rise with their tasks' commitments",
            where=f"{contents.RESULTS}: the positions of run {number}",
            expected=sorted(place for _, place in places),
            found=[place for _, place in places],
        )


def _require_result(case: AuditState, row: ResultLine, count: int, root: bytes) -> None:
    says, result = row.says, row.says["result"]
    who = f"the result of run {says['run']} on {result['task']}"
    if result["run"] != says["run"] or result["cohort"] != case.cohort:
        raise Broken(
            f"{who} says that it is of run {result['run']} on {result['cohort']}",
            where=f"{who}: $.result.run and $.result.cohort",
            expected=[says["run"], case.cohort],
            found=[result["run"], result["cohort"]],
        )
    task = case.tasks.get(result["task"]) or case.withdrawn.get(result["task"])
    if task and (result["category"], result["max_steps"]) != (task.category, task.max_steps):
        raise Broken(
            f"{who} says {result['category']} with {result['max_steps']} steps, the task {task.category} "
            f"with {task.max_steps}",
            where=f"{who}: $.result.category and $.result.max_steps",
            expected=[task.category, task.max_steps],
            found=[result["category"], result["max_steps"]],
        )
    if result["passed"] and result["verdict"] != "true":
        raise Broken(
            f"{who} is passed with the verdict {result['verdict']}",
            where=f"{who}: $.result.verdict",
            expected="true",
            found=result["verdict"],
        )
    if result["calls"] < result["unlisted"] or (result["passed"] and result["calls"] > result["max_steps"]):
        raise Broken(
            f"{who} is {'passed' if result['passed'] else 'failed'} with {result['calls']} calls, "
            f"{result['unlisted']} of them unlisted, of at most {result['max_steps']}",
            where=f"{who}: $.result.calls",
            expected=f"{result['unlisted']} to {result['max_steps']}",
            found=result["calls"],
        )
    bound = commitment("result", row.result, bytes.fromhex(says["salt"]))
    try:
        verify_inclusion(leaf_hash(bound), says["position"], count, list(map(bytes.fromhex, says["proof"])), root)
    except Broken as error:
        raise error.with_message(f"{who} is not under the results root {root.hex()}: {error}", who) from None


def _require_totals(
    case: AuditState, run: OpenedRun, score: LoggedStatement, rows: Sequence[Mapping[str, Any]]
) -> None:
    number, stated = run.line["run"], run.line["totals"]
    computed = totals_of(number, case.cohort, rows)
    if computed != stated:
        wrong = next(key for key in computed if computed[key] != stated[key])
        raise Broken(
            f"the results of run {number} give {wrong} = {computed[wrong]}, its totals say {stated[wrong]}",
            where=f"{contents.RUNS}: $.totals of run {number}",
            expected=computed,
            found=stated,
        )
    promised = next(t["commitment"] for t in score.statement.predicate["totals"] if t["cohort"] == case.cohort)
    if not opens("totals", canonical(stated), bytes.fromhex(run.line["totals_salt"]), bytes.fromhex(promised)):
        raise Broken(
            f"the totals of run {number} do not open {promised} at leaf {score.index}",
            where=f"{contents.RUNS}: the commitment to $.totals of run {number}",
            expected=promised,
            found=commitment("totals", canonical(stated), bytes.fromhex(run.line["totals_salt"])),
        )


def _require_count(case: AuditState, opened: LoggedStatement, count: int) -> None:
    named = opened.statement.predicate["cohorts"]
    wanted = sum(len(case.history.members(name, opened.index)) for name in named)
    if count != wanted:
        run = opened.statement.predicate["run"]
        raise Broken(
            f"run {run} was served {wanted} tasks, its score binds {count} results",
            where=f"the score of run {run}: $.predicate.count",
            expected=wanted,
            found=count,
        )


def _score(run: OpenedRun) -> LoggedStatement:
    if run.run.close is None:
        raise Broken(f"run {run.line['run']} has no score", where=f"the score of run {run.line['run']}")
    return run.run.close


def _require_same(case: AuditState, name: str, pieces: Callable[[], Iterable[bytes]]) -> None:
    """Compare a file with what it should be: by its digest in the manifest, and its bytes only where that differs."""
    digest = hashlib.sha256()
    for piece in pieces():
        digest.update(piece)
    if digest.hexdigest() == case.bundle.manifest["files"][name]["sha256"]:
        return
    actual, expected = case.bundle.whole(name), b"".join(pieces())
    at = next(
        (i for i, (a, b) in enumerate(zip(actual, expected, strict=False)) if a != b), min(len(actual), len(expected))
    )
    raise Broken(
        f"{name} differs from what was opened at byte {at}: {actual[at : at + 40]!r}, not {expected[at : at + 40]!r}",
        where=f"{name}: from byte {at} to the end",
        **_readable(expected=expected[at:], found=actual[at:]),
    )


def _readable(**pieces: bytes) -> dict[str, Any]:
    """Give pieces of files as text if all are, otherwise as they are."""
    try:
        return {name: piece.decode() for name, piece in pieces.items()}
    except UnicodeDecodeError:
        return dict(pieces)
