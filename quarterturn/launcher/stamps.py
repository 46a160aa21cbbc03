"""Stamps of the set-up steps that are done, so that a repeated set-up skips them.

A step is named, and has a key made from everything that its result depends on. Its stamp is written after it, so a
set-up that was interrupted does its last step again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from quarterturn.launcher.steps import Stop


def key(*parts: str | Path) -> str:
    """Return a digest of texts and of the contents of files.

    Raises:
        Stop: a file is missing.
    """
    digest = hashlib.sha256()
    for part in parts:
        try:
            content = part.read_bytes() if isinstance(part, Path) else part.encode()
        except FileNotFoundError:
            message = f"{part} is missing: this checkout is incomplete; check it out again"
            raise Stop(message) from None
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Stamps:
    """The stamps in one folder."""

    folder: Path

    def holds(self, step: str, value: str) -> bool:
        """Say whether the step was done with just this key."""
        return self.read(step) == value

    def read(self, step: str) -> str | None:
        """Return the key of the step's last time, or None where it was never finished."""
        stamp = self.folder / step
        return stamp.read_text(encoding="utf-8") if stamp.is_file() else None

    def write(self, step: str, value: str) -> None:
        """Say that the step is done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / f"{step}.new"
        draft.write_text(value, encoding="utf-8")
        draft.replace(self.folder / step)

    def drop(self, step: str) -> None:
        """Forget the step, before it is begun again."""
        (self.folder / step).unlink(missing_ok=True)
