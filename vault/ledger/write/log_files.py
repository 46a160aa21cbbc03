"""Files of a log: the last signed head, the heads that were published, entry bundles and tiles.

Reading them takes public keys alone. Who may append is a subclass: `LogWriter` holds the log's key,
`vault.signer.client.SignerClient` asks the process that holds it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

from vault.errors import Malformed, Refused, Unavailable
from vault.ledger.signatures.checkpoint import Checkpoint, open_checkpoint
from vault.ledger.signatures.note import Verifier, read_line, take_apart
from vault.ledger.tree.merkle import consistency_proof, inclusion_proof, leaf_hash, root_from
from vault.ledger.tree.tiles import HEAD, KEPT, WIDTH, TileTree, entries_path, folder_reader, unpack_entries
from vault.ledger.write import fsck as check


class LogFiles(ABC):
    """The files of one log.

    Args:
        folder: what a web server may serve: `checkpoint`, `checkpoints/`, `tile/`.
        head_file: where the last signed head is kept, outside of `folder`.
        origin: the log's origin line.
        verifiers: the log's public keys, those of earlier heads too; the present one is the last.
    """

    def __init__(self, folder: Path, head_file: Path, origin: str, verifiers: Sequence[Verifier]) -> None:
        if head_file.resolve().is_relative_to(folder.resolve()):
            raise Malformed("the signed head is kept outside of the public folder")
        self.folder = folder
        self.origin = origin
        self.verifiers = list(verifiers)
        self.head_file = head_file

    @abstractmethod
    def append(self, leaves: Sequence[bytes], start: int) -> Checkpoint:
        """Append leaves, sign and publish the new head.

        Args:
            leaves: their bytes, in order.
            start: the index of the first one. Leaves that are in the log already are compared and not written twice.

        Raises:
            Refused: the leaves contradict the log or leave a gap, or the log is not what was last signed.
            Malformed: a leaf is longer than 65,535 bytes.
            Unavailable: the disk failed or another process is writing; nothing is lost, call again.
        """

    @abstractmethod
    def recover(self) -> Checkpoint:
        """Finish a publication that was interrupted after signing, and return the last signed head."""

    @abstractmethod
    def put_under(self, note: str, lines: str) -> None:
        """Add witness signature lines to a published head (step 5); they replace other lines that are there.

        Raises:
            Unavailable: the disk failed or another process is writing; nothing is lost, call again.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of what was opened to append."""

    @property
    def size(self) -> int:
        """The number of leaves under the last signed head."""
        return self.checkpoint().size

    def checkpoint(self) -> Checkpoint:
        """Return the last signed head (size 0 if nothing was ever signed)."""
        note = self.note()
        return self._open(note) if note else Checkpoint.empty(self.origin)

    def note(self) -> str | None:
        """Return the last signed head as a note, or None if nothing was ever signed."""
        return read_text_or_none(self.head_file)

    def notes(self) -> Iterator[str]:
        """Yield every head that was ever published, with its signature lines, the newest first."""
        sizes = [int(path.name) for path in (self.folder / KEPT).glob("*") if path.name.isdecimal()]
        for path in (HEAD, *(f"{KEPT}/{size}" for size in sorted(sizes, reverse=True))):
            if (note := read_text_or_none(self.folder / path)) is not None:
                yield note

    def covering(self, leaf: int) -> str:
        """Return the first published head that covers a leaf, with the log's signature alone: always the same bytes.

        Raises:
            Refused: none was.
        """
        sizes = (int(path.name) for path in (self.folder / KEPT).glob("*") if path.name.isdecimal())
        size = min((size for size in sizes if size > leaf), default=None)
        if size is None or (note := read_text_or_none(self.folder / f"{KEPT}/{size}")) is None:
            raise Refused(f"no head over leaf {leaf} was published, or {self.folder / KEPT} has lost it: put it back")
        self._open(note)
        (text, lines), ours = take_apart(note), {(key.name, key.key_id) for key in self.verifiers}
        return "\n".join([text, *(line for line in lines if read_line(line)[:2] in ours), ""])

    def leaf(self, index: int) -> bytes:
        """Read a leaf's bytes."""
        size = self.size
        if not 0 <= index < size:
            raise Malformed(f"there is no leaf {index} in a log of {size}")
        return self._bundle(index // WIDTH, size)[index % WIDTH]

    def leaves(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the leaves `[start, end)`, which are under the last signed head."""
        size = self.size
        for index in range(start // WIDTH, -(-end // WIDTH)):
            first = index * WIDTH
            yield from self._bundle(index, size)[max(0, start - first) : end - first]

    def prove_inclusion(self, index: int, size: int | None = None) -> list[bytes]:
        """Prove that a leaf is in the tree of `size` leaves (default: under the last signed head)."""
        tree = self._tree()
        return inclusion_proof(tree.node, index, self._within(tree, size))

    def prove_consistency(self, old: int, new: int | None = None) -> list[bytes]:
        """Prove that the tree of `old` leaves is the beginning of the tree of `new`."""
        tree = self._tree()
        return consistency_proof(tree.node, old, self._within(tree, new))

    def root(self, size: int) -> bytes:
        """Return the root of the first `size` leaves, which are under the last signed head."""
        tree = self._tree()
        return root_from(tree.node, self._within(tree, size))

    def fsck(self) -> list[str]:
        """Re-hash the public folder; gives one sentence for each problem, none if all is well."""
        head = self.checkpoint()
        if not head.size:
            return []
        published, problems = check.fsck(self.folder, self.verifiers)
        if published != head:
            problems.append(f"the public checkpoint has size {published.size}, the last signed head {head.size}")
        return problems

    def _bundle(self, index: int, size: int) -> list[bytes]:
        width = min(WIDTH, size - index * WIDTH)
        path = entries_path(index, width)
        leaves = unpack_entries(folder_reader(self.folder)(path), width, path)
        tree = TileTree(size, folder_reader(self.folder))
        for place, leaf in enumerate(leaves):
            if leaf_hash(leaf) != tree.node(0, index * WIDTH + place):
                raise Refused(f"{path} was changed: its entry {place} is not the leaf that was signed")
        return leaves

    def _tree(self) -> TileTree:
        return TileTree(self.size, folder_reader(self.folder))

    def _within(self, tree: TileTree, size: int | None) -> int:
        if size is not None and size > tree.size:
            raise Malformed(f"the log has {tree.size} leaves, not {size}")
        return tree.size if size is None else size

    def _open(self, note: str) -> Checkpoint:
        checkpoint, _ = open_checkpoint(note, self.verifiers)
        if checkpoint.origin != self.origin:
            raise Refused(f"the signed head is of the log {checkpoint.origin}, not of {self.origin}")
        return checkpoint


def read_text_or_none(path: Path) -> str | None:
    """Return a file's text, or None where there is no file."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}; nothing is lost, call again") from error
