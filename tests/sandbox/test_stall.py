"""A machine that stood still while an agent ran: it is remembered until the agent's time is over."""

from __future__ import annotations

from itertools import chain, repeat

import pytest

from sandbox.attempt import STALL
from sandbox.box import Limits
from sandbox.failure import Facts, Ruling, Stage, classify
from sandbox.run import Terms
from verifiers.language.verdict import Verdict

from .builders import Hands, an_sqlite_task, in_memory, run

WALL, LITTLE = 6 * STALL, STALL / 8


class Clock:
    """A monotonic clock of our own: it goes on by these seconds, one step each time that it is read."""

    now, steps = 0.0, iter(())

    def __call__(self) -> float:
        self.now += next(self.steps, 0.0)
        return self.now


def played(leap: float):
    """Let an agent's first attempt hang while the clock goes on by little, and once, in the middle, by a leap."""
    clock = Clock()

    def story(made):
        if len(box.agents) == 1:
            clock.steps = chain(repeat(LITTLE, 12), [leap], repeat(LITTLE))
            made.hang()
        clock.steps = iter(())
        Hands(made).add()

    box, agent = in_memory(story)
    terms = Terms(clock=clock, agent=Limits(wall=WALL))
    last = run(an_sqlite_task()[0], agent, box, terms=terms)
    return [(one.failure, one.code) for one in (*last.earlier, last)]


def test_a_stall_of_ours_is_remembered_at_every_later_look():
    assert played(1.5 * STALL) == [("unclear", "clock-jumped"), (None, "finished")]


def test_a_clock_that_goes_on_by_little_takes_an_agents_time_and_nothing_else():
    assert played(LITTLE) == [("theirs", "time-exceeded")]


@pytest.mark.parametrize(
    ("ended", "ruling"),
    [
        ("answered", Ruling(None, "finished")),
        ("agent-exited", Ruling(None, "finished")),
        ("steps-exceeded", Ruling("theirs", "steps-exceeded")),
        ("time-exceeded", Ruling("unclear", "clock-jumped")),
    ],
)
def test_a_stall_excuses_an_agent_from_its_time_and_from_nothing_else(ended, ruling):
    facts = Facts(Stage.VERDICT, ended=ended, calls=3, stalled=True, verdict=Verdict.FALSE)
    assert classify(facts) == ruling
