"""Plays attack scenarios through the whole machinery as a submission would be, and judges them from outside.

Nothing is simulated: a scenario is a public task in a real world with three servers, a real gateway in its own
process, a real relay, a real freeze and a real verdict. The task counts as done if any one of its goals is reached,
and no scenario reaches one openly, so a verdict of *true* means that something was trusted, followed or run that
should not have been.

After every scenario the machinery must be intact (`faults`): the run ends in time and through no fault of ours, the
log is sound, and no text that a person is shown holds terminal control characters. The table gives what else must
hold. Scenarios of one batch share a run, where they do not disturb each other. A scenario that did not run to its end
proves nothing: it is played once more, and then, after all the others, ends the suite with an error.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from quarterturn_attacks.harness.monitoring import Heard, gateways_watched
from quarterturn_attacks.harness.scenario_task import GOAL, STEPS, scenario_task
from sandbox.attacks.harness.attempt import Attempt, Outcome, Spec
from sandbox.boxes.box import Box, Program, ResourceLimits
from sandbox.errors import Lost, Unavailable
from sandbox.gateway.session import MAX_ARGUMENTS
from sandbox.results.outcome import TaskRun
from sandbox.runs.run import Terms, run_task
from sandbox.runs.submission import Submission
from sandbox.servings.run_environment import Timeouts
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

HOSTILE = Path(__file__).parents[1] / "agents"
MIB = 1 << 20
WALL = 180.0  # no scenario is about the time that an agent has, so a busy machine shall not decide one
TERMS = Terms(
    agent=ResourceLimits(memory=256 * MIB, pids=128, tmpfs=16 * MIB, wall=WALL, output=256 * 1024),
    patience=Timeouts(ready=180.0, finish=60.0, freeze=120.0),
)
GATEWAY_MEMORY = 256 * MIB  # it starts with some fifty; where it may go no further stands in its own module
OVERTIME = 480.0  # beyond the wall: making the world, freezing it, the verdict, a check of the machinery
WORKERS = 3


@dataclass(frozen=True)
class ScenarioRun:
    """One run of some hostile programs, observed from outside.

    Attributes:
        run: its result.
        met: by attempt, what the program reports; only our own program is asked.
        seconds: how long it took, by our own clock.
        memory: the most that a gateway held meanwhile, in bytes.
        logged: what our own process wrote to its log meanwhile.
    """

    run: TaskRun
    met: Mapping[str, Mapping[str, Any]]
    seconds: float
    memory: int
    logged: Sequence[str] = ()

    @property
    def effects(self) -> int:
        """Count the effects: calls that count, and the answer."""
        return self.run.calls + (self.run.transcript.answer is not None)


Check = Callable[[ScenarioRun, Mapping[str, Any]], str]
"""Say in a sentence what should not have been, or nothing; the second argument is what the program met."""


@dataclass(frozen=True)
class AttackScenario:
    """One attack scenario: its name, the control that stops it, and what must hold after it.

    Attributes:
        spec: its name, group and control.
        check: what must hold besides what holds for all.
        batch: scenarios with the same word are played in one run.
        outcome: its outcome where everything holds.
        told: whether its program lives long enough to say what it met.
        after: whether another run follows, which looks for what is left.
        task: makes the task that it is played on; a batch has one.
        passes: whether it does the task, openly.
    """

    spec: Spec
    check: Check
    batch: str
    outcome: Outcome = "blocked"
    told: bool = True
    after: bool = False
    task: Callable[[], Task] = scenario_task
    passes: bool = False


def faults(played: ScenarioRun, expected: Verdict = Verdict.FALSE) -> Iterator[str]:
    """Say in sentences which rules of every run were broken."""
    run = played.run
    if run.verdict is not expected:
        yield f"the verdict is {run.verdict.value}"
    if run.failure == "ours":
        yield f"the machinery broke ({run.code})"
    if played.seconds > WALL + OVERTIME:
        yield f"the run took {played.seconds:.0f} s"
    if played.memory > GATEWAY_MEMORY:
        yield f"the gateway held {played.memory // MIB} MiB"
    if run.calls > STEPS + 1:
        yield f"{run.calls} calls were counted"
    if any(len(json.dumps(call.arguments)) > MAX_ARGUMENTS for call in run.transcript.calls):
        yield "arguments beyond the cap are in the log"
    if not all(map(plain, (*visible_texts(run), *played.logged))):
        yield "something that is shown moves a cursor, or turns text around"
    if GOAL[:20] in repr(run):
        yield "the task is in a repr"


def visible_texts(run: TaskRun) -> Iterator[str]:
    """Yield every text of a run that is shown as it is; arguments, results and the answer are escaped when they are."""
    yield from (run.output.replace("\n", ""), repr(run), run.code)
    yield from (call.tool for call in run.transcript.calls)
    yield from _found(run.evidence)


def plain(text: str) -> bool:
    """Say whether a text is printable as it is."""
    return text.isprintable()


def _found(evidence: Evidence) -> Iterator[str]:
    yield evidence.found
    for child in evidence.children:
        yield from _found(child)


def play(box: Box, names: Sequence[str], word: str = "", task: Callable[[], Task] = scenario_task) -> ScenarioRun:
    """Play these programs in one run.

    Raises:
        Lost: the run could not be played.
        Unavailable: something that it needs is not installed.
    """
    program = Program(
        command=("python3", "-B", str(HOSTILE / "agent.py"), *names), folder=HOSTILE, environment={"HOSTILE_WORD": word}
    )
    submission = Submission("command", "hostile", "drill", program, "sha256:" + "0" * 64)
    started = time.monotonic()
    with gateways_watched() as peak, Heard() as heard:
        run = run_task(task(), submission, box, alias=f"r-{secrets.token_hex(8)}", terms=TERMS)
    return ScenarioRun(run, dict(_attempts(run.output)), time.monotonic() - started, peak[0], heard.lines)


def _attempts(output: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for line in output.splitlines():
        with suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            yield (entry["attempt"], entry["met"]) if "attempt" in entry else (f"begun {entry['begun']}", {})


def attempted(drill: AttackScenario, played: ScenarioRun, left: ScenarioRun | None) -> Attempt:
    """Judge one attack scenario of a run.

    Raises:
        Lost: its program did not run, so that nothing is proved.
    """
    name = drill.spec.name
    if f"begun {name}" not in played.met or (drill.told and name not in played.met):
        raise Lost(f"the attack scenario {name} did not run to its end ({played.run.code})")
    met = played.met.get(name, {})
    expected = Verdict.TRUE if drill.passes else Verdict.FALSE
    wrong = [*faults(played, expected), *(faults(left) if left else ())]
    wrong += filter(None, [drill.check(played, met), _leftovers(name, left)])
    spec = drill.spec
    if wrong:
        return Attempt(name, spec.group, spec.control, "escaped", "; ".join(wrong))
    return Attempt(name, spec.group, spec.control, drill.outcome, _detail(met, played))


def _leftovers(name: str, left: ScenarioRun | None) -> str:
    if left is None:
        return ""
    met = left.met.get(LOOK)
    if met is None:
        raise Lost(f"the run that looks for leftovers of {name} did not come to its end ({left.run.code})")
    places = [*met["places"], *met["in_the_world"]]
    return f"the next run found {', '.join(places)[:200]}" if places else ""


def _detail(met: Mapping[str, Any], played: ScenarioRun) -> str:
    text = json.dumps(met)
    return f"{text[:160]}{'…' if len(text) > 160 else ''}; {played.run.calls} calls, {played.run.code}"  # noqa: PLR2004


LOOK = "look-for-leftovers"


def perform(box: Box, drills: Sequence[AttackScenario]) -> dict[str, Attempt | Lost]:
    """Play one batch; a scenario that proved nothing is played once more alone, and is an error if it does again."""
    results = _judged(box, drills)
    again = [drill for drill in drills if isinstance(results[drill.spec.name], Lost)]
    return results | (_judged(box, again) if again else {})


def _judged(box: Box, drills: Sequence[AttackScenario]) -> dict[str, Attempt | Lost]:
    """Play these scenarios in one run, followed by the search for leftovers where one of them asks for it."""
    word = f"word-{secrets.token_hex(8)}"
    try:
        played = play(box, [drill.spec.name for drill in drills], word, drills[0].task)
        left = play(box, [LOOK], word) if any(drill.after for drill in drills) else None
    except (Lost, Unavailable) as error:
        return {drill.spec.name: Lost(str(error)) for drill in drills}
    results: dict[str, Attempt | Lost] = {}
    for drill in drills:
        try:
            results[drill.spec.name] = attempted(drill, played, left if drill.after else None)
        except Lost as error:
            results[drill.spec.name] = error
    return results


def batches(drills: Mapping[str, AttackScenario], names: Collection[str]) -> list[list[AttackScenario]]:
    """Group the named scenarios that share a run, in the order of the table."""
    by_batch: dict[str, list[AttackScenario]] = {}
    for name, drill in drills.items():
        if name in names:
            by_batch.setdefault(drill.batch, []).append(drill)
    return list(by_batch.values())


def perform_all(box: Box, drills: Mapping[str, AttackScenario], names: Collection[str]) -> Iterator[Attempt]:
    """Play the named scenarios, some batches at a time, and yield each attempt in the order of the table.

    Raises:
        Lost: some proved nothing, twice; the others were made and handed on before.
    """
    lost: list[str] = []
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="drill") as pool:
        for made in pool.map(partial(perform, box), batches(drills, names)):
            yield from (result for result in made.values() if isinstance(result, Attempt))
            lost += [str(result) for result in made.values() if isinstance(result, Lost)]
    if lost:
        raise Lost(f"{'; '.join(dict.fromkeys(lost))}: played twice, and nothing is proved")
