"""Audit steps 7 to 9: the retired tasks are those that were committed to before any run used them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from vault.commitment import commitment, opens
from vault.errors import Broken
from vault.ledger.audit.evidence import AuditedTask, AuditState
from vault.ledger.audit.log_steps import Outcome
from vault.ledger.release import contents
from vault.ledger.statements.history import LoggedStatement, listed
from vault.ledger.statements.jcs import canonical, parse_canonical
from vault.ledger.statements.leaf import sha256_hex
from vault.ledger.statements.shape import DocumentShape, matching, one_of, positive

_REVIEW_ONE_IN = 20  # more withdrawn tasks than this share of a cohort ask for a review
_COHORTS = 4

_NEEDED: Mapping[str, DocumentShape] = {
    "id": matching(r"t-[a-z2-7]{16}", "a task's id"),
    "server": matching(r"[a-z0-9-]{1,64}", "a server's name"),
    "category": one_of("single-tool", "composition", "recovery"),
    "difficulty": one_of("easy", "medium", "hard"),
    "max_steps": positive,
}


def commitments(case: AuditState) -> Outcome:
    """7. Every task that retired, or was withdrawn and is due, opens the commitment that its `commit` leaf made."""
    case.tasks, case.withdrawn = {}, {}
    stated = case.retired.statement.predicate["tasks"]
    withdrawn = [{"id": e.statement.name, "commitment": e.digest} for e in case.history.opened_with(case.retired)]
    if (contents.WITHDRAWN in case.bundle.manifest["files"]) != bool(withdrawn):
        due = ", ".join(task["id"] for task in withdrawn) or "none"
        raise Broken(
            f"{contents.WITHDRAWN} opens what was withdrawn; by the log that is {due}",
            where=f"{contents.MANIFEST}: $.files",
            expected=[name for name in (contents.WITHDRAWN,) if withdrawn],
            found=[name for name in (contents.WITHDRAWN,) if not withdrawn],
        )
    files = [
        (contents.TASKS, stated, case.tasks),
        *([(contents.WITHDRAWN, withdrawn, case.withdrawn)] if withdrawn else []),
    ]
    openings = case.bundle.lines(contents.OPENINGS, contents.OPENING_LINE)
    provenance = variants = 0
    for name, wanted, into in files:
        for number, (says, line) in enumerate(zip_longest(wanted, case.bundle.raw_lines(name)), 1):
            opening = next(openings, None)
            if says is None or line is None or opening is None:
                raise Broken(
                    f"the log, {name} and {contents.OPENINGS} differ in length from {number}",
                    where=f"line {number} of {name}",
                    expected={"task": says and says["id"]},
                    found={"line": line, "opening": opening and opening[0]},
                )
            into[says["id"]] = _open(case, f"line {number} of {name}", says, line, opening[1])
            provenance += _open_provenance(case, opening[1])
            variants += "variant_key" in opening[1]
    if (opening := next(openings, None)) is not None:
        raise Broken(
            f"{contents.OPENINGS} has more lines than there are tasks",
            where=f"line {len(case.tasks) + len(case.withdrawn) + 1} of {contents.OPENINGS}",
            found=opening[1],
        )
    remarks = f"; {provenance} of them open their provenance" if provenance else ""
    remarks += f"; {variants} were served in variants, whose keys are those committed to" if variants else ""
    remarks += f"; {len(withdrawn)} of them left early" if withdrawn else ""
    return "proved", f"{len(case.tasks) + len(withdrawn)} tasks open their commitments, byte for byte{remarks}"


def promise(case: AuditState) -> Outcome:
    """8. What retired is what was promised - withdrawn + refills, in that order, and a quarter of the set."""
    at = case.retired.index
    members = case.history.members(case.cohort, at)
    retired = list(case.tasks)
    if retired != members:
        place = next(i for i, pair in enumerate(zip_longest(retired, members)) if pair[0] != pair[1])
        raise Broken(
            f"task {place + 1} of {case.cohort} should be {_at(members, place)}, it is {_at(retired, place)}",
            where=f"{contents.TASKS}: $.id of all lines",
            expected=members,
            found=retired,
        )
    case.history.require_refills(case.retired, {name: task.stratum for name, task in case.withdrawn.items()})
    recomputed = case.history.require_roots(case.cohort)
    _require_quarter(case)
    _require_strata(case)
    withdrawn = case.history.withdrawn(case.cohort)
    withdrawals = f"; {len(withdrawn)} were withdrawn" if withdrawn else ""
    review = "; more than 5 % were withdrawn: review" if len(withdrawn) * _REVIEW_ONE_IN > len(members) else ""
    roots = f"; {recomputed} set roots could be recomputed" if recomputed else ""
    return (
        "proved",
        f"the {len(members)} retired tasks are the promised ones in the promised order{withdrawals}{review}{roots}",
    )


def order(case: AuditState) -> Outcome:
    """9. Every run that used the cohort names a set and a checkpoint that already covered its tasks' commitments."""
    count = 0
    for run in case.history.runs.values():
        if case.cohort in run.open.statement.predicate["cohorts"]:
            _require_order(case, run.open)
            count += 1
    return "proved", f"the commitments stand before each of the {count} runs that used them, and under its checkpoint"


def _open(case: AuditState, what: str, says: Mapping[str, Any], line: bytes, opening: Mapping[str, Any]) -> AuditedTask:
    document = parse_canonical(line, what)
    if not isinstance(document, dict):
        raise Broken(f"{what} is no task", where=what, expected="an object", found=document)
    for key, shape in _NEEDED.items():
        shape(document.get(key), f"{what}: $.{key}")
    name = document["id"]
    if not name == opening["id"] == says["id"]:
        raise Broken(
            f"{what} is {name}, its opening is of {opening['id']}, the log names {says['id']}",
            where=f"{what}: $.id",
            expected=says["id"],
            found={"task": name, "opening": opening["id"]},
        )
    if name in case.tasks or name in case.withdrawn:
        raise Broken(f"{name} stands twice, again in {what}", where=f"{what}: $.id", found=name)
    digest = sha256_hex(line)
    if digest != says.get("sha256", digest):
        raise Broken(
            f"{name} has the sha256 {digest}, the retire statement says {says['sha256']}",
            where=f"{what}: sha256",
            expected=says["sha256"],
            found=digest,
        )
    commit = case.history.commit_of(name, case.retired.index)
    if commit.index != opening["commit"]:
        raise Broken(
            f"{name} is committed to at leaf {commit.index}, its opening says {opening['commit']}",
            where=f"{contents.OPENINGS}: $.commit of {name}",
            expected=commit.index,
            found=opening["commit"],
        )
    if not commit.digest == opening["commitment"] == says["commitment"]:
        raise Broken(
            f"{name} has the commitment {commit.digest} at leaf {commit.index}, {says['commitment']} where it "
            f"leaves, {opening['commitment']} in its opening",
            where=f"the commitment of {name}",
            expected=commit.digest,
            found={"leaves": says["commitment"], "opening": opening["commitment"]},
        )
    salt = bytes.fromhex(opening["salt"])
    if not opens("commit", line, salt, bytes.fromhex(commit.digest)):
        raise Broken(
            f"{name} and its salt {opening['salt']} do not open the commitment {commit.digest}",
            where=f"{what}: the commitment to it",
            expected=commit.digest,
            found=commitment("commit", line, salt),
        )
    _require_variant_key(document, opening)
    if opening["canary"] != case.bundle.manifest["canary"]:
        raise Broken(
            f"the opening of {name} bears the canary {opening['canary']}, which is not this release's",
            where=f"{contents.OPENINGS}: $.canary of {name}",
            expected=case.bundle.manifest["canary"],
            found=opening["canary"],
        )
    stratum = f"{document['server']}/{document['category']}/{document['difficulty']}"
    return AuditedTask(digest, stratum, document["category"], document["max_steps"])


def _require_variant_key(document: Mapping[str, Any], opening: Mapping[str, Any]) -> None:
    """A task's document names the SHA-256 of its variant key, if it has one, so the key was chosen before any run."""
    stated, key = document.get("variant_key"), opening.get("variant_key")
    computed = sha256_hex(bytes.fromhex(key)) if key is not None else None
    if computed != stated:
        raise Broken(
            f"{document['id']} was committed to with the variant key of sha256 {stated}, its opening gives one of "
            f"{computed}",
            where=f"{contents.OPENINGS}: the sha256 of $.variant_key of {document['id']}",
            expected=stated,
            found=computed,
        )


def _open_provenance(case: AuditState, opening: Mapping[str, Any]) -> bool:
    document, salt = opening["provenance"], opening["provenance_salt"]
    if document is None and salt is None:
        return False
    if document is None or salt is None:
        raise Broken(
            f"the provenance of {opening['id']} is opened by half: it needs the document and its salt",
            where=f"{contents.OPENINGS}: $.provenance and $.provenance_salt of {opening['id']}",
            found=[document, salt],
        )
    stated = case.history.commits[opening["id"]].statement.predicate["provenance"]
    if not opens("provenance", canonical(document), bytes.fromhex(salt), bytes.fromhex(stated)):
        raise Broken(
            f"the provenance of {opening['id']} and its salt do not open the commitment {stated}",
            where=f"{contents.OPENINGS}: the commitment to $.provenance of {opening['id']}",
            expected=stated,
            found=commitment("provenance", canonical(document), bytes.fromhex(salt)),
        )
    return True


def _require_quarter(case: AuditState) -> None:
    """A gap that a withdrawal left is counted as the task that was promised."""
    promised = case.history.last_set(case.retired.index)
    item = listed(promised, case.cohort)
    if item is None or item["retires"] != case.month:
        raise Broken(
            f"the set at leaf {promised.index} does not promise {case.cohort} for {case.month}",
            where=f"leaf {promised.index}: $.retires of {case.cohort}",
            expected=case.month,
            found=item and item["retires"],
        )
    says = promised.statement.predicate
    gaps = {cohort["id"]: case.history.gaps(cohort["id"], promised.index) for cohort in says["cohorts"]}
    own, count = item["count"] + gaps[case.cohort], says["count"] + sum(gaps.values())
    if abs(_COHORTS * own - count) > _COHORTS:
        raise Broken(
            f"{own} tasks retire of {count}: that is not a quarter within one task",
            where=f"the number of tasks that retire of {count}",
            expected=f"{-(-(count - _COHORTS) // _COHORTS)} to {(count + _COHORTS) // _COHORTS}",
            found=own,
        )


def _require_strata(case: AuditState) -> None:
    """A refill must be of the stratum whose reserve it stood in."""
    opened = {**case.tasks, **case.withdrawn}
    stratum_of = {case.history.commits[name].digest: task.stratum for name, task in opened.items()}
    for entry in case.history.of("set"):
        for stratum, reserve in entry.statement.predicate["reserve"].items():
            for item in reserve:
                if stratum_of.get(item, stratum) != stratum:
                    raise Broken(
                        f"the reserve of {stratum} at leaf {entry.index} held a task of {stratum_of[item]}",
                        where=f"leaf {entry.index}: $.predicate.reserve: the stratum of {item}",
                        expected=stratum,
                        found=stratum_of[item],
                    )


def _require_order(case: AuditState, opened: LoggedStatement) -> None:
    says = opened.statement.predicate
    who = f"run {says['run']} at leaf {opened.index}"
    if opened.index > case.retired.index:
        raise Broken(
            f"{who} was served {case.cohort} after it retired at leaf {case.retired.index}",
            where=f"the index of {who}",
            expected=f"0 to {case.retired.index - 1}",
            found=opened.index,
        )
    promised = case.history.last_set(opened.index)
    if promised.digest != says["set"]:
        raise Broken(
            f"{who} names the set {says['set']}, the last one is {promised.digest} at leaf {promised.index}",
            where=f"leaf {opened.index}: $.predicate.set",
            expected=promised.digest,
            found=says["set"],
        )
    covered = says["checkpoint"]["size"]
    if promised.index >= covered:
        raise Broken(
            f"{who} names a checkpoint of size {covered}, which does not cover its set at {promised.index}",
            where=f"leaf {opened.index}: $.predicate.checkpoint.size",
            expected=f"{promised.index + 1} or more",
            found=covered,
        )
    for name in says["cohorts"]:
        if listed(promised, name) is None:
            raise Broken(
                f"{who} was served {name}, which the set at leaf {promised.index} does not list",
                where=f"leaf {opened.index}: $.predicate.cohorts",
                expected=[item["id"] for item in promised.statement.predicate["cohorts"]],
                found=name,
            )
    for task in case.history.members(case.cohort, opened.index):
        case.history.commit_of(task, covered)


def _at(names: list[str], place: int) -> str:
    return names[place] if place < len(names) else "no task"
