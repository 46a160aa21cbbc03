"""Requests to a reader or a judge, repeated once, alone, where the first one failed.

Running out of time or memory proves nothing about a state, and a process may be killed from outside; so neither counts
until it has happened twice, the second time with nothing else being read or judged in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sandbox.errors import Malformed, Unjudged
from sandbox.judge import evidence as replies
from sandbox.judge import message
from sandbox.judge.process import JudgeFailed, JudgeLimitExceeded, Ready, Started
from sandbox.shared_lock import SharedLock
from sandbox.world.frozen import FrozenState
from verifiers.language import predicate as predicates
from verifiers.language.predicate import Predicate
from verifiers.predicates import namespaces

MAX_READING = 130 * 1024 * 1024
"""Bytes of a reader's reply; more than a reader of ours gives (`sandbox.judge.reader`)."""
MAX_VERDICT = replies.MAX_BYTES + message.MAX_HEADER + message.LENGTH.size

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """Question about a final state: the predicate, and where to look.

    Attributes:
        document: the success predicate, as plain JSON values.
        predicate: the same, parsed.
        roots: for each namespace, its server's folder in the state.
        files: for a namespace whose server has its kind's one file under another name, that name and the kind's.
        replies: what a language model replied of each claim about the answer that is judged; None where none was asked.
    """

    document: Any = field(repr=False)
    predicate: Predicate = field(repr=False)
    roots: Mapping[str, str]
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    replies: Mapping[str, str | None] | None = field(default=None, repr=False)

    @property
    def looked_at(self) -> list[str]:
        """Name the namespaces that the predicate looks at."""
        return sorted(predicates.namespaces(self.predicate) & self.roots.keys())

    @property
    def namespaces(self) -> dict[str, Any]:
        """Describe the namespaces of the servers, for readers and judges."""
        return namespaces.described(self.roots)


class JudgeRequests:
    """Reader and judge requests of one verdict.

    Attributes:
        again: whether something had to be asked a second time.

    Every method raises:
        JudgeFailed: whoever was asked died, or talked nonsense, twice.
        Unjudged: time or memory came to an end twice.
        Unavailable: nobody can be asked.
    """

    def __init__(self, reader: Ready, judge: Ready, seconds: float, turns: SharedLock) -> None:
        self._reader, self._judge, self._seconds, self._turns = reader, judge, seconds, turns
        self.again = False

    def reader(self, do: str, *parts: bytes, **header: Any) -> bytes:
        """Have a reader do something, and give what comes of it, unread.

        Raises:
            Malformed: the state is none, or what was asked does not fit it; the reader says why.
        """
        request = message.pack({"do": do, **header}, *parts)
        outcome, says, part = self._ask(self._reader, request, MAX_READING, _as_it_is)
        if outcome != "done":
            raise Malformed(says or "the state cannot be read")
        return part

    def reading(
        self,
        question: Question,
        state: FrozenState,
        *more: bytes,
        do: str = "read",
        looked_at: Sequence[str] | None = None,
        **header: Any,
    ) -> bytes:
        """Have what a predicate looks at, or these namespaces, read, and give the reading; see `reader`."""
        names = question.looked_at if looked_at is None else list(looked_at)
        roots = {name: question.roots[name] for name in names} if do == "read" else dict(question.roots)
        dumps = {name: dump for name, dump in state.dumps.items() if name in roots}
        parts = (state.tar, *dumps.values(), *more)
        places = {"roots": roots, "files": dict(question.files), "namespaces": question.namespaces}
        return self.reader(do, *parts, **places, dumps=list(dumps), looked_at=names, **header)

    def judge(self, question: Question, answer: str | None, *readings: bytes) -> replies.CaseReply:
        """Have a reading judged, with the seed's as a second one."""
        asked = {"predicate": question.document, "answer": answer, "replies": question.replies}
        header = {"do": "judge", "namespaces": question.namespaces, **asked}
        return self.verdicts(header, readings, lambda part: replies.parsed(part, question.predicate))

    def verdicts(self, header: Mapping[str, Any], readings: Sequence[bytes], parsed: Callable[[bytes], T]) -> T:
        """Ask a judge, and take its reply apart."""

        def taken(outcome: str, says: str, part: bytes) -> T:
            if outcome != "done":
                raise JudgeFailed(f"a judge ended in another way: {says}")
            try:
                return parsed(part)
            except Malformed as error:
                raise JudgeFailed(str(error)) from None

        return self._ask(self._judge, message.pack(header, *readings), MAX_VERDICT, taken)

    def _ask(self, ready: Ready, request: bytes, cap: int, taken: Callable[[str, str, bytes], T]) -> T:
        try:
            with self._turns.shared():
                return taken(*ready.take().ask(request, cap, self._seconds))
        except (JudgeFailed, JudgeLimitExceeded):
            self.again = True
        with self._turns.alone():
            try:
                return taken(*Started(ready.server).ask(request, cap, self._seconds))
            except JudgeLimitExceeded as error:
                raise Unjudged(
                    f"a reader or judge ran out of time or memory twice, the second time alone: {error}"
                ) from None


def _as_it_is(outcome: str, says: str, part: bytes) -> tuple[str, str, bytes]:
    return outcome, says, part
