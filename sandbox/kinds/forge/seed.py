"""Seed of the GitHub server: builds the forge's folder from a state. Pure: the same state gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import encoded
from sandbox.kinds.forge.backend.storage import clock, records
from sandbox.kinds.forge.backend.storage.records import Record
from sandbox.kinds.forge.files import bare, lay_out
from sandbox.kinds.git.history import STEP, commit_step, tip_of
from sandbox.kinds.git.objects import Blobs, CommitObject, InMemoryRepository
from verifiers.tree import FileTree

VIEWER = "agent"
FIRST_DAY = "2024-01-01T08:00:00Z"  # accounts and repositories
FIRST_ISSUE = "2024-03-01T09:00:00Z"  # issue n is n hours later
NOW = "2024-07-01T09:00:00Z"
MINUTE = 60


def seed(state: Mapping[str, Any]) -> FileTree:
    """Build the forge's folder.

    Raises:
        Malformed: the state names an account, a branch or a label that is not there, or the like.
    """
    return _Seed(state).tree()


class _Seed:
    """One forge in the making: its document, and a repository of git for each of its own."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        users = state.get("users", [])
        viewer = state.get("viewer", users[0]["login"] if users else VIEWER)
        self.data = records.new_state(viewer, _seconds(state.get("now", NOW), "the time"))
        self.data["rate_limit"] = state.get("rate_limit", records.RATE_LIMIT)
        self.git: dict[str, InMemoryRepository] = {}
        for known in users or [{"login": VIEWER}]:
            self.data["users"][known["login"]] = records.new_user(self.data, known["login"], FIRST_DAY, known)
        self.account(viewer, "the github state's viewer")
        for user in self.data["users"].values():
            for member in user["members"]:
                self.account(member, f"the members of {user['login']!r}")
        self.build(state.get("repositories", {}))

    def build(self, parts: Mapping[str, Mapping[str, Any]]) -> None:
        """Make the repositories: first all their commits, then what is said about them; their order does not count."""
        if len({name.lower() for name in parts}) < len(parts):
            raise Malformed("the github state has a repository twice; GitHub tells no case apart")
        made = [_Part(self, name, parts[name]) for name in _parents_first(parts)]
        for part in made:
            part.commit()
        for part in sorted(made, key=lambda part: part.name):
            part.tell()

    def tree(self) -> FileTree:
        """Return the folder."""
        return lay_out(self.data, {name: bare(git) for name, git in self.git.items()})

    def account(self, login: str, what: str) -> str:
        """Return the login back if there is such an account."""
        if login not in self.data["users"]:
            raise Malformed(f"{what} names the account {login!r}, which is not among the users")
        return login


class _Part:
    """One repository in the making."""

    def __init__(self, whole: _Seed, name: str, part: Mapping[str, Any]) -> None:
        self.whole, self.name, self.part = whole, name, part
        self.what = f"the github state's repository {name!r}"
        self.owner = whole.account(name.partition("/")[0], self.what)
        self.record = self._recorded()
        whole.data["repositories"][name] = self.record

    def _recorded(self) -> Record:
        known = {**self.part, "parent": self.part.get("fork_of")}
        if known["parent"] and "default_branch" not in known:
            known["default_branch"] = self.whole.data["repositories"][known["parent"]]["default_branch"]
        for login in self.part.get("collaborators", []):
            self.whole.account(login, f"{self.what}, collaborators,")
        record = records.new_repository(self.whole.data, _date(self.part.get("created_at", FIRST_DAY)), known)
        for label in self.part.get("labels", []):
            record["labels"][label["name"]] = records.new_label(self.whole.data, label)
        return record

    def commit(self) -> None:
        """Make the commits and the branches, on top of what the parent of a fork has."""
        parent = self.part.get("fork_of")
        branch = self.record["default_branch"]
        self.git = InMemoryRepository(self.whole.git[parent].tree()) if parent else InMemoryRepository.empty(branch)
        self.whole.git[self.name] = self.git
        for number, step in enumerate(self.part.get("commits", [])):
            what = f"{self.what}, commit {number}"
            who = self.whole.data["users"][self.whole.account(step.get("author", self.owner), what)]
            author = f"{who['name'] or who['login']} <{who['email']}>"
            commit_step(self.git, {**step, "author": author}, number, what)
        for name, start in self.part.get("branches", {}).items():
            self.git.refer(f"heads/{name}", tip_of(self.git, start, f"{self.what}, {name!r}"))
        if parent or self.part.get("commits"):
            tip_of(self.git, branch, f"{self.what}, default_branch,")
            self.git.head = branch

    def tell(self) -> None:
        """Write down what is said about the commits."""
        for number, known in enumerate(self.part.get("milestones", []), 1):
            due = {"due_on": _date(known["due_on"])} if "due_on" in known else {}
            made = records.new_milestone(self.whole.data, self.owner, FIRST_DAY, {**known, **due})
            self.record["milestones"][str(number)] = made
        for number, known, is_pull in self._numbered():
            self._issue(number, known, is_pull=is_pull)
        for status in self.part.get("statuses", []):
            tip = tip_of(self.git, status["branch"], f"{self.what}, statuses,")
            made = records.new_status(self.whole.data, self.owner, FIRST_ISSUE, status)
            self.record["statuses"].setdefault(tip, []).append(made)

    def _numbered(self) -> Iterator[tuple[int, Mapping[str, Any], bool]]:
        """Return the issues and pull requests with their numbers, in the order of these."""
        listed = [(known, False) for known in self.part.get("issues", [])]
        listed += [(known, True) for known in self.part.get("pulls", [])]
        taken = [known["number"] for known, _ in listed if "number" in known]
        if len(taken) != len(set(taken)):
            raise Malformed(f"{self.what} gives a number to two issues or pull requests")
        free = iter(number for number in range(1, len(listed) + len(taken) + 1) if number not in taken)
        numbered = [(known.get("number") or next(free), known, is_pull) for known, is_pull in listed]
        return iter(sorted(numbered, key=lambda item: item[0]))

    def _issue(self, number: int, known: Mapping[str, Any], *, is_pull: bool) -> None:
        what, data = f"{self.what}, number {number},", self.whole.data
        user = self.whole.account(known.get("user", self.owner), what)
        for login in known.get("assignees", []):
            self.whole.account(login, what)
        if known.get("milestone") is not None and str(known["milestone"]) not in self.record["milestones"]:
            raise Malformed(f"{what} is in a milestone that is not there")
        at = _seconds(known.get("created_at", clock.written(clock.read(FIRST_ISSUE) + number * STEP)), what)
        labels = records.labelled(data, self.record, known.get("labels", []))
        issue = records.new_issue(data, number, user, clock.written(at), {**known, "labels": labels})
        self.record["issues"][str(number)] = issue
        for comment in known.get("comments", []):
            at += MINUTE
            by = self.whole.account(comment["user"], what)
            issue["comments"].append(records.new_comment(data, by, clock.written(at), comment["body"]))
            issue["updated_at"] = clock.written(at)
        if is_pull:
            self._pull(issue, known, at, what)
        if known.get("state", "open") != "open":
            records.close(issue, self.owner, clock.written(at + STEP), known.get("state_reason", "completed"))
        if _seconds(issue["updated_at"], what) > data["clock"]:
            raise Malformed(f"{what} lies after the time that the world begins at")

    def _pull(self, issue: Record, known: Mapping[str, Any], at: int, what: str) -> None:
        source, branch = self._source(known["head"], what)
        ends = (
            {"repository": source, "branch": branch, "sha": tip_of(self.whole.git[source], branch, what)},
            {"branch": known["base"], "sha": tip_of(self.git, known["base"], what)},
        )
        pull = records.new_pull(self.whole.data, *ends, draft=known.get("draft", False))
        issue["pull"] = pull
        for review in known.get("reviews", []):
            at += MINUTE
            by = self.whole.account(review["user"], what)
            document = {**review, "commit": pull["head"]["sha"]}
            pull["reviews"].append(records.new_review(self.whole.data, by, clock.written(at), document))
            issue["updated_at"] = clock.written(at)
        if known.get("state") == "merged":
            pull |= {"merged_at": clock.written(at + STEP), "merged_by": self.owner, "merge_method": "merge"}
            pull["merge_commit"] = self._merge(issue, at + STEP, what)

    def _source(self, head: str, what: str) -> tuple[str, str]:
        """Return the repository and the branch that a pull request comes from."""
        owner, colon, branch = head.partition(":")
        if not colon or owner == self.owner:
            return self.name, branch if colon else head
        for name, record in self.whole.data["repositories"].items():
            if record["parent"] == self.name and name.startswith(f"{owner}/"):
                return name, branch
        raise Malformed(f"{what} comes from {owner!r}, who has no fork of it")

    def _merge(self, issue: Record, at: int, what: str) -> str:
        """Merge a pull request of the repository's own, file by file, and give the merge commit."""
        head, base = issue["pull"]["head"], issue["pull"]["base"]
        if head["repository"] != self.name:
            raise Malformed(f"{what} is merged and must come from the repository itself")
        tip = tip_of(self.git, base["branch"], what)
        files = _merged_files(self.git, tip, head["sha"], what)
        user = self.whole.data["users"][self.owner]
        author = f"{user['name'] or self.owner} <{user['email']}> {at} +0000"
        message = f"Merge pull request #{issue['number']} from {self.owner}/{head['branch']}\n\n{issue['title']}\n"
        encoded(message, what)
        made = CommitObject(self.git.put_tree(files), (tip, head["sha"]), author, author, message)
        base["sha"] = tip
        self.git.refer(f"heads/{base['branch']}", sha := self.git.put("commit", made.encode()))
        return sha


def _parents_first(parts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Order repositories by name, but a fork after what it was forked from.

    Raises:
        Malformed: that is not there, or is a fork of its own fork.
    """
    out: list[str] = []
    waiting = sorted(parts)
    while waiting:
        ready = [name for name in waiting if parts[name].get("fork_of") in {None, *out}]
        if not ready:
            parent = parts[waiting[0]]["fork_of"]
            raise Malformed(
                f"the github state's repository {waiting[0]!r} is a fork of {parent!r}, which nothing begins"
            )
        out += ready
        waiting = [name for name in waiting if name not in ready]
    return out


def _merged_files(git: InMemoryRepository, ours: str, theirs: str, what: str) -> Blobs:
    """Merge two commits where no file was changed on both sides.

    Raises:
        Malformed: one was.
    """
    before = _ancestors(git, ours)
    start = next((sha for sha in _ancestors(git, theirs) if sha in before), None)
    old, our, their = (git.files_of(git.commit(sha).tree) if sha else {} for sha in (start, ours, theirs))
    out: Blobs = {}
    for path in sorted(old.keys() | our.keys() | their.keys()):
        sides = old.get(path), our.get(path), their.get(path)
        if sides[0] not in sides[1:] and sides[1] != sides[2]:
            raise Malformed(f"{what} is merged, but both sides change {path!r}")
        chosen = sides[2] if sides[1] == sides[0] else sides[1]
        if chosen is not None:
            out[path] = chosen
    return out


def _ancestors(git: InMemoryRepository, tip: str) -> dict[str, None]:
    """Name a commit and all that it comes from, nearest first."""
    ancestors: dict[str, None] = {}
    waiting = [tip]
    while waiting:
        sha = waiting.pop(0)
        if sha not in ancestors:
            ancestors[sha] = None
            waiting += git.commit(sha).parents
    return ancestors


def _seconds(date: str, what: str) -> int:
    try:
        return clock.read(date)
    except ValueError:
        raise Malformed(f"{what} has a date that no calendar has") from None


def _date(date: str) -> str:
    return clock.written(_seconds(date, "the github state"))
