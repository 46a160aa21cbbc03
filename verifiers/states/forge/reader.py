"""Reader of the state file of the GitHub emulator, and of the repositories behind it.

The emulator writes the file atomically, so a file of another shape counts as corrupted (`CorruptState`).
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.formats.shape import flag, integer, list_of, map_of, one_of, or_none, record, text
from verifiers.normal_form import NormalState
from verifiers.states.forge.state import FILE, FOLDER, SCHEMA
from verifiers.states.git.reader import below, read_repository
from verifiers.tree import FileTree

MAX_BYTES = 16 * 1024 * 1024
A_REPOSITORY = 20  # steps

# What only a frame looks at is optional: no predicate asks for it, and states that were written down may lack it.
_PULL = record(
    {"maintainer_can_modify": flag, "requested_reviewers": list_of(text), "merged_by": or_none(text)},
    head=record(repository=text, branch=text, sha=text),
    base=record(branch=text, sha=text),
    draft=flag,
    merged_at=or_none(text),
    merge_commit=or_none(text),
    merge_method=or_none(text),
    reviews=list_of(record(user=text, state=text, body=text)),
    review_comments=list_of(record(user=text, path=text, body=text)),
)
_ISSUE = record(
    {"closed_by": or_none(text)},
    number=integer,
    title=text,
    body=or_none(text),
    user=text,
    state=one_of("open", "closed"),
    state_reason=or_none(text),
    labels=list_of(text),
    assignees=list_of(text),
    milestone=or_none(integer),
    comments=list_of(record(user=text, body=text)),
    pull=or_none(_PULL),
)
_REPOSITORY = record(
    {
        "homepage": or_none(text),
        "archived": flag,
        "topics": list_of(text),
        "language": or_none(text),
        "stars": integer,
        "collaborators": list_of(text),
        "labels": map_of(record({"color": text, "description": or_none(text)})),
        "statuses": map_of(
            list_of(record(context=text, state=text, description=or_none(text), target_url=or_none(text)))
        ),
    },
    description=or_none(text),
    private=flag,
    default_branch=text,
    parent=or_none(text),
    milestones=map_of(record({"description": or_none(text), "state": text, "due_on": or_none(text)}, title=text)),
    issues=map_of(_ISSUE),
)
_USER = record(
    {
        "type": text,
        "members": list_of(text),
        **dict.fromkeys(("email", "name", "bio", "company", "location"), or_none(text)),
    }
)
_FORGE = record(schema=one_of(SCHEMA), viewer=text, users=map_of(_USER), repositories=map_of(_REPOSITORY))


def read_forge(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read the forge into the normal form.

    Raises:
        CorruptState: the file is not there or not what the emulator writes, or it all costs more than the budget has.
    """
    budget.step(len(tree))
    state = _state_in(tree, budget)
    blobs: list[bytes] = []
    paths = sorted(tree)
    repositories = {}
    for name in state["repositories"]:
        path = f"{FOLDER}/{name}.git"
        budget.step(A_REPOSITORY)
        if (made := read_repository(below(tree, paths, path), budget, blobs)) is not None:
            repositories[path] = made
    return NormalState({"forge": state, "repositories": repositories}, tuple(blobs))


def _state_in(tree: FileTree, budget: ReadingBudget) -> dict[str, Any]:
    node = tree.get(FILE)
    if node is None or node.kind != "file" or len(node.data) > MAX_BYTES:
        raise CorruptState(f"{FILE} is missing or too large")
    budget.parse_json(node.data)
    try:
        data = json.loads(node.data, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise CorruptState(f"{FILE} is no JSON document") from None
    try:
        made: dict[str, Any] = _FORGE(data, budget)
    except (LookupError, TypeError, ValueError):
        raise CorruptState(f"{FILE} does not have its shape") from None
    return made


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is there twice")
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
