"""Content of a task's sealed row: its byte format, and the opened task.

    salt (32) || provenance salt (32) || length of the task (4, big-endian) || JCS(task) || JCS(provenance)

The bytes that were committed to are kept as they were, so the commitments are recomputed from them and not from a
second rendering. Neither salt ever stands in a column.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from vault.canonical import canonical, parse_object
from vault.commitment import SALT_SIZE, commitment, opens
from vault.errors import Broken
from vault.task.document import Task

_LENGTH = struct.Struct(">I")
_HEAD = 2 * SALT_SIZE + _LENGTH.size
_MAX_PROVENANCE = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class OpenedTask:
    """An opened (unsealed) task; its repr shows the id and the server only.

    Attributes:
        task: the task.
        salt: what opens its commitment, together with `task.canonical()`.
        provenance: where it came from: grammar, skeleton, parameters, reference solutions, reviewers.
        provenance_salt: what opens the commitment to the provenance.
    """

    task: Task
    salt: bytes = field(repr=False)
    provenance: Mapping[str, Any] = field(repr=False)
    provenance_salt: bytes = field(repr=False)

    @property
    def commitment(self) -> bytes:
        """The commitment to the task."""
        return commitment("commit", self.task.canonical(), self.salt)

    @property
    def provenance_commitment(self) -> bytes:
        """The commitment to the provenance."""
        return commitment("provenance", canonical(self.provenance), self.provenance_salt)

    def pack(self) -> bytes:
        """Write the bytes that are sealed."""
        task = self.task.canonical()
        provenance = canonical(self.provenance, "the provenance")
        return self.salt + self.provenance_salt + _LENGTH.pack(len(task)) + task + provenance

    @classmethod
    def unpack(cls, data: bytes, commitment: bytes, provenance_commitment: bytes) -> Self:
        """Read what `pack` wrote, and open both commitments with it.

        Raises:
            Broken: what was sealed is not what was promised.
        """
        if len(data) < _HEAD:
            raise Broken(f"A sealed task has {len(data)} bytes, too few for its salts.")
        salt, provenance_salt = data[:SALT_SIZE], data[SALT_SIZE : 2 * SALT_SIZE]
        (length,) = _LENGTH.unpack(data[2 * SALT_SIZE : _HEAD])
        task, provenance = data[_HEAD : _HEAD + length], data[_HEAD + length :]
        if not opens("commit", task, salt, commitment):
            raise Broken("A sealed task does not open the commitment that was made to it.")
        if not opens("provenance", provenance, provenance_salt, provenance_commitment):
            raise Broken("A sealed task's provenance does not open the commitment that was made to it.")
        origin = parse_object(provenance, "the provenance", max_size=_MAX_PROVENANCE)
        return cls(Task.trusted(task), salt, origin, provenance_salt)
