"""Namespaces of predicates: each is a server's name, and has the predicates of that server's state kind.

A state kind's predicates are registered under the name of its first server (`redis.keyExists`); every further server of
the kind has the same ones under its own name (`cache.keyExists`).
"""

from __future__ import annotations

from collections.abc import Mapping

from verifiers.errors import Malformed

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


def add(namespace: str, kind: str) -> None:
    """Give a namespace the predicates of a state kind.

    Raises:
        Malformed: there is no such kind, or the namespace means something else.
    """
    if kind not in REGISTERED:
        raise Malformed(f"there is no state kind {kind!r}; the kinds are {', '.join(REGISTERED)}")
    if namespace in _RESERVED or _KINDS.setdefault(namespace, kind) != kind:
        raise Malformed(f"the namespace {namespace!r} has predicates of its own already; choose another name")


def kind_of(namespace: str) -> str | None:
    """Give the state kind of a namespace; None for `answer` and for what nobody knows."""
    return _KINDS.get(namespace)


def registered(namespace: str) -> str:
    """Give the namespace under which the predicates of a namespace's kind are registered."""
    kind = _KINDS.get(namespace)
    return REGISTERED[kind] if kind else namespace


def known() -> tuple[str, ...]:
    """List the namespaces of all servers, sorted."""
    return tuple(sorted(_KINDS))
