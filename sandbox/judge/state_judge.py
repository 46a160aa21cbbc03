"""Judges what an agent left, in processes that hold no key: a reader for the bytes, a judge for the predicate.

    1. A reader is given the frozen state unchanged, and returns its normal form, which the runner does not parse.
    2. Where the predicate names own predicates of an added server, a judge of its own is given that server's normal
       form and its module, and returns the result of each of these; no other process runs the module.
    3. A judge is given the normal form, the predicate, the answer and these results, and returns that of each probe.
    4. Where the predicate compares with the state as the agent found it, or a probe broke, the untouched seed is read
       in the same way and handed to the judge too. Of a probe that broke the judge then tells whether the state did
       it, or it is a defect of ours. Where the reader could not read the state, it must be able to read the seed.
    5. Where a reader or judge dies or sends an invalid reply, or runs out of time or memory, it is asked once more,
       alone.
    6. If it dies again, the seed is read and judged. Where that works, the state that was left is what kills it, and
       counts against the agent. Where it does not, and where time or memory runs out again, the failure is ours:
       `Unjudged`. Where a judge of own predicates dies, these broke, as probes do (4); where it runs out of time or
       memory, they are unknown.

Seconds never decide: what a reading may cost is counted in steps and bytes (`verifiers.budget`).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sandbox.errors import Malformed, Unjudged
from sandbox.isolation.forkserver import ForkServer
from sandbox.judge import differences, said_values
from sandbox.judge import evidence as replies
from sandbox.judge.judge_requests import JudgeRequests, Question
from sandbox.judge.process import JUDGE, READER, JudgeFailed, Ready
from sandbox.results.said import SaidChoices
from sandbox.shared_lock import SharedLock
from sandbox.strict_json import strict_object
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState
from vault.errors import Malformed as NotStrict
from vault.task.variant import Free
from verifiers.language.verdict import Evidence, Verdict
from verifiers.states.difference import StateDifference

SECONDS = 20.0
"""How long one reader or judge may take, by the wall clock."""
WRECKED = "nobody can read the state that was left, and the untouched one can be read: it counts against the state"
MAX_DOCUMENT = 1 << 20
"""Bytes of a state that is given as a document."""
A_LOOK = 64


@dataclass(frozen=True, slots=True)
class Judgement:
    """Verdict with its evidence, and what it cost.

    Attributes:
        evidence: the predicate's evidence tree.
        seconds: by the wall clock, everything together.
        spent: the largest share of a budget that it took, from 0 to 1: steps or bytes of reading, or steps
            of judging.
        again: whether something had to be asked a second time, alone.
    """

    evidence: Evidence = field(repr=False)
    seconds: float
    spent: float
    again: bool = False

    @property
    def verdict(self) -> Verdict:
        """What the predicate came to."""
        return self.evidence.verdict


@dataclass(frozen=True, slots=True)
class MutatedCase:
    """One way in which a solution's end state is made wrong.

    Attributes:
        changes: what is changed (server, change).
        answer: the answer that is judged.
        replies: what a language model replied of each claim about it; None where none was asked.
    """

    changes: Sequence[tuple[str, Mapping[str, Any]]] = field(repr=False)
    answer: str | None = field(repr=False)
    replies: Mapping[str, str | None] | None = field(default=None, repr=False)


def as_it_is(state: FrozenState) -> FrozenState:
    """Read nothing back."""
    return state


class StateJudge:
    """Judges states; any number of threads may ask at a time.

    Every method raises:
        Unjudged: a reader or judge failed twice, for a reason of ours.
        Unavailable: none can be had.

    Args:
        reader: the fork server of readers.
        judge: the fork server of judges.
        seconds: how long each of their children may take.
    """

    def __init__(self, reader: ForkServer = READER, judge: ForkServer = JUDGE, seconds: float = SECONDS) -> None:
        self._reader, self._judge, self._seconds, self._turns = Ready(reader), Ready(judge), seconds, SharedLock()

    def warm(self) -> None:
        """Have a reader and a judge wait, and don't wait for them."""
        self._reader.warm()
        self._judge.warm()

    def verdict(
        self,
        question: Question,
        left: FrozenState,
        answer: str | None,
        seed: Callable[[], FrozenState],
        read_back: Callable[[FrozenState], FrozenState] = as_it_is,
    ) -> Judgement:
        """Judge what was left.

        Args:
            question: the predicate, and where to look.
            left: the frozen state.
            answer: what the agent said at the end.
            seed: gives the untouched state; only asked for where something broke, or the predicate compares with it.
            read_back: adds to a state what only its backends can read.

        Raises:
            Malformed: the state is none: no tar, or beyond the caps.
        """
        started, asking = time.monotonic(), self._asking()
        try:
            before = read_back(seed()) if question.needs_baseline else None
            reading = asking.reading(question, read_back(left), before)
            reply = asking.judge(question, answer, reading)
            if reply.unreadable:
                self._must_judge(question, read_back, seed)
            if reply.evidence.broken and before is None:
                reply = asking.judge(question, answer, reading, asking.reading(question, read_back(seed())))
        except JudgeFailed:
            self._must_judge(question, read_back, seed)
            reply = replies.CaseReply(replies.counted_against(question.predicate, WRECKED), 1.0, unreadable=True)
        return Judgement(reply.evidence, time.monotonic() - started, reply.spent, asking.again)

    def check(self, left: FrozenState, seed: Callable[[], FrozenState]) -> None:
        """Make sure that a state is one.

        Raises:
            Malformed: it is no tar, or beyond the caps, or kills its readers while the seed does not.
        """
        try:
            self._asking().reader("check", left.tar)
        except JudgeFailed as error:
            with _ours():
                self._asking().reader("check", seed().tar)
            raise Malformed(f"the state cannot be read: {error}") from None

    def extract(self, left: FrozenState, root: str) -> bytes:
        """Return one folder of a state as a tar, below its own name, for a fresh world.

        Raises:
            Malformed: the state is none.
            JudgeFailed: it kills its readers.
        """
        return self._asking().reader("extract", left.tar, root=root)

    def look(self, left: FrozenState, path: str) -> bytes:
        """Return the first bytes of one file of a state, at most 64; none where there is no such file.

        Raises:
            Malformed, JudgeFailed: as for `extract`.
        """
        return self._asking().reader("look", left.tar, path=path)[:A_LOOK]

    def in_reach(self) -> list[str]:
        """Name what no namespace keeps from readers on this machine: `files`, `networks`; their filter still does.

        Raises:
            JudgeFailed: they cannot say.
        """
        return [name for name in self._asking().reader("reach").decode("ascii", "replace").split(",") if name]

    def is_document(self, data: bytes) -> bool:
        """Say whether what a backend's reader wrote is a JSON object."""
        try:
            self._asking().reader("document", data)
        except (JudgeFailed, Malformed):
            return False
        return True

    def mutated(
        self,
        question: Question,
        left: FrozenState,
        cases: Sequence[MutatedCase],
        before: FrozenState | None = None,
    ) -> list[Evidence]:
        """Judge several wrong states made from a solution's end state, read by one process and judged by another.

        A predicate that compares with the untouched state needs that too.

        Raises:
            Malformed: a change is none that its server knows, or what it names is not in the state.
        """
        asking = self._asking()
        with _ours():
            changes = [list(case.changes) for case in cases]
            reading = asking.reading(question, left, before, do="mutate", changes=changes)
            return asking.cases(question, [(case.answer, case.replies) for case in cases], reading)

    def document(
        self, question: Question, left: FrozenState, changes: Sequence[tuple[str, Mapping[str, Any]]] = ()
    ) -> dict[str, Any]:
        """Return a solution's end state after some changes as a document (`verifiers.formats.state_document`).

        It holds the namespaces that the predicate looks at, and is no more than a line of a release may be.

        Raises:
            Malformed: a change does not fit the state; or the document is too large, or a name in it is no text.
        """
        with _ours():
            data = self._asking().document(question, left, changes)
        try:
            return strict_object(data, "the end state", max_size=MAX_DOCUMENT)
        except NotStrict:  # which would quote names of the state
            raise Malformed(
                f"the end state is no document: it has more than {MAX_DOCUMENT} bytes, too many entries, or a name "
                "that is no text"
            ) from None

    def mutants(
        self, question: Question, before: FrozenState, after: FrozenState, answer: str | None
    ) -> list[tuple[str, str, Verdict]]:
        """Return name, kind and verdict of every mutant of a solution's end state (`sandbox.mutations`).

        Of a predicate that compares with the untouched state also those of all damage (`verifiers.states.damage`).

        Raises:
            Malformed: a state is none.
        """
        return self._changed("mutants", question, before, after, answer)

    def twins(
        self, question: Question, before: FrozenState, after: FrozenState, answer: str | None
    ) -> list[tuple[str, str, Verdict]]:
        """Return name, kind and verdict of every twin of a solution's end state (`sandbox.mutations.twins`).

        The name of one that is not true says which predicate it fails.

        Raises:
            Malformed: a state is none.
        """
        return self._changed("twins", question, before, after, answer)

    def _changed(
        self, do: str, question: Question, before: FrozenState, after: FrozenState, answer: str | None
    ) -> list[tuple[str, str, Verdict]]:
        asking, common = self._asking(), {"predicate": question.document, "answer": answer}
        with _ours():
            reading = asking.reading(question, after, before, do=do, **common)
            header = {"do": "mutants", "namespaces": question.namespaces, "replies": question.replies, **common}
            return asking.judged(header, [reading], replies.parsed_mutants)

    def differences(
        self,
        question: Question,
        before: FrozenState,
        left: FrozenState,
        changes: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> dict[str, StateDifference]:
        """Compare what was left with what was there before, for people; no verdict rests on it.

        Args:
            question: its `roots` are the namespaces to compare, whatever its predicate looks at.
            before: the earlier state.
            left: the later one.
            changes: are made to it first (server, change).

        Raises:
            Malformed: a state is none, or a change does not fit it.
            JudgeFailed: a state kills its readers or judges.
        """
        asking, names = self._asking(), list(question.roots)
        earlier = asking.reading(question, before, looked_at=names)
        later = asking.reading(question, left, do="mutate", looked_at=names, changes=[list(changes)])
        header = {"do": "compare", "namespaces": question.namespaces}
        return asking.judged(header, [earlier, later], lambda part: differences.parsed(part, names))

    def said(self, free: Free, shown: Sequence[str], transcript: Transcript) -> tuple[SaidChoices, ...]:
        """Search a session for choices of free parameters that its agent said (`sandbox.judge.said_values`).

        Raises:
            JudgeFailed: the session kills its judges.
        """
        request = said_values.request(free, shown, transcript)
        return self._asking().verdicts({"do": "said"}, [request], lambda part: said_values.parsed(part, free))

    def _asking(self) -> JudgeRequests:
        return JudgeRequests(self._reader, self._judge, self._seconds, self._turns)

    def _must_judge(
        self,
        question: Question,
        read_back: Callable[[FrozenState], FrozenState],
        seed: Callable[[], FrozenState],
    ) -> None:
        """Make sure that the untouched state can be read and judged.

        Raises:
            Unjudged: it cannot, so what broke is ours.
        """
        asking = self._asking()
        with _ours():
            try:
                start = read_back(seed())
                reply = asking.judge(question, None, asking.reading(question, start, start))
            except Malformed as error:
                raise JudgeFailed(str(error)) from None
            if reply.evidence.broken or reply.unreadable:
                raise JudgeFailed("a probe breaks on it, or nobody can read it")


@contextmanager
def _ours() -> Iterator[None]:
    """Take what breaks in here, on a state of our own making, for a failure of ours."""
    try:
        yield
    except JudgeFailed as error:
        raise Unjudged(f"a reader or judge breaks on a state of our own making: {error}") from None


WORKER = secrets.token_hex(8)
"""Whoever judges in this process, by a name that says nothing else; sealed with each result."""
JUDGING = StateJudge()
"""Whom everybody asks in one process, so that who has to be alone is alone in it."""
