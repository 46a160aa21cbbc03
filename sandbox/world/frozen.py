"""Frozen state: the unread bytes that a world handed over when everything in it had stopped.

No process that holds keys parses one. It goes to a reader process (`sandbox.judge`) unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self, TypeAlias

from verifiers.formats import state_document
from verifiers.tree import FileTree

Seed: TypeAlias = FileTree | bytes
"""What a fresh world's data folder is filled with: a tree of ours, or a tar that nobody here has read."""


def tar_of(seed: Seed) -> bytes:
    """Return a seed as a tar."""
    return seed if isinstance(seed, bytes) else seed.to_tar()


@dataclass(frozen=True, slots=True)
class FrozenState:
    """What a world left.

    Attributes:
        tar: the data folder, as the world's init streamed it.
        dumps: for each namespace that only its own backend can read, what was read back from it: one JSON document,
            unparsed (`sandbox.servings.state_reader`). It stands for the server's whole folder.
    """

    tar: bytes = field(repr=False)
    dumps: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    @classmethod
    def of_document(cls, document: Any) -> Self:
        """Read a state from its document, each namespace below a folder of its name.

        Raises:
            Malformed: of `verifiers.errors`: it has another shape.
        """
        return cls(state_document.tree_of(document).to_tar())

    @property
    def size(self) -> int:
        """Count its bytes."""
        return len(self.tar) + sum(map(len, self.dumps.values()))

    @property
    def digest(self) -> str:
        """Return the SHA-256 of all of it, in hexadecimal. It identifies the state, so it is as secret as the task."""
        digest = hashlib.sha256()
        for name, part in [("", self.tar), *sorted(self.dumps.items())]:
            digest.update(f"{name}:{len(part)}\n".encode())
            digest.update(part)
        return digest.hexdigest()

    def with_dump(self, namespace: str, dump: bytes) -> FrozenState:
        """Return the same state with what was read back of one namespace."""
        return replace(self, dumps=MappingProxyType({**self.dumps, namespace: dump}))
