"""Router of the API: maps each call to its handler, identifies the caller, and applies the rules common to all.

1. The token is checked: no token means an anonymous caller, a wrong one is refused (401).
2. The request counts against the hour's limit (403 past it). The forge's clock moves only with writes, so an hour ends
   with the world.
3. The body is read (400 where it is no JSON object).
4. A write advances the clock by a second, and its changes are saved only where it succeeded.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from sandbox.kinds.forge.backend.handlers import (
    commits,
    contents,
    issues,
    merges,
    pulls,
    refs,
    repositories,
    reviews,
    search,
    search_issues,
    users,
)
from sandbox.kinds.forge.backend.handlers.call import ApiCall, Handler
from sandbox.kinds.forge.backend.protocol.errors import ApiError, not_found
from sandbox.kinds.forge.backend.protocol.urls import DOCS
from sandbox.kinds.forge.backend.protocol.web import HttpRequest, HttpResponse
from sandbox.kinds.forge.backend.storage.state import ForgeState

HOUR = 3600


class Route(NamedTuple):
    """A method, a pattern of paths, the handler, and its page of the documentation."""

    method: str
    path: str
    handler: Handler
    page: str

    def match(self, request: HttpRequest) -> dict[str, str] | None:
        """Return what stands for the variable parts of the path, or None where it is another path."""
        path = request.path.rstrip("/")
        match = _compiled(self.path).fullmatch(path) if request.method == self.method else None
        return match.groupdict() if match else None


R = "/repos/{owner}/{repo}"
ROUTES = (
    Route("GET", "/users/{username}", users.get_user, "users/users#get-a-user"),
    Route("POST", "/user/repos", repositories.create, "repos/repos#create-a-repository-for-the-authenticated-user"),
    Route("GET", R, repositories.get, "repos/repos#get-a-repository"),
    Route("POST", f"{R}/forks", repositories.fork, "repos/forks#create-a-fork"),
    Route("GET", f"{R}/branches/{{branch*}}", refs.get_branch, "branches/branches#get-a-branch"),
    Route("GET", f"{R}/git/ref/{{ref*}}", refs.get_reference, "git/refs#get-a-reference"),
    Route("GET", f"{R}/git/refs/{{ref*}}", refs.get_reference, "git/refs#get-a-reference"),
    Route("POST", f"{R}/git/refs", refs.create_reference, "git/refs#create-a-reference"),
    Route("PATCH", f"{R}/git/refs/{{ref*}}", refs.update_reference, "git/refs#update-a-reference"),
    Route("POST", f"{R}/git/trees", commits.create_tree, "git/trees#create-a-tree"),
    Route("POST", f"{R}/git/commits", commits.create_commit, "git/commits#create-a-commit"),
    Route("GET", f"{R}/contents", contents.get_contents, "repos/contents#get-repository-content"),
    Route("GET", f"{R}/contents/{{path*}}", contents.get_contents, "repos/contents#get-repository-content"),
    Route("PUT", f"{R}/contents/{{path*}}", contents.put_contents, "repos/contents#create-or-update-file-contents"),
    Route("GET", f"{R}/commits", commits.list_commits, "commits/commits#list-commits"),
    Route(
        "GET",
        f"{R}/commits/{{ref*}}/status",
        commits.combined_status,
        "commits/statuses#get-the-combined-status-for-a-specific-reference",
    ),
    Route("GET", f"{R}/issues", issues.list_issues, "issues/issues#list-repository-issues"),
    Route("POST", f"{R}/issues", issues.create_issue, "issues/issues#create-an-issue"),
    Route("GET", f"{R}/issues/{{number}}", issues.get_issue, "issues/issues#get-an-issue"),
    Route("PATCH", f"{R}/issues/{{number}}", issues.update_issue, "issues/issues#update-an-issue"),
    Route("GET", f"{R}/issues/{{number}}/comments", issues.list_comments, "issues/comments#list-issue-comments"),
    Route("POST", f"{R}/issues/{{number}}/comments", issues.create_comment, "issues/comments#create-an-issue-comment"),
    Route("GET", f"{R}/pulls", pulls.list_pulls, "pulls/pulls#list-pull-requests"),
    Route("POST", f"{R}/pulls", pulls.create_pull, "pulls/pulls#create-a-pull-request"),
    Route("GET", f"{R}/pulls/{{number}}", pulls.get_pull, "pulls/pulls#get-a-pull-request"),
    Route("GET", f"{R}/pulls/{{number}}/files", pulls.list_files, "pulls/pulls#list-pull-requests-files"),
    Route("GET", f"{R}/pulls/{{number}}/commits", pulls.list_commits, "pulls/pulls#list-commits-on-a-pull-request"),
    Route("PUT", f"{R}/pulls/{{number}}/merge", merges.merge_pull, "pulls/pulls#merge-a-pull-request"),
    Route(
        "PUT", f"{R}/pulls/{{number}}/update-branch", merges.update_branch, "pulls/pulls#update-a-pull-request-branch"
    ),
    Route(
        "GET", f"{R}/pulls/{{number}}/reviews", reviews.list_reviews, "pulls/reviews#list-reviews-for-a-pull-request"
    ),
    Route(
        "POST",
        f"{R}/pulls/{{number}}/reviews",
        reviews.create_review,
        "pulls/reviews#create-a-review-for-a-pull-request",
    ),
    Route(
        "GET",
        f"{R}/pulls/{{number}}/comments",
        reviews.list_line_comments,
        "pulls/comments#list-review-comments-on-a-pull-request",
    ),
    Route("GET", "/search/repositories", search.repositories, "search/search#search-repositories"),
    Route("GET", "/search/code", search.code, "search/search#search-code"),
    Route("GET", "/search/issues", search_issues.issues_and_pulls, "search/search#search-issues-and-pull-requests"),
    Route("GET", "/search/users", search.all_users, "search/search#search-users"),
)


def _compiled(path: str) -> re.Pattern[str]:
    """Turn `{part}` into one segment, and `{part*}` into any number of them (`re` remembers what it has compiled)."""
    pattern = re.sub(r"\{(\w+)\*\}", r"(?P<\1>.+)", path)
    return re.compile(re.sub(r"(?<!\?P)\{(\w+)\}", r"(?P<\1>[^/]+)", pattern))


class ForgeApp:
    """The application: requests in, answers out."""

    def __init__(self, state: ForgeState) -> None:
        self._state = state
        self._used = 0

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        self._used += 1
        route, parts = _found(request)
        page = f"{DOCS}/{route.page}" if route else DOCS
        try:
            answer = self._answered(request, route, parts)
        except ApiError as error:
            self._state.forget()
            answer = HttpResponse(error.status, error.body(page))
        except Exception:  # a full disk, or a defect of ours: nothing of it may stay
            self._state.forget()
            answer = HttpResponse(500, {"message": "Server Error"})
        return HttpResponse(answer.status, answer.body, {**answer.headers, **self._limit_headers(request)})

    def _answered(self, request: HttpRequest, route: Route | None, parts: dict[str, str]) -> HttpResponse:
        call = self._call(request, parts)
        if route is None:
            raise not_found()
        if request.method == "GET":
            return route.handler(call)
        self._state.tick()
        answer = route.handler(call)
        self._state.save()
        return answer

    def _call(self, request: HttpRequest, parts: dict[str, str]) -> ApiCall:
        viewer = self._viewer(request)
        if self._used > self._limit:
            user = self._state.users[self._state.data["viewer"]]
            raise ApiError(403, f"API rate limit exceeded for user ID {user['id']}.")
        return ApiCall(self._state, request, viewer, parts, _body(request))

    def _viewer(self, request: HttpRequest) -> str | None:
        given = request.headers.get("authorization")
        if given is None:
            return None
        kind, _, token = given.partition(" ")
        if kind.lower() not in {"bearer", "token"} or token != self._state.data["token"]:
            raise ApiError(401, "Bad credentials")
        return str(self._state.data["viewer"])

    @property
    def _limit(self) -> int:
        return int(self._state.data["rate_limit"])

    def _limit_headers(self, request: HttpRequest) -> dict[str, str]:
        return {
            "X-RateLimit-Limit": str(self._limit),
            "X-RateLimit-Remaining": str(max(self._limit - self._used, 0)),
            "X-RateLimit-Reset": str(self._state.seconds // HOUR * HOUR + HOUR),
            "X-RateLimit-Used": str(min(self._used, self._limit)),
            "X-RateLimit-Resource": "search" if request.path.startswith("/search/") else "core",
        }


def _found(request: HttpRequest) -> tuple[Route | None, dict[str, str]]:
    for route in ROUTES:
        if (parts := route.match(request)) is not None:
            return route, parts
    return None, {}


def _body(request: HttpRequest) -> dict[str, Any]:
    if not request.data:
        return {}
    try:
        body = json.loads(request.data)
        # Half of a surrogate pair, which no file can hold as UTF-8, becomes a question mark.
        body = json.loads(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise ApiError(400, "Problems parsing JSON") from None
    if not isinstance(body, dict):
        raise ApiError(400, "Body should be a JSON object")
    return body
