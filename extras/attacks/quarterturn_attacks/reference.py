"""Generator of the reference page of attacks, from the catalogue: `python -m quarterturn_attacks.reference`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from quarterturn_attacks import hostile_states
from quarterturn_attacks.compromised_world import NAIVE_READERS
from quarterturn_attacks.controls.vulnerable_baseline import JUDGES, PLACES
from quarterturn_attacks.suite import attempts
from sandbox.attacks.harness.attempt import Spec
from sandbox.attacks.harness.catalogue import ROWS, Without

HEAD = """# The attacks

This page is written by `python -m quarterturn_attacks.reference`; a test fails where the two differ.

`quarterturn doctor --attack` makes all of these attempts in a box of this machine. Those without an asterisk are also
made before every official run. They take a second or two, and the run does not start if one of them escapes. Each
attempt ends as `blocked` (it was refused), `bounded` (it was stopped at a cap) or `escaped`.

"Blocked" proves something only if the same program succeeds without the one control that should stop it. The last
column names that positive control, and `--with-controls` runs it: as root, in namespaces of its own, with addresses of
the documentation ranges only. An attempt that would change the host's kernel is never made unprotected: its filter
stays and returns another errno, which the attempt has to meet. Capabilities that reach beyond a namespace are never
given.

The *vulnerable baseline* is a deliberately vulnerable gateway with its world, for tests only: it trusts what it is
sent, and reads the state in place. A *naive reader* reads a hostile state as an ordinary program does, which stops or
deceives it. With *none*, the outcome is checked from outside the place.

A network attempt sends nothing where no host could be reached: it first inspects interfaces and routes, and one that
leads out is an escape by itself. For the addresses of bridges and metadata services it asks the kernel for a route, by
`connect` on a datagram socket, which sends nothing.

Under gVisor (`DockerBox(runtime="runsc")`, with `--network=host` among that runtime's arguments) an attempt that
succeeds against gVisor's kernel is `bounded`, because it ends with the place. Positive controls run in the two other
boxes.

The `bwrap` box of an ordinary user has no control groups, and nobody with the right to close files of the kernel.
There, what only *a control group* stops, and `network-counters`, is reported as an escape, and scores made in that box
are unofficial.
"""

SYSTEM_CALL = re.compile(r"(?<=the filter allows )\w+(?=;|$)|(?<=another errno for )\w+$")

GROUPS = {
    "network": "Network",
    "kernel": "Kernel",
    "files": "Files",
    "resources": "Resources",
    "gateway": "The gateway",
    "persistence": "Persistence after a run",
    "score": "The score",
    "covert": "Covert channels",
}


def page() -> str:
    """Write the page."""
    return HEAD + "\n" + "\n".join(_tables()) + "\n"


def _tables() -> Iterator[str]:
    for group, title in GROUPS.items():
        specs = [spec for spec in attempts().values() if spec.group == group]
        yield f"## {title}: {len(specs)}\n"
        yield "| attempts | what stops them | positive control |"
        yield "|---|---|---|"
        for (control, proof), names in _by_controls(specs).items():
            yield f"| {', '.join(names)} | {control} | {proof} |"
        yield ""


def _by_controls(specs: Iterable[Spec]) -> dict[tuple[str, str], list[str]]:
    """Group the names of attempts by what stops them and by what proves that, whichever system call it is."""
    rows: dict[tuple[str, str], list[str]] = {}
    for spec in specs:
        proof = SYSTEM_CALL.sub("the call", positive(spec.name))
        rows.setdefault((spec.control, proof), []).append(f"`{spec.name}`" + ("" if spec.short else "\\*"))
    return rows


def positive(name: str) -> str:
    """Say what an attempt's positive control is, or why there is none."""
    if name in ROWS:
        control = ROWS[name].positive
        return str(control) if isinstance(control, Without) else f"none: {control}"
    if name in JUDGES:
        return "vulnerable baseline"
    if name in PLACES:
        return "a place whose folders are used twice"
    if name in NAIVE_READERS or name in hostile_states.ATTEMPTS:
        return "naive reader"
    return "none"


if __name__ == "__main__":
    sys.stdout.write(page())
