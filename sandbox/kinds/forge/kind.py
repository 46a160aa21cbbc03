"""State kind of a forge: an HTTP twin (emulator) of GitHub's API in front of bare git repositories.

State: `{"viewer": "ada", "users": [{"login": "ada"}, …], "repositories": {"acme/site": {"commits": [as git's, with a
login for `author`], "branches": {"spare": "main"}, "labels": […], "milestones": […], "issues": [{"title": "…", "user":
"ada", "labels": ["bug"], "comments": […]}], "pulls": [{"title": "…", "head": "draft", "base": "main", "reviews": […]}],
"collaborators": ["ada"], "statuses": […], "fork_of": "other/site"}}}`. The agent acts as the viewer, who is the first
user where nothing else is said. Issues and pull requests share their numbers: those that name none get the next one,
issues first. A merged pull request is merged here, file by file, after all commits were made. What has no date gets one
that only depends on its place; the world's time begins at `now`. After `rate_limit` calls the API refuses more.
"""

from __future__ import annotations

from sandbox.kinds.common.state_kind import OUR_KINDS, PROGRAMS, Backend, StateKind
from sandbox.kinds.forge.schema import MUTATIONS, STATE
from sandbox.kinds.forge.seed import seed

SOCKET = "/tmp/forge.sock"  # noqa: S108 - in a world

_PYTHON = f"{PROGRAMS}/python/git/bin/python"  # for its standard library alone
FORGE = StateKind(
    name="forge",
    about="repositories, issues and pull requests behind an HTTP twin of GitHub's API",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    backend=Backend((_PYTHON, "-I", "-S", f"{OUR_KINDS}/forge/backend", ".", SOCKET)),
)
