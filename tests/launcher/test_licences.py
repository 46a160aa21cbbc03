"""Tests of licences: whatever is pinned may be used beside our own code under Apache-2.0, or the reason is here.

The repository distributes nothing of anybody else: it pins packages, and `./run setup` installs them. An image of the
world holds them beside our programs, each under its own licence.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.markers import Marker
from packaging.utils import canonicalize_name

from launcher import local_model, verbs
from quarterturn.launcher.locks import LOCKS

from .test_locks import NPM_PROJECTS, ROOT, pins

# Those of MPL-2.0 bind changed files alone; nothing of them is changed here.
ALLOWED = {
    *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "CC0-1.0", "CNRI-Python", "ISC"),
    *("MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Unlicense", "Zlib"),
}
CLASSIFIERS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "GNU General Public License (GPL)": "GPL-3.0-or-later",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
CLASSIFIER = "License :: OSI Approved :: "


class Exempt(NamedTuple):
    """A package that its metadata does not clear: its licence, the locks that may pin it, and the reason."""

    licence: str
    locks: tuple[str, ...]
    reason: str


TESTS = "requirements/tests.txt"
CONSUMERS = "requirements/consumers.txt"
FRAMEWORKS_MCP1 = verbs.FRAMEWORK_LOCKS["frameworks-mcp1"]
MERE_FILES = {local_model.WEIGHTS: "examples/models/local/weights.txt", **verbs.FRAMEWORK_LOCKS}
LIBRARY = (TESTS, "requirements/service.txt", "sandbox/servers/postgres/requirements.txt")
FILESYSTEM = "sandbox/images/world/npm"
COPYLEFT = {
    "aioimaplib": Exempt(
        "GPL-3.0-only",
        ("sandbox/servers/email/requirements.txt",),
        "a library of the email server, which runs as a process of its own and which our code never imports",
    ),
    "radicale": Exempt(
        "GPL-3.0-or-later",
        ("sandbox/servers/calendar/requirements.txt",),
        "a CalDAV server that runs as a process of its own and is asked over HTTP",
    ),
    "pymerkle": Exempt(
        "GPL-3.0-or-later", (TESTS,), "tests compare their hashes with its own; the product has none of it"
    ),
    **{
        name: Exempt("LGPL-3.0-only", LIBRARY, "a library that is imported unchanged and can be replaced by its user")
        for name in ("psycopg", "psycopg-binary")
    },
}
UNSTATED = {
    "agent-client-protocol": Exempt("Apache-2.0", (CONSUMERS,), "stated by the licence file in its wheel"),
    "axe-playwright-python": Exempt("MIT", (TESTS,), "stated by the licence file in its wheel"),
    "mlcroissant": Exempt("Apache-2.0", (CONSUMERS,), "stated by the licence file of its repository"),
    "mcp-email-server": Exempt(
        "BSD-3-Clause", ("sandbox/servers/email/requirements.txt",), "stated by the licence file in its wheel"
    ),
    "mcp-server-sqlite": Exempt(
        "MIT", ("sandbox/servers/sqlite/requirements.txt",), "stated by the section License of its description"
    ),
    "jsonschema-pydantic": Exempt("MIT", (FRAMEWORKS_MCP1,), "stated by the licence file in its wheel"),
    "scarf-sdk": Exempt("Apache-2.0", (FRAMEWORKS_MCP1,), "stated by the licence file in its wheel"),
    "smolagents": Exempt("Apache-2.0", (FRAMEWORKS_MCP1,), "stated by the licence file in its wheel"),
    "pyrage": Exempt("MIT", (TESTS, "requirements/service.txt"), "stated by the licence file in its wheel"),
    "redis-entraid": Exempt(
        "MIT", ("sandbox/servers/redis/requirements.txt",), "stated by the licence file in its wheel"
    ),
    "@modelcontextprotocol/server-filesystem": Exempt(
        "MIT", (FILESYSTEM,), "stated by the section License of its README"
    ),
    "@modelcontextprotocol/server-memory": Exempt("MIT", (FILESYSTEM,), "stated by the section License of its README"),
}
SEE_FILE = "SEE LICENSE IN LICENSE"


def folder_of(lock: str) -> Path:
    """Return the folder into which the packages of a lock are installed."""
    python = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    venv = Path(sys.prefix)
    place = Path(lock).parent
    if lock.startswith("sandbox/servers/"):
        return venv / "world" / "python" / place.name / python
    for name, beside in MERE_FILES.items():
        if lock == beside:
            return venv / name
    if lock.startswith("examples/agents/"):
        return venv / "agents" / python
    if lock == "requirements/installer.txt":
        return venv / "uv"
    if lock == CONSUMERS:
        return venv / "consumers" / python
    return venv / "node" if place.name == "world" else venv / python


def stated(package: Distribution) -> str:
    """Return the licence that a distribution's metadata states, as an SPDX expression; empty if it states none."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    named = [line.removeprefix(CLASSIFIER) for line in about.get_all("Classifier") or [] if CLASSIFIER in line]
    first = str(about.get("License") or "").partition("\n")[0]  # some give the whole text
    return " AND ".join(CLASSIFIERS.get(name, name) for name in named) or CLASSIFIERS.get(first, first)


def allowed(expression: str) -> bool:
    """Whether an expression of ANDs or of ORs can be met by allowed licences alone; a mix of both is not read."""
    if " OR " in expression:
        return not ALLOWED.isdisjoint(expression.strip("()").split(" OR "))
    return ALLOWED.issuperset(expression.split(" AND "))


def refusal(name: str, licence: str, lock: str) -> str | None:
    """Say why a package may not be pinned in a lock, or give None."""
    if allowed(licence):
        return None
    exempt = COPYLEFT.get(name) if licence not in ("", SEE_FILE) else UNSTATED.get(name)
    if exempt is None or lock not in exempt.locks:
        return f"{name}: {licence or 'states no licence'}, in {lock}"
    return None if name in UNSTATED or exempt.licence == licence else f"{name}: {licence}, it was {exempt.licence}"


def locked(lock: str) -> Iterator[str]:
    """Yield the names that a lock pins for this machine."""
    for name, pin in pins(lock).items():
        _, _, marker = pin.partition(" ; ")
        if not marker or Marker(marker).evaluate():
            yield canonicalize_name(name)


def licences(lock: str) -> dict[str, str]:
    """Return the licence that each package pinned for this machine states where it is installed."""
    there = {canonicalize_name(package.name): package for package in distributions(path=[str(folder_of(lock))])}
    names = list(locked(lock))
    missing = [name for name in names if name not in there]
    assert not missing, f"{lock} is not installed whole: {missing}; `./run test` installs it"
    return {name: stated(there[name]) for name in names}


def npm_licences(place: Path) -> dict[str, str]:
    packages = json.loads((place / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return {path.rpartition("node_modules/")[2]: entry.get("license", "") for path, entry in packages.items() if path}


ELSEWHERE = {
    CONSUMERS: (pytest.mark.exhaustive, pytest.mark.needs("consumers")),
    **{lock: (pytest.mark.exhaustive, pytest.mark.needs("frameworks")) for lock in MERE_FILES.values()},
}
BOXED = [
    pytest.param(lock, marks=pytest.mark.box if lock.startswith("sandbox/") else ELSEWHERE.get(lock, ()))
    for lock in sorted(LOCKS)
    if lock
    != "examples/agents/rulebook/requirements.txt"  # part of the model clients' lock, which is what is installed
]


@pytest.mark.parametrize("lock", BOXED)
def test_every_pinned_package_may_be_used_beside_our_own_licence(lock: str) -> None:
    refused = [refusal(name, licence, lock) for name, licence in licences(lock).items()]
    assert not list(filter(None, refused))


@pytest.mark.parametrize("place", NPM_PROJECTS)
def test_every_pinned_npm_package_may_be_used_beside_our_own_licence(place: Path) -> None:
    lock = place.relative_to(ROOT).as_posix()
    refused = [refusal(name, licence, lock) for name, licence in npm_licences(place).items()]
    assert not list(filter(None, refused))


def test_the_rulebook_needs_nothing_that_is_not_looked_at() -> None:
    rulebook, clients = (pins(f"examples/agents/{name}/requirements.txt") for name in ("rulebook", "llm"))
    assert rulebook.keys() <= clients.keys()


def test_every_exemption_is_needed_where_it_is_given() -> None:
    pinned = {lock: {canonicalize_name(name) for name in pins(lock)} for lock in LOCKS}
    pinned |= {place.relative_to(ROOT).as_posix(): set(npm_licences(place)) for place in NPM_PROJECTS}
    for name, exempt in (COPYLEFT | UNSTATED).items():
        assert all(name in pinned[lock] for lock in exempt.locks), name
        assert allowed(exempt.licence) == (name in UNSTATED), name
    assert not COPYLEFT.keys() & pinned["requirements/product.txt"], "the product itself has no copyleft library"


@pytest.mark.parametrize(
    ("name", "licence", "lock", "says"),
    [
        ("unknown", "", TESTS, "unknown: states no licence, in requirements/tests.txt"),
        ("unknown", "Custom", TESTS, "unknown: Custom, in"),
        ("unknown", "MIT AND GPL-3.0-only", TESTS, "unknown: MIT AND GPL"),
        (
            "pymerkle",
            "GPL-3.0-or-later",
            "requirements/product.txt",
            "pymerkle: GPL-3.0-or-later, in requirements/product",
        ),
        ("pymerkle", "AGPL-3.0-only", TESTS, "pymerkle: AGPL-3.0-only, it was GPL-3.0-or-later"),
        ("pyrage", "GPL-3.0-only", TESTS, "pyrage: GPL-3.0-only, in"),
    ],
)
def test_a_licence_that_nobody_judged_is_refused_by_name(name: str, licence: str, lock: str, says: str) -> None:
    assert (refusal(name, licence, lock) or "").startswith(says)


@pytest.mark.parametrize("licence", ["MIT", "MIT OR GPL-2.0-only", "(MIT OR GPL-2.0-only)", "BSD-3-Clause AND Zlib"])
def test_an_allowed_licence_is_allowed(licence: str) -> None:
    assert refusal("unknown", licence, TESTS) is None
