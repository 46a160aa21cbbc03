"""File-mode lock: the root key is stored in the clear, protected by nothing but the file's mode (0600)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vault.keys.locks.lock import Document, Maker, raw, text


@dataclass(frozen=True, slots=True)
class FileMode:
    """Sealer and opener that store the root key in the clear."""

    kind: ClassVar[str] = "file-mode"

    def seal(self, root: bytes, name: str, ring: str) -> Document:  # noqa: ARG002 - there is nothing to bind it with
        """Write the root key down."""
        return {"name": name, "kind": self.kind, "sealed": text(root)}

    def open(self, lock: Mapping[str, Any], ring: str) -> bytes:  # noqa: ARG002 - as above
        """Read the root key."""
        return raw(lock)

    def again(self, lock: Mapping[str, Any]) -> Maker:  # noqa: ARG002 - as above
        """Return itself, as the sealer of a lock like this one."""
        return self
