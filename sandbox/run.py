"""One run of one task, as a numbered argument; and a set of them.

The order is the safety property. Each step may rely on those before it:

 1. *Seed.* The world's data is built in memory from the document: nothing of a task is ever a file on this machine.
 2. *World.* A fresh one is started with it, with every server that has a listed tool, distractors' too.
 3. *Gateway.* A fresh process is told what the agent may see: goal, tools, faults, steps, a per-run alias. It is never
    told the id, the predicate or the initial state, and holds no key; it is ready before any agent lives.
 4. *Agent.* The relay, then the program. From here on everything may be hostile.
 5. *Wait* for the program's end, the session's end, the world's death, or the deadline by our own monotonic clock.
 6. *Kill.* The agent and its relay are gone before anything is looked at, so that nobody can act between the look and
    the verdict.
 7. *Transcript.* The gateway ends and hands over what it saw.
 8. *Facts*, then *freeze*: the world stops its servers, kills every other process and hands its state out.
 9. *Verdict.* The predicate is evaluated by our own code on that copy.
10. *Removal*, in every path; nothing is ever used again.

Passed = the predicate is true, no budget was exceeded, and `sandbox.failure` finds that the machinery held. What broke
through our fault is played again from step 1, at most twice; what an agent could have provoked is replayed without it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

from sandbox import box as boxes
from sandbox.box import Box
from sandbox.errors import Lost, Malformed, Unavailable
from sandbox.failure import RETRIES, Facts, Ruling, Stage, classify
from sandbox.outcome import TaskRun
from sandbox.scene import Scene, specify
from sandbox.submission import Submission
from sandbox.terms import Job, Solution, Terms, checked, new_alias
from sandbox.transcript import Call, Transcript
from sandbox.world import seed, servers_of, views
from vault.task import Task
from verifiers import predicate as predicates
from verifiers.evaluate import evaluate
from verifiers.verdict import Evidence, Verdict
from verifiers.views import Tree

__all__ = ["Solution", "Terms", "judge", "new_alias", "run_set", "run_task"]

POLL = 0.25
"""Seconds between two looks at a running agent."""
LOOK = 1.0
"""Seconds between two looks at its world, which an engine answers more slowly."""

_BROKEN = (Lost, Unavailable, OSError)  # how a box, a gateway or the kernel says that the machinery failed


@dataclass
class _Seen:
    """What an attempt brought to light so far; each step adds its own."""

    transcript: Transcript | None = None
    agent: boxes.Facts | None = None
    world: boxes.Facts | None = None
    late: bool = False
    servers_lost: int = 0
    too_large: bool = False
    evidence: Evidence | None = None
    output: str = ""


def run_task(
    task: Task,
    submission: Submission,
    box: Box,
    *,
    alias: str,
    solution: Solution | None = None,
    terms: Terms | None = None,
) -> TaskRun:
    """Run one task with one submission, again where the failure was ours.

    Raises:
        Refused: a solution was handed to what is no reference agent, or the task still has free parameters.
        Malformed: the task's state is none that its servers know.
    """
    job = checked(Job(task, submission, box, alias, terms or Terms(), solution))
    return _with_retries(job, _prepare(job))


def run_set(
    tasks: Sequence[Task],
    submission: Submission,
    box: Box,
    *,
    workers: int = 2,
    on_done: Callable[[TaskRun], None] | None = None,
    solutions: Mapping[str, Solution] | None = None,
    alias: Callable[[], str] = new_alias,
    terms: Terms | None = None,
) -> list[TaskRun]:
    """Run a set, `workers` agents at a time, each of them while the next task's world is being prepared.

    The results come in the order of `tasks`; `on_done` is called in this thread, in the order in which they end. An
    exception (of `on_done` too, or an interrupt) ends all runs, and nothing of them is left.
    """
    given, terms = solutions or {}, terms or Terms()
    stop, playing = threading.Event(), threading.Semaphore(workers)
    jobs = [checked(Job(task, submission, box, alias(), terms, given.get(task.id), stop)) for task in tasks]
    pool = ThreadPoolExecutor(workers + 1, thread_name_prefix="run")
    try:
        futures = [pool.submit(_in_turn, job, playing) for job in jobs]
        for future in as_completed(futures):
            if on_done:
                on_done(future.result())
        return [future.result() for future in futures]
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _in_turn(job: Job, playing: threading.Semaphore) -> TaskRun:
    scene = _prepare(job)
    with playing:
        return _with_retries(job, scene)


def _with_retries(job: Job, scene: Scene) -> TaskRun:
    run = _attempt(job, scene)
    for attempt in range(2, RETRIES + 2):
        if run.failure != "ours" or job.stop.is_set():
            break
        run = replace(_attempt(job, _prepare(job)), attempts=attempt)
    return run


def _prepare(job: Job) -> Scene:
    """Steps 1 to 3. A scene that could not be made is given back with the stage that it reached."""
    task, terms = job.task, job.terms
    solution = {"calls": job.solution.calls, "answer": job.solution.answer} if job.solution else None
    servers = servers_of(task.document)
    spec = specify(task, alias=job.alias, wall=terms.agent.wall, servers=servers, solution=solution)
    tree = seed(task.document)  # 1
    scene = Scene(job.box, spec, servers, tree, terms.world, terms.patience, terms.clock)
    try:
        return scene.open()  # 2, 3
    except _BROKEN:
        return scene


def _attempt(job: Job, scene: Scene) -> TaskRun:
    seen = _Seen()
    try:
        if scene.stage == Stage.GATEWAY:
            _play(job, scene, seen)  # 4 to 7
            _look(job, scene, seen)  # 8, 9
    except _BROKEN:
        pass  # the stage that was reached says where, and the classifier what it means
    finally:
        scene.close()  # 10
    facts = _facts(scene, seen)
    ruling = classify(facts)
    if ruling.blame == "replay" and seen.transcript:
        ruling = classify(replace(facts, recurred=_recurs(job, seen.transcript)))
    return _outcome(job, seen, ruling, scene.meter.seconds)


def _play(job: Job, scene: Scene, seen: _Seen) -> None:
    with scene.meter.phase("agent"):
        agent = job.box.agent(job.submission.program, scene.sockets, job.terms.agent)  # 4
        scene.stage = Stage.AGENT
        try:
            seen.agent, seen.late = _wait(job, agent, scene)  # 5
        finally:
            agent.kill()  # 6
    with scene.meter.phase("transcript"):
        seen.output = agent.output()
        transcript = scene.gateway.finish(job.terms.patience.finish)  # 7
    seen.servers_lost = len(scene.gateway.lost)
    if seen.late and transcript.ended == "agent-exited":
        transcript = replace(transcript, ended="time-exceeded")
    seen.transcript = transcript
    scene.stage = Stage.SESSION


def _wait(job: Job, agent: boxes.Agent, scene: Scene) -> tuple[boxes.Facts, bool]:
    """Give the agent's facts, and whether its time ran out."""
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


def _look(job: Job, scene: Scene, seen: _Seen) -> None:
    seen.world = scene.world.facts()  # 8
    try:
        tree = scene.freeze()
    except Malformed:
        seen.too_large = True
        return
    with scene.meter.phase("verdict"):
        answer = seen.transcript.answer if seen.transcript else None
        seen.evidence = judge(job.task, tree, answer)  # 9
    scene.stage = Stage.VERDICT


def judge(task: Task, tree: Tree, answer: str | None) -> Evidence:
    """Evaluate a task's predicate on a frozen state."""
    predicate = predicates.parse(task.success_predicate)
    return evaluate(predicate, views(tree, servers_of(task.document), answer))


def _facts(scene: Scene, seen: _Seen) -> Facts:
    transcript = seen.transcript
    passed_on = [call for call in transcript.calls if call.listed and not call.injected] if transcript else []
    return Facts(
        stage=scene.stage,
        ended=transcript.ended if transcript else None,
        calls=len(passed_on),
        agent=seen.agent,
        world=seen.world,
        too_large=seen.too_large,
        servers_lost=seen.servers_lost,
        verdict=seen.evidence.verdict if seen.evidence else None,
    )


def _recurs(job: Job, transcript: Transcript) -> bool:
    """Play the logged calls in a fresh world without an agent, and say whether it breaks again."""
    task, terms = job.task, job.terms
    script = [Call(call.tool, call.arguments) for call in transcript.calls if call.listed]
    tree, servers = seed(task.document), servers_of(task.document)
    spec = specify(task, alias=job.alias, wall=terms.agent.wall, servers=servers, script=script)
    with Scene(job.box, spec, servers, tree, terms.world, terms.patience, terms.clock) as scene:
        try:
            scene.open().gateway.finish(terms.agent.wall)
            if scene.gateway.lost or not scene.world.facts().running:
                return True
            scene.stage = Stage.SESSION
            scene.freeze()
        except Malformed:
            return True
        except _BROKEN:
            return scene.stage == Stage.SESSION
    return False


def _outcome(job: Job, seen: _Seen, ruling: Ruling, phases: Mapping[str, float]) -> TaskRun:
    blame = "ours" if ruling.blame == "replay" else ruling.blame
    evidence = seen.evidence
    if evidence is None or blame == "ours":
        verdict = Verdict.FALSE if blame == "theirs" else Verdict.UNKNOWN
        evidence = Evidence("run", verdict, found=ruling.code, children=(evidence,) if evidence else ())
    return TaskRun(
        task_id=job.task.id,
        category=job.task.category,
        max_steps=job.task.max_steps,
        verdict=evidence.verdict,
        evidence=evidence,
        transcript=seen.transcript or Transcript((), None, "gateway-lost"),
        failure=blame,
        code=ruling.code,
        phases=phases,
        output=seen.output,
    )
