"""Generator of the page about what an agent's box holds: `python -m sandbox.boxes.bwrap.contents`.

A program in the box lists what it finds there. Python packages are pinned by a lock; the other programs are copies of
the machine's, whose versions differ from one machine to the next.
"""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Unavailable

INTERPRETERS = ("awk", "bash", "bc", "jq", "node", "perl", "python3", "sed", "sh")
LISTING = f"""
import json, os, re, shutil, subprocess
from importlib.metadata import distributions

def version(name):
    said = subprocess.run([name, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    found = re.search(r"[0-9]+([.][0-9]+)+", said)
    return found[0] if found else "there; it tells no version"

print(json.dumps({{
    "packages": sorted((d.metadata["Name"].lower(), d.version) for d in distributions()),
    "interpreters": {{name: shutil.which(name) and version(name) for name in {INTERPRETERS}}},
    "programs": sorted(os.listdir("/usr/bin")),
}}))
"""
HEAD = """# What the agent's box holds

This page is written by `python -m sandbox.boxes.bwrap.contents`, from within the bwrap box, where `--agent` commands
run. A test fails where its packages are no longer those in the box. An image (`--image`) holds what you put into it.
An agent can install nothing, since it has no network; it brings other files and packages in its own folder and in that
of `--packages`, which may have 100,000 files and 1 GiB.

## Interpreters

Python is the machine's own, 3.11 or newer, in an environment with the packages below. Node is the one that servers
run on, and brings no packages. The other interpreters are the machine's too.

| name | version when this was written |
|---|---|
"""


def listing() -> dict[str, Any]:
    """Return what the box holds: `packages` and `interpreters` with versions, and `programs`.

    Raises:
        Unavailable: no box can be had here.
    """
    box = BwrapBox()
    box.check()
    code, out = box.look_inside(f"exec python3 -I -c {shlex.quote(LISTING)}")
    if code != 0:
        raise Unavailable("a program in bwrap could not list what is there; run ./run setup")
    held: dict[str, Any] = json.loads(out)
    return held


def packages(held: dict[str, Any]) -> str:
    """Write the table of the Python packages."""
    return "| package | version |\n|---|---|\n" + "".join(f"| {name} | {made} |\n" for name, made in held["packages"])


def page(held: dict[str, Any]) -> str:
    """Write the page."""
    table = "".join(
        f"| {name} | {version or 'not there'} |\n" for name, version in sorted(held["interpreters"].items())
    )
    programs = ", ".join(f"`{name}`" for name in held["programs"])
    return f"{HEAD}{table}\n## Python packages\n\n{packages(held)}\n## Programs\n\n`/usr/bin` has {programs}.\n"


if __name__ == "__main__":
    sys.stdout.write(page(listing()))
