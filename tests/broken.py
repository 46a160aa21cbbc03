"""Evidence that a task is broken, for tests that prove nothing: a reference solution that leaves an empty state."""

from collections.abc import Mapping
from typing import Any

EVIDENCE: Mapping[str, Any] = {
    "solution": "reference",
    "calls": [{"tool": "filesystem.create_directory", "arguments": {"path": "/data/files/number"}}],
    "answer": None,
    "state": {"filesystem": {"number": {"kind": "directory", "mode": 0o755}}},
    "verdict": False,
}
