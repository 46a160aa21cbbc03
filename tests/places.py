"""Places of the tests: the folder `tests`, and `tests` in the folder of each extra."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def extras() -> dict[str, Path]:
    """Return the folders of the extras' tests by the extras' names."""
    return {folder.parent.name: folder for folder in sorted(ROOT.glob("extras/*/tests"))}


def name_of(path: Path) -> str:
    """Return a file's path below `tests`, or in the checkout where it lies elsewhere."""
    return str(path.relative_to(TESTS if path.is_relative_to(TESTS) else ROOT))


def python_files() -> list[Path]:
    """Return every Python file of the tests."""
    return [path for folder in (TESTS, *extras().values()) for path in sorted(folder.rglob("*.py"))]
