"""The log's only writer: appends leaves, signs the head and publishes it, safely across crashes.

The order of its steps is such that a crash at any point loses nothing and publishes nothing twice; the caller's row
comes first:

1. entry bundles and tiles, each whole or absent (write, fsync, rename, fsync folder)
2. the signed head, in a file outside of the public folder and of the database
3. the public copy: `checkpoints/<size>`, then `checkpoint`
4. where there are witnesses, they are asked to cosign (`vault.ledger.write.cosigning`)
5. their lines under the public copy, in the order of step 3

A restart finishes steps 3 and 5 and removes no line, asking again finishes step 4, and `append` with the same leaves
finishes steps 1 and 2. It refuses to sign a tree that does not extend the last head that it signed (a database or a
folder that was restored from a backup), and a lock file beside the head keeps a second process from signing at the same
time. So there are never two roots at one size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vault.errors import Broken, Malformed, Refused, Unavailable
from vault.file_lock import locked
from vault.files import make_folder, sync, write_atomically
from vault.ledger.signatures.checkpoint import Checkpoint, open_checkpoint
from vault.ledger.signatures.note import HeadSigner, Verifier, read_line, take_apart
from vault.ledger.statements.log_state import handover
from vault.ledger.statements.statement import LoggedStatement, Statement
from vault.ledger.tree.merkle import leaf_hash, root_from
from vault.ledger.tree.tiles import (
    HEAD,
    HEIGHT,
    KEPT,
    MAX_LEAF,
    WIDTH,
    Frontier,
    TileTree,
    bundles_of,
    entries_path,
    folder_reader,
    pack_entries,
    tile_path,
)
from vault.ledger.write.log_files import LogFiles, read_text_or_none

_SCRATCH = ".new"


class LogWriter(LogFiles):
    """Appends to the log in `folder` and signs its head; a key is needed for leaves that the log does not have yet.

    Args:
        folder: as of `LogFiles`, like the next one.
        head_file: where the last signed head is kept.
        signer: the log's key; its name is the origin.
        origin: the log's origin line.
        verifiers: the log's public keys, if there are others than the signer's (`vault.ledger.statements.log_state`).
        patience: seconds to wait for another process that is writing.
    """

    def __init__(
        self,
        folder: Path,
        head_file: Path,
        signer: HeadSigner,
        origin: str,
        *,
        verifiers: Sequence[Verifier] = (),
        patience: float = 10.0,
    ) -> None:
        if signer.name != origin:
            raise Malformed(f"the log {origin} is signed by a key of its name, not by {signer.name}")
        super().__init__(folder, head_file, origin, verifiers or [signer.verifier])
        self._signer = signer
        self._patience = patience

    def put_under(self, note: str, lines: str) -> None:
        """Add witness signature lines to a published head; lines that are no signatures are refused."""
        if not _is_note(note + lines):
            raise Malformed("what is put under a head is signature lines; nothing was written")
        with self._alone():
            head = self._finish()
            size = self._open(note).size
            self._write(f"{KEPT}/{size}", (note + lines).encode())
            if size == head.size:
                self._write(HEAD, (note + lines).encode())

    def append(self, leaves: Sequence[bytes], start: int) -> Checkpoint:
        """Append leaves, sign and publish the new head."""
        if any(len(leaf) > MAX_LEAF for leaf in leaves):
            raise Malformed(f"a leaf has at most {MAX_LEAF} bytes")
        with self._alone():
            head = self._finish()
            fresh = self._fresh(head, leaves, start)
            self._require_epoch(head, fresh)
            return self._grow(head, fresh) if fresh else head

    def close(self) -> None:
        """Do nothing: each append closes what it opens."""

    def recover(self) -> Checkpoint:
        """Finish a publication that was interrupted after signing."""
        with self._alone():
            return self._finish()

    def _finish(self) -> Checkpoint:
        """Check what is on disk against the last signed head and publish that head if it is not."""
        note, public = self.note(), read_text_or_none(self.folder / HEAD)
        if not note:
            if public:
                raise Refused(
                    f"the log {self.origin} has a published checkpoint but no signed head at {self.head_file}: "
                    "put the head back from a backup; a log is never started anew under the same name"
                )
            return Checkpoint.empty(self.origin)
        head = self._open(note)
        tree = TileTree(head.size, folder_reader(self.folder))
        try:
            self._require_extends(tree, head, head, "the tiles do not give the root of the last signed head")
        except Broken as error:
            raise Refused(
                f"the log was signed over {head.size} leaves, and its files in {self.folder} do not reach there "
                f"({error}): they were lost, or put back from an older backup. Put the newest copy of the log back, "
                "and the newest database with it; from an older state nothing is ever signed",
                where=error.evidence.where if error.evidence else None,
            ) from error
        if public and not public.startswith(note):
            published = self._open(public)
            if published.size >= head.size:
                raise Refused(f"the published checkpoint (size {published.size}) is no older than the last signed head "
                              f"(size {head.size}): the head file was put back from a backup")  # fmt: skip
            self._require_extends(
                tree, published, head, "the published checkpoint is not the beginning of the signed tree"
            )
        cosigned = self._cosigned(note, head.size)
        if public != cosigned:
            self._keep(note)  # written anew: whoever wrote it may have died, or failed, before it was on the disk
            self._publish(cosigned, head.size)
        else:
            sync(self.folder)  # the same of the last name that a publication gives
        return head

    def _cosigned(self, note: str, size: int) -> str:
        """Return a head with the lines that were put under it, also where the public copy has them only in part."""
        notes = (read_text_or_none(self.folder / path) or note for path in (HEAD, f"{KEPT}/{size}"))
        return max(
            (candidate for candidate in notes if candidate.startswith(note) and _is_note(candidate)),
            key=len,
            default=note,
        )

    def _require_extends(self, tree: TileTree, old: Checkpoint, head: Checkpoint, otherwise: str) -> None:
        root = root_from(tree.node, old.size)
        if root != old.root:
            raise Refused(
                f"{otherwise}: at size {old.size} of {head.size} they give {root.hex()}, "
                f"it says {old.root.hex()}; nothing was signed",
                where=f"the tiles' root at size {old.size}",
                expected=old.root,
                found=root,
            )

    def _fresh(self, head: Checkpoint, leaves: Sequence[bytes], start: int) -> Sequence[bytes]:
        """Return the leaves that are not in the log yet; the others must equal the leaves that are there."""
        if start > head.size:
            raise Refused(f"the log ends at leaf {head.size}; leaves from {start} on would leave a gap")
        known = leaves[: head.size - start]
        tree = TileTree(head.size, folder_reader(self.folder))
        for index, leaf in enumerate(known, start):
            if tree.node(0, index) != leaf_hash(leaf):
                raise Refused(
                    f"leaf {index} is signed already with other bytes; the rows were changed or put back",
                    where=f"the hash of leaf {index}",
                    expected=tree.node(0, index),
                    found=leaf_hash(leaf),
                )
        return leaves[len(known) :]

    def _require_epoch(self, head: Checkpoint, fresh: Sequence[bytes]) -> None:
        """Refuse to sign before the log was handed over to this key, and after it was handed over to another."""
        if not fresh:
            return
        handed, note, ours = _handed_over(self.origin, fresh, head.size), self.note(), self._signer.verifier.vkey
        signed = [*open_checkpoint(note, self.verifiers)[1].verified] if note else [self.verifiers[-1].vkey]
        if (handed or signed)[-1] != ours or ours not in {key.vkey for key in self.verifiers}:
            raise Refused(
                f"beyond {head.size} leaves the log's key is {(handed or signed)[-1]}, and this process holds "
                f"{ours}: it signed nothing. Finish the change with `quarterturn log change-key`, and "
                "start again whatever was running"
            )

    def _grow(self, head: Checkpoint, fresh: Sequence[bytes]) -> Checkpoint:
        frontier = Frontier.load(head.size, folder_reader(self.folder))
        full = list(frontier.extend([leaf_hash(leaf) for leaf in fresh]))
        self._write_entries(head.size, fresh)
        for level, index, hashes in [*full, *frontier.partial_tiles()]:
            self._clear(tile_path(level, index), (head.size >> HEIGHT * level) - index * WIDTH)
            self._write(tile_path(level, index, len(hashes)), b"".join(hashes))
        checkpoint = Checkpoint(self.origin, frontier.size, frontier.root())
        note = checkpoint.sign(self._signer)
        self._keep(note)
        self._publish(note, checkpoint.size)
        return checkpoint

    def _write_entries(self, size: int, fresh: Sequence[bytes]) -> None:
        begun = self._bundle(size // WIDTH, size) if size % WIDTH else []
        leaves = [*begun, *fresh]
        base = size - len(begun)
        for index, width in bundles_of(base + len(leaves), base):
            at = index * WIDTH - base
            self._clear(entries_path(index), size - index * WIDTH)
            self._write(entries_path(index, width), pack_entries(leaves[at : at + width]))

    def _clear(self, full_path: str, signed: int) -> None:
        """Remove what a crash before signing left of a tile of which only `signed` entries are under a signed head."""
        if signed < WIDTH:
            (self.folder / full_path).unlink(missing_ok=True)
        for path in (self.folder / f"{full_path}.p").glob("*"):
            if path.name.isdigit() and int(path.name) > signed:
                path.unlink()

    def _keep(self, note: str) -> None:
        write_atomically(self.head_file, note.encode(), self.head_file.with_name(_SCRATCH))

    def _publish(self, note: str, size: int) -> None:
        self._write(f"{KEPT}/{size}", note.encode())
        self._write(HEAD, note.encode())

    def _write(self, path: str, data: bytes) -> None:
        write_atomically(self.folder / path, data, self.folder / _SCRATCH)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the writer's lock; disk errors become our own errors."""
        try:
            make_folder(self.folder)
            self.head_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(self.head_file.with_name("lock"), self._patience, "writing the log"):
                (self.folder / _SCRATCH).unlink(missing_ok=True)
                yield
        except OSError as error:
            raise Unavailable(
                f"the log in {self.folder} cannot be written: {error.strerror or error}; nothing is lost, call again"
            ) from error


def _handed_over(origin: str, leaves: Iterable[bytes], start: int) -> list[str]:
    """Return the keys to which these leaves hand a log over; `start` is the index of the first."""
    marked = [entry for entry in enumerate(leaves, start) if b'"urn:quarterturn:key:v1"' in entry[1]]
    statements = [LoggedStatement(index, Statement.parse(leaf, f"leaf {index}")) for index, leaf in marked]
    return [handover(origin, entry)[1] for entry in statements if entry.statement.kind == "key"]


def _is_note(text: str) -> bool:
    try:
        return all(read_line(line) for line in take_apart(text)[1])
    except Malformed:
        return False
