"""Manifests of MCP servers: strict YAML that says how a server is installed and started, and where its state lies.

    server: notes                            # the namespace of its tools and predicates
    package: pypi:mcp-notes                  # or npm:…; `ours:…` is a program of this repository
    version: "1.2.0"
    state: {kind: sqlite, folder: notes, file: data/notes.db}
    command: ["{python}", -I, -m, mcp_notes, --db, "{state}/data/notes.db"]
    environment: {NOTES_USER: agent}
    freeze: {clock: "2026-03-02T09:00:00Z", ids: true}

`docs/reference/server-manifests.md` describes every key. The shipped servers are such files too: there is no second
way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from sandbox.errors import Malformed
from sandbox.images.added.unpack import FOLDER
from sandbox.isolation.system_calls import GROUPS
from sandbox.kinds.common.check import PATH_SCHEMA, check
from sandbox.kinds.common.state_kind import DATA, OUR_KINDS, PROGRAMS, StateKind
from sandbox.kinds.registry import KINDS
from sandbox.servers import freeze, services
from sandbox.servers.server import NPM, PYTHON, SERVICES_FOLDER, Server
from vault import strict_yaml
from vault.errors import Malformed as NotYaml
from verifiers.predicates import own_predicates
from verifiers.predicates.own_predicates import OwnPredicates
from verifiers.tree import FileTree

FILE, TOOLS, PREDICATES = "server.yaml", "tools.json", "predicates.py"

NAME = r"^[a-z][a-z0-9_]{0,30}$(?!\n)"
SERVICE_SECONDS = 30.0  # that a service has to become ready, as a database has
_BRACES = re.compile(r"\{[a-z][a-z0-9_]*\}")
_WORD = {"type": "string", "minLength": 1, "maxLength": 2000}
_PACKAGE: Mapping[str, Any] = {
    "type": "string",
    "pattern": r"^(npm:(@[A-Za-z0-9_.~-]{1,100}/)?|pypi:|ours:|(npm|pypi):\./"
    r"([A-Za-z0-9][A-Za-z0-9_.+-]{0,100}/){0,8})[A-Za-z0-9][A-Za-z0-9_.~+-]{0,200}(\[[A-Za-z0-9_.,-]{1,100}\])?$(?!\n)",
    "description": "The registry and the package's name there, `npm:…` or `pypi:…`; from PyPI perhaps with "
    "extras, as `pypi:mcp-notes[search]`. Or what lies beside the manifest: `pypi:./NAME.whl` a wheel, "
    "`npm:./NAME.tgz` a tarball, `pypi:./FOLDER` and `npm:./FOLDER` a folder.",
}
_VERSION: Mapping[str, Any] = {
    "type": "string",
    "pattern": r"^[A-Za-z0-9][A-Za-z0-9.+_-]{0,60}$(?!\n)",
    "description": "The exact version, in quotes.",
}
_COMMAND: Mapping[str, Any] = {
    "type": "array",
    "minItems": 1,
    "maxItems": 64,
    "items": _WORD,
    "description": "The words that start it on standard input and output. `{python}` and `{node}` are the "
    "interpreters, `{modules}` the npm packages, `{package}` the folder of its own package (from npm, or a "
    "folder of yours), `{state}` its folder, `{kind}` our programs of its kind.",
}
_ENVIRONMENT: Mapping[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": r"^[A-Za-z_][A-Za-z0-9_]{0,100}$(?!\n)"},
    "additionalProperties": {"type": "string", "maxLength": 2000},
    "description": "Variables beside PATH, HOME (`/tmp`), LANG and TZ (`UTC`); the same places may be named.",
}
SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Manifest of an MCP server",
    "type": "object",
    "additionalProperties": False,
    "required": ["server", "package", "version", "state", "command"],
    "properties": {
        "server": {
            "type": "string",
            "pattern": NAME,
            "description": "The namespace of its tools and predicates: lower-case letters, digits and _, at most 31.",
        },
        "package": _PACKAGE,
        "version": _VERSION,
        "state": {
            "type": "object",
            "additionalProperties": False,
            "required": ["kind"],
            "description": "Where its state lies, and what it is.",
            "properties": {
                "kind": {"enum": sorted(KINDS), "description": "The state kind."},
                "folder": {
                    "type": "string",
                    "pattern": NAME,
                    "description": "The name of its own folder, `{state}`; by default the server's.",
                },
                "file": {
                    **PATH_SCHEMA,
                    "description": "Where in that folder the kind's one file lies, if the server wants another name: a "
                    "relative path without `..`.",
                },
            },
        },
        "command": _COMMAND,
        "environment": _ENVIRONMENT,
        "start_with": {
            "type": "object",
            "description": "The initial state that it needs to start: that of `server add`, and of a task that gives "
            "it none. As its state kind takes it.",
        },
        "first_call": {
            "type": "object",
            "additionalProperties": False,
            "required": ["tool"],
            "description": "The tool that `server add` calls; by default one that needs no arguments.",
            "properties": {
                "tool": {"type": "string", "minLength": 1, "maxLength": 64, "description": "Its name."},
                "arguments": {"type": "object", "description": "What it is called with; nothing by default."},
            },
        },
        "services": services.schema(NAME, _PACKAGE, _VERSION, _COMMAND, _ENVIRONMENT),
        "freeze": freeze.SCHEMA,
        "limits": {
            "type": "object",
            "additionalProperties": False,
            "description": "What it may take, where it needs more than others.",
            "properties": {
                "call_seconds": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "maximum": 300,
                    "description": "Seconds for one call, and to come up; 30 at least.",
                }
            },
        },
        "system": {
            "type": "array",
            "minItems": 1,
            "maxItems": 64,
            "uniqueItems": True,
            "items": {"type": "string", "pattern": r"^[a-z0-9][a-z0-9+.-]{0,98}[a-z0-9+]$(?!\n)"},
            "description": "Debian packages that its worlds have in /usr and /etc, with what these depend on, as apt "
            "on this machine finds them; their scripts are not run.",
        },
        "system_calls": {
            "type": "array",
            "uniqueItems": True,
            "items": {"enum": list(GROUPS)},
            "description": "Groups of system calls that its worlds may make beside what all may; see "
            "[the groups](#system-calls).",
        },
        "predicates": {
            **own_predicates.SCHEMA,
            "description": "Predicates of its own beside those of its state kind, by name; their functions are in "
            "predicates.py beside the manifest, and run in a judge process of their own.",
        },
        "on_demand": {
            "type": "boolean",
            "description": "Whether it starts with the first word to it, and not with its world; true by default.",
        },
        "stateless": {
            "type": "boolean",
            "description": "Whether its process keeps nothing between calls but its folder; false by default.",
        },
    },
}
"""JSON Schema of a manifest."""


def load(
    manifest: str, tools: Mapping[str, Any], what: str, *, added: str | None = None, predicates: str = ""
) -> Server:
    """Make a server of a manifest's text and its recorded tools.

    Args:
        manifest: the text.
        tools: name -> `{"description", "inputSchema"}`.
        what: what the text is called in messages.
        added: where a world sees its programs, if it is not a shipped one.
        predicates: the text of the module with its own predicates.

    Raises:
        Malformed: the manifest is not strict YAML or does not fit its schema; the message names file and place.
    """
    document = read(manifest, what)
    state = document["state"]
    kind = KINDS[state["kind"]]
    root = state.get("folder", document["server"])
    if "file" in state and kind.file is None:
        raise Malformed(f"{what} at $.state.file: the state kind {kind.name} has no file of its own; remove the key")
    start_with = document.get("start_with", {})
    check(kind.schema, start_with, f"{what} at $.start_with")
    programs = _programs(document["server"], document["package"], added)
    places = {**programs, "{state}": f"{DATA}/{root}", "{kind}": f"{OUR_KINDS}/{kind.name}"}
    helpers = _services(document, places, added, what)
    places |= {f"{{{name}}}": address for name, address in services.addresses(document).items()}
    words = [_placed(word, places, f"{what} at $.command[{i}]") for i, word in enumerate(document["command"])]
    environment = {
        name: _placed(value, places, f"{what} at $.environment.{name}")
        for name, value in document.get("environment", {}).items()
    }
    if "freeze" in document:
        words = freeze.frozen(words, document, what)
        environment |= freeze.variables(document["freeze"])
    seconds = max(SERVICE_SECONDS, document.get("limits", {}).get("call_seconds", 0))
    return Server(
        name=document["server"],
        package=document["package"],
        version=document["version"],
        root=root,
        command=tuple(words),
        environment=environment,
        tools=tools,
        state_schema=kind.schema,
        seed=partial(_seeded, kind, state["file"]) if "file" in state else kind.seed,
        mutations=kind.mutations,
        kind=kind.name,
        file=state.get("file"),
        on_demand=document.get("on_demand", True),
        stateless=document.get("stateless", False),
        call_seconds=document.get("limits", {}).get("call_seconds", 0),
        start_with=start_with,
        first_call=document.get("first_call"),
        system=tuple(document.get("system", ())),
        system_calls=tuple(document.get("system_calls", ())),
        own=OwnPredicates(document["predicates"], predicates) if "predicates" in document else None,
        services=document.get("services", {}),
        backend=services.backend(helpers, kind.backend, seconds) if helpers else kind.backend,
        reader=kind.reader,
    )


def _services(
    document: Mapping[str, Any], places: Mapping[str, str], added: str | None, what: str
) -> dict[str, dict[str, Any]]:
    """Return the services with all places filled in; each sees the addresses of those before it.

    Raises:
        Malformed: a name means a place already, a word names none, or the server is declared stateless.
    """
    if "services" in document and document.get("stateless"):
        raise Malformed(f"{what} at $.services: a stateless server keeps nothing but its folder; remove a key")
    known, helpers = dict(places), {}
    for name, address in services.addresses(document).items():
        about, where = document["services"][name], f"{what} at $.services.{name}"
        if f"{{{name}}}" in places:
            raise Malformed(f"{where}: {{{name}}} is a place already; choose another name")
        own = dict(known)
        if "package" in about:
            own.pop("{package}", None)
            own |= _programs(name, about["package"], f"{added}/{SERVICES_FOLDER}/{name}")
        words = [_placed(word, own, f"{where}.command[{i}]") for i, word in enumerate(about["command"])]
        variables = about.get("environment", {})
        environment = {key: _placed(value, own, f"{where}.environment.{key}") for key, value in variables.items()}
        if "freeze" in document and about["command"][0] in {"{node}", "{python}"}:
            words = freeze.frozen(words, {**document, "command": about["command"]}, what)
            environment |= freeze.variables(document["freeze"])
        ready = {"ready": about["ready"]} if "ready" in about else {}
        helpers[name] = {"command": words, "environment": environment, "port": about["port"], **ready}
        known[f"{{{name}}}"] = address
    return helpers


def read(manifest: str, what: str) -> Mapping[str, Any]:
    """Read and check a manifest's text.

    Raises:
        Malformed: as for `load`.
    """
    try:
        document = strict_yaml.read(manifest, what)
    except NotYaml as error:
        raise Malformed(str(error)) from None
    if isinstance(document, dict) and "image" in document:
        raise Malformed(f"{what} at $.image: a server is no image; name its package of npm or PyPI under `package`")
    check(SCHEMA, document, what)
    for name, about in document.get("services", {}).items():
        if "package" in about and "version" not in about:
            raise Malformed(
                f"{what} at $.services.{name} has a package without a version: add its exact version, in quotes"
            )
    return document  # type: ignore[no-any-return] # the schema has checked it


def tools_of(text: str) -> dict[str, Any]:
    """Read recorded tools."""
    tools: dict[str, Any] = json.loads(text)
    return tools


def tools_text(tools: Mapping[str, Any]) -> str:
    """Write recorded tools."""
    return json.dumps(tools, indent=1, ensure_ascii=False) + "\n"


def fits_the_wire(server: str, tool: str) -> bool:
    """Say whether a tool can be offered to models, which know it as `server__tool`."""
    return re.fullmatch(r"[A-Za-z0-9_-]{1,64}", f"{server}__{tool}", re.ASCII) is not None


def _programs(name: str, package: str, added: str | None) -> dict[str, str]:
    """Return what the names of programs in braces stand for."""
    shipped = (f"{PROGRAMS}/python/{name}", f"{PROGRAMS}/npm")
    python, modules = (f"{added}/{PYTHON}", f"{added}/{NPM}") if added else shipped
    places = {
        "{python}": f"{python}/bin/python",
        "{node}": f"{PROGRAMS}/node/bin/node",
        "{modules}": f"{modules}/node_modules",
    }
    registry, _, path = package.partition(":")
    if registry == "npm":
        places["{package}"] = f"{modules}/node_modules/{FOLDER if path.startswith('./') else path}"
    elif path.startswith("./") and not path.partition("[")[0].endswith(".whl"):
        places["{package}"] = f"{python}/{FOLDER}"
    return places


def _placed(word: str, places: Mapping[str, str], where: str) -> str:
    """Put places for the names in braces.

    Raises:
        Malformed: a name in braces is none of them.
    """
    for name, place in places.items():
        word = word.replace(name, place)
    if left := _BRACES.search(word):
        raise Malformed(f"{where} names {left.group()}, and the places are {', '.join(places)}")
    return word


def _seeded(kind: StateKind, file: str, state: Mapping[str, Any]) -> FileTree:
    """Seed a folder whose one file has another name than the kind's."""
    return FileTree({(file if path == kind.file else path): node for path, node in kind.seed(state).items()})
