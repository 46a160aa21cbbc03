"""Storage of the forge: `state.json` and the repositories beside it, in one folder.

Every change is made on a copy in memory and reaches the disk in one step, after the request that made it succeeded; a
request that fails leaves nothing in the document, and in git at most objects that nobody names. Names of accounts and
repositories are found whatever their case, as on GitHub.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sandbox.kinds.forge.backend.protocol.errors import ApiError, not_found
from sandbox.kinds.forge.backend.storage import clock, records
from sandbox.kinds.forge.backend.storage.bare import Bare, GitIdentity
from sandbox.kinds.forge.backend.storage.records import Record


class ForgeState:
    """The whole state; `data` is the document."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept = (folder / "state.json").read_text(encoding="utf-8")
        self.data: Record = json.loads(self._kept)

    def save(self) -> None:
        """Put what is in memory on the disk."""
        text = json.dumps(self.data, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        draft = self.folder / "state.json.new"
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.folder / "state.json")
        self._kept = text

    def forget(self) -> None:
        """Go back to what is on the disk."""
        self.data = json.loads(self._kept)

    # -- time ----------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Let a second pass."""
        self.data["clock"] += 1

    @property
    def seconds(self) -> int:
        """The time, in seconds since 1970."""
        return int(self.data["clock"])

    @property
    def now(self) -> str:
        """The time, as the API writes it."""
        return clock.written(self.seconds)

    # -- accounts ------------------------------------------------------------------------------------------------

    @property
    def users(self) -> dict[str, Record]:
        """The accounts by login."""
        users: dict[str, Record] = self.data["users"]
        return users

    def login(self, name: str) -> str | None:
        """Return the login as it is spelt, or None where there is no such account."""
        return next((login for login in self.users if login.lower() == name.lower()), None)

    def person(self, login: str) -> GitIdentity:
        """Return who an account is in a commit that it makes now."""
        user = self.users[login]
        return GitIdentity(user["name"] or login, user["email"], self.seconds)

    def login_of(self, email: str) -> str | None:
        """Return the account with this address, or None."""
        return next((login for login, user in self.users.items() if user["email"].lower() == email.lower()), None)

    def may_act_for(self, viewer: str, owner: str) -> bool:
        """Say whether an account is another, or a member of it."""
        return viewer == owner or viewer in self.users[owner]["members"]

    # -- repositories --------------------------------------------------------------------------------------------

    def repositories(self) -> Iterator[Repo]:
        """Return every repository."""
        return (Repo(self, name) for name in self.data["repositories"])

    def repository(self, name: str) -> Repo:
        """Return a repository by `owner/name`.

        Raises:
            ApiError: there is none.
        """
        for known in self.data["repositories"]:
            if known.lower() == name.lower():
                return Repo(self, known)
        raise not_found()

    def has(self, name: str) -> bool:
        """Say whether there is a repository of this name."""
        return any(known.lower() == name.lower() for known in self.data["repositories"])

    def add_repository(self, name: str, record: Record) -> Repo:
        """Add a repository; its git part is made by the caller."""
        self.data["repositories"][name] = record
        return Repo(self, name)

    def copy_git(self, old: Repo, new: Repo) -> None:
        """Give a new repository all that another has in git."""
        shutil.rmtree(new.git.folder, ignore_errors=True)  # what a request left that failed halfway
        new.git.folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(old.git.folder, new.git.folder)


@dataclass(frozen=True)
class Repo:
    """One repository: its name, its record and its git part."""

    state: ForgeState
    name: str

    @cached_property
    def record(self) -> Record:
        """What `state.json` has of it."""
        record: Record = self.state.data["repositories"][self.name]
        return record

    @cached_property
    def git(self) -> Bare:
        """Its git part."""
        return Bare(self.state.folder / "repositories" / f"{self.name}.git")

    @property
    def owner(self) -> str:
        """The owner's login."""
        return self.name.partition("/")[0]

    @property
    def short(self) -> str:
        """The name without the owner."""
        return self.name.partition("/")[2]

    @property
    def default_branch(self) -> str:
        """The branch that is meant where none is named."""
        return str(self.record["default_branch"])

    def head(self) -> str | None:
        """Return the tip of the default branch, or None while it is empty."""
        return self.git.branch(self.default_branch)

    def may_push(self, viewer: str | None) -> bool:
        """Say whether an account may write to it."""
        if viewer is None:
            return False
        return self.state.may_act_for(viewer, self.owner) or viewer in self.record["collaborators"]

    def may_read(self, viewer: str | None) -> bool:
        """Say whether an account may see it."""
        return not self.record["private"] or self.may_push(viewer)

    def association(self, login: str) -> str:
        """Say what an account is to it (`author_association`)."""
        if login == self.owner:
            return "OWNER"
        if login in self.state.users[self.owner]["members"]:
            return "MEMBER"
        if login in self.record["collaborators"]:
            return "COLLABORATOR"
        merged = (issue["pull"]["merged_at"] for issue in self.issues if issue["pull"] and issue["user"] == login)
        return "CONTRIBUTOR" if any(merged) else "NONE"

    def pushed(self) -> None:
        """Note that its branches have changed."""
        self.record["pushed_at"] = self.record["updated_at"] = self.state.now

    # -- issues --------------------------------------------------------------------------------------------------

    @property
    def issues(self) -> list[Record]:
        """Its issues and pull requests."""
        return list(self.record["issues"].values())

    def issue(self, number: str | int) -> Record:
        """Return an issue or a pull request.

        Raises:
            ApiError: there is none of this number.
        """
        issue: Record | None = self.record["issues"].get(str(number))
        if issue is None:
            raise not_found()
        return issue

    def pull(self, number: str | int) -> Record:
        """Return an issue that is a pull request.

        Raises:
            ApiError: there is none of this number.
        """
        issue = self.issue(number)
        if issue["pull"] is None:
            raise not_found()
        return issue

    def add_issue(self, user: str, known: Record) -> Record:
        """Open an issue."""
        number = records.next_number(self.record)
        issue = records.new_issue(self.state.data, number, user, self.state.now, known)
        self.record["issues"][str(number)] = issue
        return issue


def writable(repo: Repo) -> Repo:
    """Return the repository back if it is not archived.

    Raises:
        ApiError: it is.
    """
    if repo.record["archived"]:
        raise ApiError(403, "Repository was archived so is read-only.")
    return repo
