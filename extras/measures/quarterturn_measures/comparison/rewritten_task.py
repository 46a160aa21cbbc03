"""Tasks of one server rewritten for another of the same state kind, so that both are judged by the same predicate.

A rewritten task has the same goal, the same initial state and the same predicate under the other server's name. It
lists all tools of that server and none of another's, so an agent is offered what the server's users have. A path below
the first server's folder becomes one below the other's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from grammars.draw.variants import base
from grammars.language.grammar import Draft
from quarterturn.errors import Malformed
from sandbox.kinds.common.state_kind import DATA
from sandbox.servers.registry import SERVERS
from sandbox.servers.server import Server
from vault.canonical import canonical
from vault.task.document import Task
from verifiers.errors import VerifierError
from verifiers.language import predicate

ANSWER = "answer"


def why_not_comparable(draft: Draft, kind: str) -> str | None:
    """Say why a task cannot be played with another server of a state kind, as a sentence's end; None where it can."""
    own = draft.task["server"]
    if own not in SERVERS or SERVERS[own].kind != kind:
        return f"its server {own} is not of the state kind {kind}"
    called = {
        call["tool"].partition(".")[0] for solution in draft.provenance["solutions"] for call in solution["calls"]
    }
    if others := sorted(called - {own}):
        return f"its solution needs {', '.join(others)} beside {own}"
    if draft.task.get("faults"):
        return "it schedules an error of one server's tool"
    looked_at = predicate.namespaces(predicate.parse(_own_predicate(draft.task), filled=False))
    if others := sorted(set(looked_at) - {own, ANSWER}):
        return f"its predicate looks at {', '.join(others)} beside {own}"
    return None


def rewrite_task(draft: Draft, server: Server) -> Task:
    """Return a comparable task, in the variant of first choices, for another server of its state kind.

    Raises:
        Malformed: the server lacks a predicate that the task needs.
    """
    document = base(draft).task
    own = SERVERS[document["server"]]
    folder = re.compile(rf"{re.escape(f'{DATA}/{own.root}')}(?![\w-])")
    moved = _with_texts(document, lambda text: folder.sub(f"{DATA}/{server.root}", text))
    rewritten = moved | {
        "server": server.name,
        "initial_state": {server.name: moved["initial_state"].get(own.name, {})},
        "available_tools": [f"{server.name}.{tool}" for tool in sorted(server.tools)],
        "success_predicate": _renamed(_own_predicate(moved), own.name, server.name),
    }
    try:
        predicate.parse(rewritten["success_predicate"])
    except VerifierError as error:
        raise Malformed(f"task {draft.id} cannot be played with {server.name}: {error}") from None
    return Task.trusted(canonical(rewritten))  # all its tools may be fewer than 12 or more than 18


def _own_predicate(document: Mapping[str, Any]) -> Any:
    """Return a task's predicate without the frames of other servers, which are there to distract and do not run."""
    tree = document["success_predicate"]
    if set(tree) != {"all"}:
        return tree
    frames = {f"{server}.unchanged" for server in SERVERS if server != document["server"]}
    return {"all": [part for part in tree["all"] if not frames & set(part)]}


def _renamed(tree: Any, old: str, new: str) -> Any:
    """Return a predicate with its probes of one namespace under another."""
    ((name, body),) = tree.items()
    if name in {"all", "any"}:
        return {name: [_renamed(part, old, new) for part in body]}
    if name == "not":
        return {name: _renamed(body, old, new)}
    namespace, _, probe = name.partition(".")
    return {f"{new if namespace == old else namespace}.{probe}": body}


def _with_texts(value: Any, change: Any) -> Any:
    """Return a JSON value with each of its texts changed; keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_with_texts(part, change) for part in value]
    if isinstance(value, dict):
        return {key: _with_texts(part, change) for key, part in value.items()}
    return value
