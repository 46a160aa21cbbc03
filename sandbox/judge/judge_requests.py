"""Requests to a reader or a judge, repeated once, alone, where the first one failed.

Running out of time or memory proves nothing about a state, and a process may be killed from outside; so neither counts
until it has happened twice, the second time with nothing else being read or judged in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sandbox.errors import Malformed, Unjudged
from sandbox.judge import evidence as replies
from sandbox.judge import message
from sandbox.judge.process import JudgeFailed, JudgeLimitExceeded, Ready, Started
from sandbox.shared_lock import SharedLock
from sandbox.world.frozen import FrozenState
from verifiers.language import predicate as predicates
from verifiers.language.predicate import Predicate, Probe
from verifiers.language.verdict import Evidence
from verifiers.predicates import namespaces
from verifiers.predicates.own_predicates import BROKE, OwnResult

MAX_READING = 130 * 1024 * 1024
"""Bytes of a reader's reply; more than a reader of ours gives (`sandbox.judge.reader`)."""
MAX_VERDICT = replies.MAX_BYTES + message.MAX_HEADER + message.LENGTH.size
MAX_FORMS = 1000
"""Normal forms of one namespace in a reading of mutants; each takes a process where it has own predicates."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """A reader's reply, of which the runner knows lengths alone.

    Attributes:
        looked_at: the namespaces in it.
        parts: the cases, and then a part a namespace.
        own: the results of own predicates, for those namespaces of which the predicate names some: for each normal
            form one result a probe, or None where their judge ran out of time or memory.
    """

    looked_at: Sequence[str]
    parts: Sequence[bytes] = field(repr=False)
    own: Mapping[str, Sequence[Sequence[OwnResult] | None]] = field(default_factory=dict, repr=False)


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
    def needs_baseline(self) -> bool:
        """Whether the predicate compares with the state as the agent found it."""
        return predicates.needs_baseline(self.predicate)

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
        return self._read({"do": do, **header}, parts, 1)[0]

    def reading(
        self,
        question: Question,
        state: FrozenState,
        before: FrozenState | None = None,
        *,
        do: str = "read",
        looked_at: Sequence[str] | None = None,
        **header: Any,
    ) -> Reading:
        """Have what a predicate looks at read, and its own predicates of added servers decided; see `reader`.

        Where other namespaces are to be read, for people, nothing is decided.

        Args:
            question: what is asked.
            state: the state that was left.
            before: the state that its agent found, where the predicate compares with it.
            do: the reader's operation.
            looked_at: the namespaces to read in place of those that the predicate looks at.
            header: what else the reader is told.
        """
        names = question.looked_at if looked_at is None else list(looked_at)
        roots = {name: question.roots[name] for name in names} if do == "read" else dict(question.roots)
        request = {**_places(question, state, roots), "do": do, "looked_at": names, **header}
        parts = _bytes(state, roots)
        if before is not None:
            request["dumps_before"] = [name for name in before.dumps if name in roots]
            parts += _bytes(before, roots)
        reading = Reading(names, self._read(request, parts, 1 + len(names)))
        if looked_at is not None:
            return reading
        most = MAX_FORMS if do != "read" else 1 if before is None else 2
        return replace(reading, own=self.own_results(question, reading, most))

    def document(self, question: Question, state: FrozenState, changes: Sequence[Any]) -> bytes:
        """Have what a predicate looks at written down as a document after some changes; see `reader`."""
        places, parts = _places(question, state, question.roots), _bytes(state, question.roots)
        return self.reader("document_of", *parts, **places, looked_at=question.looked_at, changes=list(changes))

    def own_results(
        self, question: Question, reading: Reading, most: int
    ) -> dict[str, list[Sequence[OwnResult] | None]]:
        """Have the own predicates that a predicate names decided, each normal form in a process of its own.

        A process is shown one namespace's normal form, that server's module, and the arguments of its probes. Whatever
        it does, these probes alone depend on it.

        Args:
            question: what is asked.
            reading: at most `most` normal forms of each such namespace.
            most: 1, but for mutants.
        """
        results: dict[str, list[Sequence[OwnResult] | None]] = {}
        for name, probes in predicates.own_probes(question.predicate).items():
            if name in reading.looked_at:
                try:
                    forms = message.unframed(reading.parts[1 + reading.looked_at.index(name)], most)
                except Malformed as error:
                    raise JudgeFailed(str(error)) from None
                own = results.setdefault(name, [])
                for form in forms:  # once out of time, not again: a thousand mutants would keep all others waiting
                    own.append(None if None in own else self._own_results(name, probes, form))
        return results

    def _own_results(self, namespace: str, probes: Sequence[Probe], form: bytes) -> Sequence[OwnResult] | None:
        named = [(probe.name.partition(".")[2], probe.arguments) for probe in probes]
        module = {"namespace": namespace, "source": namespaces.own_source(namespace), "probes": named}
        try:
            return self.verdicts({"do": "own", **module}, [form], lambda part: replies.parsed_own(part, len(probes)))
        except JudgeFailed:  # the seed tells whether this state did it (`verifiers.language.evaluate`, rule 4)
            return [(BROKE, "its process ended, or replied in an unknown form")] * len(probes)
        except Unjudged:  # seconds and memory decide nothing, not even that the seed is looked at
            return None

    def judge(self, question: Question, answer: str | None, *readings: Reading) -> replies.CaseReply:
        """Have a reading judged; a second one is that of the untouched state, which tells who broke a probe."""
        asked = {"predicate": question.document, "answer": answer, "replies": question.replies}
        header = {"do": "judge", "namespaces": question.namespaces, **asked}
        return self.judged(header, readings, lambda part: replies.parsed(part, question.predicate))

    def cases(
        self,
        question: Question,
        answered: Sequence[tuple[str | None, Mapping[str, str | None] | None]],
        reading: Reading,
    ) -> list[Evidence]:
        """Have every case of a reading judged, each with its answer and a model's replies about that."""
        answers, replies_of = [answer for answer, _ in answered], [asked for _, asked in answered]
        asked = {"predicate": question.document, "answers": answers, "replies": replies_of}
        header = {"do": "cases", "namespaces": question.namespaces, **asked}
        return self.judged(
            header, [reading], lambda part: replies.parsed_cases(part, question.predicate, len(answered))
        )

    def judged(self, header: Mapping[str, Any], readings: Sequence[Reading], parsed: Callable[[bytes], T]) -> T:
        """Ask a judge about readings of the same namespaces."""
        places = {"looked_at": readings[0].looked_at, "own": [reading.own for reading in readings]}
        return self.verdicts({**header, **places}, [part for reading in readings for part in reading.parts], parsed)

    def verdicts(self, header: Mapping[str, Any], parts: Sequence[bytes], parsed: Callable[[bytes], T]) -> T:
        """Ask a judge, and take its reply apart."""

        def taken(outcome: str, says: str, reply: list[bytes]) -> T:
            if outcome != "done" or len(reply) != 1:
                raise JudgeFailed(f"a judge ended in another way: {says}")
            try:
                return parsed(reply[0])
            except Malformed as error:
                raise JudgeFailed(str(error)) from None

        return self._ask(self._judge, message.pack(header, *parts), MAX_VERDICT, taken)

    def _read(self, header: Mapping[str, Any], parts: Sequence[bytes], number: int) -> list[bytes]:
        """Ask a reader for so many parts."""

        def taken(outcome: str, says: str, reply: list[bytes]) -> list[bytes]:
            if outcome != "done":
                raise Malformed(says or "the state cannot be read")
            if len(reply) != number:
                raise JudgeFailed("a reader's reply has more or fewer parts than it was asked for")
            return reply

        return self._ask(self._reader, message.pack(header, *parts), MAX_READING, taken)

    def _ask(self, ready: Ready, request: bytes, cap: int, taken: Callable[[str, str, list[bytes]], T]) -> T:
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


def _places(question: Question, state: FrozenState, roots: Mapping[str, str]) -> dict[str, Any]:
    """Return what a reader is told of a state's bytes: where which server's data lies."""
    dumps = [name for name in state.dumps if name in roots]
    return {"roots": dict(roots), "files": dict(question.files), "namespaces": question.namespaces, "dumps": dumps}


def _bytes(state: FrozenState, roots: Mapping[str, str]) -> list[bytes]:
    """Return a state's bytes: its tar, and what was read back from the backends of these namespaces."""
    return [state.tar, *(dump for name, dump in state.dumps.items() if name in roots)]
