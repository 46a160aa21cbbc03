"""Manifest of the GitHub MCP server: the unchanged npm package in front of an emulator of GitHub's API (`forge`).

State: `{"viewer": "ada", "users": [{"login": "ada"}, …], "repositories": {"acme/site": {"commits": [as git's, with a
login for `author`], "branches": {"spare": "main"}, "labels": […], "milestones": […], "issues": [{"title": "…", "user":
"ada", "labels": ["bug"], "comments": […]}], "pulls": [{"title": "…", "head": "draft", "base": "main", "reviews": […]}],
"collaborators": ["ada"], "statuses": […], "fork_of": "other/site"}}}`. The agent acts as the viewer, who is the first
user where nothing else is said. Issues and pull requests share their numbers: those that name none get the next one,
issues first. A merged pull request is merged here, file by file, after all commits were made. What has no date gets one
that only depends on its place; the world's time begins at `now`.
"""

from __future__ import annotations

from sandbox.servers.common.recorded import load
from sandbox.servers.common.server import DATA, OUR_SERVERS, PROGRAMS, Backend, Server
from sandbox.servers.github.forge.storage.records import TOKEN
from sandbox.servers.github.schema import MUTATIONS, STATE
from sandbox.servers.github.seed import seed

ROOT = "github"
SOCKET = "/tmp/forge.sock"  # noqa: S108 - in a world

_RECORDED = load("github")
_PACKAGE = f"{PROGRAMS}/npm/node_modules/@modelcontextprotocol/server-github/dist/index.js"
_PYTHON = f"{PROGRAMS}/python/git/bin/python"  # for its standard library alone
GITHUB = Server(
    name="github",
    package=_RECORDED.package,
    version=_RECORDED.version,
    root=ROOT,
    command=(f"{PROGRAMS}/node/bin/node", "--import", f"{OUR_SERVERS}/github/forge/redirect.mjs", _PACKAGE),
    environment={"GITHUB_PERSONAL_ACCESS_TOKEN": TOKEN, "QUARTERTURN_FORGE_SOCKET": SOCKET},
    tools=_RECORDED.tools,
    state_schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    on_demand=True,
    backend=Backend((_PYTHON, "-I", "-S", f"{OUR_SERVERS}/github/forge", f"{DATA}/{ROOT}", SOCKET)),
)
