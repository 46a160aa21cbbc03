"""Check of an evidence document: what is said of a submitter's run, against the statements of the log.

The argument, and what each step stops:

 1. the run's opening opens its `run-open` leaf           a run of somebody else
 2. the result lies under the score's results root        a result that was not bound when the run ended
 3. the transcript opens the result's commitment          a transcript that was written for the accusation
 4. the variant key is the one that the task names        a key that was made to fit a text
 5. the recipients are those of the opened runs           an innocent recipient who is left out
 6. the variant of this submitter is what was served      a text of another submitter

The number and the kind of the finding only say where the operator's list has it: nothing binds them. Whether what was
done in a transcript was dishonest is for people to judge. Pure: plain values in, sentences out; standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any

from vault.commitment import commitment
from vault.errors import Broken
from vault.ledger.release.contents import EVIDENCE, FORMS
from vault.ledger.statements.forms import require_form
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.rules import disagreement
from vault.ledger.statements.statement import Statement
from vault.ledger.tree.merkle import leaf_hash, verify_inclusion
from vault.task.variant import assigned, filled, first

FREE = {"*text": {"from": ["text"]}}

_NOT_SERVED = ("free", "variant_key")


def check_accusation(
    evidence: Mapping[str, Any],
    task: Mapping[str, Any],
    opened: Statement,
    score: Statement,
    recipients: Collection[tuple[str, str]],
) -> Sequence[str]:
    """Check one evidence document; gives a sentence for each step of the argument.

    Args:
        evidence: the document.
        task: the task as it was committed to, opened by a release.
        opened: the run's `run-open` statement, from a proven log.
        score: its `score` statement, likewise.
        recipients: (submitter, month) of every run that was opened while the task was in its set.

    Raises:
        Malformed: it is no evidence document.
        Broken: it does not hold.
    """
    require_form(FORMS[EVIDENCE], evidence, "the evidence")
    result, says, run = evidence["result"], opened.predicate, evidence["run"]
    submitter, month = evidence["opening"]["submitter"], says["month"]
    _same("run", run, says["run"], score.predicate["run"], result["run"])
    _same("task", evidence["task"], task.get("id"), result["task"])
    _require_opening("run-open", evidence["opening"], evidence["opening_salt"], opened.digest)  # 1
    yes = [f"run {run} is one of {submitter} in {month}"]
    bound = commitment("result", canonical(result), bytes.fromhex(evidence["salt"]))  # 2
    proof, root = list(map(bytes.fromhex, evidence["proof"])), bytes.fromhex(score.predicate["results_root"])
    try:
        verify_inclusion(leaf_hash(bound), evidence["position"], score.predicate["count"], proof, root)
    except Broken as error:
        _same("inclusion proof", str(error), root)
    yes.append(f"its result on {evidence['task']} was bound when it ended")
    transcript = evidence["transcript"]
    _require_opening("transcript", transcript, evidence["transcript_salt"], result["transcript"])  # 3
    _same("number of calls", result["calls"], len(transcript["attempts"][-1]["calls"]) if transcript["attempts"] else 0)
    yes.append(f"its transcript was bound with it (calls: {result['calls']})")
    free, who = _free(evidence, task), (submitter, month)  # 4
    _same("recipients", recipients_of(evidence), sorted(recipients) if "recipients" in evidence else [])  # 5
    _same("place of its submitter among the recipients", [who], [other for other in recipients if other == who])
    values = {other: _values(evidence, free, other) for other in recipients}
    served = filled({name: part for name, part in task.items() if name not in _NOT_SERVED}, values[who])
    _same("SHA-256 of the task as it was served", transcript["served"], sha256(canonical(served)).hexdigest())  # 6
    _same("goal", transcript["goal"], served.get("goal"))
    if "variant_key" not in evidence:
        return [*yes, "the task was served alike to everybody"]
    others = sum(shown == values[who] for shown in values.values()) - 1
    return [*yes, f"it was served the variant of {submitter} in {month}, which is that of {others} other recipients"]


def recipients_of(evidence: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the recipients that an evidence document lists."""
    return [(item["submitter"], item["month"]) for item in evidence.get("recipients", ())]


def _free(evidence: Mapping[str, Any], task: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the choices of a task, whose variant key the evidence has to name."""
    require_form(FREE, task.get("free", {}), "the task: $.free")
    free = {name: choice["from"] for name, choice in task.get("free", {}).items()}
    _same("list of choices", [name for name, choices in free.items() if not choices], [])
    _same("variant key's presence", "variant_key" in evidence, "recipients" in evidence, "variant_key" in task)
    if "variant_key" in evidence:
        _same(
            "SHA-256 of the variant key",
            sha256(bytes.fromhex(evidence["variant_key"])).hexdigest(),
            task["variant_key"],
        )
    return free


def _values(evidence: Mapping[str, Any], free: Mapping[str, list[str]], who: tuple[str, str]) -> dict[str, str]:
    """Return the choices that a recipient was shown."""
    if "variant_key" not in evidence:
        return first(free)
    return assigned(bytes.fromhex(evidence["variant_key"]), *who, free)


def _require_opening(label: str, payload: Mapping[str, Any], salt: str, expected: str | None) -> None:
    _same(f"{label} commitment", commitment(label, canonical(payload), bytes.fromhex(salt)).hex(), expected)


def _same(what: str, found: Any, *expected: Any) -> None:
    for value in expected:
        if value != found:
            where = f"the evidence: {what}"
            message = f"the evidence does not hold: its {what} differs"
            raise disagreement("evidence.holds", where, value, found).with_message(message)
