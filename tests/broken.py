"""Evidence that a task is broken, for tests that prove nothing: a reference solution that leaves an empty state."""

from collections.abc import Mapping
from typing import Any

SOLUTION: Mapping[str, Any] = {
    "name": "direct",
    "calls": [{"tool": "filesystem.create_directory", "arguments": {"path": "/data/files/number"}}],
    "answer": None,
}
"""The committed solution whose evidence this is, for a task's provenance."""
EVIDENCE: Mapping[str, Any] = {
    "solution": "reference",
    "calls": SOLUTION["calls"],
    "answer": SOLUTION["answer"],
    "state": {"filesystem": {"number": {"kind": "directory", "mode": 0o755}}},
    "verdict": False,
}
