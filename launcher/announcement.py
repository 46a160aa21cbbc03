"""Announcement of `./run test`: what it will install, and how much, a line each for packages, `.venv` and images."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from quarterturn.launcher import machine
from quarterturn.launcher.stamps import Stamps
from quarterturn.launcher.steps import Stop, output, say

# Measured on Debian 12 with Python 3.11; to the nearest 50 MB.
ENVIRONMENTS = "some 350 MB to fetch, 1.2 GB on the disk"
IMAGES = "some 300 MB to fetch, 1 GB on the disk"
_FETCHED = re.compile(r"Need to get ([^/\n]+?)(?:/[^\n]+)? of archives")
_UNPACKED = re.compile(r"After this operation, ([^\n]+) of additional disk space")
_NUMBER = re.compile(r"(\d+) newly installed")


def announce(stamps: Stamps, programs: Mapping[str, str], *, images: bool) -> None:
    """Say what is missing and will be installed, and what cannot be.

    Args:
        stamps: of the checkout's `.venv`.
        programs: what the tests need, with Debian's packages.
        images: whether container images may have to be built.
    """
    packages = machine.missing(programs)
    lines = [_packages(packages)] if packages else []
    if stamps.read("kind") != "tests":
        lines.append(f"Python and npm packages, in .venv: {ENVIRONMENTS}")
    if images and (machine.may_install() or not packages):
        lines.append(f"container images, before the tests: {IMAGES}, if the engine does not have them")
    for line in lines:
        say(f"to install: {line}" if not line.startswith("not ") else line)


def _packages(packages: Sequence[str]) -> str:
    if not machine.may_install():
        return f"not installed: Debian's {', '.join(packages)}. As root: apt-get install {' '.join(packages)}"
    try:
        machine.refresh()
    except Stop:
        return f"Debian's {', '.join(packages)}; how much is not known, because the package lists cannot be refreshed"
    return f"Debian's {', '.join(packages)}: {sizes(packages)}"


def sizes(packages: Sequence[str]) -> str:
    """Ask apt how much it would fetch and unpack for these packages."""
    asked = ["apt-get", "install", "-q", "--assume-no", "--no-install-recommends", *packages]
    listing = output(asked, env=os.environ | {"LC_ALL": "C"})
    number, fetched, unpacked = (pattern.search(listing) for pattern in (_NUMBER, _FETCHED, _UNPACKED))
    if not (number and fetched and unpacked):
        return "apt does not say how much"
    return f"{number[1]} packages with those that they need, {fetched[1]} to fetch, {unpacked[1]} on the disk"
