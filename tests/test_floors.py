"""Tests of the architecture: imports run downhill only, and each heavy package is imported in one place."""

from __future__ import annotations

import ast
import builtins
import graphlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

# A package -> the packages that it may import. Siblings are not in each other's rows.
BELOW = {
    "vault": set(),
    "verifiers": set(),
    "grammars": {"vault", "verifiers"},
    "sandbox": {"vault", "verifiers"},
    "rotation": {"grammars", "sandbox", "vault", "verifiers"},
    "quarterturn": {"rotation", "grammars", "sandbox", "vault", "verifiers"},
    "launcher": {"quarterturn", "sandbox"},
}

# An extra may import the core; no room of the core imports an extra, and no extra another one.
EXTRAS = {path.name: path.parent for path in sorted(ROOT.glob("extras/*/quarterturn_*"))}
BELOW |= {extra: {*BELOW} for extra in EXTRAS}

# A package -> the modules, or packages with all that is in them, which may import it.
GATES = {
    "alembic": ("quarterturn.migrations",),
    "apscheduler": ("rotation.turn.periodic_job",),
    "cel": ("grammars.language.cel_library",),
    "docker": ("sandbox.boxes.docker.engine", "sandbox.boxes.docker.strict_client"),
    "fastapi": ("quarterturn.http",),
    "httpx2": (
        "quarterturn.client",
        "sandbox.model_gateway.upstream",
        "sandbox.remote_client",
    ),
    "jinja2": ("quarterturn.pages",),
    "jwt": ("quarterturn.accounts.oidc",),
    "mcp": ("sandbox.gateway", "sandbox.kinds.postgres.backend", "sandbox.servers"),
    "mcp_types": ("sandbox.gateway", "sandbox.kinds.postgres.backend", "sandbox.servers"),
    "numpy": ("rotation.detection",),
    "pkcs11": ("vault.keys.locks.pkcs11_process",),
    "pyarrow": ("quarterturn_export.parquet", "rotation.detection.leaderboards.plain_table"),
    "pyrage": ("vault.keys.locks.custodians",),
    "rfc8785": ("vault.canonical",),
    "rich": ("quarterturn",),
    "scipy": ("rotation.detection",),
    "shamir_mnemonic": ("vault.keys.locks.custodians",),
    "starlette": ("quarterturn.http", "sandbox.gateway"),
    "typer": ("quarterturn", *(f"{extra}.verbs" for extra in EXTRAS)),
    "uvicorn": ("quarterturn.http", "sandbox.gateway.listener", "sandbox.strict_http"),
    "yaml": ("vault.strict_yaml", "quarterturn.http.openapi_document"),
}

# What an auditor runs needs nothing but the standard library and `cryptography`.
AUDITORS = ("vault.commitment", "vault.errors", "vault.file_lock", "vault.files", "vault.ledger", "vault.task.variant")
# The launcher runs before anything is installed; it also builds images.
LAUNCHER = (
    "launcher",
    "quarterturn.launcher",
    "sandbox.images.bases",
    "sandbox.images.build",
    "sandbox.images.client",
    "sandbox.errors",
)
# Programs that are started alone, inside a box or at its edge, with nothing of ours beside them.
ALONE = (
    "sandbox.kinds.forge.backend",
    "sandbox.images.added.unpack",
    "sandbox.images.relay.relay",
    "sandbox.images.world.init",
    "sandbox.kinds.common.backend.program",
    "sandbox.kinds.common.services.services",
    "sandbox.kinds.calendar.backend.service",
    "sandbox.kinds.mailbox.backend.service",
    "sandbox.kinds.postgres.backend.cluster",
    "sandbox.kinds.redis.backend.service",
    "sandbox.boxes.place",
)
# Programs that run inside a world, in an environment with a lock of its own.
ELSEWHERE = tuple(f"sandbox.kinds.{name}.backend" for name in ("calendar", "mailbox", "postgres", "redis"))

# What a module imports that reads from a remote itself, and packages that read what others brought.
NETWORK = {"docker", "h11", "http.client", "httpx2", "requests", "smtplib", "urllib.request"}
NETWORK |= {"sandbox.remote_client"}
REMOTE = (
    *("quarterturn.accounts.oidc", "quarterturn.client", "quarterturn.notices", "sandbox.boxes.docker"),
    *("sandbox.claim_judge", "sandbox.endpoint", "sandbox.judge", "sandbox.model_gateway", "vault.keys.locks"),
)
# Modules of these that parse JSON by other means than the strict reader, and why they may.
LOOSE_JSON = {
    "quarterturn.client.local_runner_process": "the service's own description of its runner, through its socket",
    "quarterturn_export.harbor_files.solve": "a file beside it; it runs elsewhere, and imports nothing of ours",
    "sandbox.judge.judge": "a reader's list of cases, in a process that may die of it",
    "sandbox.judge.message": "a child reads the request that its own runner wrote",
    "sandbox.judge.reader": "looks whether it is JSON, in a process that may die of it",
    "sandbox.judge.said_values": "a child reads the session that its own runner wrote",
    "vault.keys.locks.lock": "a schema of this package",
    "vault.keys.locks.pkcs11_process": "a child reads the request that its own runner wrote",
    "sandbox.kinds.common.services.services": "the manifest's own description, on its command line",
    "sandbox.model_gateway.server": "the runner's own description of the upstream, from a file in memory",
}

SPEAKERS = ("quarterturn.cli", *ALONE)


# The composition root, and the packages that may import it. Everything else is given the collaborators that it uses.
ROOT_MODULE = "quarterturn.app"
CONCERNS = "quarterturn.composition"
ABOVE_THE_ROOT = ("quarterturn.cli",)

# Stores that join the rows of another package: the queue is in the order of parties, in one query.
JOIN_ROWS = {"quarterturn.submissions.store.queue", "quarterturn.submissions.store.requests"}


class Import(NamedTuple):
    module: str  # who imports
    name: str  # what, with all its dots
    line: int
    typed: bool = False  # read by a type checker alone

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.name}"


def name_of(path: Path) -> str:
    extra = next((folder for folder in EXTRAS.values() if path.is_relative_to(folder)), ROOT)
    parts = path.relative_to(extra).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def folder_of(room: str) -> Path:
    return EXTRAS.get(room, ROOT) / room


@cache
def modules() -> dict[str, ast.Module]:
    found = (path for room in BELOW for path in sorted(folder_of(room).rglob("*.py")))
    return {name_of(path): ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in found}


@cache
def imports() -> tuple[Import, ...]:
    return tuple(item for module, tree in modules().items() for item in imports_of(module, tree))


def imports_of(module: str, tree: ast.Module) -> Iterator[Import]:
    for node, typed in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from (Import(module, alias.name, node.lineno, typed) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} imports relatively"
            # `from package import part` names the module package.part, if there is one
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield Import(module, whole if whole in modules() else str(node.module), node.lineno, typed)


def nodes_of(node: ast.AST, *, typed: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node below one, and whether it is read by a type checker alone."""
    for child in ast.iter_child_nodes(node):
        mark = typed or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
        yield child, mark
        yield from nodes_of(child, typed=mark)


def package_of(module: str) -> str:
    """Return the package that a module lies in; a package's own `__init__` lies in it, and the root stands alone."""
    return module if module == ROOT_MODULE or module in packages() else module.rpartition(".")[0]


@cache
def packages() -> frozenset[str]:
    return frozenset(name_of(path) for room in BELOW for path in folder_of(room).rglob("__init__.py"))


def circles(edges: set[tuple[str, str]]) -> list[set[str]]:
    """Return the groups of names that depend on each other in a cycle."""
    found = []
    while True:
        try:
            copy = graphlib.TopologicalSorter()
            for name, needed in edges:
                copy.add(name, needed)
            copy.prepare()
        except graphlib.CycleError as error:
            ring = error.args[1]
            found.append(set(ring))
            edges = {edge for edge in edges if not set(edge) <= set(ring)}
        else:
            return found


def within(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in places)


def is_ours(item: Import) -> bool:
    return item.top in BELOW


def is_standard(item: Import) -> bool:
    return item.top in sys.stdlib_module_names


@pytest.mark.slow
def test_every_package_is_there() -> None:
    assert {name.partition(".")[0] for name in modules()} == set(BELOW)


@pytest.mark.slow
def test_imports_run_downhill_only() -> None:
    uphill = [
        str(item)
        for item in imports()
        if is_ours(item) and item.top not in BELOW[item.module.partition(".")[0]] | {item.module.partition(".")[0]}
    ]
    assert not uphill


@pytest.mark.slow
def test_an_extra_imports_public_names_of_the_core_alone() -> None:
    assert EXTRAS
    private = [str(item) for item in imports() if item.module.partition(".")[0] in EXTRAS and "._" in item.name]
    assert not private


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports for the type checker alone do not count: `Application` is named by services that it holds."""
    running = {(item.module, item.name) for item in imports() if is_ours(item) and not item.typed}
    assert not circles({edge for edge in running if edge[0] != edge[1]})


def test_no_packages_import_each_other_in_a_circle() -> None:
    between = {
        (package_of(item.module), package_of(item.name)) for item in imports() if is_ours(item) and not item.typed
    }
    assert not circles({edge for edge in between if edge[0] != edge[1]})


@pytest.mark.parametrize("package", sorted(GATES))
def test_a_gated_package_is_imported_in_one_place(package: str) -> None:
    astray = [str(item) for item in imports() if item.top == package and not within(item.module, GATES[package])]
    assert not astray


def test_the_auditor_needs_only_the_standard_library_and_cryptography() -> None:
    astray = [
        str(item)
        for item in imports()
        if within(item.module, AUDITORS)
        and not (is_standard(item) or item.top == "cryptography" or within(item.name, AUDITORS))
    ]
    assert not astray


def test_the_launcher_needs_the_standard_library_alone() -> None:
    astray = [
        str(item)
        for item in imports()
        if within(item.module, LAUNCHER) and not (is_standard(item) or within(item.name, LAUNCHER))
    ]
    assert not astray


def test_programs_that_are_started_alone_need_the_standard_library_alone() -> None:
    beside = ("sandbox.kinds.forge.backend", "sandbox.kinds.common.backend")
    theirs = (item for item in imports() if within(item.module, ALONE))
    assert not [str(item) for item in theirs if not is_standard(item) and not within(item.name, beside)]


def test_tables_are_imported_by_their_store_alone() -> None:
    """A package's `tables` are imported by its `store`, by tables that refer to them, and by the migrations."""
    astray = [
        str(item)
        for item in imports()
        if is_ours(item)
        and item.name.rpartition(".")[2].startswith("tables")
        and not within(item.name, ("quarterturn.pages", "verifiers"))
        and not is_store(item.module, item.name)
        and not item.module.rpartition(".")[2].startswith("tables")
        and not within(item.module, ("quarterturn.migrations",))
        and item.module not in JOIN_ROWS
    ]
    assert not astray


def test_nobody_below_the_command_line_knows_all_of_an_open_home() -> None:
    may_know = (ROOT_MODULE, CONCERNS, *ABOVE_THE_ROOT)
    home = [item for item in imports() if within(item.name, (ROOT_MODULE, CONCERNS))]
    assert home
    assert not [str(item) for item in home if not within(item.module, may_know)]
    assert not [str(item) for item in home if item.name == ROOT_MODULE and within(item.module, (CONCERNS,))]


def is_store(module: str, tables: str) -> bool:
    """Return whether a module is the store of these tables: `store` beside them, or a part of the package `store`."""
    package = tables.rpartition(".")[0]
    return module == f"{package}.store" or (package.endswith(".store") and module.startswith(f"{package}."))


def test_only_the_command_line_prints_or_exits() -> None:
    astray = [
        f"{module}:{call.lineno} calls {ast.unparse(call.func)}"
        for module, tree in modules().items()
        if not within(module, SPEAKERS)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in {"print", "exit", "quit", "sys.exit", "SystemExit"}
    ]
    assert not astray


def test_imported_packages_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for group in project["optional-dependencies"].values() for line in group)]
    for folder in EXTRAS.values():
        extra = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        lines += [line for group in extra.get("optional-dependencies", {}).values() for line in group]
    declared = {re.split(r"[<>=!~\[; ]", line, maxsplit=1)[0] for line in lines}
    carriers = packages_distributions()
    for item in imports():
        if not is_ours(item) and not is_standard(item) and not within(item.module, ELSEWHERE):
            names = {carrier.lower().replace("_", "-") for carrier in carriers.get(item.top, [])}
            assert names & declared, f"{item}, which pyproject.toml does not declare"


@pytest.mark.parametrize(
    ("module", "kept_out"),
    [
        ("quarterturn.cli", {"mcp", "docker", "sqlmodel", "fastapi", "alembic"}),
        ("vault.ledger.audit.verify", {"sqlmodel", "pydantic", "jsonschema", "rfc8785", "mcp"}),
        ("launcher.verbs", {"cryptography", "pydantic", "docker", "rich"}),
    ],
)
def test_a_light_module_stays_light(module: str, kept_out: set[str]) -> None:
    program = f"import sys, json, {module}; print(json.dumps(sorted(name.partition('.')[0] for name in sys.modules)))"
    said = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert not kept_out & set(json.loads(said.stdout))


def test_no_test_folder_is_a_package() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_every_exception_that_a_docstring_names_exists() -> None:
    known = {node.name for tree in modules().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    known |= {item.name.rpartition(".")[2] for item in imports()} | set(dir(builtins))
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                known |= {alias.asname or alias.name for alias in node.names}
    gone = [
        f"{module}: {name}"
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for line in re.findall(
            r"^    ([A-Z]\w*(?:, [A-Z]\w*)*):", (ast.get_docstring(node) or "").partition("Raises:")[2], re.M
        )
        for name in line.split(", ")
        if name not in known
    ]
    assert not gone


@pytest.mark.slow
def test_what_a_remote_answers_is_parsed_by_the_strict_reader() -> None:
    networked = {item.module for item in imports() if item.name in NETWORK or item.top in NETWORK}
    loose = {
        module
        for module, tree in modules().items()
        if module in networked or within(module, REMOTE)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and is_loose_json(node.func)
    }
    assert loose == set(LOOSE_JSON), "read it with sandbox.strict_json or sandbox.remote_document, or say why not"


def is_loose_json(called: ast.expr) -> bool:
    """Say whether a call parses JSON without caps: `json.loads`, `response.json`, pydantic's own parser."""
    if not isinstance(called, ast.Attribute):
        return False
    of_json = isinstance(called.value, ast.Name) and called.value.id == "json" and called.attr in {"load", "loads"}
    return of_json or called.attr in {"json", "model_validate_json", "raw_decode"}
