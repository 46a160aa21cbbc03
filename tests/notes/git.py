"""What git says of a checkout, for the notes."""

from __future__ import annotations

import subprocess
from pathlib import Path


def merge_base(root: Path) -> str:
    """Return the commit where this branch left `main`; on `main` that is HEAD."""
    return git(root, "merge-base", "main", "HEAD").strip() or "HEAD"


def git(root: Path, *words: str) -> str:
    """Return what git prints; nothing where it fails or is not installed: the notes are no reason to stop."""
    try:
        command = ["git", "-c", "core.quotePath=off", *words]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return ""
    return "" if done.returncode else done.stdout
