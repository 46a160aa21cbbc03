"""The state file that the GitHub twin left, read strictly.

The twin writes it whole or not at all, so one that does not have its shape is wreckage (`Spoiled`). What a task asks
about and is not in it is `Lacking`. Accounts, repositories and labels are found whatever their case, as on GitHub.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from jsonschema import Draft202012Validator

from verifiers.context import Context
from verifiers.errors import Lacking, Spoiled
from verifiers.quoting import listed, quoted

SCHEMA = "quarterturn/forge/v1"
FILE, FOLDER = "state.json", "repositories"
MAX_BYTES = 16 * 1024 * 1024

Record = Mapping[str, Any]

_TEXT, _MAYBE = {"type": "string"}, {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": _TEXT}


def _record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _map(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": of}


_PULL = _record(
    head=_record(repository=_TEXT, branch=_TEXT, sha=_TEXT),
    base=_record(branch=_TEXT, sha=_TEXT),
    draft={"type": "boolean"},
    merged_at=_MAYBE,
    merge_commit=_MAYBE,
    merge_method=_MAYBE,
    reviews={"type": "array", "items": _record(user=_TEXT, state=_TEXT, body=_TEXT)},
    review_comments={"type": "array", "items": _record(user=_TEXT, path=_TEXT, body=_TEXT)},
)
_ISSUE = _record(
    number={"type": "integer"},
    title=_TEXT,
    body=_MAYBE,
    user=_TEXT,
    state={"enum": ["open", "closed"]},
    state_reason=_MAYBE,
    labels=_TEXTS,
    assignees=_TEXTS,
    milestone={"type": ["integer", "null"]},
    comments={"type": "array", "items": _record(user=_TEXT, body=_TEXT)},
    pull={"anyOf": [{"type": "null"}, _PULL]},
)
_REPOSITORY = _record(
    description=_MAYBE,
    private={"type": "boolean"},
    default_branch=_TEXT,
    parent=_MAYBE,
    milestones=_map(_record(title=_TEXT)),
    issues=_map(_ISSUE),
)
_VALIDATOR = Draft202012Validator(
    _record(schema={"const": SCHEMA}, viewer=_TEXT, users={"type": "object"}, repositories=_map(_REPOSITORY))
)


@dataclass(frozen=True, slots=True)
class Forge:
    """The state file."""

    data: Record = field(repr=False)

    @property
    def repositories(self) -> Mapping[str, Record]:
        """The repositories by `owner/name`."""
        found: Mapping[str, Record] = self.data["repositories"]
        return found

    def name(self, repository: str) -> str:
        """Give a repository's name as it is spelt.

        Raises:
            Lacking: there is none.
        """
        for name in self.repositories:
            if name.lower() == repository.lower():
                return name
        raise Lacking(f"there is no repository {quoted(repository)}; there are {listed(list(self.repositories))}")

    def repository(self, name: str) -> Record:
        """Give a repository.

        Raises:
            Lacking: there is none.
        """
        return self.repositories[self.name(name)]

    def issues(self, repository: str, issue: int | str) -> Sequence[Record]:
        """Give the issue of a number, or those of a title. A pull request has a number of the same row, but no title.

        Raises:
            Lacking: there is none.
        """
        numbered = self.repository(repository)["issues"].get(str(issue)) if isinstance(issue, int) else None
        found = [numbered] if numbered else [one for one in self.all_issues(repository) if issue == one["title"]]
        if not found:
            titles = [f"#{one['number']} {one['title']}" for one in self.all_issues(repository)]
            raise Lacking(f"there is no issue {quoted(issue)}; there are {listed(titles)}")
        return found

    def all_issues(self, repository: str) -> Iterator[Record]:
        """Give all issues that are no pull requests."""
        return (one for one in self.repository(repository)["issues"].values() if one["pull"] is None)

    def pulls(self, repository: str, pull: int | str) -> Sequence[Record]:
        """Give the pull request of a number, or those from a branch (`branch`, or `owner:branch` of a fork).

        Raises:
            Lacking: there is none.
        """
        name = self.name(repository)
        every = [one for one in self.repositories[name]["issues"].values() if one["pull"] is not None]
        found = [one for one in every if pull == one["number"] or _comes_from(one["pull"]["head"], pull, name)]
        if not found:
            heads = [f"#{one['number']} from {one['pull']['head']['branch']}" for one in every]
            raise Lacking(f"there is no pull request {quoted(pull)}; there are {listed(heads)}")
        return found


def _comes_from(head: Record, named: int | str, repository: str) -> bool:
    owner, colon, branch = str(named).rpartition(":")
    source = str(head["repository"])
    if not colon:
        return source == repository and head["branch"] == named
    return source.partition("/")[0].lower() == owner.lower() and head["branch"] == branch


def open_forge(context: Context) -> Forge:
    """Read the state file, once an evaluation.

    Raises:
        Spoiled: it is not there, or not what the twin writes.
        Unreadable: there is no state.
    """
    return context.once("forge", lambda: _read(context))


def _read(context: Context) -> Forge:
    node = context.tree("github").get(FILE)
    if node is None or node.kind != "file" or len(node.data) > MAX_BYTES:
        raise Spoiled(f"{FILE} is missing or too large")
    try:
        data = json.loads(node.data, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Spoiled(f"{FILE} is no JSON document") from None
    if not _VALIDATOR.is_valid(data):
        raise Spoiled(f"{FILE} does not have its shape")
    return Forge(data)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is there twice")
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
