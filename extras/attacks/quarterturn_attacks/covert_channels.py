"""Covert channels that remain, with an upper bound of each: in bits a month, and from one run to the next.

Isolation bounds an agent's exits; it cannot close those that consist of what we publish ourselves. Each channel below
is one of these. Its ceiling is the logarithm of the number of different things that could be said, as if an agent chose
freely among all of them, knew every task, and nobody ever looked. It is an upper bound and no estimate: to move a
figure by half a point, an agent has to pass or fail a task.

Assumed, because nothing in here can enforce it:

- the submitter reads what a private run shows its owner, and the leaderboard; not the operator's terminal, whose
  progress and wall-clock tell more (`quarterturn run` is the operator's to type), nor the machine or its power and
  load;
- so many private runs a month as the operator lets all submitters make together: the ceiling is for one, and a
  thousand that share out what to say carry a thousand times as much. `RUNS` of them stay below what the goals of a set
  come to;
- what is opened once a task is retired is no exit: the task is published with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox.results.failure import CODES
from sandbox.results.score import roughly

HALF_POINTS, FIVE_POINTS = 201, 21  # 0, 0.5, … 100, and 0, 5, … 100
SECONDARY = 3  # efficiency, hallucination, recovery
TASKS, STEPS = 200, 40  # of a set, and at most of a task
COHORTS = 4  # of which one leaves next
STATES = ("queued", "running", "done", "failed")
MINUTES = 31 * 24 * 60
GOAL = 100
"""Bits of one task's goal, at one bit a letter (C. E. Shannon, *Bell Syst. Tech. J.* 30, 1951, 50-64)."""
RUNS = 100
"""Private runs of a month, all submitters together, unless the operator's settings say otherwise."""


@dataclass(frozen=True, slots=True)
class CovertChannel:
    """One covert channel.

    Attributes:
        name: what carries the bits.
        control: what bounds it.
        bits: how many a month at most; 0 where it is closed.
        attempt: the attack scenario that tries it, if there is one.
    """

    name: str
    control: str
    bits: float
    attempt: str = ""

    @property
    def state(self) -> Literal["closed", "bounded"]:
        """Whether anything is left of it."""
        return "bounded" if self.bits else "closed"


def ceiling(runs: int = 1, *, tasks: int = TASKS, steps: int = STEPS) -> list[CovertChannel]:
    """Return every channel with its ceiling, for one month.

    Args:
        runs: how many private runs are made in the month, by whomever.
        tasks: how many tasks a set has.
        steps: how many calls a task allows at most; with the call too many it counts one more.
    """
    sunset = tasks // COHORTS
    success = math.log2(min(HALF_POINTS, tasks - sunset + 1)) + math.log2(min(HALF_POINTS, sunset + 1))
    secondary = SECONDARY * (math.log2(HALF_POINTS) + 2 * math.log2(FIVE_POINTS))
    counts = 2 * _rough_bits(tasks) + _rough_bits(tasks * (steps + 1))
    endings = math.log2(len(STATES) - 1 + len(CODES))  # a failed run shows one code, another shows its state
    return [
        CovertChannel(
            "success rate",
            "of the sealed cohorts and of the sunset one, rounded to half a point; the rest follows from these two",
            runs * success,
            "whisper-score",
        ),
        CovertChannel(
            "the other three figures",
            "over all cohorts, rounded to half a point; the ends of their intervals to five points",
            runs * secondary,
        ),
        CovertChannel(
            "counts beside the figures",
            "how many tasks were recovered, are unknown, and how many calls were made: rounded to one digit",
            runs * counts,
        ),
        CovertChannel("state and code", "one of four states, and one code of a fixed list", runs * endings),
        CovertChannel(
            "the minute a run ends",
            "a worker closes it on a full minute; no progress, and no duration of a task",
            runs * math.log2(MINUTES),
        ),
        CovertChannel("tool names", "escaped, cut, and sealed with the run", 0.0, "whisper-tool-names"),
        CovertChannel("answer", "sealed with the run", 0.0, "whisper-answer"),
        CovertChannel("printed output", "sealed with the run; shown on the dev set alone", 0.0, "whisper-output"),
        CovertChannel(
            "exit code",
            "no number is shown; whether every task ended with an error is a code of the list above",
            0.0,
            "whisper-exit-code",
        ),
        CovertChannel("duration of a task", "sealed with the run; its minute is the run's", 0.0, "whisper-duration"),
        CovertChannel("image labels", "never shown; no engine is within an agent's reach", 0.0, "whisper-labels"),
        CovertChannel("display names", "a person chooses them, before or after a run and not in it; no run can", 0.0),
        CovertChannel("the public record", "commitments are salted by us; nothing in them can be chosen", 0.0),
    ]


SECONDS = 120  # of a run's processor time for one task
PIPES = 175_520  # a second, made by one agent in the bwrap box on two cores
LEFT = 200 * (64 << 20)  # bytes that the worlds of a run may leave behind, which are sealed and kept for a while


@dataclass(frozen=True, slots=True)
class SharedKernelState:
    """Kernel state that all runs share, which a run finds as an earlier run of another class left it.

    Attributes:
        name: what carries the bits.
        control: what bounds it where both classes are played on one machine.
        steps: how far one run moves it at most.
        noise: by how much it moves of itself between two runs.
    """

    name: str
    control: str
    steps: int = 0
    noise: int = 1

    @property
    def bits(self) -> float:
        """How much one run tells the next."""
        return math.log2(1 + self.steps / self.noise)


def shared() -> list[SharedKernelState]:
    """Return what was tried between two runs on one machine, as measured there; on two machines all are closed."""
    return [
        SharedKernelState("pages of programs in memory", "separate copies: other inodes, in an engine other layers"),
        SharedKernelState("what is left in /tmp, /dev/shm, the agent's folder", "made for one run, and gone with it"),
        SharedKernelState("process numbers, System V IPC, message queues, abstract sockets", "namespaces of one run"),
        SharedKernelState("keyrings", "the filter refuses `add_key`, `keyctl` and `request_key`"),
        SharedKernelState(
            "inode and device numbers of /tmp, mount and namespace numbers", "the lowest free one; an agent makes none"
        ),
        SharedKernelState("relay, gateway, world", "made for one run; the relay's address is random"),
        SharedKernelState(
            "both at once: processor, caches, memory pressure",
            "the classes take turns (`sandbox.isolation.machine_lock`)",
        ),
        SharedKernelState(
            "port numbers, given by counts of connections between two addresses",
            "each place connects from a random address of 127.0.0.0/8, has no IPv6, and may name no other",
        ),
        SharedKernelState("socket cookies, inode numbers of pidfds", "the filter refuses `SO_COOKIE` and `pidfd_open`"),
        SharedKernelState(
            "free memory, load, counters of the kernel", "the filter refuses `sysinfo`, and `/proc` is masked"
        ),
        SharedKernelState(
            "inode numbers of pipes and sockets", "time alone: one counter for all", PIPES * SECONDS, 1_000
        ),
        SharedKernelState("free space of the disk (`statfs`)", "caps on what a world leaves behind", LEFT, 1 << 20),
    ]


def shared_table(states: Sequence[SharedKernelState]) -> list[str]:
    """Write them as the rows of a Markdown table, with their sum."""
    head = ["| on one machine | bits a run | what bounds it |", "|---|---|---|"]
    rows = [f"| {state.name} | {state.bits:.0f} | {state.control} |" for state in states]
    return [*head, *rows, f"| **together** | **{sum(state.bits for state in states):.0f}** | |"]


def _rough_bits(most: int) -> float:
    """Return the bits of a count up to `most` that is rounded to its first digit."""
    return math.log2(len({roughly(count) for count in range(most + 1)}))


def total(channels: Sequence[CovertChannel]) -> float:
    """Add the ceilings up, in bits a month."""
    return sum(channel.bits for channel in channels)


def table(channels: Sequence[CovertChannel]) -> list[str]:
    """Write the channels as the rows of a Markdown table, with their sum."""
    rows = [f"| {channel.name} | {channel.state} | {channel.bits:.0f} | {channel.control} |" for channel in channels]
    head = ["| channel | | bits a month, at most | what bounds it |", "|---|---|---|---|"]
    return [*head, *rows, f"| **together** | | **{total(channels):.0f}** | |"]


def bits_of(attempt: str) -> str:
    """Say in words how much the channel of one scenario carries by itself."""
    channel = next(candidate for candidate in ceiling() if candidate.attempt == attempt)
    return f"at most {channel.bits:.0f} bits a month" if channel.bits else "0 bits a month of its own"
