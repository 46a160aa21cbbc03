"""Catalogue of all predicates by name, and generator of the reference page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from types import ModuleType
from typing import Any

from verifiers.answer import predicates as answer
from verifiers.predicates import namespaces
from verifiers.predicates.registry import REGISTRY, RegisteredPredicate
from verifiers.states import frame
from verifiers.states.calendar import predicates as calendar
from verifiers.states.files import predicates as files
from verifiers.states.forge import predicates as forge
from verifiers.states.git import predicates as git
from verifiers.states.graph import predicates as graph
from verifiers.states.json_document import predicates as json_document
from verifiers.states.mailbox import predicates as mailbox
from verifiers.states.postgres import predicates as postgres
from verifiers.states.redis import predicates as redis
from verifiers.states.sqlite import predicates as sqlite
from verifiers.states.workbook import predicates as workbook

NAMESPACES: Mapping[str, ModuleType] = {
    "calendar": calendar,
    "email": mailbox,
    "filesystem": files,
    "git": git,
    "github": forge,
    "json_document": json_document,
    "memory": graph,
    "postgres": postgres,
    "redis": redis,
    "spreadsheet": workbook,
    "sqlite": sqlite,
    "answer": answer,
}
"""The namespace under which a state kind's predicates are registered, to the module that registers them."""
frame.register()


class Catalogue(Mapping[str, RegisteredPredicate]):
    """All predicates by name (`namespace.predicate`), those of added servers too."""

    def __getitem__(self, name: str) -> RegisteredPredicate:
        namespace, _, predicate = name.partition(".")
        if namespace in NAMESPACES:
            return REGISTRY[name]
        if predicate in (own := namespaces.own(namespace)):
            return own[predicate]
        return replace(REGISTRY[f"{namespaces.registered(namespace)}.{predicate}"], name=name)

    def is_own(self, name: str) -> bool:
        """Say whether a predicate is an added server's own, and not one of its state kind."""
        namespace, _, predicate = name.partition(".")
        return namespace not in NAMESPACES and predicate in namespaces.own(namespace)

    def __iter__(self) -> Iterator[str]:
        for namespace in (*NAMESPACES, *(name for name in namespaces.known() if name not in NAMESPACES)):
            own = namespaces.registered(namespace) + "."
            yield from (f"{namespace}.{name.removeprefix(own)}" for name in REGISTRY if name.startswith(own))
            yield from (f"{namespace}.{name}" for name in namespaces.own(namespace))

    def __len__(self) -> int:
        return sum(1 for _ in self)


CATALOGUE = Catalogue()

_HEAD = """\
# Predicates

What a task's `success_predicate` can ask for. This page is written by `verifiers.language.catalogue.reference()`; a
test fails where the two differ. `quarterturn predicate list --json` has an example of each, which a test runs on a
state where it holds and on one where it does not. An argument takes a string unless it says what else; one with `?` may
be left out; where two are *one of*, exactly one is given.

- `{"all": [...]}`, `{"any": [...]}` and `{"not": {...}}` compose predicates; an empty list is refused, and nesting
  ends at 16 levels.
- A predicate is *true*, *false* or *unknown*. Unknown means that we could not look; it is never a pass and never
  silently a fail.
- A state that its agent wrecked (a corrupt database, a broken repository) counts against it, on either side of a `not`.
- All paths are relative to the server's own folder. Symbolic links are never followed.
"""


def reference() -> str:
    """Write the reference page (Markdown)."""
    return "\n".join(_page())


def _page() -> Iterator[str]:
    yield _HEAD
    told_by: dict[str, str] = {}
    shipped = (entry for entry in CATALOGUE.values() if entry.name in REGISTRY)
    for space, entries in groupby(shipped, key=lambda entry: entry.name.split(".")[0]):
        yield f"## {space}\n"
        if about := _dedented(NAMESPACES[space].__doc__ or "").partition("\n\n")[2]:
            yield about + "\n"
        for entry in entries:
            yield from _section(entry, told_by.setdefault(entry.doc, entry.name))


def _section(entry: RegisteredPredicate, told_by: str) -> Iterator[str]:
    """Write a predicate's entry; one that an earlier predicate's text describes too names that one."""
    yield f"### {entry.name}\n"
    yield f"As `{told_by}`.\n" if told_by != entry.name else _dedented(entry.doc) + "\n"
    yield ", ".join(_argument(entry, name) for name in entry.schema["properties"]) + ".\n"
    example = dict(entry.example.arguments)
    if any(_is_nested(value) for value in example.values()):
        yield f"```json\n{json.dumps({entry.name: example}, ensure_ascii=False)}\n```\n"


def _argument(entry: RegisteredPredicate, name: str) -> str:
    takes = _takes(entry.schema["properties"][name])
    kind = "" if takes == "string" else f" ({takes})"
    if name in entry.schema["required"]:
        return f"`{name}`{kind}"
    return f"one of `{name}`{kind}" if {"required": [name]} in entry.schema.get("oneOf", []) else f"`{name}?`{kind}"


def _is_nested(value: object) -> bool:
    """Say whether a value is a list of lists or objects, or an object of such: its form is more than a type says."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(part, (dict, list)) for part in parts)


def _takes(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "anything")
    if meant := schema.get("description"):
        return str(meant)
    if kind == "array":
        inner = schema.get("items", {}).get("description") or schema.get("items", {}).get("type", "anything")
        return f"list of {inner if isinstance(inner, str) else ' or '.join(inner)}"
    return kind if isinstance(kind, str) else " or ".join(kind)


def _dedented(doc: str) -> str:
    return "\n".join(line.strip() for line in doc.strip().splitlines())
