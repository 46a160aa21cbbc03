"""One attempt at one task: a serving is made of it, played, sealed and judged.

The order is the safety property: each step may rely on those before it.

 1. *Serving.* What a player is given is selected from the task: never its id, its predicate or the lists of its free
    values. It plays eight steps of its own, from seeding a world to freezing it (`sandbox.servings.local_player`), and
    nothing of them is left when it hands in.
 2. *Recording.* The task is recorded as served right before the agent is let go.
 3. *Seal.* What was handed in is kept unread, to be sealed where the run is official: a crash from here on never
    serves the task again (`judged_later`).
 4. *Verdict.* It is read by a process that knows no predicate, and judged by one that reads no submitted format
    (`sandbox.judge`). Where the predicate has claims about the answer, a language model is asked before
    (`sandbox.claim_judge`), and the judge is handed its replies, unread. This process parses nothing that an agent
    left.
 5. *Ruling.* `sandbox.results.failure` decides whose failure it is, from the facts that were handed in.

What the agent said of a task's free parameters without having been shown it is then searched for, by a judge, in the
transcript and the lists alone (`sandbox.judge.said_values`); no step depends on it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

from sandbox.claim_judge.exchange import ClaimExchange
from sandbox.errors import Lost, Malformed, Unjudged
from sandbox.gateway import listing
from sandbox.judge import WORKER, JudgeFailed
from sandbox.results.failure import Ruling, Stage, classify
from sandbox.results.outcome import RUN, TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs import claims
from sandbox.runs.job import Job
from sandbox.runs.task_world import initial_state_of, question_of, read_by, servers_of, specify, untouched
from sandbox.servings.handed_in import HandIn
from sandbox.servings.machine_check import BROKEN
from sandbox.servings.serving import Serving
from sandbox.servings.stopwatch import Meter
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict


@dataclass
class _Judged:
    """What judging came to; nothing, where nobody could judge."""

    evidence: Evidence | None = None
    claims: tuple[ClaimExchange, ...] = ()
    judged: bool = False
    too_large: bool = False
    unjudged: bool = False


def serving_of(job: Job, handle: str) -> Serving:
    """Select from a task what its player is told, under this handle.

    Raises:
        Malformed: its state is none that its servers know.
    """
    task, terms, given = job.task, job.terms, job.planned.solution
    solution = {"calls": given.calls, "answer": given.answer} if given else None
    return Serving(
        handle=handle,
        session=specify(
            task,
            alias=job.alias,
            wall=terms.agent.wall,
            servers=servers_of(task.document, terms.offered_tools),
            solution=solution,
            models=terms.models,
            call_seconds=terms.patience.call,
            offered_tools=terms.offered_tools,
        ),
        initial_state=initial_state_of(task.document),
        program=job.submission.program,
        world=terms.world,
        agent=terms.agent,
        patience=terms.patience,
        baseline=question_of(task).needs_baseline,
    )


def attempt(job: Job, earlier: Sequence[TaskRun] = ()) -> TaskRun:
    """Have a task's serving made ready and played, and say what it came to; `earlier` attempts are kept with it."""
    job.terms.judging.warm()
    handle = (not earlier and job.planned.handle) or f"s-{secrets.token_hex(16)}"
    prepared = job.setup.player.prepare(serving_of(job, handle))
    job.recorded[:] = [handle] if handle == job.planned.handle else []

    def record_serving() -> None:
        job.journal.record_serving(job.task.id, handle)
        job.recorded.append(handle)

    try:
        handed_in = prepared.play(record_serving, job.stop)
        if handed_in.state and handed_in.transcript:
            left = UnjudgedResult(task_id=job.task.id, earlier=tuple(earlier), **_members(handed_in))
            job.journal.keep_unjudged(left)
    finally:
        prepared.close()
    return _ruled(job, handed_in, BROKEN)


def judged_later(job: Job, left: UnjudgedResult) -> TaskRun:
    """Judge what an attempt left that nobody came to judge, without serving the task again.

    Raises:
        Unavailable: nobody can be asked now; what was sealed is there for the next one.
    """
    return _ruled(job, HandIn(**_members(left)), (Lost, OSError))


def _members(left: HandIn | UnjudgedResult) -> dict[str, Any]:
    """Return what a hand-in has, also of one that was sealed."""
    return {member.name: getattr(left, member.name) for member in fields(HandIn)}


def _ruled(job: Job, handed_in: HandIn, unjudged: tuple[type[Exception], ...]) -> TaskRun:
    """Judge what was handed in, and say what it came to; it stays without a verdict where one of these is raised."""
    judged, meter, facts = _Judged(), Meter(job.terms.clock), handed_in.facts
    if handed_in.state:
        with suppress(*unjudged), meter.phase("verdict"):
            _judge(job, handed_in, handed_in.state, judged)
    facts = replace(
        facts,
        stage=Stage.VERDICT if judged.evidence else facts.stage,
        verdict=judged.evidence.verdict if judged.evidence else None,
        too_large=facts.too_large or judged.too_large,
        unjudged=facts.unjudged or judged.unjudged,
    )
    ruling, phases = classify(facts, handed_in.machine), {**handed_in.phases, **meter.seconds}
    return _with_said(job, _outcome(job, handed_in, judged, ruling, phases))


def _with_said(job: Job, outcome: TaskRun) -> TaskRun:
    """Have the session searched for choices that were not shown; nothing is known of it where that fails."""
    if not (job.planned.free and outcome.served):
        return outcome
    shown, meter = [job.task.goal, json.dumps(listing(job.task.available_tools))], Meter(job.terms.clock)
    with suppress(JudgeFailed, *BROKEN), meter.phase("said"):
        outcome = replace(outcome, said=job.terms.judging.said(job.planned.free, shown, outcome.transcript))
    return replace(outcome, phases={**outcome.phases, **meter.seconds})


def _judge(job: Job, handed_in: HandIn, state: FrozenState, judged: _Judged) -> None:
    """Have the state read and judged; what is no state at all counts as one that is too large.

    Raises:
        Lost: what only a backend can read was not handed in.
    """
    task, terms = job.task, job.terms
    answer = handed_in.transcript.answer if handed_in.transcript else None

    def untouched_state() -> FrozenState:
        return replace(untouched(task.document), dumps=handed_in.baseline)

    try:
        question, judged.claims = claims.ask(task, answer, terms.claims)
        _require_read_back(task, state.dumps)
        if question.needs_baseline:
            _require_read_back(task, handed_in.baseline)
        judged.evidence = terms.judging.verdict(question, state, answer, untouched_state).evidence
    except Malformed:
        judged.judged = judged.too_large = True
    except Unjudged:
        judged.unjudged = True
    else:
        judged.judged = True


def _require_read_back(task: Task, dumps: Mapping[str, bytes]) -> None:
    if missing := [server.name for server in read_by(task) if server.name not in dumps]:
        raise Lost(f"the state of {missing[0]} was not read back")


def _outcome(job: Job, handed_in: HandIn, judged: _Judged, ruling: Ruling, phases: Mapping[str, float]) -> TaskRun:
    failure, evidence = ruling.failure, judged.evidence
    transcript, agent = handed_in.transcript, handed_in.facts.agent
    if evidence is None or failure in ("ours", "unclear"):
        verdict = Verdict.UNKNOWN if failure == "ours" else Verdict.FALSE
        evidence = Evidence(RUN, verdict, found=ruling.code, children=(evidence,) if evidence else ())
    return TaskRun(
        task_id=job.task.id,
        category=job.task.category,
        max_steps=job.task.max_steps,
        verdict=evidence.verdict,
        evidence=evidence,
        transcript=transcript or Transcript((), None, "gateway-lost"),
        failure=failure,
        code=ruling.code,
        phases=phases,
        output=handed_in.output,
        exit_code=agent.exit_code if agent else None,
        played_by=handed_in.played_by,
        judged_by=WORKER if judged.judged else "",
        claims=judged.claims,
        goal=job.task.goal if transcript else "",
        served=hashlib.sha256(job.task.canonical()).hexdigest() if transcript else "",
    )
