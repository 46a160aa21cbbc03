"""Tests of the documentation: the command reference is current, every setting is explained, every link resolves."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from quarterturn.cli import reference, whole_tree
from quarterturn.cli.terminal.exits import BUG, EXITS, INTERRUPTED
from quarterturn.settings import ModelSettings, Settings

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "tests" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PACKAGES = ("vault", "verifiers", "grammars", "sandbox", "rotation", "quarterturn")


def test_the_reference_is_written_from_the_commands():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert page == reference.page(), "write it again: python -m quarterturn.cli.reference > docs/reference/cli.md"


def test_the_reference_names_each_option_at_its_verb_and_describes_it_there_or_once():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    head, *sections = re.split(r"^#{3,4} ([a-z][a-z0-9 -]*[a-z0-9])(?: `.*`)?$", page, flags=re.MULTILINE)
    verbs = dict(zip(sections[::2], sections[1::2], strict=True))
    for path, command in _verbs(whole_tree(), ()):
        for option in (name for parameter in command.params for name in parameter.opts if name[:2] == "--"):
            place = head if f"Also `{option}`" in verbs[path] or f", `{option}`" in verbs[path] else verbs[path]
            assert option == "--help" or re.search(rf"^- `{option}\b.*`: ", place, re.MULTILINE), (path, option)


def _verbs(command, path):
    """Yield each verb with its path, and not the groups of verbs."""
    for name, part in getattr(command, "commands", {}).items():
        yield from _verbs(part, (*path, name))
    if path and not getattr(command, "commands", {}):
        yield " ".join(path), command


def test_the_reference_explains_every_exit_code():
    assert set(reference.MEANINGS) == {0, *EXITS.values(), BUG, INTERRUPTED}


def test_every_setting_is_in_the_guide_as_its_description_says():
    guide = (ROOT / "docs" / "how-to" / "run-a-month.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+\.\w+)` \| (.*) \|$", guide, re.MULTILINE))
    sections = {name: field.annotation for name, field in Settings.model_fields.items()}
    assert rows == {
        f"{section}.{key}": field.description
        for section, model in sections.items()
        if isinstance(model, type)
        for key, field in model.model_fields.items()
    }
    models = (ROOT / "docs" / "how-to" / "let-agents-use-a-model.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `models.NAME.(\w+)` \| (.*) \|$", models, re.MULTILINE))
    assert rows == {key: field.description for key, field in ModelSettings.model_fields.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_module_and_folder_of_ours_that_a_page_names_is_there(page):
    text = page.read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in LINK.findall(text) if "://" not in target]
    assert not [target for target in targets if target and not (page.parent / target).exists()]
    modules = re.findall(r"`((?:[\w-]+/)*[\w-]+\.py)\b", text)
    assert not [name for name in modules if not any(f"/{path}".endswith(f"/{name}") for path in _python_files())]
    folders = re.findall(rf"`((?:{'|'.join(PACKAGES)})(?:/\w+)*)/?`", text)
    labels = re.compile(r".*/v\d+")  # of formats: quarterturn/task/v1
    assert not [name for name in folders if not labels.fullmatch(name) and not (ROOT / name).is_dir()]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_page_is_short_and_names_each_subpackage_and_nothing_that_is_not_there(package):
    page = (ROOT / "docs" / "tour" / f"{package}.md").read_text(encoding="utf-8")
    modules = [name for name in re.findall(r"`([\w/]+\.py)`", page) if not list(_modules(package, name))]
    folders = [name for name in re.findall(r"`([\w/]+)/`", page) if not (ROOT / package / name).is_dir()]
    assert not modules + folders
    subpackages = [init.parent.name for init in (ROOT / package).glob("*/__init__.py")]
    assert subpackages
    assert not [name for name in subpackages if f"`{name}/`" not in page]
    assert len(page.split()) < 600


def test_the_page_of_the_extras_names_each():
    page = (ROOT / "docs" / "tour" / "extras.md").read_text(encoding="utf-8")
    extras = [path.parent.name for path in ROOT.glob("extras/*/pyproject.toml")]
    assert sorted(re.findall(r"^- `(\w+)/`", page, re.MULTILINE)) == sorted(extras)


@cache
def _python_files() -> tuple[str, ...]:
    """Return every Python file of the repository, by its path."""
    tops = (ROOT / top for top in (*PACKAGES, "bench", "docs", "examples", "extras", "freezing", "tests"))
    return tuple(path.relative_to(ROOT).as_posix() for top in tops for path in top.rglob("*.py"))


def _modules(package: str, name: str) -> Iterator[Path]:
    """Yield the modules that a page names, from its package or from the subpackage that a bullet is about."""
    yield from (path for path in (ROOT / package).rglob(Path(name).name) if path.as_posix().endswith(f"/{name}"))


def test_the_readme_shows_the_figures_of_the_reference_pages():
    readme, reference = (ROOT / "README.md").read_text(encoding="utf-8"), ROOT / "docs" / "reference"
    attacks, detection, channels, bench = (
        (reference / f"{name}.md").read_text(encoding="utf-8")
        for name in ("attacks", "detection", "covert-channels", "benchmarks")
    )
    attempts = sum(map(int, re.findall(r"^## .*: (\d+)$", attacks, re.MULTILINE)))
    assert f"| {attempts}, each refused" in readme
    bits = re.search(r"\| \*\*together\*\* \| \| \*\*(\d+)\*\* \|", channels)
    assert bits
    assert f"at most {bits[1]} bits a month" in readme
    rotations, any_flag = re.search(r"\| together \| ([\d,]+) \|.*\| ([^|]+) \|$", detection, re.MULTILINE).groups()
    assert f"{any_flag.replace(' (', ' % (', 1)} of {rotations}" in readme
    rows = [line for line in detection.splitlines() if re.match(r"\| leak of .*\| \d+ \|", line)]
    for share, words in (("20", "{1}, {2}, {3} % of {0}"), ("10", "with 10 %: {1}, {2}, {3} %")):
        row = next(line for line in rows if line.startswith(f"| leak of {share} %"))
        assert words.format(*(cell.split(" (")[0].strip() for cell in row.split("|")[2:6])) in readme
    first = re.search(r"\| three values of one other's month \| ([\d.]+),", detection)[1]
    cases = re.search(r"(\d+) cases in each cell", detection)[1]
    assert f"{float(first):g} % of {cases}; nobody named wrongly" in readme
    agents = ("the official client", "a lean agent")
    ratios = [float(re.search(rf"bwrap box, {agent} +\|.*\*\*([\d.]+)\*\*", bench)[1]) for agent in agents]
    assert "{:.1f} times as long with the official MCP client, {:.1f} with a lean one".format(*ratios) in readme
