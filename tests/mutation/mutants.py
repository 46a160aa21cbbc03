"""The list of mutants, read from `mutants.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutants.toml")
SELECTED = {
    "named": ("-m", "not engine and not box", "-k", "not postgresql"),
    "quick": ("-m", "not slow and not engine and not box"),
    "package": (),
    "suite": (),
    "given": (),
}
"""The stages, with pytest's arguments for the tests to run; `given` is the only one where tests are given."""


@dataclass(frozen=True)
class Mutant:
    """One defect: `new` in place of `old`, which stands in a file once; `tests` (paths or node ids) are run first."""

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def package(self) -> str:
        """Return the package that it is in: a room's name, or an extra's."""
        top, _, rest = self.file.partition("/")
        return rest.partition("/")[0] if top == "extras" else top

    def applied(self, text: str) -> str:
        """Return a file's text with the mutant in it."""
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.id}: its old text stands {text.count(self.old)} times in {self.file}, not once")
        return text.replace(self.old, self.new)

    def arguments(self, stage: str) -> list[str]:
        """Return what pytest is asked to run at a stage."""
        package = (f"extras/{self.package}/tests" if self.file.startswith("extras/") else f"tests/{self.package}",)
        paths = {"named": self.tests, "given": self.tests, "suite": ("tests", "extras")}.get(stage, package)
        return [*paths, *SELECTED[stage]]


def read_list(path: Path = LIST) -> list[Mutant]:
    """Read the list of mutants."""
    listed: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**one, "tests": tuple(one["tests"])}) for one in listed]
