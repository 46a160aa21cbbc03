"""Audit step about the tasks: they are those that were committed to before any run used them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from itertools import zip_longest
from typing import Any

from vault.commitment import commitment
from vault.ledger.audit.accusation import FREE
from vault.ledger.audit.audit_state import AuditedTask, AuditState, Outcome
from vault.ledger.release.contents import BROKEN, OPENINGS, TASK, TASKS, WITHDRAWN
from vault.ledger.statements.forms import Form, require_form
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.rules import agree, disagreement, require
from vault.task.variant import PLACEHOLDER

_OBJECTS: Form = ["object"]
_DOUBT_ONE_IN = 20  # more withdrawn tasks than this share of a cohort are a doubt


def check_tasks(case: AuditState) -> Outcome:
    """Check that every task which retired, or was withdrawn and is due, opens its commitment."""
    case.tasks, case.withdrawn = {}, {}
    openings = case.bundle.lines(OPENINGS)
    withdrawals = case.retired.withdrawals
    due = [{"id": i.leaf.name, "commitment": i.leaf.digest, "cause": i.leaf.says["cause"]} for i in withdrawals]
    _require_file(case, WITHDRAWN, [item["id"] for item in due])
    for name, wanted, opened in (
        (TASKS, case.retired.leaf.says["tasks"], case.tasks),
        (WITHDRAWN, due, case.withdrawn),
    ):
        lines = case.bundle.lines(name) if name in case.bundle.manifest["files"] else ()
        for says, line in zip_longest(wanted, lines):
            opening = next(openings, None)
            if says is None or line is None or opening is None:
                found = {"line": line and line[0], "opening": opening and opening[0]}
                where, wanted_id = f"{name} and {OPENINGS}", says and says["id"]
                raise disagreement("task.lines", where, wanted_id, found)
            opened[says["id"]] = _open(case, says, line, opening)
    if extra := next(openings, None):
        raise disagreement("task.lines", extra[0], None, extra[2]["id"])
    _require_reserves(case)
    _require_broken(case)
    doubts = _doubt_share(case)
    count = len(case.tasks) + len(case.withdrawn)
    left = f"; {len(case.withdrawn)} of them were withdrawn" if case.withdrawn else ""
    shown = f", {len(case.broken)} as broken, as is shown" if case.broken else ""
    return "proved", f"{count} tasks open their commitments, byte for byte{left}{shown}{doubts}"


def _open(
    case: AuditState,
    says: Mapping[str, Any],
    line: tuple[str, bytes, Any],
    opening: tuple[str, bytes, Any],
) -> AuditedTask:
    where, data, document = line
    place, _, opened = opening
    for key, form in TASK.items():
        require_form(form, document.get(key), f"{where}: $.{key}")
    name = document["id"]
    agree("task.lines", f"{where}: $.id", says["id"], name)
    agree("task.lines", f"{place}: $.id", says["id"], opened["id"])
    digest = sha256(data).hexdigest()
    agree("task.bytes", f"{where}: sha256", says.get("sha256", digest), digest)
    commit = case.log.commits[name]
    agree("task.lines", f"{place}: $.commit", commit.index, opened["commit"])
    agree("task.commitment", f"{place}: $.commitment", commit.digest, opened["commitment"])
    require_opens("task.commitment", "commit", (data, opened["salt"]), commit.digest, where)
    key = opened.get("variant_key")
    key_digest = sha256(bytes.fromhex(key)).hexdigest() if key else None
    stated_key = document.get("variant_key")
    agree("task.variant", f"{place}: the sha256 of $.variant_key", stated_key, key_digest)
    agree("task.canary", f"{place}: $.canary", case.bundle.manifest["canary"], opened["canary"])
    provenance, salt = opened["provenance"], opened["provenance_salt"]
    agree("task.provenance", f"{place}: $.provenance_salt", provenance is None, salt is None)
    if provenance is not None:
        stated = commit.says["provenance"]
        pair = canonical(provenance), salt
        require_opens("task.provenance", "provenance", pair, stated, place)
    shows = provenance is not None and says.get("cause") == "broken"
    played = _played(document.get("free", {}), provenance, place) if shows else None
    stratum = f"{document['server']}/{document['category']}/{document['difficulty']}"
    return AuditedTask(digest, stratum, document["category"], document["max_steps"], played)


def _played(free: Any, provenance: Mapping[str, Any], place: str) -> list[Any]:
    """Return calls and answer of each committed solution, with the first choice of what is free."""
    require_form(FREE, free, f"{place}: $.free of its task")
    first = {name: choice["from"][0] for name, choice in free.items() if choice["from"]}
    solutions, where = provenance.get("solutions", []), f"{place}: $.provenance.solutions"
    require_form(_OBJECTS, solutions, where)
    played = []
    for solution in solutions:
        require_form(_OBJECTS, calls := solution.get("calls"), f"{where}: $.calls")
        plain = [{"tool": call.get("tool"), "arguments": call.get("arguments", {})} for call in calls]
        played.append([plain, solution.get("answer")])
    text = PLACEHOLDER.sub(
        lambda match: canonical(first.get(match[1], match[0])).decode()[1:-1], canonical(played).decode()
    )
    return list(json.loads(text))


def require_opens(rule: str, label: str, opening: tuple[bytes, str], stated: str, where: str) -> None:
    """Check that a payload and its salt (hex) open a commitment (hex)."""
    computed = commitment(label, opening[0], bytes.fromhex(opening[1]))
    agree(rule, f"{where}: the commitment", stated, computed.hex())


def _require_file(case: AuditState, name: str, wanted: list[str]) -> None:
    """Check that a file is there if and only if it has something to open."""
    found = name if name in case.bundle.manifest["files"] else None
    require("task.lines", bool(found) == bool(wanted), name, wanted, found)


def _require_reserves(case: AuditState) -> None:
    """Check that each refill came from the stratum of the task that it replaced, if any was left.

    Also that each set in which an opened task was live names its server.
    """
    strata = {name: task.stratum for name, task in (case.tasks | case.withdrawn).items()}
    for entry in case.log.sets:
        live = {task for item in entry.says["cohorts"] for task in item["tasks"]}
        for server in sorted({strata[task].split("/")[0] for task in live & strata.keys()}):
            require("set.servers", server in entry.says["servers"], entry.at("servers"), server)
        for stratum, digests in entry.says["reserve"].items():
            for digest in digests:
                found = strata.get(case.log.task_of[digest], stratum)
                agree("task.reserve", entry.at("reserve"), stratum, found)
    for item in case.retired.withdrawals:
        refill = item.leaf.says["replacement"]
        found = case.log.commits[refill].digest if refill else None
        wanted = item.reserve.get(strata[item.leaf.name])
        agree("task.refill", item.leaf.at("replacement"), wanted, found)


def _require_broken(case: AuditState) -> None:
    """Check that each task withdrawn as broken is shown to be, by an end state to replay."""
    wanted = [i.leaf.name for i in case.retired.withdrawals if i.leaf.says["cause"] == "broken"]
    _require_file(case, BROKEN, wanted)
    shown = []
    for where, _, line in case.bundle.lines(BROKEN) if wanted else ():
        agree("task.broken", f"{where}: $.verdict", line["solution"] == "mutant", line["verdict"])
        task = case.withdrawn.get(line["task"])
        if task and task.played is not None:
            _require_played(task.played, line, where)
        shown.append(line["task"])
    agree("task.broken", f"{BROKEN}: $.task of all lines", wanted, shown)
    case.broken = set(shown)


def _require_played(solutions: list[Any], line: Mapping[str, Any], where: str) -> None:
    """Check that the calls are those of a committed solution; of a mutant, of the first one."""
    is_mutant, found = line["solution"] == "mutant", [line["calls"], line["answer"]]
    wanted = [[calls, line["answer"]] for calls, _ in solutions[:1]] if is_mutant else solutions
    is_one = canonical(found) in map(canonical, wanted)
    require("task.broken", is_one, f"{where}: $.calls and $.answer", wanted, found)


def _doubt_share(case: AuditState) -> str:
    """Doubt a cohort of which more than one task in twenty was withdrawn; this comes first."""
    own = [i for i in case.retired.withdrawals if i.cohort == case.cohort]
    count = len(case.tasks) + sum(item.leaf.says["replacement"] is None for item in own)
    if len(own) * _DOUBT_ONE_IN <= count:
        return ""
    found = {item.leaf.name: item.leaf.says["cause"] for item in own}
    where, most = f"the withdrawals from {case.cohort}", f"0 to {count // _DOUBT_ONE_IN}"
    case.doubt("doubt.share", where, most, found)
    case.doubts.insert(0, case.doubts.pop())
    return f"; {len(own)} of {case.cohort} were withdrawn: see the doubts"
