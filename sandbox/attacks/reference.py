"""Generator of the reference page of attacks, from the catalogue: `python -m sandbox.attacks.reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from sandbox.attacks import hostile_states
from sandbox.attacks.compromised_world import NAIVE_READERS
from sandbox.attacks.controls.vulnerable_baseline import JUDGES, PLACES
from sandbox.attacks.harness.catalogue import ROWS, Without
from sandbox.attacks.suite import attempts

HEAD = """# The attacks

This page is written by `python -m sandbox.attacks.reference`; a test fails where the two differ.

`quarterturn doctor --attack` makes all of these in a box of yours. Those marked *short* are also made before every
official run, which takes a second or two and refuses to begin where one of them escapes. Each ends as `blocked` (it was
refused), `bounded` (it got so far and no further) or `escaped`.

"Blocked" is worth something only where the same program gets through without the one control that should stop it. That
is the last column, and `--with-controls` makes it: as root, in namespaces of its own, with addresses of the
documentation ranges alone. What would change the host's kernel is never made unprotected: its filter stays, with
another errno, and the attempt has to meet that one. Capabilities that reach beyond a namespace are never given.

Where nothing could be reached there is no wire: before anything is sent, interfaces and routes are looked at, and one
that leads out is an escape by itself. For the addresses of bridges and metadata services the kernel is asked for a
route, by `connect` on a datagram socket, which sends nothing.

Under gVisor (`DockerBox(runtime="runsc")`, with `--network=host` among that runtime's arguments, which is the host's
stack in the place's own namespace) a kernel of its own stands between. What is got from that kernel is `bounded`, for
it ends with the place. Controls are made in the two other boxes.

In the `bwrap` box of an ordinary user there are no control groups, and nobody who may close a file of the kernel's:
what *a control group* alone stops, and `network-counters`, are reported there as an escape, and scores made in that box
are unofficial.
"""

GROUPS = {
    "network": "Network",
    "kernel": "Kernel",
    "files": "Files",
    "resources": "Resources",
    "gateway": "The gateway",
    "persistence": "What is left behind",
    "score": "The score",
    "covert": "Covert exits",
}


def page() -> str:
    """Write the page."""
    return HEAD + "\n" + "\n".join(_tables()) + "\n"


def _tables() -> Iterator[str]:
    for group, title in GROUPS.items():
        specs = [spec for spec in attempts().values() if spec.group == group]
        yield f"## {title}: {len(specs)}\n"
        yield "| attempt | | what stops it | without it |"
        yield "|---|---|---|---|"
        for spec in specs:
            yield f"| `{spec.name}` | {'short' if spec.short else ''} | {spec.control} | {positive(spec.name)} |"
        yield ""


def positive(name: str) -> str:
    """Say what an attempt's positive control is, or why there is none."""
    if name in ROWS:
        control = ROWS[name].positive
        return str(control) if isinstance(control, Without) else f"none: {control}"
    careless = {*JUDGES, *PLACES, *NAIVE_READERS, *hostile_states.ATTEMPTS}
    return "gets through where somebody is careless" if name in careless else "none: it is judged from outside"


if __name__ == "__main__":
    sys.stdout.write(page())
