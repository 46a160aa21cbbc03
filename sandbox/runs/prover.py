"""Prover of task drafts: checks documents, plays solutions on the real servers, and evaluates mutated final states.

`BoxProver` implements the protocol that the grammars package defines; the two never import each other. A solution goes
the way that an agent's calls go, through a gateway process into a world that holds its data alone, and is judged by the
same code on the same kind of copy; only the agent is missing, because the gateway plays the calls itself.

The world is seeded in full. Of its shipped servers only those are started that the calls name: a solution is known
beforehand, so nobody could ask the others anything, and admission is waited for by a human. An added server is started
in any case. Servers that keep nothing between calls may have served an earlier proof (`sandbox.servings.kept_worlds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from sandbox.boxes.box import Box, WorldLauncher
from sandbox.errors import Lost, Malformed, NotFound, Unjudged
from sandbox.judge import JudgeFailed, MutatedCase, Question
from sandbox.results.failure import PREPARATIONS
from sandbox.runs import claims
from sandbox.runs.job import Terms, new_alias
from sandbox.runs.task_world import read_by, seed, servers_of, specify, untouched
from sandbox.servers.acts import list_acts
from sandbox.servers.registry import SERVERS, Server, tool_table
from sandbox.servings.kept_worlds import KeptWorlds, with_idle
from sandbox.servings.run_environment import RunEnvironment
from sandbox.servings.state_reader import read_back
from sandbox.servings.stopwatch import Meter
from sandbox.transcript import ToolCall, Transcript
from sandbox.world.frozen import FrozenState
from vault.task.document import Task
from verifiers.language import predicate as predicates
from verifiers.language.verdict import Evidence, Verdict

STARTS = 4
"""Tasks whose first state a prover keeps: one is proved several times in a row, on a few threads."""


@dataclass(frozen=True, slots=True)
class Final:
    """Final state of a solution.

    Attributes:
        state: the frozen state, with what was read back.
        answer: the answer that was given.
        question: what is asked of them, with a model's replies about the answer's claims.
        before: the state that the solution began with, where the predicate compares with it.
    """

    state: FrozenState = field(repr=False)
    answer: str | None = field(repr=False)
    question: Question = field(repr=False)
    before: FrozenState | None = field(default=None, repr=False)


class HasFinalState(Protocol):
    """Protocol of a proof, whatever its class is elsewhere: it carries the final state that came from here."""

    @property
    def state(self) -> Any:
        """Return the final state."""
        ...


@dataclass(frozen=True, slots=True)
class ProvedSolution:
    """Result of playing a solution.

    Attributes:
        evidence: the predicate's evidence tree; its root is the verdict.
        calls: how many calls were made.
        errors: how many of them ended in an error.
        spent: the largest share of a budget that the verdict took, from 0 to 1: steps or bytes of reading, or steps
            of judging.
        state: the final state, for `BoxProver.mutated` and nobody else.
        log: the calls as plain JSON values, with their results.
    """

    evidence: Evidence = field(repr=False)
    calls: int
    errors: int
    spent: float
    state: Final = field(repr=False)
    log: Sequence[Mapping[str, Any]] = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        """What the predicate came to."""
        return self.evidence.verdict


@dataclass(frozen=True, slots=True)
class MutantResult:
    """Verdict of the predicate on a final state with one change: a mutant, damage, or a twin."""

    name: str = field(repr=False)
    kind: str
    verdict: Verdict


class BoxProver:
    """Proves drafts in a box.

    Args:
        box: where the worlds are made.
        terms: caps, patience and clock, as for a run.
        kept: the worlds of earlier proofs in that box; its own, which go with it, where none are given.
    """

    def __init__(self, box: Box, terms: Terms | None = None, kept: KeptWorlds | None = None) -> None:
        self._box, self._terms = box, terms or Terms()
        self._kept = kept or KeptWorlds(box)
        self._starts: dict[bytes, FrozenState] = {}

    def check(self, document: Mapping[str, Any]) -> None:
        """Check what the schema cannot know: tools, states, predicate, and that the one can see the others.

        Raises:
            Malformed: the message names the place.
        """
        task = Task.parse(document)
        seed(task.document)
        servers = {server.name for server in servers_of(task.document)}
        predicate = predicates.parse(task.success_predicate, "$.success_predicate")
        if blind := sorted(predicates.namespaces(predicate) - servers - {"answer"}):
            raise Malformed(
                f"the task at $.success_predicate looks at {blind[0]}, but no tool of that server is listed, so there "
                "would be nothing to look at"
            )

    def descriptions(self, tools: Sequence[str]) -> Mapping[str, str]:
        """Return each tool's description as its pinned server has it.

        Raises:
            NotFound: no pinned server has a tool of that name.
        """
        table = tool_table()
        if unknown := [tool for tool in tools if tool not in table]:
            raise NotFound(f"no pinned server has a tool {unknown[0]!r}")
        return {tool: str(table[tool]["description"]) for tool in tools}

    def prove(
        self, document: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], answer: str | None
    ) -> ProvedSolution:
        """Play calls in a world of the task's data, and judge what they leave.

        No calls is the null agent. It needs no world: no server would run in it, so what it leaves is the task's data.

        Raises:
            Lost: our machinery broke, each time that it was tried; nothing is known about the solution.
        """
        self._terms.judging.warm()
        if not calls:
            task = Task.parse(document)
            state = self._with_dumps(task, untouched(task.document))  # a second world, beside the one of `_start`
            return self._judged(task, state, answer, Transcript((), answer=None, ended="agent-exited"))
        for _ in range(PREPARATIONS - 1):
            with suppress(Lost):
                return self._play(document, calls, answer, self._kept)
        return self._play(document, calls, answer, self._box)

    def harmless_calls(
        self, document: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        """List calls that may follow a solution and change nothing that a verdict minds (`sandbox.servers.acts`)."""
        return [call for act in list_acts("harmless", document, calls) for call in act]

    def _play(
        self, document: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], answer: str | None, box: WorldLauncher
    ) -> ProvedSolution:
        task, terms = Task.parse(document), self._terms
        script = [ToolCall(call["tool"], call.get("arguments", {})) for call in calls]
        used = {call.tool.partition(".")[0] for call in script}
        listed = map(_started, servers_of(task.document))
        servers = with_idle([server for server in listed if server.name in used or server.folder])
        spec = specify(task, alias=new_alias(), wall=terms.world.wall, script=script, servers=servers)
        spec = replace(spec, max_steps=max(spec.max_steps, len(script)))  # that it is too long is the gate's finding
        scene = RunEnvironment(box, spec, servers, seed(task.document), terms.world, terms.patience, Meter(terms.clock))
        with scene:
            transcript = scene.open().gateway.finish(terms.world.wall)
            if missed := scene.gateway.missed:
                raise Lost(f"the server {min(missed)} was lost in the middle of a proof, or did not answer in time")
            if len(transcript.calls) != len(script):
                raise Lost(
                    f"only {len(transcript.calls)} of {len(script)} calls were played: the session {transcript.ended}"
                )
            state = scene.freeze()
        return self._judged(task, self._with_dumps(task, state), answer, transcript)

    def _judged(self, task: Task, state: FrozenState, answer: str | None, transcript: Transcript) -> ProvedSolution:
        question, _ = claims.ask(task, answer, self._terms.claims)
        before = self._start(task) if question.needs_baseline else None
        judged = self._terms.judging.verdict(question, state, answer, lambda: self._start(task))
        made, errors, log = len(transcript.calls), transcript.errors, transcript.as_json()["calls"]
        return ProvedSolution(judged.evidence, made, errors, judged.spent, Final(state, answer, question, before), log)

    def _start(self, task: Task) -> FrozenState:
        """Return the state that each solution of a task begins with; of the last few tasks it is kept."""
        key = task.canonical()
        if key not in self._starts:
            self._starts = dict([*self._starts.items()][1 - STARTS :])
            self._starts[key] = self._with_dumps(task, untouched(task.document))
        return self._starts[key]

    def _with_dumps(self, task: Task, state: FrozenState) -> FrozenState:
        """Read back what only backends can read; nobody but us could have made it unreadable."""
        try:
            return read_back(self._box, read_by(task), state, self._terms.world, self._terms.judging)
        except JudgeFailed as error:
            raise Unjudged(f"a reader breaks on what a solution left: {error}") from None

    def mutated(
        self, document: Mapping[str, Any], proved: HasFinalState, mutants: Sequence[Mapping[str, Any]]
    ) -> list[Evidence]:
        """Evaluate the predicate on a proved state with one thing changed a mutant: a server's data, or the answer.

        Raises:
            Malformed: a mutant is none that its server knows, or what it names is not in the state.
        """
        if not mutants:
            return []
        task, final = Task.parse(document), self._final(proved)
        cases = [self._case(task, final, mutant) for mutant in mutants]
        return self._terms.judging.mutated(final.question, final.state, cases, final.before)

    def _case(self, task: Task, final: Final, mutant: Mapping[str, Any]) -> MutatedCase:
        if "answer" in mutant:
            question, _ = claims.ask(task, mutant["answer"], self._terms.claims)
            return MutatedCase((), mutant["answer"], question.replies)
        if mutant.get("server") not in SERVERS:
            raise Malformed(f"the mutant {mutant.get('name', '')!r} names neither a server nor another answer")
        return MutatedCase([(mutant["server"], mutant["change"])], final.answer, final.question.replies)

    def end_state(
        self, document: Mapping[str, Any], proved: HasFinalState, mutant: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a proved state, as it is or after a mutant's change, as a document that anybody can judge again.

        Raises:
            Malformed: it is too large for a release, or holds what JSON cannot.
            Unjudged: the document is judged otherwise than the state itself.
        """
        final = self._final(proved)
        question, answer = final.question, final.answer
        changes = [(mutant["server"], mutant["change"])] if mutant and "answer" not in mutant else []
        if mutant and "answer" in mutant:
            answer = mutant["answer"]
            question, _ = claims.ask(Task.parse(document), answer, self._terms.claims)
        judging = self._terms.judging
        made = judging.document(question, final.state, changes)
        again = replace(question, roots={name: name for name in made}, files={})
        start = FrozenState.of_document(judging.document(question, final.before)) if final.before else None
        changed, unchanged = (MutatedCase(steps, answer, question.replies) for steps in (changes, ()))
        expected = judging.mutated(question, final.state, [changed], final.before)
        if judging.mutated(again, FrozenState.of_document(made), [unchanged], start) != expected:
            raise Unjudged("an end state is judged otherwise once it was written as a document")
        return made

    def mutant_results(self, document: Mapping[str, Any], proved: HasFinalState) -> list[MutantResult]:
        """Evaluate the predicate on every mutant that can be made of a proved state."""
        task = Task.parse(document)
        final = self._final(proved)
        made = self._terms.judging.mutants(final.question, self._start(task), final.state, final.answer)
        return [MutantResult(name, kind, verdict) for name, kind, verdict in made]

    def twin_results(self, document: Mapping[str, Any], proved: HasFinalState) -> list[MutantResult]:
        """Evaluate the predicate on every twin of a proved state; its name tells what it fails."""
        final = self._final(proved)
        made = self._terms.judging.twins(final.question, self._start(Task.parse(document)), final.state, final.answer)
        return [MutantResult(name, kind, verdict) for name, kind, verdict in made]

    @staticmethod
    def _final(proved: HasFinalState) -> Final:
        final: Final = proved.state
        return final


def _started(server: Server) -> Server:
    """Start an added server with the world: an agent may start it, and a frame notices what it writes by itself."""
    return replace(server, on_demand=False) if server.folder else server
