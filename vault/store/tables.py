"""SQLModel rows of the vault; other packages see records and never these rows.

No column holds a word of a task: private values are sealed, values that must be compared are keyed tags. Server,
category and difficulty are in the clear, because the mix is public.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, Index, Integer, LargeBinary, String, UniqueConstraint, text
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

import vault.database  # noqa: F401 - names the constraints of every table
from vault.keys.seal import Sealed

Counter = BigInteger().with_variant(Integer(), "sqlite")  # SQLite gives a key of its own only to INTEGER
_DIGEST = 64  # hexadecimal digits of a SHA-256
RULES = "rules/"  # begins what the access log calls rules that came into force: each verb asks for the newest of them
OF_RULES = text(f"what LIKE '{RULES}%'")
SHREDDED = "shredded"  # stands for the key's name where the data key was destroyed (`vault.store.shredding`)


class SealedColumns(SQLModel):
    """Columns of a row with sealed content; rotating the ring's key changes the first two."""

    key_id: str = Field(max_length=200, index=True)
    wrapped_key: bytes = Field(sa_type=LargeBinary)
    nonce: bytes = Field(sa_type=LargeBinary)
    ciphertext: bytes = Field(sa_type=LargeBinary)

    def sealed(self) -> Sealed:
        """Return the content, still sealed."""
        return Sealed(self.key_id, self.wrapped_key, self.nonce, self.ciphertext)


class TaskRow(SealedColumns, table=True):
    """A task: its state and its place in the mix in the clear, the rest sealed."""

    __tablename__ = "vault_task"
    __table_args__ = (Index(None, "state", "commitment"),)

    id: str = Field(primary_key=True, max_length=18)
    state: str = Field(max_length=16)
    server: str = Field(max_length=32)
    category: str = Field(max_length=16)
    difficulty: str = Field(max_length=16)
    skeleton_tag: str = Field(max_length=_DIGEST, index=True)
    template_tag: str = Field(max_length=_DIGEST, index=True)
    author: str = Field(max_length=200)
    public_grammar: bool
    traceable: bool
    drawn_for: str = Field(max_length=7)
    commitment: bytes = Field(sa_type=LargeBinary, unique=True)
    provenance_commitment: bytes = Field(sa_type=LargeBinary, unique=True)
    created_at: datetime = Field(sa_type=UTCDateTime)


class BlobRow(SealedColumns, table=True):
    """A sealed blob: a trace, evidence, the salts of a run."""

    __tablename__ = "vault_blob"

    name: str = Field(primary_key=True, max_length=300)
    created_at: datetime = Field(sa_type=UTCDateTime)


class AccessRow(SQLModel, table=True):
    """One entry of the access log, chained to the entry before."""

    __tablename__ = "vault_access"
    __table_args__ = (
        CheckConstraint("number > 0", name="number_positive"),
        Index("ix_vault_access_rules", "number", sqlite_where=OF_RULES, postgresql_where=OF_RULES),
    )

    number: int = Field(primary_key=True, sa_type=Counter, sa_column_kwargs={"autoincrement": False})
    at: datetime = Field(sa_type=UTCDateTime)
    who: str = Field(max_length=200)
    what: str = Field(max_length=300)
    why: str = Field(max_length=500)
    previous: str = Field(max_length=_DIGEST)
    digest: str = Field(max_length=_DIGEST, unique=True)


class LeafRow(SQLModel, table=True):
    """One leaf of the public log; indexes are contiguous from 0."""

    __tablename__ = "vault_ledger_leaf"
    __table_args__ = (
        UniqueConstraint("key"),
        CheckConstraint("number >= 0", name="number_not_negative"),
    )

    number: int = Field(primary_key=True, sa_type=Counter, sa_column_kwargs={"autoincrement": False})
    key: str = Field(sa_type=String(300))
    leaf: bytes = Field(sa_type=LargeBinary)
    recorded_at: datetime = Field(sa_type=UTCDateTime)
