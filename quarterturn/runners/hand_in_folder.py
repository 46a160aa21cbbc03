"""Folder of what runners handed in: one file a serving, sealed to this service and read by nobody on its way."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from quarterturn.errors import Refused
from sandbox.servings.sealing import MAX_SEALED
from vault.files import sync

_ONLY_OURS = 0o700


class TooLarge(Refused):
    """What is handed in is over its cap."""

    problem = "too-large"


class HandInFolder:
    """The hand-ins of one home.

    Args:
        folder: where they lie; made, of mode 0700, when the first one comes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def receive(self, handle: str, body: AsyncIterable[bytes]) -> None:
        """Write what comes to the disk, whole or not at all.

        Raises:
            TooLarge: it is over `MAX_SEALED`.
            OSError: it cannot be written.
        """
        self._folder.mkdir(mode=_ONLY_OURS, exist_ok=True)
        part, count = self._folder / f"{handle}.{os.urandom(4).hex()}.part", 0
        try:
            with part.open("xb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until it is whole: see `remove_parts`
                async for chunk in body:
                    count += len(chunk)
                    if count > MAX_SEALED:
                        raise TooLarge(f"what was handed in is over {MAX_SEALED} bytes", limit=None)
                    await asyncio.to_thread(file.write, chunk)
                await asyncio.to_thread(self._settle, file, part, handle)
        finally:
            part.unlink(missing_ok=True)

    def handles(self) -> Sequence[str]:
        """List the servings for which something lies here."""
        return [path.stem for path in self._folder.glob("*.sealed")]

    def read(self, handle: str) -> bytes:
        """Return what was handed in for a serving.

        Raises:
            OSError: nothing was, or it cannot be read.
        """
        return self._place(handle).read_bytes()

    def remove(self, handle: str) -> None:
        """Remove it, if it is there."""
        with suppress(FileNotFoundError):
            self._place(handle).unlink()

    def remove_parts(self) -> None:
        """Remove what processes that are gone had begun to receive; what is being received is locked."""
        for part in self._folder.glob("*.part"):
            with suppress(OSError), part.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()

    def _settle(self, file: BinaryIO, part: Path, handle: str) -> None:
        file.flush()
        os.fsync(file.fileno())
        part.replace(self._place(handle))
        sync(self._folder)

    def _place(self, handle: str) -> Path:
        return self._folder / f"{handle}.sealed"
