"""Measures sealing and opening a task of 2 KB, beside bare AES-GCM and bare canonicalisation.

The floor is what nobody can leave out: `rfc8785.dumps` and AES-256-GCM of `cryptography` under a fresh key, and back
through `json.loads`. Ours adds a data key that the ring wraps, the check that two readers understand the document
alike, and, a line further, salts and commitments. The last line is the whole `Vault` on SQLite, where every opening is
an entry of the access log, beside `sqlite3` that keeps the same ciphertext and the same entry with as many commits.
"""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from documents import a_document_of
from measure import Side, compare, interleave
from report import Found, Line
from sqlmodel import SQLModel

from vault.canonical import canonical, parse
from vault.commitment import new_salt
from vault.database import open_engine
from vault.keys.ring import FileKeyRing
from vault.keys.seal import seal, unseal
from vault.store.opened_task import OpenedTask
from vault.store.tasks import Vault
from vault.task.document import Task

ROUNDS = 31
SIZE = 2048
TASKS = 20  # of one turn of the vault
CONTEXT = b"bench"
BARE = "rfc8785 and AES-256-GCM"
PROVENANCE = {"grammar": "bench", "skeleton": "bench/one", "seed": 1}


def bench(rounds: int = 0) -> Found:
    """Compare the vault's layers, from the inside out, with the bare pair."""
    rounds = rounds or ROUNDS
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder:
        ring = FileKeyRing.create(Path(folder) / "ring.json", None)
        lines = [*_layers(ring, rounds), _vault(Path(folder), ring, rounds)]
    about = f"A task of {SIZE:,} canonical bytes, sealed and opened by the vault, beside bare {BARE}."
    return Found(about, lines)


def _layers(ring: FileKeyRing, rounds: int) -> Iterator[Line]:
    document = a_document_of(SIZE)
    sealed, bare = seal(canonical(document), CONTEXT, ring), bare_seal(document)

    def ours_sealed() -> None:
        seal(canonical(document), CONTEXT, ring)

    def ours_opened() -> None:
        parse(unseal(sealed, CONTEXT, ring))

    def ours_both() -> None:
        parse(unseal(seal(canonical(document), CONTEXT, ring), CONTEXT, ring))

    def promised_both() -> None:
        opened = OpenedTask(Task.trusted(canonical(document)), new_salt(), PROVENANCE, new_salt())
        promised = opened.commitment, opened.provenance_commitment
        OpenedTask.unpack(unseal(seal(opened.pack(), CONTEXT, ring), CONTEXT, ring), *promised)

    def bare_both() -> None:
        bare_open(*bare_seal(document))

    yield Line("seal", BARE, compare(ours_sealed, lambda: bare_seal(document), rounds), "task")
    yield Line("open", BARE + " and json", compare(ours_opened, lambda: bare_open(*bare), rounds), "task")
    yield Line("seal and open", "both", compare(ours_both, bare_both, rounds), "task")
    yield Line("with salts and commitments", "both", compare(promised_both, bare_both, rounds), "task")


def bare_seal(document: dict[str, Any]) -> tuple[bytes, bytes, bytes]:
    """Seal with nothing around it: key, nonce, ciphertext."""
    key, nonce = os.urandom(32), os.urandom(12)
    return key, nonce, AESGCM(key).encrypt(nonce, rfc8785.dumps(document), CONTEXT)


def bare_open(key: bytes, nonce: bytes, ciphertext: bytes) -> Any:
    """Open what `bare_seal` made."""
    return json.loads(AESGCM(key).decrypt(nonce, ciphertext, CONTEXT))


def _vault(folder: Path, ring: FileKeyRing, rounds: int) -> Line:
    ours, floor = vault_side(folder / "ours.db", ring), bare_side(folder / "bare.db")
    beside = "both, and sqlite3 with as many commits"
    return Line("Vault.add and Vault.open", beside, interleave(ours, floor, rounds), "task")


def vault_side(path: Path, ring: FileKeyRing) -> Side:
    """Add fresh tasks to a vault and open each of them once."""
    engine = open_engine(f"sqlite:///{path}")
    SQLModel.metadata.create_all(engine)
    vault = Vault(engine, ring, lambda: datetime.now(UTC))
    numbers = itertools.count()

    def side() -> float:
        documents = [a_document_of(SIZE, next(numbers)) for _ in range(TASKS)]
        start = time.perf_counter()
        for document in documents:
            task = Task.trusted(canonical(document))
            vault.add(task, PROVENANCE, author="bench", public_grammar=True, skeleton="bench/one", template="bench")
            vault.open(task.id, who="bench", why="measuring")
        return (time.perf_counter() - start) / TASKS

    return side


def bare_side(path: Path) -> Side:
    """Keep the same with `sqlite3`: a row in one commit, and an entry about its opening in another."""
    with closing(sqlite3.connect(path)) as first:
        first.execute("PRAGMA journal_mode=WAL")
        first.execute("CREATE TABLE task (id TEXT PRIMARY KEY, key BLOB, nonce BLOB, ciphertext BLOB)")
        first.execute("CREATE TABLE access (number INTEGER PRIMARY KEY, task TEXT)")
    numbers = itertools.count()

    def side() -> float:
        documents = [a_document_of(SIZE, next(numbers)) for _ in range(TASKS)]
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            start = time.perf_counter()
            for document in documents:
                row = (document["id"], *bare_seal(document))
                connection.execute("INSERT INTO task VALUES (?, ?, ?, ?)", row)
                connection.execute("INSERT INTO access (task) VALUES (?)", row[:1])
                kept = connection.execute("SELECT key, nonce, ciphertext FROM task WHERE id = ?", row[:1]).fetchone()
                bare_open(*kept)
            return (time.perf_counter() - start) / TASKS

    return side
