"""Trial of one task: plays a reference solution, a mutant or an agent, and shows all that happened.

Nothing of it counts anywhere. What is shown is as secret as the task: the calls with their results, the difference
between the state before and after, and the evidence. The states themselves are read, judged and compared by reader and
judge processes (`sandbox.judge`); this process parses nothing that a world left.

Of the servers only those are compared that a call reached, and the one that a mutant changes: nothing else can have
changed the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from sandbox.boxes.box import Box
from sandbox.errors import Lost, Malformed, NotFound, Unjudged
from sandbox.judge import JudgeFailed
from sandbox.runs.job import PlannedTask, RunSetup, Terms
from sandbox.runs.journal import MemoryJournal
from sandbox.runs.prover import BoxProver, Final
from sandbox.runs.run import run_set
from sandbox.runs.submission import Submission
from sandbox.runs.task_world import question_of, servers_of, untouched
from sandbox.servers.registry import Server
from sandbox.servings.state_reader import snapshot
from sandbox.world.frozen import FrozenState
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict
from verifiers.states.difference import StateDifference

Player = Literal["solution", "mutant", "agent"]
PLAYED = "played"
"""How a session ended in which a solution was played: it came to its end."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What happened in a trial.

    Attributes:
        task: the task as it was played: of one with free parameters the base.
        player: what played it.
        name: the name of the solution, the mutant or the agent.
        passed: whether the verdict is true, and nothing else stands against it (a budget, a failure, an unscheduled
            error that a solution meets).
        evidence: the evidence tree; its root is the verdict.
        calls: the calls with their results, as plain JSON values.
        answer: what was answered, or None.
        ended: how the session ended: `played`, or as in `sandbox.transcript`.
        code: `finished`, or what went wrong (`sandbox.results.failure`).
        differences: the difference of the state of each server that a call reached.
        uncompared: why the states could not be compared, as a sentence; or empty.
        mutant: what the mutant changes in the end state of the solution, or None.
        output: what an agent printed.
        exit_code: its exit status, or None.
    """

    task: Task = field(repr=False)
    player: Player
    name: str = field(repr=False)
    passed: bool
    evidence: Evidence = field(repr=False)
    calls: Sequence[Mapping[str, Any]] = field(repr=False)
    answer: str | None = field(repr=False)
    ended: str = PLAYED
    code: str = "finished"
    differences: Mapping[str, StateDifference] = field(default_factory=dict, repr=False)
    uncompared: str = field(default="", repr=False)
    mutant: Mapping[str, Any] | None = field(default=None, repr=False)
    output: str = field(default="", repr=False)
    exit_code: int | None = None

    @property
    def verdict(self) -> Verdict:
        """What the predicate came to."""
        return self.evidence.verdict

    @property
    def unscheduled_errors(self) -> Sequence[int]:
        """The numbers of the calls that ended in an error which the task does not schedule."""
        return [number for number, call in enumerate(self.calls, 1) if call["error"] and not call["injected"]]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain JSON values; what a run has too stands where `TaskRun.as_json` has it."""
        return {
            "task_id": self.task.id,
            "category": self.task.category,
            "max_steps": self.task.max_steps,
            "player": self.player,
            "name": self.name,
            "mutant": dict(self.mutant) if self.mutant is not None else None,
            "verdict": self.verdict.value,
            "passed": self.passed,
            "code": self.code,
            "evidence": self.evidence.as_json(),
            "transcript": {"calls": [dict(call) for call in self.calls], "answer": self.answer, "ended": self.ended},
            "differences": {name: asdict(difference) for name, difference in self.differences.items()},
            "uncompared": self.uncompared,
            "output": self.output,
            "exit_code": self.exit_code,
        }


class Trials:
    """Trials in one box.

    Args:
        box: where worlds and agents are made.
        terms: caps, patience and clock, as for a run.
    """

    def __init__(self, box: Box, terms: Terms | None = None) -> None:
        self._box, self._terms = box, terms or Terms()
        self._prover = BoxProver(box, self._terms)

    def solution(self, task: Task, provenance: Mapping[str, Any], name: str | None = None) -> Trial:
        """Play the reference solution of a name, or the first one.

        Raises:
            NotFound: there is no solution of that name.
            Malformed: the task cannot be played; the message names the place.
            Lost: our machinery broke; nothing is known about the solution.
        """
        self._prover.check(task.document)
        chosen = _named(provenance.get("solutions", ()), name, "solution")
        proved = self._prover.prove(task.document, chosen["calls"], chosen["answer"])
        differences, why = self._differences(task, proved.log, proved.state.state)
        code = "steps-exceeded" if proved.calls > task.max_steps else "finished"
        trial = Trial(
            task,
            "solution",
            chosen["name"],
            proved.verdict is Verdict.TRUE and code == "finished",
            proved.evidence,
            proved.log,
            chosen["answer"],
            code=code,
            differences=differences,
            uncompared=why,
        )
        return replace(trial, passed=trial.passed and not trial.unscheduled_errors)

    def mutant(self, task: Task, provenance: Mapping[str, Any], name: str, solution: str | None = None) -> Trial:
        """Play a solution, change its end state or its answer as a mutant says, and judge that.

        Raises:
            NotFound: there is no mutant or solution of that name.
            Malformed: the task cannot be played, or the mutant does not fit the end state.
            Lost: our machinery broke; nothing is known about the mutant.
        """
        self._prover.check(task.document)
        mutant = _named(provenance.get("mutants", ()), name, "mutant")
        chosen = _named(provenance.get("solutions", ()), solution, "solution")
        proved = self._prover.prove(task.document, chosen["calls"], chosen["answer"])
        final: Final = proved.state
        (evidence,) = self._prover.mutated(task.document, proved, [mutant])
        changes = [] if "answer" in mutant else [(mutant["server"], mutant["change"])]
        differences, why = self._differences(task, proved.log, final.state, changes)
        return Trial(
            task,
            "mutant",
            mutant["name"],
            evidence.verdict is Verdict.TRUE,
            evidence,
            proved.log,
            mutant.get("answer", chosen["answer"]),
            differences=differences,
            uncompared=why,
            mutant=mutant,
        )

    def agent(self, task: Task, submission: Submission) -> Trial:
        """Run an agent on the task, as on a task of the dev set.

        Raises:
            Malformed, Unavailable, Refused: as for `sandbox.runs.run.run_task`.
        """
        self._prover.check(task.document)
        journal = MemoryJournal()
        setup = RunSetup.supervised(self._box, workers=1, terms=self._terms)
        (run,) = run_set([PlannedTask(task)], submission, setup, journal)
        calls = run.transcript.as_json()["calls"]
        differences, why = (
            self._differences(task, calls, journal.left.state) if journal.left else ({}, "there is no end state")
        )
        return Trial(
            task,
            "agent",
            submission.name,
            run.passed,
            run.evidence,
            calls,
            run.transcript.answer,
            run.transcript.ended,
            run.code,
            differences,
            why,
            output=run.output,
            exit_code=run.exit_code,
        )

    def _differences(
        self,
        task: Task,
        calls: Sequence[Mapping[str, Any]],
        left: FrozenState,
        changes: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> tuple[Mapping[str, StateDifference], str]:
        """Compare the state with the untouched one; give a sentence instead where that cannot be done."""
        changed = {call["tool"].partition(".")[0] for call in calls if call["listed"]} | {name for name, _ in changes}
        servers = [server for server in servers_of(task.document) if server.name in changed]
        compared = replace(question_of(task), roots={server.name: server.root for server in servers})
        try:
            before, after = (self._with_dumps(servers, state) for state in (untouched(task.document), left))
            return (self._terms.judging.differences(compared, before, after, changes) if servers else {}), ""
        except (Lost, Malformed, Unjudged, JudgeFailed) as error:
            return {}, str(error)

    def _with_dumps(self, servers: Sequence[Server], state: FrozenState) -> FrozenState:
        """Read back what only a backend can read, whether or not the predicate looks at it."""
        judging, limits = self._terms.judging, self._terms.world
        for server in servers:
            if server.reader and server.name not in state.dumps:
                folder = judging.extract(state, server.root)
                state = state.with_dump(server.name, snapshot(self._box, server, folder, judging, limits=limits))
        return state


def _named(entries: Sequence[Mapping[str, Any]], name: str | None, what: str) -> Mapping[str, Any]:
    """Choose the entry of a name, or the first one.

    Raises:
        NotFound: there is none; the message lists what there is.
    """
    for entry in entries:
        if name in (None, entry["name"]):
            return entry
    if not entries:
        raise NotFound(f"the task has no {what}; its provenance has to list one")
    raise NotFound(f"the task has no {what} {name!r}; it has {', '.join(entry['name'] for entry in entries)}")
