"""Part of the suite that runs inside an agent's place: attacks on network, kernel, files and resources.

`sandbox.attacks.probes` runs there as if it had been submitted, with the relay and a gateway socket that gives only a
fixed answer. The first attempt is the egress canary. Those that may crash their place have one of their own
(`sandbox.attacks.harness.isolated_attempts`). What did not run to its end, or could not reach its relay, proves nothing
and is an error, never a pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sandbox.attacks.harness import isolated_attempts
from sandbox.attacks.harness.attempt import Attempt, Outcome, Spec, catalogue
from sandbox.attacks.harness.catalogue import APART, HOGS, ROWS, SENTRY
from sandbox.attacks.harness.probing import answering, endings, has_sentry, limits, program
from sandbox.boxes.box import Box, ExitFacts
from sandbox.errors import Lost

MAX_QUOTED_CHARACTERS = 300  # of the last line that a program printed

ATTEMPTS: Mapping[str, Spec] = catalogue(
    *(Spec(name, row.group, row.control, short=row.short) for name, row in ROWS.items())
)


def run(box: Box, names: Collection[str]) -> Iterator[Attempt]:
    """Make the attempts that are named: most of them in one agent's place, some in a place each.

    Raises:
        Lost: one did not run to its end, or did not reach its own relay.
        Unavailable: the box cannot be had.
    """
    alone = {*APART, *(HOGS if has_sentry(box) else ())}  # gVisor dies as a whole of what one program takes
    together = [name for name in names if name not in alone]
    if together:
        yield from _together(box, together)
    for name in names:
        if name in alone:
            yield _attempt(box, name, *isolated_attempts.make(box, name))


def _together(box: Box, names: Collection[str]) -> Iterator[Attempt]:
    caps = limits(box)
    with answering() as (sockets, word):
        agent = box.place(program(names), sockets, caps).start()
        try:
            facts = agent.wait(caps.wall)
        finally:
            agent.kill()
    if facts.running or facts.lost:
        raise Lost(f"the self-check did not end within {caps.wall:g} s: the {box.name} box is not to be trusted")
    results = endings(agent.output())
    if not results.get("reached", ("", ""))[1].endswith(word):
        raise Lost(
            f"the self-check of the {box.name} box did not reach its own relay, so what it found proves nothing: "
            f"its program {describe_end(facts, agent.output())}"
        )
    missing = [name for name in names if name not in results]
    if missing:
        raise Lost(f"the self-check of the {box.name} box stopped before {', '.join(missing)}")
    for name in names:
        yield _attempt(box, name, *results[name])


def describe_end(facts: ExitFacts, output: str) -> str:
    """Return how a program ended and the last line that it printed: "ended with status 2 and printed last: …"."""
    ended = f"ended with status {facts.exit_code}" if facts.exit_code is not None else "ended without a status"
    last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), None)
    return f"{ended} and printed {f'last: {last[:MAX_QUOTED_CHARACTERS]}' if last else 'nothing'}"


def _attempt(box: Box, name: str, outcome: Outcome, detail: str) -> Attempt:
    if outcome == "escaped" and name in SENTRY and has_sentry(box):
        outcome, detail = "bounded", f"{detail}, inside gVisor's own kernel"
    return Attempt(name, ROWS[name].group, ROWS[name].control, outcome, detail)
