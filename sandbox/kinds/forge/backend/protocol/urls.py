"""URLs in GitHub's answers, and its opaque node ids."""

from __future__ import annotations

import base64
from urllib.parse import quote

API, WEB, RAW = "https://api.github.com", "https://github.com", "https://raw.githubusercontent.com"
DOCS = "https://docs.github.com/rest"

USER = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}
REPOSITORY = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}


def escaped(path: str) -> str:
    """Write a path or a name as a part of an address."""
    return quote(path, safe="/")


def repo_api(name: str, rest: str = "") -> str:
    """Return an address below a repository's in the API."""
    return f"{API}/repos/{name}{rest}"


def repo_page(name: str, rest: str = "") -> str:
    """Return an address of a repository's web pages."""
    return f"{WEB}/{name}{rest}"


def node_id(kind: str, number: int | str) -> str:
    """Return the opaque name that GitHub's other interface has for a thing."""
    return base64.b64encode(f"0{len(kind)}:{kind}{number}".encode()).decode()
