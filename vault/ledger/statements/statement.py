"""Statements: the leaves of the log, each an in-toto Statement (v1) of one kind, and their parser.

    {"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": …, "digest": {…}}],
     "predicateType": "urn:quarterturn:<kind>:v1", "predicate": {…}}

Exactly these keys, the forms of `STATEMENTS`, and the canonical bytes. No statement holds an
unsalted function of a live task, nor names a submitter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from vault.errors import Malformed
from vault.ledger.statements.forms import Form, json_pattern, require_form
from vault.ledger.statements.jcs import parse_canonical

TYPE = "https://in-toto.io/Statement/v1"
URN = "urn:quarterturn:{}:v1"
HMAC, SHA = "hmac-sha256", "sha256"

# fmt: off
STATEMENTS: Mapping[str, tuple[str, str, Mapping[str, Form]]] = {
    "commit": ("task", HMAC, {
        "spec": "version", "provenance": "hash", "public_grammar": "boolean",
    }),
    "set": ("set", SHA, {
        "month": "month", "previous": "natural|null",
        "plan": {"cohorts": "positive", "lifetime": "lifetime"},
        "count": "natural",
        "cohorts": [{
            "id": "cohort", "retires": "month", "count": "natural", "root": "hash",
            "tasks": ["task"],
        }],
        "reserve": {"*stratum": ["hash"]},
        "counts": {"unseen": "natural", "seen": "natural"},
        "servers": {"*server": "hash"},
        "public_grammar": "boolean",
        "next_draw": "hash",
        "judge?": {"anchors": "hash", "parameters": "hash", "rubric": "hash"},
        "month_key?": "hash",
        "access_log?": {"entries": "natural", "commitment": "hash"},
        "spot_check?": "hash",
        "withdrawal_keys": ["vkey"],
    }),
    "run-open": ("run", HMAC, {
        "run": "positive", "month": "month", "track": "word", "set": "hash",
        "cohorts": ["cohort"], "checkpoint": {"size": "positive", "root": "hash"},
        "judge?": "hash",
    }),
    "score": ("run", SHA, {
        "run": "positive", "month": "month", "track": "word", "count": "positive",
        "results_root": "hash", "totals": [{"cohort": "cohort", "commitment": "hash"}],
    }),
    "abort": ("run", HMAC, {"run": "positive", "month": "month", "reason": "word"}),
    "retire": ("release", SHA, {
        "month": "month", "cohort": "cohort",
        "tasks": [{"id": "task", "commitment": "hash", "sha256": "hash"}],
        "draw_seeds?": [{"set": "natural", "seed": "hash", "salt": "hash"}],
        "spot_check?": {
            "seed": "hash", "salt": "hash",
            "chosen": "natural", "judged": "natural", "differed": "natural",
        },
    }),
    "withdraw": ("task", HMAC, {
        "month": "month", "cause": "=leak,broken", "reason": "text", "replacement": "task|null",
        "signature": [{"key": "vkey", "signature": "signature"}, None],
    }),
    "key": ("text", SHA, {
        "old": "vkey", "new": "vkey", "size": "natural",
        "signatures": {"old": "signature", "new": "signature"},
    }),
}
"""By kind: the form of the subject's name, the algorithm of its digest, the form of the predicate."""
# fmt: on


@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed leaf.

    Attributes:
        kind: one of `STATEMENTS`.
        name: the subject's name.
        digest: the subject's digest in hex; its algorithm follows from the kind.
        predicate: what it states, of the kind's form.
    """

    kind: str
    name: str
    digest: str
    predicate: Mapping[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, data: bytes, what: str = "the leaf") -> Statement:
        """Read a leaf.

        Raises:
            Malformed: it is not canonical JSON, or not a statement of one of the kinds.
        """
        is_plain = _plain_leaf().fullmatch(data)
        document = json.loads(data.decode()) if is_plain else parse_canonical(data, what)
        try:
            if not is_plain:
                require_form(_ENVELOPE, document, "$")
            kind = document["predicateType"].split(":")[2]
            if not is_plain:
                require_form(_FORMS[kind], document, "$")
            require_form("=1", str(len(document["subject"])), "the number of items of $.subject")
        except Malformed as error:
            raise error.with_message(f"{what} is no statement: {error}", what) from None
        subject = document["subject"][0]
        digest = subject["digest"][STATEMENTS[kind][1]]
        return cls(kind, subject["name"], digest, document["predicate"])


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A statement and its index in the log."""

    index: int
    statement: Statement = field(repr=False)

    @property
    def name(self) -> str:
        """The subject's name."""
        return self.statement.name

    @property
    def digest(self) -> str:
        """The subject's digest in hex."""
        return self.statement.digest

    @property
    def says(self) -> Mapping[str, Any]:
        """The predicate."""
        return self.statement.predicate

    @property
    def where(self) -> str:
        """The place of the leaf, for evidence."""
        return f"leaf {self.index}"

    def at(self, path: str) -> str:
        """Return the place of a part of the predicate, for evidence."""
        return f"leaf {self.index}: $.predicate.{path}"


def statement_form(kind: str) -> Form:
    """Return the form of a whole statement of a kind."""
    name, algorithm, predicate = STATEMENTS[kind]
    return {
        "_type": f"={TYPE}",
        "subject": [{"name": name, "digest": {algorithm: "hash"}}],
        "predicateType": f"={URN.format(kind)}",
        "predicate": predicate,
    }


_ENVELOPE: Form = {
    "_type": f"={TYPE}",
    "subject": ["object"],
    "predicateType": f"={','.join(map(URN.format, STATEMENTS))}",
    "predicate": "object",
}
_FORMS = {kind: statement_form(kind) for kind in STATEMENTS}


@cache
def _plain_leaf() -> re.Pattern[bytes]:
    """Return the pattern of the leaves that need no other check."""
    return re.compile("|".join(map(json_pattern, _FORMS.values())).encode())
