"""Resolver of the lock files: one for each environment, for Python 3.11 and newer, with a digest for each file.

Only the main index is asked: a folder or an extra index may hold a few of a release's files, and the lock would then
know the digests of no others. A lock has no header, no address and no path in it.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from quarterturn.launcher import node
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.steps import say

OPTIONS = ("--universal", "--python-version=3.11", "--generate-hashes", "--no-build", "--quiet")
BARE = ("--no-header", "--no-annotate")

# lock -> what it is resolved from; the others must agree with the product's.
LOCKS: dict[str, tuple[str, ...]] = {
    "requirements/installer.txt": ("requirements/installer.in",),
    "requirements/product.txt": ("pyproject.toml", "--group=build"),
    "requirements/service.txt": (
        "pyproject.toml",
        "--group=build",
        "--extra=postgres",
        "--extra=hsm",
        "--extra=custodians",
        "--constraints=requirements/product.txt",
    ),
    "requirements/tests.txt": (
        "pyproject.toml",
        "--group=build",
        "--group=tests",
        "--constraints=requirements/product.txt",
    ),
    "requirements/consumers.txt": (  # but for the one package that has no wheel: requirements/consumers-source.txt
        "requirements/consumers.in",
        "--overrides=requirements/consumers-overrides.txt",
    ),
    "sandbox/images/world/node.txt": ("sandbox/images/world/node.in",),
    **{
        f"sandbox/servers/{name}/requirements.txt": (f"sandbox/servers/{name}/requirements.in",)
        for name in ("calendar", "email", "git", "postgres", "redis", "spreadsheet", "sqlite")
    },
    "examples/models/local/weights.txt": ("examples/models/local/weights.in", "--no-deps"),  # for their files alone
    "examples/agents/frameworks/requirements.txt": ("examples/agents/frameworks/requirements.in",),
    "examples/agents/frameworks/requirements-mcp1.txt": ("examples/agents/frameworks/requirements-mcp1.in",),
    "examples/agents/llm/requirements.txt": ("examples/agents/llm/requirements.in",),
    "examples/agents/rulebook/requirements.txt": ("examples/agents/rulebook/requirements.in",),
}


def resolve(installer: Installer, *, upgrade: bool) -> None:
    """Write every lock anew; without `upgrade`, versions that still fit stay."""
    alone = dataclasses.replace(installer, main_index_alone=True)
    newer = ("--upgrade",) if upgrade else ()
    for lock, source in LOCKS.items():
        say(f"resolving {lock}")
        output = ("--output-file", lock)
        alone.run_uv("pip", "compile", *OPTIONS, *BARE, *newer, *output, *source, what=f"resolving {lock}")
    verb = ("update",) if upgrade else ("install",)
    for place in node.PROJECTS:
        say(f"resolving {place}/package-lock.json")
        folder = Path(installer.root, place)
        node.npm(alone, *verb, "--package-lock-only", *node.QUIET, cwd=folder, what=f"resolving {place}")
