"""What still gets out, and how much of it at most: the covert exits, counted in bits a month.

A wall bounds an agent's exits; it cannot close those that are made of what we say ourselves. Each channel below is one
such thing. Its ceiling is the logarithm of the number of things that could be said, as if an agent chose freely among
all of them and nobody ever looked: it is an upper bound, not an estimate. All of it assumes a submitter whose agent
knows every task, and who reads what they are shown and nothing else.

    figures     two of four axes are rates rounded to half a point (201 values); the other two are as coarse
    codes       a private run's failure is one code of a fixed list
    runs        only so many private runs a month are allowed, and the board shows one of them
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox.failure import CODES

HALF_POINTS = 201  # 0, 0.5, … 100
FIGURES = 4  # the axes, for the sealed cohorts together
COHORTS = 2  # sealed and sunset are shown apart
STATES = 4  # queued, running, done, failed
MINUTES = 24 * 60 * 31  # in a month


@dataclass(frozen=True, slots=True)
class Channel:
    """One exit.

    Attributes:
        name: what carries the bits.
        control: what bounds it.
        bits: how many a month at most; 0 where it is closed.
        attempt: the drill that tries it, if there is one.
    """

    name: str
    control: str
    bits: float
    attempt: str = ""

    @property
    def state(self) -> Literal["closed", "bounded"]:
        """Whether anything is left of it."""
        return "bounded" if self.bits else "closed"


def ceiling(runs: int = 4, *, figures: int = FIGURES, minute_of_the_end: bool = True) -> list[Channel]:
    """Give every channel with its ceiling, for one submitter and one month.

    Args:
        runs: how many private runs a submitter may make in a month.
        figures: how many figures of each cohort are shown.
        minute_of_the_end: whether the owner learns the minute in which a run ended, as whoever polls its state does.
    """
    ends = math.log2(MINUTES) if minute_of_the_end else 0.0
    return [
        Channel(
            "figures",
            f"{figures} figures of {COHORTS} groups of tasks, rounded to half a point; {runs} runs a month",
            runs * COHORTS * figures * math.log2(HALF_POINTS),
        ),
        Channel(
            "state and code",
            f"one of {STATES} states, and one of {len(CODES)} codes of a fixed list",
            runs * math.log2(STATES - 1 + len(CODES)),
        ),
        Channel("end of a run", "its minute at most: no progress and no duration is shown", runs * ends),
        Channel(
            "number of runs",
            f"at most {runs}, and whether each is made is known before any task is served",
            0.0,
        ),
        Channel("board", "a rounding of the same figures, of one run a month", 0.0),
        Channel("tool names", "escaped, cut, and sealed with the run", 0.0, "whisper-tool-names"),
        Channel("answer", "sealed with the run", 0.0, "whisper-answer"),
        Channel("printed output", "sealed with the run; shown on the dev set alone", 0.0, "whisper-output"),
        Channel(
            "exit code", "no program shows it, and the classifier reads no meaning into it", 0.0, "whisper-exit-code"
        ),
        Channel("duration of a task", "not shown, and sealed; the tasks of a run end unseen", 0.0, "whisper-duration"),
        Channel("image labels", "never read, and an image cannot be written to", 0.0),
        Channel("public record", "salted commitments: what is in them cannot be chosen", 0.0),
    ]


def total(channels: Sequence[Channel]) -> float:
    """Add the ceilings up, in bits a month."""
    return sum(channel.bits for channel in channels)


def bits_of(attempt: str) -> str:
    """Say how much one drill's channel carries, in words."""
    channel = next(channel for channel in ceiling() if channel.attempt == attempt)
    return f"at most {channel.bits:.0f} bits a month" if channel.bits else "closed but for what figures and codes carry"
