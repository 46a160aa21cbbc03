"""Closing keywords: `Fixes #3` in a commit on the default branch, or in what is merged into it, closes an issue."""

from __future__ import annotations

import re

from sandbox.kinds.forge.backend.storage.records import close
from sandbox.kinds.forge.backend.storage.state import Repo

_NAMED = re.compile(r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+([\w.-]+/[\w.-]+)?#(\d{1,9})\b")


def close_named(repo: Repo, text: str, by: str) -> None:
    """Close the repository's open issues that a text says it closes."""
    for where, number in _NAMED.findall(text):
        issue = repo.record["issues"].get(str(int(number)))
        in_repo = not where or where.lower() == repo.name.lower()
        if in_repo and issue and issue["state"] == "open" and issue["pull"] is None:
            close(issue, by, repo.state.now)
