"""Import of hand-written tasks from JSON lines of `{"task": {...}, "provenance": {...}}`.

1. every line is read and checked before anything is started
2. every task goes through the admission gates, by execution
3. all of them are kept, or none
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grammars.admission.gates import Admission, admit
from grammars.admission.store import Drafts
from grammars.draw.variants import base
from grammars.language.grammar import Draft
from rotation.errors import Malformed, NotFound, Refused
from rotation.generation.known_tasks import KnownTasks
from rotation.generation.server_digests import with_server_digests
from rotation.generation.yield_stats import kept_out
from sandbox.boxes.box import Box
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.errors import SandboxError
from sandbox.kinds.common.check import check
from sandbox.runs.job import Terms
from sandbox.runs.prover import BoxProver
from sandbox.runs.task_world import seed
from sandbox.servers.registry import SERVERS
from vault.canonical import parse_object
from vault.schema import Schema
from vault.store.tasks import TaskRecord, Vault
from vault.task.document import Task
from verifiers.language import predicate

MAX_LINE = 1024 * 1024

_TEXT = {"type": "string", "minLength": 1, "maxLength": 200}
_CALL = {
    "type": "object",
    "required": ["tool", "arguments"],
    "properties": {"tool": _TEXT, "arguments": {"type": "object"}},
    "additionalProperties": False,
}
_SOLUTION = {
    "type": "object",
    "required": ["name", "calls", "answer"],
    "properties": {"name": _TEXT, "calls": {"type": "array", "items": _CALL}, "answer": {"type": ["string", "null"]}},
    "additionalProperties": False,
}
_MUTANT = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": _TEXT, "server": _TEXT, "change": {"type": "object"}, "answer": {"type": "string"}},
    "additionalProperties": False,
}
_LINE = Schema(
    {
        "type": "object",
        "required": ["task", "provenance"],
        "additionalProperties": False,
        "properties": {
            "task": {"type": "object"},
            "provenance": {
                "type": "object",
                "required": ["template", "skeleton", "solutions", "mutants"],
                "properties": {
                    "template": _TEXT,
                    "skeleton": _TEXT,
                    "solutions": {"type": "array", "minItems": 1, "items": _SOLUTION},
                    "mutants": {"type": "array", "items": _MUTANT},
                    "given": {"type": "array"},
                },
            },
        },
    }
)


def read_drafts(data: bytes, what: str) -> list[Draft]:
    """Read and check the lines; nothing is executed.

    Raises:
        Malformed: a line cannot be understood; the message gives its number and the place in it.
    """
    drafts: dict[str, Draft] = {}
    for number, line in enumerate(_lines(data, what), 1):
        place = f"{what}, line {number}"
        draft = _draft(line, place)
        if "partial" in draft.provenance:
            raise Malformed(
                f"{place}: $.provenance.partial: the task was converted in part only; complete its predicate by the "
                "list there, then take `partial` out"
            )
        if drafts.setdefault(draft.id, draft) is not draft:
            raise Malformed(f"{place}: the task {draft.id} stands in the file twice")
    return list(drafts.values())


def read_draft(data: bytes, what: str, number: int = 1) -> Draft:
    """Read and check one of the lines, whatever the others hold; nothing is executed.

    Args:
        data: the whole file.
        what: what to call it in messages.
        number: which line, from 1.

    Raises:
        Malformed: the line cannot be understood; the message gives its number and the place in it.
        NotFound: the file has fewer lines.
    """
    lines = _lines(data, what)
    if number > len(lines):
        raise NotFound(f"{what} ends with line {len(lines)}: it has no line {number}")
    return _draft(lines[number - 1], f"{what}, line {number}")


def _lines(data: bytes, what: str) -> list[bytes]:
    lines = data.splitlines()
    if not lines:
        raise Malformed(f"{what} is empty")
    return lines


def _draft(line: bytes, place: str) -> Draft:
    document = parse_object(line, place, max_size=MAX_LINE)
    _LINE.require(document, place)
    draft = Draft(document["task"], {"given": [], **document["provenance"]})
    _check(draft, place)
    return draft


class KeptOut(Refused):
    """Some drafts stayed out at a gate, so none was kept.

    Attributes:
        failures: for each of these drafts its line, id and failed gates, and for each solution that failed what went
            wrong (`grammars.admission.solution_failure`). It quotes the tasks; the message does not.
    """

    def __init__(self, message: str, failures: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message)
        self.failures = failures


class TaskImport:
    """Import into one home.

    Args:
        vault: the sealed tasks.
        drafts: keeps what was imported.
        known: what it must differ from.
    """

    def __init__(
        self,
        vault: Vault,
        drafts: Drafts,
        known: KnownTasks,
        claims: Callable[[], ClaimJudge | None] = lambda: None,
    ) -> None:
        self._vault, self._drafts, self._known, self._claims = vault, drafts, known, claims

    def take_in(self, drafts: Sequence[Draft], *, box: Box, author: str) -> list[TaskRecord]:
        """Admit drafts that were read, and keep all of them or none.

        Raises:
            KeptOut: some drafts stayed out at a gate; nothing was kept.
            Refused: a task of a draft's id is known; nothing was kept.
        """
        self.refuse_known(drafts)
        prover = BoxProver(box, Terms(claims=self._claims()))
        others = self._known.index(who=author)
        drafts = [with_server_digests(draft) for draft in drafts]
        admitted = [(draft, admit(draft, prover, others)) for draft in drafts]
        for draft, admission in admitted:
            for gate in admission.failed:
                failures = [_failure(number, *pair) for number, pair in enumerate(admitted, 1) if not pair[1].ok]
                raise KeptOut(f"task {admission.task_id} stays out at {kept_out(draft, gate)}", failures)
        return self._drafts.keep_all(admitted, author=author, public_grammar=False)

    def refuse_known(self, drafts: Sequence[Draft]) -> None:
        """Refuse drafts whose ids are taken, before anything is executed.

        Raises:
            Refused: the message names the first.
        """
        for draft in drafts:
            if self._vault.has(draft.id):
                raise Refused(f"there is a task {draft.id} already; nothing was kept")


def _failure(number: int, draft: Draft, admission: Admission) -> dict[str, Any]:
    solutions = admission.evidence.get("solutions", {}).items()
    return {
        "line": number,
        "id": draft.id,
        "gates": [{"number": gate.number, "name": gate.name, "detail": gate.detail} for gate in admission.failed],
        "solutions": {name: played["failure"] for name, played in solutions if "failure" in played},
    }


def _check(draft: Draft, place: str) -> None:
    task = Task.parse(draft.task, f"{place}: the task").base()
    try:
        seed(task.document)
    except SandboxError as error:
        raise Malformed(f"{place}: {error}") from None
    predicate.parse(task.success_predicate, f"{place}: $.success_predicate")
    for index, mutant in enumerate(base(draft).provenance["mutants"]):
        _check_mutant(mutant, f"{place}: $.provenance.mutants[{index}]")


def _check_mutant(mutant: Mapping[str, Any], place: str) -> None:
    if "answer" in mutant:
        return
    if not {"server", "change"} <= mutant.keys():
        raise Malformed(f"{place} needs another answer, or a server and a change")
    if mutant["server"] not in SERVERS:
        raise Malformed(f"{place}.server is none of {', '.join(SERVERS)}")
    try:
        check(SERVERS[mutant["server"]].mutations, mutant["change"], f"{place}.change")
    except SandboxError as error:
        raise Malformed(str(error)) from None
