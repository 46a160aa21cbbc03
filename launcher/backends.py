"""Backends of MCP servers, PostgreSQL, Redis and Dovecot: installed from the machine's own packages.

A world has `/usr`, so their programs are there once they are installed. PostgreSQL also needs a template of a cluster,
which is made once for each version of it and copied into every world that asks for a database.
"""

from __future__ import annotations

from pathlib import Path

from quarterturn.launcher import machine
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.stamps import key
from quarterturn.launcher.steps import carry_out, say

MAKER = "sandbox/kinds/postgres/backend"
SHARED = "sandbox/kinds/common/backend"  # which the maker imports


def install(installer: Installer, *, needed: bool) -> None:
    """Make the template, after installing what is missing where it is needed and we may.

    Raises:
        Stop: the template cannot be made, or a package cannot be installed.
    """
    if needed and machine.may_install():
        machine.need(machine.FOR_WORLDS, "a world with databases or mail")
    elif absent := machine.missing(machine.FOR_WORLDS):
        say(f"no tasks with databases or mail: they need Debian's {' and '.join(absent)}")
    program = machine.find("initdb")
    if program is None:
        return
    folder, target = installer.root / MAKER, installer.venv / "world" / "postgres" / "template.tar"
    version = carry_out([program, "--version"], "asking PostgreSQL for its version")
    sources = (path for part in (SHARED, MAKER) for path in (installer.root / part).iterdir() if path.is_file())
    wanted = key(program, version, *sorted(sources))
    if target.is_file() and installer.stamps.holds("postgres", wanted):
        return
    say(f"making world/postgres/template.tar with {version.strip()}")
    installer.stamps.drop("postgres")
    making: list[str | Path] = [installer.python, "-I", "-S", folder / "cluster.py", "template", target]
    carry_out(making, "making the template of PostgreSQL's databases")
    installer.stamps.write("postgres", wanted)
