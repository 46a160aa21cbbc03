"""Cross-run covert channel test: a sealed run leaves a message, and a later run that has an exit looks for it.

Each agent is alone in its place. The message is random and is sent as it is and then with every bit inverted, so that
whatever a receiver always sees agrees with half of it. What is delivered is bounded from above: from the number of
bits that agree, the 95 % bound of their share (Clopper and Pearson, *Biometrika* 26, 1934,
404-413) and with it the capacity of a binary symmetric channel, for the bits of one run. The positive control is the
same pair of agents in places that read the same copy.

Neither agent has a system-call filter, in the attempt and in its control: the test is whether there is anything to
see, not whether they may ask. With the filter they are left with a clock.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from quarterturn_attacks.harness.scenario_runner import HOSTILE
from sandbox.attacks.harness.attempt import Attempt, Spec, catalogue
from sandbox.attacks.harness.probing import answering, limits
from sandbox.boxes.box import AgentLauncher, Box, Program
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.bwrap.bwrap import Walls
from sandbox.errors import Lost
from sandbox.isolation.run_classes import RunClass

NAME = "whisper-page-cache"
ATTEMPTS: Mapping[str, Spec] = catalogue(
    Spec(NAME, "covert", "runs of the two classes read separate copies; at most one bit a run, at 95 %")
)
BYTES, PAIRS = 28, 10
CONTROL_PAIRS = 5  # to see that messages arrive needs fewer than a bound
ARRIVED = 0.75  # by chance half of the bits agree; the kernel may need the pages of one message or another
LEVEL = 0.95


class UnfilteredWalls(Walls):
    """A bwrap without the filter."""

    def add(self, *words: str | Path | int) -> None:
        """Append words, but for the filter."""
        if "--seccomp" not in words:
            super().add(*words)


def run(box: Box, names: Collection[str]) -> Iterator[Attempt]:
    """Send from a sealed run to an open one; see `sandbox.attacks.harness.attempt.SuitePart`."""
    for name in names:
        spec = ATTEMPTS[name]
        agreed, total = exchanged(_of(box, "sealed"), _of(box, "open"))
        bits = capacity(agreed, total, total // (2 * PAIRS))
        detail = f"{agreed} of {total} bits agree: at most {bits:.2f} bits a run"
        yield Attempt(name, spec.group, spec.control, "bounded" if bits <= 1 else "escaped", detail)


def controls(box: Box, names: Collection[str]) -> dict[str, bool]:
    """Send to a run that reads the same copy, and say whether more than three bits of four arrive."""
    own, sent = _of(box, "open"), 16 * BYTES * CONTROL_PAIRS
    return {name: exchanged(own, own, CONTROL_PAIRS)[0] > ARRIVED * sent for name in names}


def exchanged(sender: AgentLauncher, receiver: AgentLauncher, pairs: int = PAIRS) -> tuple[int, int]:
    """Send messages, each as it is and then turned round, and return how many of how many bits agree.

    Raises:
        Lost: an agent did not run to its end, so that nothing is proved.
    """
    agreed = 0
    _message(receiver, "receive", str(BYTES))  # what was there before anybody sent anything is no message
    for _ in range(pairs):
        message = secrets.token_bytes(BYTES)
        for sent in (message, bytes(byte ^ 0xFF for byte in message)):
            left = _message(sender, "send", sent.hex())
            received = _message(receiver, "receive", str(BYTES))
            if received["files"] != left["files"]:
                raise Lost("the agents chose different files, which proves nothing")
            heard = bytes.fromhex(received["message"])
            agreed += sum(
                8 - (sent_byte ^ heard_byte).bit_count() for sent_byte, heard_byte in zip(sent, heard, strict=True)
            )
    return agreed, 16 * BYTES * pairs


def capacity(agreed: int, total: int, bits: int) -> float:
    """Bound what a run of so many bits delivers, from how many of all bits agreed; as many that differ are as good."""
    share = _upper(max(agreed, total - agreed), total)
    spread = 0.0 if share >= 1 else -share * math.log2(share) - (1 - share) * math.log2(1 - share)
    return bits * (1 - spread)


def _upper(hits: int, total: int) -> float:
    """Return the greatest share under which so few hits are not yet rarer than 1 - LEVEL, by halving."""
    if hits == total:
        return 1.0
    low, high = hits / total, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(hits, total, middle) > 1 - LEVEL else (low, middle)
    return high


def _at_most(hits: int, total: int, share: float) -> float:
    """Return the probability of at most so many hits."""
    ln = [math.log(share), math.log1p(-share)]
    terms = (
        math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1) + k * ln[0] + (total - k) * ln[1]
        for k in range(hits + 1)
    )
    return math.fsum(math.exp(term) for term in terms)


def _of(box: Box, run_class: RunClass) -> Box:
    """Return the same box for a class of runs, without filters."""
    if box.name == "docker":
        from quarterturn_attacks.unfiltered_docker import unfiltered  # noqa: PLC0415 - the engine's SDK, for this box alone

        return unfiltered(box, run_class)
    if isinstance(box, BwrapBox):
        lowered = BwrapBox(run_class=run_class)
        lowered.walls = UnfilteredWalls
        return lowered
    raise Lost(f"the {box.name} box keeps no classes of runs apart")


def _message(box: AgentLauncher, *words: str) -> dict[str, str]:
    source = (HOSTILE / "page_cache.py").read_text(encoding="utf-8")
    caps = limits(box)
    with answering() as (sockets, _):
        agent = box.place(Program(command=("python3", "-I", "-c", source, *words)), sockets, caps).start()
        try:
            agent.wait(caps.wall)
        finally:
            agent.kill()
    try:
        message: dict[str, str] = json.loads(agent.output())
    except ValueError:
        raise Lost(f"an agent that should {words[0]} ended without a word, which proves nothing") from None
    return message
