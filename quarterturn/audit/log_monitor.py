"""Log reader over a folder or HTTP: follows a log against the saved state, and makes a consistency proof from it.

Every file is fetched once a look. The state is one JSON file, written whole or not at all; where the log is no longer
the one that was followed, the state stays as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from quarterturn.errors import Malformed, NotFound, Unavailable
from sandbox.remote_client import NoAnswer, RemoteClient
from sandbox.remote_document import InvalidAnswer, read_within
from vault.canonical import parse
from vault.errors import Broken, VaultError
from vault.files import write_atomically
from vault.ledger.audit.monitor import MonitorReport, MonitorState, check_log
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import Verifier, take_apart
from vault.ledger.tree.merkle import consistency_proof
from vault.ledger.tree.tiles import HEAD, Read, TileTree, folder_reader

SECONDS, FILE_SECONDS = 30.0, 300.0  # for one step of an exchange, and for a whole file
MAX_BYTES = 32 << 20  # bytes of a file: a bundle of 256 leaves of 64 KiB is half of it
_OK = 200


def follow(source: str, keys: Sequence[str], state_file: Path, clock: Callable[[], datetime]) -> MonitorReport:
    """Check a log once, against the state of the last look.

    Args:
        source: its folder, or the address below which it is served.
        keys: its verifier keys.
        state_file: the file of what is kept between looks; made by the first.
        clock: the present moment, with its time zone.

    Raises:
        Unavailable: it cannot be reached.
        Malformed: the kept file is none.
        NotFound: at the first look there is no log.
        Broken: the log contradicts itself, or what was there at the last look is gone.
    """
    kept = _read(state_file)
    with _reading(source) as read:
        look = read if kept else _of_a_log(read, source)
        report = check_log(look, [Verifier.parse(key) for key in keys], kept, clock())
    _keep(state_file, report)  # of a fork that is what was kept before
    return report


def _of_a_log(read: Read, source: str) -> Read:
    """Refuse a place without a checkpoint: if it was never a log, nothing is wrong with one."""

    def first(path: str) -> bytes:
        try:
            return read(path)
        except Broken:
            if path != HEAD:
                raise
            near = f"{source.rstrip('/')}/log"
            raise NotFound(
                f"there is no log at {source}: no {HEAD}; name its folder or address, such as {near}"
            ) from None

    return first


def fetch_consistency(source: str, release: Path, kept: str) -> list[bytes] | None:
    """Return a proof that a release's log is the beginning of a newer checkpoint, made from the log's tiles.

    Nothing that is read is trusted: the audit compares the proof with both signed heads.

    Args:
        source: the log's folder, or the address below which it is served.
        release: the folder of the release.
        kept: the checkpoint.

    Returns:
        The proof; None where the checkpoint is not newer, or the release has no checkpoint that could be compared.

    Raises:
        Unavailable: the log cannot be reached.
        Broken: it has fewer leaves than the checkpoint, or lacks a tile.
    """
    new = Checkpoint.parse(take_apart(kept)[0]).size
    try:
        old = Checkpoint.parse(take_apart((release / "log" / HEAD).read_bytes())[0]).size
    except (OSError, VaultError):
        return None
    if not 0 < old < new:
        return None
    with _reading(source) as read:
        size = Checkpoint.parse(take_apart(read(HEAD))[0]).size
        if size < new:
            raise Broken(
                f"the log at {source} has {size} leaves, and the checkpoint that was kept has {new}: it was cut short, "
                "or that is another log",
                where=HEAD,
                expected=f"{new} or more",
                found=size,
            )
        return consistency_proof(TileTree(size, read).node, old, new)


@contextmanager
def _reading(source: str) -> Iterator[Read]:
    """Yield what reads a log's files; those that are served come over one connection."""
    if not source.startswith(("http://", "https://")):
        yield folder_reader(Path(source))
        return
    with RemoteClient(SECONDS) as client:
        yield _served(client, source)


def _served(client: RemoteClient, address: str) -> Read:
    def read(path: str) -> bytes:
        try:
            with client.exchange("GET", f"{address.rstrip('/')}/{path}", FILE_SECONDS) as answer:
                status = answer.status_code
                if status == _OK:
                    return read_within(answer.iter_raw(), MAX_BYTES, address)
        except NoAnswer as error:
            raise Unavailable(
                f"{address} cannot be reached ({error}): check the address, or try again later"
            ) from error
        except InvalidAnswer as error:
            raise Broken(f"the log's file {path} cannot be read: {error}", where=path) from None
        raise Broken(
            f"the log's file {path} cannot be read: {address} answers {status}",
            where=path,
            expected={"status": _OK},
            found={"status": status},
        )

    return read


def _read(state_file: Path) -> MonitorState | None:
    if not state_file.exists():
        return None
    document = parse(state_file.read_bytes(), str(state_file))
    if not isinstance(document, dict) or set(document) != {"head", "open_since"}:
        raise Malformed(f"{state_file} is no file of `log monitor`; name another one with --state")
    return MonitorState(document["head"], document["open_since"])


def _keep(state_file: Path, report: MonitorReport) -> None:
    data = {"head": report.seen.head, "open_since": dict(report.seen.open_since)}
    write_atomically(state_file, json.dumps(data, indent=2).encode(), state_file.with_name(f".{state_file.name}.new"))
