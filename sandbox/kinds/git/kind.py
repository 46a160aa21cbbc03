"""State kind of git repositories with history, below one folder.

State: `{"repositories": {"site": {"commits": [{"branch": "main", "message": "…", "files": {"a.txt": "text", "old":
null}, "from": "main"}, …], "branches": {"spare": "main"}, "tags": {"v1": "main"}, "checkout": "main", "worktree":
{"a.txt": "edited"}, "staged": ["a.txt"]}}}`. A commit lists what it changes (null deletes); `from` names the branch
that a new one starts at; `worktree` is what was edited after the last commit and `staged` which of it is in the index.
Commits are dated an hour apart from a fixed day on, in the order of the list.
"""

from __future__ import annotations

from sandbox.kinds.common.state_kind import StateKind
from sandbox.kinds.git.schema import MUTATIONS, STATE
from sandbox.kinds.git.seed import seed

GIT = StateKind(
    name="git",
    about="git repositories with history, below one folder",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
)
