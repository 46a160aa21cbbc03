"""Tests that today's behaviour is the frozen one, byte for byte, in another zone, locale, account and hash seed."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from freezing.behaviour import COMMAND, FROZEN, KEPT, QUICK

ROOT = Path(__file__).parents[2]
ELSEWHERE = {  # what is frozen where it is read, and the test that compares it there
    "docs/reference/openapi.yaml": "tests/quarterturn/http/test_openapi_document.py",
    "docs/reference/statements": "tests/vault/ledger/test_leaf.py",
}
ELSE = {"TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "7", "LOGNAME": "test-else", "COLUMNS": "40"}
LARGEST, WHOLE = 300 << 10, 1152 << 10
FILES, LINES, WIDTH = 6, 24, 160


def files(folder: Path) -> dict[str, bytes]:
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in sorted(paths.items()) if name not in KEPT}


def lines_of(data: bytes) -> list[str]:
    """Return a text's lines, long ones taken apart at their commas, so that a difference is seen where it is."""
    lines = data.decode(errors="backslashreplace").splitlines()
    return [part for line in lines for part in ([line] if len(line) < WIDTH else line.replace(",", ",\n").splitlines())]


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> Iterator[str]:
    """Say which files differ, and show the first of them in part."""
    names = [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
    yield f"{len(names)} of {len(before)} frozen files differ: {', '.join(names)}"
    for name in names[:FILES]:
        old, new = (lines_of(side.get(name, b"")) for side in (before, after))
        lines = [*difflib.unified_diff(old, new, f"frozen/{name}", "now", n=1, lineterm="")]
        yield "\n".join(line[:WIDTH] for line in lines[:LINES])
        if len(lines) > LINES:
            yield f"... and {len(lines) - LINES} lines more"
    yield f"If this was meant, and tests/contracts/frozen/README.md says that one may, freeze anew: {COMMAND}"


def made(folder: Path, *options: str) -> dict[str, bytes]:
    """Make the frozen files again, with the one command."""
    command = [sys.executable, "-m", "freezing.behaviour", "--to", str(folder), *options]
    environment = {**os.environ, **ELSE}
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return files(folder)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["quick", pytest.param("slow", marks=pytest.mark.full)])
def test_todays_behaviour_is_the_frozen_one(part, tmp_path):
    now = made(tmp_path, "--part", part)
    before = {name: data for name, data in files(FROZEN).items() if name.startswith(QUICK) == (part == "quick")}
    if before != now:
        pytest.fail("\n".join(differences(before, now)), pytrace=False)


def test_what_is_frozen_stays_small_enough_to_read():
    sizes = {name: len(data) for name, data in files(FROZEN).items()}
    assert max(sizes.values()) <= LARGEST
    assert sum(sizes.values()) <= WHOLE


def test_what_the_documentation_shows_is_frozen_there():
    page = (FROZEN / "README.md").read_text()
    for place, test in ELSEWHERE.items():
        assert (ROOT / place).exists()
        assert Path(place).name in (ROOT / test).read_text()
        assert place in page
        assert test in page
