"""`--changed [COMMIT]`: selects only the test files that depend on what changed since a commit, by their imports.

1. What changed: `git diff` of the working tree with the commit (without one: where this branch left `main`), and files
   that git does not know yet.
2. What a file depends on: the modules that it imports anywhere in it, those whose dotted names it mentions (code in
   strings, programs that it starts), and so on from there. Who starts the installed command depends on all of it. Every
   `conftest.py` above a test is a dependency, and what that imports is one for tests that mention a fixture of it.
3. A file that no import leads to (data, pages, programs that are started by their path) is a dependency of every Python
   file that names it, or the folder that it lies in, as a part of a path.
4. A change of what everything stands on (`pyproject.toml`, `requirements/`) selects everything.

It errs on the side of too many: nothing has to be recorded by an earlier run, and nothing can be out of date.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("vault", "verifiers", "grammars", "sandbox", "rotation", "quarterturn")
ROOMS += ("launcher", "examples", "freezing", "tests")
EXTRA = re.compile(r"extras/\w+/(?=quarterturn_)")
"""The folder in which the package of an extra lies."""
EVERYTHING = re.compile(r"pyproject\.toml|requirements/.*|\.python-version")
COMMAND = re.compile(r"""bin["']? ?/ ?["']?quarterturn["']|\[["']quarterturn["']""")
MENTIONED = re.compile(rf"\b(?:{'|'.join(ROOMS)}|quarterturn_\w+)(?:\.[A-Za-z_]\w*)+")
FIXTURE = re.compile(r"@pytest\.fixture[^\n]*\ndef (\w+)")
ENTRY = "quarterturn.cli"
LOADER = "quarterturn/extras.py"
"""What imports the extras, by their entry points."""


def module_of(path: str) -> str:
    """Return the dotted name of a Python file by its path in the checkout."""
    parts = PurePosixPath(EXTRA.sub("", path)).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def dependencies(path: str, text: str) -> set[str]:
    """Name the modules that a file imports or mentions, and the packages around them."""
    named = set(MENTIONED.findall(text)) | set(_imported(path, ast.parse(text)))
    if COMMAND.search(text):
        named.add(ENTRY)
    return {".".join(parts[:end]) for name in named for parts in [name.split(".")] for end in range(1, len(parts) + 1)}


def _imported(path: str, tree: ast.Module) -> Iterator[str]:
    package = module_of(path).split(".") if path.endswith("__init__.py") else module_of(path).split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def affected(changed: Iterable[str], files: Mapping[str, str]) -> set[str]:
    """Return those of some Python files, by path and text, that depend on a changed file, which may be gone."""
    paths = set(changed)
    if any(EVERYTHING.fullmatch(path) for path in paths):
        return set(files)
    needs = {path: dependencies(path, text) for path, text in files.items()}
    needs.setdefault(LOADER, set()).update(module_of(path) for path in files if EXTRA.match(path))
    for path, text in files.items():
        needs[path] |= _of_conftests(path, text, files, needs)
    names = {module_of(path) for path in paths if path.endswith(".py")}
    sought = _mention_of(paths)
    reached = {path for path, text in files.items() if path in paths or (sought and sought.search(text))}
    names |= {module_of(path) for path in reached}
    while found := {path for path in files if path not in reached and not needs[path].isdisjoint(names)}:
        reached |= found
        # What a conftest imports is a matter of the tests that use it, and of no others.
        names |= {module_of(path) for path in found if PurePosixPath(path).name != "conftest.py"}
    return reached


def _of_conftests(path: str, text: str, files: Mapping[str, str], needs: Mapping[str, set[str]]) -> set[str]:
    named: set[str] = set()
    for folder in PurePosixPath(path).parents:
        above = str(folder / "conftest.py")
        if path.startswith(("tests/", "extras/")) and path != above and above in files:
            fixtures = FIXTURE.findall(files[above])
            used = "autouse=True" in files[above] or not _asked(text).isdisjoint(fixtures)
            named |= {module_of(above)} | (needs[above] if used else set())
    return named


@cache
def _asked(text: str) -> set[str]:
    """Return the parameters and string constants of a file's functions: a fixture is requested by either."""
    nodes = list(ast.walk(ast.parse(text)))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _mention_of(paths: Iterable[str]) -> re.Pattern[str] | None:
    """Make the pattern that finds the names of files, and of folders with data, as quoted parts of a path."""
    named: set[str] = set()
    for place in map(PurePosixPath, paths):
        named |= {place.name} | (set(place.parts[:-1]) - set(ROOMS) if place.suffix != ".py" else set())
    return re.compile(rf"""["'/](?:{"|".join(map(re.escape, sorted(named)))})["'/]""") if named else None


def changed_files(commit: str) -> list[str]:
    """List what changed since a commit, also what is not committed yet.

    Raises:
        pytest.UsageError: git does not know the commit.
    """
    base = commit or _git("merge-base", "main", "HEAD").strip() or "HEAD"
    return [
        name
        for listing in (
            _git("diff", "--name-only", "--no-renames", "-z", base, "--"),
            _git("ls-files", "--others", "--exclude-standard", "-z"),
        )
        for name in listing.split("\0")
        if name
    ]


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode and words[0] != "merge-base":  # a checkout without `main` compares with HEAD
        raise pytest.UsageError(f"--changed: git {words[0]} failed: {done.stderr.strip()}")
    return done.stdout


def python_files() -> dict[str, str]:
    """Read every Python file of the checkout that git knows or would add."""
    listed = _git("ls-files", "--cached", "--others", "--exclude-standard", "-z", "*.py").split("\0")
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in listed if name and (ROOT / name).is_file()}


class Changed:
    """The plugin: collects only test files that depend on a change, and says how many those are."""

    def __init__(self, config: pytest.Config, commit: str) -> None:
        handed: dict[str, list[str]] | None = getattr(config, "workerinput", {}).get("changed")
        if handed is None:
            self.changed = changed_files(commit)
            self.paths = sorted(affected(self.changed, python_files()))
        else:
            self.changed, self.paths = handed["changed"], handed["paths"]
        self.selected = {ROOT / path for path in self.paths}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["changed"] = {"changed": self.changed, "paths": self.paths}

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        name = collection_path.name
        is_test = name.startswith("test_") and collection_path.suffix == ".py"
        return True if is_test and collection_path not in self.selected else None

    def pytest_report_header(self) -> str:
        number = sum(path.name.startswith("test_") for path in self.selected)
        return f"changed: {len(self.changed)} files; {number} test files depend on them"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK


def add_option(parser: pytest.Parser) -> None:
    """Add the option to pytest's."""
    parser.addoption(
        "--changed",
        nargs="?",
        const="",
        metavar="COMMIT",
        help="only what depends on the changes since a commit (default: since this branch left main)",
    )


def begin(config: pytest.Config) -> None:
    """Start the plugin where the option is given."""
    if (commit := config.getoption("--changed")) is not None:
        config.pluginmanager.register(Changed(config, commit), "changed")
