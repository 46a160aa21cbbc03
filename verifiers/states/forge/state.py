"""Normal form of a forge, and lookups in its repositories, issues and pull requests.

What a task asks about and is not in it is `TargetMissing`. Accounts, repositories and labels are found whatever their
case, as on GitHub. Normal form: `{"forge": what the emulator writes, as far as predicates ask for it, "repositories":
{path: repository}}`, the latter as in `verifiers.states.git.history`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verifiers.budget import ReadingBudget
from verifiers.errors import TargetMissing
from verifiers.predicates.context import Context
from verifiers.quoting import listed, quoted

SCHEMA = "quarterturn/forge/v1"

AN_ISSUE, A_PART = 4, 1  # steps for an issue, and for a label, a comment or a review of one
FILE, FOLDER = "state.json", "repositories"

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedForge:
    """The parsed state of a forge."""

    data: Record = field(repr=False)
    budget: ReadingBudget = field(repr=False)

    @property
    def repositories(self) -> Mapping[str, Record]:
        """The repositories by `owner/name`."""
        repositories: Mapping[str, Record] = self.data["repositories"]
        return repositories

    def name(self, repository: str) -> str:
        """Return a repository's name as it is spelt.

        Raises:
            TargetMissing: there is none.
        """
        self.budget.step(len(self.repositories))
        for name in self.repositories:
            if name.lower() == repository.lower():
                return name
        raise TargetMissing(f"there is no repository {quoted(repository)}; there are {listed(list(self.repositories))}")

    def repository(self, name: str) -> Record:
        """Return a repository.

        Raises:
            TargetMissing: there is none.
        """
        return self.repositories[self.name(name)]

    def issues(self, repository: str, issue: int | str) -> Sequence[Record]:
        """Return the issue of a number, or those of a title. A pull request has a number of the same row, but no title.

        Raises:
            TargetMissing: there is none.
        """
        numbered = self.repository(repository)["issues"].get(str(issue)) if isinstance(issue, int) else None
        matches = (
            [numbered] if numbered else [record for record in self.all_issues(repository) if issue == record["title"]]
        )
        if not matches:
            titles = [f"#{record['number']} {record['title']}" for record in self.all_issues(repository)]
            raise TargetMissing(f"there is no issue {quoted(issue)}; there are {listed(titles)}")
        return matches

    def all_issues(self, repository: str) -> Iterator[Record]:
        """Return all issues that are no pull requests."""
        issues = self.repository(repository)["issues"]
        self.budget.step(AN_ISSUE * len(issues))
        return (record for record in issues.values() if record["pull"] is None)

    def pulls(self, repository: str, pull: int | str) -> Sequence[Record]:
        """Return the pull request of a number, or those from a branch (`branch`, or `owner:branch` of a fork).

        Raises:
            TargetMissing: there is none.
        """
        name = self.name(repository)
        issues = self.repositories[name]["issues"]
        self.budget.step(AN_ISSUE * len(issues))
        every = [record for record in issues.values() if record["pull"] is not None]
        matches = [
            record for record in every if pull == record["number"] or _comes_from(record["pull"]["head"], pull, name)
        ]
        if not matches:
            heads = [f"#{record['number']} from {record['pull']['head']['branch']}" for record in every]
            raise TargetMissing(f"there is no pull request {quoted(pull)}; there are {listed(heads)}")
        return matches


def parts_of(record: Record, name: str, budget: ReadingBudget) -> Sequence[Any]:
    """Return the labels, comments or other parts of an issue; each one counts against the budget."""
    parts: Sequence[Any] = record[name]
    budget.step(A_PART * len(parts))
    return parts


def _comes_from(head: Record, named: int | str, repository: str) -> bool:
    owner, colon, branch = str(named).rpartition(":")
    source = str(head["repository"])
    if not colon:
        return source == repository and head["branch"] == named
    return source.partition("/")[0].lower() == owner.lower() and head["branch"] == branch


def open_forge(context: Context) -> ParsedForge:
    """Return the forge of a state, built once for each evaluation.

    Raises:
        CorruptState: it is not there, or not what the emulator writes.
        StateUnavailable: there is no state.
    """
    return context.once("github", lambda: ParsedForge(context.state("github").document["forge"], context.budget))
