"""Search over repositories, code and users; only results that the caller may see are returned.

Results come by name where no sort is asked for. Searching issues is in search_issues.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from sandbox.kinds.forge.backend.handlers import query, users
from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.handlers.paging import found
from sandbox.kinds.forge.backend.handlers.query import Query, within
from sandbox.kinds.forge.backend.handlers.repositories import minimal, whole
from sandbox.kinds.forge.backend.protocol.errors import invalid
from sandbox.kinds.forge.backend.protocol.urls import escaped, repo_api, repo_page
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage.bare import TreeEntry
from sandbox.kinds.forge.backend.storage.state import ForgeState, Repo

PLACES = ("repo", "user", "org")
REPOSITORIES = (
    *PLACES,
    "in",
    "is",
    "language",
    "topic",
    "fork",
    "stars",
    "forks",
    "created",
    "pushed",
    "archived",
    "sort",
)
CODE = (*PLACES, "in", "path", "filename", "extension", "language")
USERS = ("type", "in", "user", "org", "repos", "created", "location", "fullname", "sort")
LANGUAGES = {
    "c": "c h",
    "css": "css",
    "go": "go",
    "html": "html htm",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "json": "json",
    "markdown": "md markdown",
    "python": "py",
    "ruby": "rb",
    "rust": "rs",
    "shell": "sh bash",
    "sql": "sql",
    "toml": "toml",
    "typescript": "ts tsx",
    "yaml": "yml yaml",
}
UNSEEN = (
    "The listed users and repositories cannot be searched either because the resources do not exist "
    "or you do not have permission to view them."
)
BIGGEST = 384 * 1024  # bytes of a file that is searched


def asked_for(call: ApiCall, known: tuple[str, ...]) -> Query:
    """Take the query of a call apart.

    Raises:
        ApiError: there is none.
    """
    text = call.query("q")
    if not text.strip():
        raise invalid("Search", "q", "missing")
    return query.parse(text, known)


def places(call: ApiCall, asked: Query) -> list[Repo]:
    """Return the repositories to look into.

    Raises:
        ApiError: places are named and none of them can be seen.
    """
    seen = [repo for repo in call.state.repositories() if repo.may_read(call.viewer)]
    names = {name.lower() for name in asked.values("repo")}
    owners = {name.lower() for name in asked.values("user", "org")}
    if not names and not owners:
        return seen
    named = [repo for repo in seen if repo.name.lower() in names or repo.owner.lower() in owners]
    if not named and not any(call.state.login(name) for name in owners):
        raise invalid("Search", "q", message=UNSEEN)
    return named


def elsewhere(asked: Query, repo: Repo) -> bool:
    """Say whether a place is one that the query leaves out."""
    no = [qualifier for qualifier in asked.qualifiers if qualifier.negated and qualifier.name in PLACES]
    return any(qualifier.value.lower() in {repo.name.lower(), repo.owner.lower()} for qualifier in no)


# -- repositories ----------------------------------------------------------------------------------------------------


def repositories(call: ApiCall) -> HttpResponse:
    """GET /search/repositories."""
    asked = asked_for(call, REPOSITORIES)
    fields = asked.values("in") or ["name", "description", "topics"]
    where = [repo for repo in places(call, asked) if not elsewhere(asked, repo)]
    forks = asked.values("fork")
    matching = [
        repo
        for repo in where
        if (repo.record["parent"] is None or "true" in forks or "only" in forks)
        and asked.holds(partial(_is_repository, repo), (*PLACES, "in", "sort"))
        and asked.matches(_texts(repo, fields))
    ]
    ranks = {"stars": lambda repo: repo.record["stars"], "updated": lambda repo: repo.record["updated_at"]}
    ordered = in_order(call, asked, sorted(matching, key=lambda repo: repo.name.lower()), ranks)
    return found(call, ordered, lambda repo: {**whole(repo, call.viewer), "score": 1.0})


def _texts(repo: Repo, fields: list[str]) -> Iterator[str]:
    joined = [part for field in fields for part in field.split(",")]
    yield from (repo.short, repo.name) if "name" in joined else ()
    yield (repo.record["description"] or "") if "description" in joined else ""
    yield " ".join(repo.record["topics"]) if "topics" in joined else ""
    if "readme" in joined and (head := repo.head()) and (entry := repo.git.entry(head, "README.md")):
        yield repo.git.blob(entry.sha).decode("utf-8", "replace")


def _is_repository(repo: Repo, name: str, value: str) -> bool:
    record = repo.record
    forks = sum(other.record["parent"] == repo.name for other in repo.state.repositories())
    tests: dict[str, Callable[[], bool]] = {
        "is": lambda: value == ("private" if record["private"] else "public"),
        "language": lambda: value.lower() == (record["language"] or "").lower(),
        "topic": lambda: value.lower() in record["topics"],
        "fork": lambda: value == "true" or (record["parent"] is not None) == (value == "only"),
        "stars": lambda: within(str(record["stars"]), value),
        "forks": lambda: within(str(forks), value),
        "created": lambda: within(record["created_at"], value),
        "pushed": lambda: within(record["pushed_at"], value),
        "archived": lambda: record["archived"] == (value == "true"),
    }
    return tests[name]()


# -- code ------------------------------------------------------------------------------------------------------------


def code(call: ApiCall) -> HttpResponse:
    """GET /search/code: the files of each default branch."""
    asked = asked_for(call, CODE)
    if not asked.terms and not asked.values("filename", "extension", "path"):
        raise invalid("Search", "q", message="Query must contain at least one search term")
    hits: list[tuple[Repo, str, TreeEntry]] = []
    for repo in places(call, asked):
        head = repo.head()
        if head is not None and not elsewhere(asked, repo):
            hits += [(repo, head, entry) for entry in _files(repo, head, asked)]
    return found(call, hits, lambda hit: _code_item(*hit))


def _files(repo: Repo, head: str, asked: Query) -> Iterator[TreeEntry]:
    fields = {part for value in asked.values("in") for part in value.split(",")} or {"file"}
    skipped = (*PLACES, "in")
    entries = [
        entry
        for entry in repo.git.entries(head, deep=True)
        if entry.size <= BIGGEST and asked.holds(partial(_is_file, entry.path), skipped)
    ]
    for entry, data in zip(entries, repo.git.blobs([entry.sha for entry in entries]), strict=True):
        text = "" if b"\0" in data else data.decode("utf-8", "replace")
        if asked.matches([text] * ("file" in fields) + [entry.path] * ("path" in fields)):
            yield entry


def _is_file(path: str, name: str, value: str) -> bool:
    folder, _, base = path.rpartition("/")
    extension, wanted = base.rpartition(".")[2].lower(), value.strip("/").lower()
    tests = {
        "path": f"{folder.lower()}/".startswith(f"{wanted}/")
        or (wanted == "" and not folder)
        or path.lower() == wanted,
        "filename": query.contains(base, value),
        "extension": extension == value.lstrip(".").lower(),
        "language": extension in LANGUAGES.get(value.lower(), "").split(),
    }
    return tests[name]


def _code_item(repo: Repo, head: str, entry: TreeEntry) -> dict[str, Any]:
    path = escaped(entry.path)
    return {
        "name": entry.path.rpartition("/")[2],
        "path": entry.path,
        "sha": entry.sha,
        "url": repo_api(repo.name, f"/contents/{path}?ref={head}"),
        "git_url": repo_api(repo.name, f"/git/blobs/{entry.sha}"),
        "html_url": repo_page(repo.name, f"/blob/{head}/{path}"),
        "repository": minimal(repo),
        "score": 1.0,
    }


# -- users -----------------------------------------------------------------------------------------------------------


def all_users(call: ApiCall) -> HttpResponse:
    """GET /search/users."""
    asked, state = asked_for(call, USERS), call.state
    fields = {part for value in asked.values("in") for part in value.split(",")} or {"login", "name", "email"}
    matching = [
        login
        for login, user in sorted(state.users.items(), key=lambda item: item[0].lower())
        if asked.holds(partial(_is_user, state, login), ("in", "sort"))
        and asked.matches(str(user[name] or "") for name in fields & {"login", "name", "email"})
    ]
    ranks = {
        "joined": lambda login: state.users[login]["created_at"],
        "repositories": lambda login: _owned(state, login),
    }
    ordered = in_order(call, asked, matching, ranks)
    return found(call, ordered, lambda login: {**users.simple(state, login), "score": 1.0})


def _owned(state: ForgeState, login: str) -> int:
    return sum(repo.owner == login and not repo.record["private"] for repo in state.repositories())


def _is_user(state: ForgeState, login: str, name: str, value: str) -> bool:
    user = state.users[login]
    kinds = {"user": "User", "org": "Organization", "organization": "Organization"}
    tests: dict[str, Callable[[], bool]] = {
        "type": lambda: user["type"] == kinds.get(value.lower()),
        "user": lambda: login.lower() == value.lower(),
        "org": lambda: login.lower() == value.lower() and user["type"] == "Organization",
        "repos": lambda: within(str(_owned(state, login)), value),
        "created": lambda: within(user["created_at"], value),
        "location": lambda: query.contains(user["location"] or "", value),
        "fullname": lambda: query.contains(user["name"] or "", value),
    }
    return tests[name]()


# -- order -----------------------------------------------------------------------------------------------------------


def in_order(call: ApiCall, asked: Query, items: list[Any], ranks: dict[str, Callable[[Any], Any]]) -> list[Any]:
    """Sort as `sort` and `order` say, or `sort:created-asc` in the query; else leave the order as it is."""
    inside = (asked.values("sort") or [""])[0]
    name, _, way = inside.partition("-")
    sort, order = call.query("sort", name), call.query("order", way or "desc")
    return sorted(items, key=ranks[sort], reverse=order != "asc") if sort in ranks else items
