"""Manifest of the git MCP server: repositories with history, below one folder.

State: `{"repositories": {"site": {"commits": [{"branch": "main", "message": "…", "files": {"a.txt": "text", "old":
null}, "from": "main"}, …], "branches": {"spare": "main"}, "tags": {"v1": "main"}, "checkout": "main", "worktree":
{"a.txt": "edited"}, "staged": ["a.txt"]}}}`. A commit lists what it changes (null deletes); `from` names the branch
that a new one starts at; `worktree` is what was edited after the last commit and `staged` which of it is in the index.
Commits are dated an hour apart from a fixed day on, in the order of the list.
"""

from __future__ import annotations

from sandbox.servers.common.recorded import load
from sandbox.servers.common.server import DATA, PROGRAMS, Server
from sandbox.servers.git.history import AUTHOR, MAIL
from sandbox.servers.git.schema import MUTATIONS, STATE
from sandbox.servers.git.seed import seed

ROOT = "repos"

# The package's own way of confining it, for the folder of all repositories where its option takes one repository. The
# filesystem server writes elsewhere, so no call can give git a configuration of the agent's making.
_START = f"""
import asyncio
from pathlib import Path
from mcp_server_git.server import create_server
asyncio.run(create_server(Path("{DATA}/{ROOT}")).run_stdio_async())
"""

_RECORDED = load("git")
GIT = Server(
    name="git",
    package=_RECORDED.package,
    version=_RECORDED.version,
    root=ROOT,
    command=(f"{PROGRAMS}/python/git/bin/python", "-I", "-c", _START),
    environment={
        "HOME": "/tmp",  # noqa: S108 (inside a world, its own tmpfs)
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_COUNT": "5",
        "GIT_CONFIG_KEY_0": "safe.directory",  # the folders may belong to another uid than the server's
        "GIT_CONFIG_VALUE_0": "*",
        "GIT_CONFIG_KEY_1": "gc.auto",
        "GIT_CONFIG_VALUE_1": "0",
        "GIT_CONFIG_KEY_2": "core.fsmonitor",  # these three would run a program that a repository names
        "GIT_CONFIG_VALUE_2": "false",
        "GIT_CONFIG_KEY_3": "core.hooksPath",
        "GIT_CONFIG_VALUE_3": "/dev/null",
        "GIT_CONFIG_KEY_4": "protocol.allow",
        "GIT_CONFIG_VALUE_4": "never",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": AUTHOR,
        "GIT_AUTHOR_EMAIL": MAIL,
        "GIT_COMMITTER_NAME": AUTHOR,
        "GIT_COMMITTER_EMAIL": MAIL,
    },
    tools=_RECORDED.tools,
    state_schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    on_demand=True,
    stateless=True,
)
