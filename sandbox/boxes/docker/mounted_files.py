"""Files mounted into every container: the seccomp loader, its filters, and empty name tables. None is secret.

They lie in a folder of this machine that bears the runner's name, so that the next runner can tell whether it is
still needed.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Sequence
from pathlib import Path

from sandbox.boxes import policy
from sandbox.boxes.docker.container_config import FILTERS, LOCK, filter_name
from sandbox.isolation.filters import filter_of
from sandbox.isolation.masks import masks
from sandbox.runner_identity import own_folder

NAMES = ("hosts", "resolv.conf")


class MountedFiles:
    """One runner's folder; it goes with this object.

    Args:
        lock: the program that loads the filter, as it stands in the relay's image.
    """

    def __init__(self, lock: bytes) -> None:
        self.folder = own_folder("lock")
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        self._made: set[int] = set()
        (self.folder / "filters").mkdir()
        (self.folder / "filters").chmod(0o755)
        for kind in policy.KINDS.values():
            self._write(f"filters/{kind}", filter_of(kind), 0o644)
        self._write("lock", lock, 0o755)
        for name in NAMES:
            self._write(name, policy.ETC[name].encode(), 0o644)

    def binds(self, memory: int, groups: Sequence[str] = ()) -> dict[str, Path]:
        """Return the files by where a container with so many bytes of memory sees them.

        Args:
            memory: the bytes.
            groups: the groups of system calls that it may make, if it is a world.
        """
        if not (self.folder / (own := f"filters/{filter_name('world', groups)}")).exists():
            self._write(own, filter_of("world", groups=groups), 0o644)
        names = {f"/etc/{name}": self.folder / name for name in NAMES}
        return {LOCK: self.folder / "lock", FILTERS: self.folder / "filters"} | names | self._stand_ins(memory)

    def _stand_ins(self, memory: int) -> dict[str, Path]:
        own = self.folder / "proc" / str(memory)
        if memory not in self._made:
            own.mkdir(parents=True)
            for path, content in masks(memory).stand_ins.items():
                self._write(f"proc/{memory}/{Path(path).name}", content.encode(), 0o644)
            self._made.add(memory)
        return {f"/proc/{path.name}": path for path in own.iterdir()}

    def _write(self, name: str, content: bytes, mode: int) -> None:
        (self.folder / name).write_bytes(content)
        (self.folder / name).chmod(mode)
