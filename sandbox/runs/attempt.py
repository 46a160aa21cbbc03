"""One attempt at one task: ten numbered steps from seeding the world to removing it.

The order of the steps is the safety property: each may rely on those before it.

 1. *Seed.* The world's data is built in memory from the document: nothing of a task is ever a file on this machine.
 2. *World.* A fresh world is started with that data and every server that has a listed tool, distractors' too. The
    reference agent's may be one that it used before, with this data alone (`sandbox.runs.kept_worlds`).
 3. *Gateway.* A fresh process is told what the agent may see: goal, tools, faults, steps, a per-run alias. It is never
    told the id, the predicate or the initial state, and holds no key; it is ready before any agent lives.
 4. *Place.* The relay listens, and the program is ready but for its first instruction. It is made beside 2 and 3.
    Steps 1 to 4 can be prepared ahead, while another task is being played.
 5. *Agent.* The task is recorded as served, then the program is started; from here on everything may be hostile. We
    wait for the agent's end, the session's end, the world's death, or the deadline by our own monotonic clock.
 6. *Kill.* The agent and its relay are gone before anything is looked at, so that nobody can act between the look and
    the verdict.
 7. *Transcript.* The gateway ends and hands over what it saw.
 8. *Facts*, then *freeze*: the world stops its servers, kills every other process and hands its state out.
 9. *Seal*, then *verdict*. The state is handed over unread, to be sealed where the run is official: a crash
    from here on never serves the task again (`judged_later`). Then it is read by a process that knows no predicate, and
    judged by one that reads no submitted format (`sandbox.judge`); what only a backend can read is read back first, in
    a fresh world that holds nothing else (`sandbox.servings.state_reader`). Where the predicate has claims about the
    answer, a language model is asked before (`sandbox.claim_judge`), and the judge is handed its replies, unread. This
    process parses nothing that an agent left.
10. *Removal*, in every path; nothing is ever used again.

What the agent said of a task's free parameters without having been shown it is then searched for, by a judge, in the
transcript and the lists alone (`sandbox.judge.said_values`); no step depends on it.

Where the world broke, the machinery is checked without any agent (`sandbox.runs.machine_check`) before
`sandbox.results.failure` decides whose failure it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sandbox.boxes import box as boxes
from sandbox.claim_judge.exchange import ClaimExchange
from sandbox.errors import Lost, Malformed, Unjudged
from sandbox.gateway import listing
from sandbox.judge import WORKER, JudgeFailed
from sandbox.results.failure import AttemptFacts, Ruling, Stage, classify
from sandbox.results.outcome import RUN, TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs import claims
from sandbox.runs.job import Job
from sandbox.runs.kept_worlds import with_idle
from sandbox.runs.machine_check import BROKEN, check
from sandbox.runs.task_world import read_by, seed, servers_of, specify, untouched
from sandbox.servers.registry import Server
from sandbox.servings.run_environment import RunEnvironment
from sandbox.servings.state_reader import read_back
from sandbox.servings.stopwatch import Meter
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState
from verifiers.language.verdict import Evidence, Verdict

POLL = 0.25
"""Seconds between two looks at a running agent."""
LOOK = 1.0
"""Seconds between two looks at its world, which an engine answers more slowly."""


@dataclass
class _Seen:
    """What an attempt brought to light so far; each step adds its own."""

    earlier: Sequence[TaskRun] = ()
    transcript: Transcript | None = None
    agent: boxes.ExitFacts | None = None
    world: boxes.ExitFacts | None = None
    late: bool = False
    servers_missed: int = 0
    too_large: bool = False
    judged: bool = False
    unjudged: bool = False
    evidence: Evidence | None = None
    claims: tuple[ClaimExchange, ...] = ()
    output: str = ""


def prepare(job: Job) -> RunEnvironment:
    """Steps 1 to 4. A scene that could not be made is given back with the stage that it reached."""
    task, terms, given, kept = job.task, job.terms, job.planned.solution, job.setup.kept
    solution = {"calls": given.calls, "answer": given.answer} if given else None
    servers: Sequence[Server] = servers_of(task.document)
    if kept:
        servers = with_idle(servers)
    spec = specify(
        task,
        alias=job.alias,
        wall=terms.agent.wall,
        servers=servers,
        solution=solution,
        models=terms.models,
        call_seconds=terms.patience.call,
    )
    meter = Meter(terms.clock)
    terms.judging.warm()
    with meter.phase("seed"):
        tree = seed(task.document)  # 1
    setting = partial(_set, job)
    scene = RunEnvironment(
        kept or job.box, spec, servers, tree, terms.world, terms.patience, meter, setting, terms.models
    )
    try:
        return scene.open()  # 2 to 4
    except BROKEN:
        return scene


def _set(job: Job, sockets: Path) -> boxes.Place:
    return (job.setup.places or job.box).place(job.submission.program, sockets, job.terms.agent)


def attempt(job: Job, scene: RunEnvironment, earlier: Sequence[TaskRun] = ()) -> TaskRun:
    """Play steps 5 to 10 in a scene, and say what it came to; `earlier` attempts are kept with what it leaves."""
    seen = _Seen(earlier=earlier)
    try:
        if scene.place:
            with job.turns.shared():
                _serve(job, scene)
                _play(job, scene, scene.place, seen)  # 5 to 7
            _look(job, scene, seen)  # 8, 9
    except BROKEN:
        pass  # the stage that was reached says where, and the classifier what it means
    finally:
        scene.close()  # 10
    _note_model(scene, seen)
    return _settled(job, seen, _facts(scene, seen), scene.meter.seconds)


def judged_later(job: Job, left: UnjudgedResult) -> TaskRun:
    """Judge what an attempt left that nobody came to judge: step 9 alone, without serving the task again.

    Raises:
        Unavailable: nobody can be asked now; what was sealed is there for the next one.
    """
    seen = _Seen(transcript=left.transcript, output=left.output)
    meter = Meter(job.terms.clock)
    with suppress(Lost, OSError), meter.phase("verdict"):
        _judge(job, left.state, seen)
    stage = Stage.VERDICT if seen.evidence else left.facts.stage
    verdict = seen.evidence.verdict if seen.evidence else None
    facts = replace(left.facts, stage=stage, verdict=verdict, too_large=seen.too_large, unjudged=seen.unjudged)
    return _settled(job, seen, facts, {**left.phases, **meter.seconds})


def _settled(job: Job, seen: _Seen, facts: AttemptFacts, phases: Mapping[str, float]) -> TaskRun:
    """Say whose an attempt's failure is, after a check of the machinery where it takes one, and what it came to."""
    ruling = classify(facts)
    if ruling.blame == "check" and seen.transcript:
        ruling = classify(facts, check(job, seen.transcript))
    return _with_said(job, _outcome(job, seen, facts, ruling, phases))


def _with_said(job: Job, outcome: TaskRun) -> TaskRun:
    """Have the session searched for choices that were not shown; nothing is known of it where that fails."""
    if not (job.planned.free and outcome.served):
        return outcome
    shown, meter = [job.task.goal, json.dumps(listing(job.task.available_tools))], Meter(job.terms.clock)
    with suppress(JudgeFailed, *BROKEN), meter.phase("said"):
        outcome = replace(outcome, said=job.terms.judging.said(job.planned.free, shown, outcome.transcript))
    return replace(outcome, phases={**outcome.phases, **meter.seconds})


def _note_model(scene: RunEnvironment, seen: _Seen) -> None:
    """Put what was asked of a language model into the transcript; its log has come to its end."""
    if scene.model:
        transcript = seen.transcript or Transcript((), None, "gateway-lost")
        seen.transcript = replace(transcript, model_calls=scene.model.calls)


def _serve(job: Job, scene: RunEnvironment) -> None:
    """Write down that the task is served; what that raises is no failure of the machinery, and ends the set."""
    if job.stop.is_set():
        raise Lost("the run was interrupted; nothing of it counts")
    job.journal.record_serving(job.task.id)
    scene.stage = Stage.SERVED


def _play(job: Job, scene: RunEnvironment, place: boxes.Place, seen: _Seen) -> None:
    with scene.meter.phase("start"):
        agent = place.start()  # 5
    scene.stage = Stage.AGENT
    with scene.meter.phase("agent"):
        try:
            seen.agent, seen.late = _wait(job, agent, scene)
        finally:
            agent.kill()  # 6
    with scene.meter.phase("transcript"):
        seen.output = agent.output()
        transcript = scene.gateway.finish(job.terms.patience.finish)  # 7
    seen.servers_missed = len(scene.gateway.missed)
    if seen.late and transcript.ended == "agent-exited":
        transcript = replace(transcript, ended="time-exceeded")
    seen.transcript = transcript
    scene.stage = Stage.SESSION


def _wait(job: Job, agent: boxes.RunningAgent, scene: RunEnvironment) -> tuple[boxes.ExitFacts, bool]:
    """Return the agent's facts, and whether its time ran out."""
    clock, started = job.terms.clock, job.terms.clock()
    deadline, look = started + job.terms.agent.wall, started + LOOK
    while True:
        facts = agent.wait(min(POLL, max(deadline - clock(), 0.0)))
        if not facts.running or facts.lost or scene.gateway.over():
            return facts, False
        if clock() >= deadline:
            return facts, True
        if job.stop.is_set():
            raise Lost("the run was interrupted; nothing of it counts")
        if clock() >= look:
            look = clock() + LOOK
            if not scene.world.facts().running:
                return facts, False


def _look(job: Job, scene: RunEnvironment, seen: _Seen) -> None:
    seen.world = scene.world.facts()  # 8
    try:
        state = scene.freeze()
    except Malformed:
        seen.too_large = True
        return
    _seal(job, scene, seen, state)  # 9
    with scene.meter.phase("verdict"):
        _judge(job, state, seen)
    if seen.evidence:
        scene.stage = Stage.VERDICT


def _seal(job: Job, scene: RunEnvironment, seen: _Seen, state: FrozenState) -> None:
    """Hand over what there is."""
    if scene.model:
        scene.model.finish()
        _note_model(scene, seen)
    if seen.transcript:
        facts, phases = _facts(scene, seen), scene.meter.seconds
        earlier = tuple(seen.earlier)
        left = UnjudgedResult(job.task.id, state, facts, seen.transcript, seen.output, dict(phases), earlier)
        job.journal.keep_unjudged(left)


def _judge(job: Job, state: FrozenState, seen: _Seen) -> None:
    """Have the state read and judged; what is no state at all counts as one that is too large."""
    task, terms = job.task, job.terms
    answer = seen.transcript.answer if seen.transcript else None
    back = partial(read_back, job.box, read_by(task), limits=terms.world, judging=terms.judging)
    try:
        question, seen.claims = claims.ask(task, answer, terms.claims)
        judged = terms.judging.verdict(question, state, answer, partial(untouched, task.document), back)
    except Malformed:
        seen.judged = seen.too_large = True
    except Unjudged:
        seen.unjudged = True
    else:
        seen.judged, seen.evidence = True, judged.evidence


def _facts(scene: RunEnvironment, seen: _Seen) -> AttemptFacts:
    transcript = seen.transcript
    return AttemptFacts(
        stage=scene.stage,
        ended=transcript.ended if transcript else None,
        agent=seen.agent,
        world=seen.world,
        too_large=seen.too_large,
        unjudged=seen.unjudged,
        servers_missed=seen.servers_missed,
        upstream="broke" if scene.model and scene.model.lost else transcript.upstream if transcript else None,
        verdict=seen.evidence.verdict if seen.evidence else None,
    )


def _outcome(job: Job, seen: _Seen, facts: AttemptFacts, ruling: Ruling, phases: Mapping[str, float]) -> TaskRun:
    failure, evidence = ruling.failure, seen.evidence
    if evidence is None or failure in ("ours", "unclear"):
        verdict = Verdict.UNKNOWN if failure == "ours" else Verdict.FALSE
        evidence = Evidence(RUN, verdict, found=ruling.code, children=(evidence,) if evidence else ())
    return TaskRun(
        task_id=job.task.id,
        category=job.task.category,
        max_steps=job.task.max_steps,
        verdict=evidence.verdict,
        evidence=evidence,
        transcript=seen.transcript or Transcript((), None, "gateway-lost"),
        failure=failure,
        code=ruling.code,
        phases=phases,
        output=seen.output,
        exit_code=facts.agent.exit_code if facts.agent else None,
        judged_by=WORKER if seen.judged else "",
        claims=seen.claims,
        goal=job.task.goal if seen.transcript else "",
        served=hashlib.sha256(job.task.canonical()).hexdigest() if seen.transcript else "",
    )
