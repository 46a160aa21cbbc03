"""Tests of the threat model's table *Whose code runs where*: each row names its test, and nothing else starts code."""

import ast
import json
import os
import re
from pathlib import Path

import pytest

from grammars.errors import Malformed as BadGrammar
from grammars.language.load import parse
from quarterturn.launcher import node
from quarterturn.launcher.installer import Installer
from quarterturn.pages.templates import render
from sandbox.errors import Malformed as BadManifest
from sandbox.servers import manifest
from verifiers.states.workbook.reader import read_workbook

from ..verifiers.test_workbook import SHEET, a_sheet, with_parts_replaced

ROOT = Path(__file__).parents[2]
ROOMS = ("vault", "verifiers", "grammars", "sandbox", "rotation", "quarterturn")

STARTERS = {
    "vault/core_dumps.py": "libc alone",
    "vault/keys/locks/command.py": "a key lock's command",
    "vault/keys/locks/pkcs11_process.py": "a token's PKCS#11 module",
    "vault/signer/client.py": "the signer, ours",
    "verifiers/predicates/own_predicates.py": "an added server's `predicates.py`",
    "verifiers/states/sqlite/reader.py": "takes the loading of extensions away",
    "extras/attacks/": "attacks of ours",
    "sandbox/attacks/": "attacks of ours",
    "sandbox/boxes/": "boxes: agents and worlds",
    "sandbox/images/": "images of ours; a world's servers",
    "sandbox/isolation/": "confinement, fork servers and copies of programs, ours",
    "sandbox/judge/loading.py": "names of modules of ours",
    "sandbox/kinds/": "backends and servers, inside a world",
    "sandbox/model_gateway/": "the model process, ours",
    "sandbox/servers/manifest_reference.py": "names of modules of ours",
    "sandbox/servings/supervisor.py": "the process of a serving, ours",
    "quarterturn/extras.py": "extras of ours, which are named here and lie where ours do",
    "quarterturn/cli/terminal/secrets.py": "libc alone",
    "quarterturn/findings/case_file_scan.py": "processes of ours, for numbers",
    "quarterturn/launcher/": "uv, npm and pip",
    "quarterturn/runners/local_runner.py": "the runner of this machine, ours",
    "extras/measures/quarterturn_measures/process.py": "the process that measures, ours",
    "quarterturn/migrations/": "migrations of ours",
    "quarterturn/pages/templates.py": "templates of ours",
    "quarterturn/runs/world_server.py": "the relay, ours",
}
"""What may start a program, load a library or run a text, and what that is."""

MODULES = {
    "alembic", "cffi", "code", "concurrent.futures.ProcessPoolExecutor", "concurrent.futures.process", "ctypes", "imp",
    "jinja2", "marshal", "multiprocessing", "pickle", "pkcs11", "pty", "runpy", "shelve", "subprocess",
}  # fmt: skip
CALLS = {
    "CDLL", "LoadLibrary", "SourceFileLoader", "__import__", "create_subprocess_exec", "create_subprocess_shell",
    "enable_load_extension", "entry_points", "eval", "exec_module", "fork", "forkpty", "import_module",
    "load_extension", "popen", "posix_spawn", "posix_spawnp", "run_module", "run_path", "spec_from_file_location",
    "subprocess_exec", "subprocess_shell", "system", "unsafe_load", "zipimporter",
}  # fmt: skip
CALLS |= {f"{verb}{form}" for verb in ("exec", "spawn") for form in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")}
BUILT_IN = {"compile", "exec"}  # as methods they are a regular expression's, a session's, an expression's


def rows():
    text = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    section = text.split("## Whose code runs where\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_table_has_its_columns():
    assert len(rows()) > 15
    assert all(len(row) == 5 and all(row) for row in rows())


@pytest.mark.parametrize("row", rows(), ids=[row[0][:50] for row in rows()])
def test_each_row_of_the_table_names_a_test_that_exists(row):
    path, _, name = row[-1].strip("`").partition("::")
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {part.name for part in module.body if isinstance(part, ast.FunctionDef)}


def test_nothing_else_starts_a_program_loads_a_library_or_runs_a_text():
    places = [*(ROOT / room for room in ROOMS), *ROOT.glob("extras/*/quarterturn_*")]
    starters = {path for place in places for path in place.rglob("*.py") if starts_something(path)}
    names = {path.relative_to(ROOT).as_posix() for path in starters}
    assert {name for name in names if not name.startswith(tuple(STARTERS))} == set()
    assert {start for start in STARTERS if not any(name.startswith(start) for name in names)} == set()


def starts_something(path):
    for part in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(part, ast.Import):
            imported = [name.name for name in part.names]
        elif isinstance(part, ast.ImportFrom):  # a submodule may be named behind `from` or behind `import`
            imported = [f"{part.module}.{name.name}" for name in part.names]
        else:
            imported = []
        if any(name == module or name.startswith(f"{module}.") for name in imported for module in MODULES):
            return True
        if isinstance(part, ast.Call):
            name = getattr(part.func, "attr", getattr(part.func, "id", ""))
            if name in CALLS or (isinstance(part.func, ast.Name) and name in BUILT_IN):
                return True
    return False


@pytest.mark.parametrize(
    ("source", "starts"),
    [
        ("import pickle", True),
        ("from subprocess import run", True),
        ("import ctypes.util", True),
        ("from multiprocessing.pool import Pool", True),
        ("from concurrent.futures import ProcessPoolExecutor", True),
        ("from concurrent.futures import ThreadPoolExecutor", False),
        ("os.execlp(program, program)", True),
        ("os.spawnlp(os.P_WAIT, program, program)", True),
        ("yaml.unsafe_load(text)", True),
        ("os.system(text)", True),
        ("exec(text)", True),
        ("session.exec(query)", False),
        ("re.compile(pattern)", False),
    ],
)
def test_whatever_starts_something_is_noticed(source, starts, tmp_path):
    (tmp_path / "module.py").write_text(source)
    assert starts_something(tmp_path / "module.py") is starts


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """Yield the path of a file that foreign code would write."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "canary"
    yield path
    assert not path.exists()


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system [{}]", "!!python/object/new:os.system [{}]", "!!python/name:os.system {}"]
)
def test_yaml_makes_nothing_but_plain_values(tag, canary):
    planted = tag.format(f"touch {canary}")
    with pytest.raises(BadGrammar, match="tags are refused"):
        parse({"small.yaml": f"grammar: filesystem\nversion: {planted}\n"}, {})
    with pytest.raises(BadGrammar, match="tags are refused"):
        parse({"small.yaml": "grammar: filesystem"}, {"words": f"- {planted}"})
    with pytest.raises(BadManifest, match="tags are refused"):
        manifest.read(f"server: {planted}\n", "server.yaml")


@pytest.mark.parametrize(
    "text", ["{{7*7}}", "{% include 'page.css' %}", "{{ self.__init__.__globals__ }}", "<b>{{7*7}}"]
)
def test_a_text_is_never_a_template(text):
    page = render("problem.html.jinja", here="", status=404, problem=text, step=text, other_token=False)
    assert "49" not in re.sub(r"\d{3,}", "", page.split("<main")[-1])
    assert page.count(text.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;")) >= 2


def test_a_workbook_starts_no_program(canary):
    formulas = (
        f"cmd|'/C touch {canary}'!A1",
        f'DDE("cmd","/C touch {canary}","x")',
        f'CALL("libc","system","J","touch {canary}")',
        f'WEBSERVICE("file://{canary}")',
        "'[1]Sheet1'!A1",
    )
    escaped = [formula.replace("&", "&amp;").replace('"', "&quot;") for formula in formulas]
    cells = "".join(f'<row r="{n}"><c r="A{n}"><f>{text}</f></c></row>' for n, text in enumerate(escaped, 1))
    link = (
        '<externalLink xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><ddeLink ddeService="cmd" '
        f'ddeTopic="/C touch {canary}"><ddeItems><ddeItem name="x"/></ddeItems></ddeLink></externalLink>'
    )
    book = read_workbook(with_parts_replaced({SHEET: a_sheet(cells), "xl/externalLinks/externalLink1.xml": link}))
    assert book.sheets


@pytest.mark.slow
def test_an_npm_package_has_no_script_run(canary, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    scripts = dict.fromkeys(("preinstall", "install", "postinstall", "prepare"), f"touch {canary}")
    (project / "package.json").write_text(f'{{"name": "canary", "version": "1.0.0", "scripts": {json.dumps(scripts)}}}')
    lock = '{"name": "canary", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "canary"}}}'
    (project / "package-lock.json").write_text(lock)
    installer = Installer(ROOT, os.environ)
    node.npm(installer, "ci", *node.QUIET, cwd=project, what="installing the canary")
    assert not canary.exists()
    node.npm(
        installer, "ci", *[word for word in node.QUIET if word != "--ignore-scripts"], cwd=project, what="the same"
    )
    assert canary.exists(), "without that word it would run"
    canary.unlink()
