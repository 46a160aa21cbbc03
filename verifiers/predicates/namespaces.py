"""Namespaces of predicates: each is a server's name, and has the predicates of that server's state kind.

A state kind's predicates are registered under the name of its first server (`redis.keyExists`); every further server of
the kind has the same ones under its own name (`cache.keyExists`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from verifiers.errors import Malformed
from verifiers.predicates.own_predicates import OwnPredicates
from verifiers.predicates.registry import RegisteredPredicate

REGISTERED: Mapping[str, str] = {
    "calendar": "calendar",
    "files": "filesystem",
    "forge": "github",
    "git": "git",
    "graph": "memory",
    "json_document": "json_document",
    "mailbox": "email",
    "postgres": "postgres",
    "redis": "redis",
    "sqlite": "sqlite",
    "workbook": "spreadsheet",
}
"""State kind -> the namespace under which its predicates are registered."""

_RESERVED = ("answer", "all", "any", "not")
_KINDS: dict[str, str] = {namespace: kind for kind, namespace in REGISTERED.items()}
_OWN: dict[str, OwnPredicates] = {}
_NONE = OwnPredicates()
_ENTRIES: dict[str, Mapping[str, RegisteredPredicate]] = {}


def add(namespace: str, kind: str, own: OwnPredicates | None = None) -> None:
    """Give a namespace the predicates of a state kind, and predicates of its own.

    Raises:
        Malformed: there is no such kind, or the namespace means something else.
    """
    must_be_free(namespace, kind)
    _KINDS[namespace] = kind
    if own is not None:
        _OWN[namespace], _ENTRIES[namespace] = own, own.entries(namespace, REGISTERED[kind])


def must_be_free(namespace: str, kind: str) -> None:
    """Make sure that `add` takes the namespace.

    Raises:
        Malformed: as for `add`.
    """
    if kind not in REGISTERED:
        raise Malformed(f"there is no state kind {kind!r}; the kinds are {', '.join(REGISTERED)}")
    if namespace in _RESERVED or _KINDS.get(namespace, kind) != kind:
        raise Malformed(f"the namespace {namespace!r} has predicates of its own already; choose another name")


def described(names: Iterable[str]) -> dict[str, Any]:
    """Describe namespaces for another process, which calls `learn`; no module of own predicates goes with it."""
    return {
        name: {"kind": _KINDS[name], "declared": dict(_OWN.get(name, _NONE).declared)}
        for name in names
        if name in _KINDS
    }


def learn(described: Mapping[str, Any]) -> None:
    """Take in what `described` gave, by namespace."""
    for name, description in described.items():
        declared = description["declared"]
        add(name, description["kind"], OwnPredicates(declared) if declared else None)


def kind_of(namespace: str) -> str | None:
    """Return the state kind of a namespace; None for `answer` and for what nobody knows."""
    return _KINDS.get(namespace)


def own(namespace: str) -> Mapping[str, RegisteredPredicate]:
    """Return a namespace's own predicates by their names in it."""
    return _ENTRIES.get(namespace, {})


def own_source(namespace: str) -> str:
    """Return the text of a namespace's module; empty where it has no own predicates."""
    return _OWN.get(namespace, _NONE).source


def registered(namespace: str) -> str:
    """Return the namespace under which the predicates of a namespace's kind are registered."""
    kind = _KINDS.get(namespace)
    return REGISTERED[kind] if kind else namespace


def known() -> tuple[str, ...]:
    """List the namespaces of all servers, sorted."""
    return tuple(sorted(_KINDS))
