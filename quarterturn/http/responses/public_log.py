"""Reader of the public log's files: checkpoints, tiles, and proofs that are made from the tiles alone."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quarterturn.home import policies
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import take_apart
from vault.ledger.signatures.policy import Policy
from vault.ledger.tree.merkle import consistency_proof, inclusion_proof
from vault.ledger.tree.tiles import HEAD, KEPT, WIDTH, TileTree, entries_path, folder_reader, unpack_entries

TILE = re.compile(r"(?:[0-9]{1,2}|entries)(?:/x[0-9]{3}){0,6}/[0-9]{3}(?:\.p/[0-9]{1,3})?", re.ASCII)


class LogView:
    """The log below one folder, and the policy of those who have to cosign its heads, or None."""

    def __init__(self, folder: Path, policy: Policy | None = None) -> None:
        self._folder, self._policy = folder, policy

    def note(self, size: int | None = None) -> bytes | None:
        """Return the newest signed checkpoint, or the one that was published at a size."""
        return self._read(HEAD if size is None else f"{KEPT}/{size}")

    def newest(self, most: int) -> list[tuple[int, datetime, str]]:
        """Return the newest of all checkpoints that were published: size, when its file was written, and the note."""
        names = [name for name in _listed(self._folder / KEPT) if name.isdecimal()]
        sizes = sorted(map(int, names), reverse=True)[:most]
        files = [(size, self._folder / KEPT / str(size)) for size in sizes]
        return [
            (size, datetime.fromtimestamp(f.stat().st_mtime, UTC), f.read_text(encoding="utf-8")) for size, f in files
        ]

    def tile(self, path: str) -> bytes | None:
        """Return a tile by its path below `tile/`, as C2SP tlog-tiles names it."""
        return self._read(f"tile/{path}") if TILE.fullmatch(path) else None

    def leaf(self, index: int) -> tuple[bytes, int] | None:
        """Return a leaf and the size of the log; None where there is no such leaf."""
        tree = self._tree()
        if tree is None or not 0 <= index < tree.size:
            return None
        bundle, place = divmod(index, WIDTH)
        width = min(WIDTH, tree.size - bundle * WIDTH)
        return unpack_entries(folder_reader(self._folder)(entries_path(bundle, width)), width)[place], tree.size

    def inclusion(self, index: int, size: int | None) -> dict[str, Any] | None:
        """Prove that a leaf is in the tree of `size` leaves; None where there is no such leaf or tree."""
        tree = self._tree()
        if tree is None or not 0 <= index < (wanted := size if size is not None else tree.size) <= tree.size:
            return None
        proof = _hashes(inclusion_proof(tree.node, index, wanted))
        return {"index": index, "size": wanted, "proof": proof} | self._word(wanted)

    def consistency(self, old: int, new: int | None) -> dict[str, Any] | None:
        """Prove that the tree of `old` leaves is the beginning of the tree of `new`; None where there are no such."""
        tree = self._tree()
        if tree is None or not 1 <= old <= (wanted := new if new is not None else tree.size) <= tree.size:
            return None
        proof = _hashes(consistency_proof(tree.node, old, wanted))
        return {"old": old, "new": wanted, "proof": proof} | self._word(wanted)

    def _word(self, size: int) -> dict[str, Any]:
        """Say on whose word order and time rest: a proof without it would seem to show more than it does."""
        witnesses = policies.cosigners(self._policy, self.note(size))
        return {"witnesses": witnesses, "word": policies.word(witnesses)}

    def _tree(self) -> TileTree | None:
        note = self.note()
        if note is None:
            return None
        return TileTree(Checkpoint.parse(take_apart(note)[0]).size, folder_reader(self._folder))

    def _read(self, path: str) -> bytes | None:
        try:
            return (self._folder / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None


def _listed(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def _hashes(path: Sequence[bytes]) -> list[str]:
    return [base64.b64encode(part).decode() for part in path]
