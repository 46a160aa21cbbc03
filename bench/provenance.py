"""Where the documents' figures come from: revision, kind of machine, and the paths whose change makes them old.

A section with measured figures has a line of this form for each of its runs:

    Measured at `94a83b4b` on two shared cores (x86-64); depends on `rotation/detection`, `bench/watch.py`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    "README.md",
    "docs/reference/benchmarks.md",
    "docs/reference/detection.md",
    "docs/reference/covert-channels.md",
    "examples/agents/dispatcher/README.md",
    "examples/agents/ladder/README.md",
)
"""Every document that shows figures which somebody measured; decision records show those of their own day."""
_LINE = re.compile(r"^Measured at `([0-9a-f]{8,40})` on (.+?); depends on ((?:`[^`\s]+`(?:, )?)+)\.$")
_HEADING = re.compile(r"^#+ (.+)$")
_MOVES = ".git-blame-ignore-revs"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement that a document shows.

    Attributes:
        document: the document's path in the repository.
        section: the heading that it stands under.
        revision: the commit at which it was made.
        machine: the kind of machine.
        depends_on: files and folders in the repository.
    """

    document: str
    section: str
    revision: str
    machine: str
    depends_on: tuple[str, ...]


def measurements(document: str, root: Path = ROOT) -> Iterator[Measurement]:
    """Yield the measurements of a document, in their order."""
    section = ""
    for line in (root / document).read_text(encoding="utf-8").splitlines():
        if heading := _HEADING.match(line):
            section = heading[1]
        elif match := _LINE.match(line):
            yield Measurement(document, section, match[1], match[2], tuple(match[3].strip("`").split("`, `")))


def outdated(root: Path = ROOT) -> Iterator[str]:
    """Yield a sentence for each measurement whose packages have changed since; commits that only move do not count.

    Raises:
        subprocess.CalledProcessError: this is no Git checkout.
    """
    moves = {line for line in _lines(root / _MOVES) if not line.startswith("#")}
    known = set(_git(root, "rev-list", "HEAD"))
    for document in DOCUMENTS:
        for measured in measurements(document, root):
            place = f"{measured.document}, {measured.section}"
            if not any(commit.startswith(measured.revision) for commit in known):
                yield f"{place}: measured at {measured.revision}, which this clone does not have"
                continue
            changes = _git(root, "rev-list", f"{measured.revision}..HEAD", "--", *measured.depends_on)
            if count := len(set(changes) - moves):
                yield f"{place}: measured at {measured.revision}; its packages have changed in {count} commits since"


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


def _git(root: Path, *arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.split()
