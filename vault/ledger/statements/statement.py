"""in-toto Statements (in-toto Attestation Framework, Statement v1) of the log: the kinds, and a strict parser.

    {"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": ..., "digest": {...}}],
     "predicateType": "urn:quarterturn:<kind>:v1", "predicate": {...}}

Exactly these keys, exactly the shapes of `KINDS`, exactly the canonical bytes, and a subject that agrees with the
predicate. No statement holds an unsalted function of a live task, nor names a submitter. The formats are described in
`docs/reference/ledger-formats.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vault.errors import Malformed
from vault.ledger.statements import jcs
from vault.ledger.statements.shape import (
    DocumentShape,
    anything,
    boolean,
    cohort,
    list_of,
    mapping_of,
    matching,
    month,
    natural,
    one_of,
    optional,
    positive,
    record,
    sha256,
    single,
    task_id,
    text,
    version,
)
from vault.ledger.tree.tiles import MAX_LEAF

TYPE = "https://in-toto.io/Statement/v1"
_URN = "urn:quarterturn:{}:v1"
CAUSES = ("leak", "broken")
"""Why a task is withdrawn. A leaked task's bound results go on counting; a broken task counts in no run."""
HMAC = "hmac-sha256"
SHA = "sha256"


@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed leaf.

    Attributes:
        kind: `commit`, `set`, `run-open`, `score`, `abort`, `retire`, `withdraw`, `key`.
        name: the subject's name.
        digest: the subject's digest in hex, by algorithm (`hmac-sha256` or `sha256`).
        predicate: what it states, of the kind's shape.
    """

    kind: str
    name: str
    digest: Mapping[str, str]
    predicate: Mapping[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, data: bytes, what: str = "the leaf") -> Statement:
        """Read a leaf.

        Raises:
            Malformed: it is not canonical JSON, or not a statement of one of the kinds; the message says where.
        """
        document = jcs.parse_canonical(data, what)
        try:
            return cls._checked(document)
        except Malformed as error:
            raise error.with_message(f"{what} is no statement: {error}", what) from None

    @classmethod
    def _checked(cls, document: Any) -> Statement:
        _ENVELOPE(document, "$")
        kind = document["predicateType"].split(":")[2]
        _SUBJECTS[kind](document["subject"][0], "$.subject[0]")
        KINDS[kind][2](document["predicate"], "$.predicate")
        subject, predicate = jcs.shared(document["subject"][0]), jcs.shared(document["predicate"])
        parsed = cls(kind, subject["name"], subject["digest"], predicate)
        parsed.require_agreement()
        return parsed

    def require_agreement(self) -> None:
        """Refuse a statement whose subject and predicate disagree."""
        says = self.predicate
        expected = {
            "set": f"set/{says.get('month')}",
            "run-open": f"run/{says.get('run')}",
            "score": f"run/{says.get('run')}",
            "abort": f"run/{says.get('run')}",
            "retire": f"Historical-{says.get('month')}",
        }
        if self.name != expected.get(self.kind, self.name):
            raise Malformed(
                f"$.subject[0].name must be {expected[self.kind]}",
                where="$.subject[0].name",
                expected=expected[self.kind],
                found=self.name,
            )
        if self.kind == "score" and self.digest[SHA] != says["results_root"]:
            raise Malformed(
                "$.subject[0].digest must be the results_root",
                where="$.subject[0].digest",
                expected=says["results_root"],
                found=self.digest[SHA],
            )
        if self.kind == "set":
            _require_counts(says)

    def document(self) -> dict[str, Any]:
        """Give the statement as JSON values."""
        return {
            "_type": TYPE,
            "subject": [{"name": self.name, "digest": dict(self.digest)}],
            "predicateType": _URN.format(self.kind),
            "predicate": dict(self.predicate),
        }


def statement(kind: str, name: str, digest: str, predicate: Mapping[str, Any]) -> bytes:
    """Build a leaf of any kind.

    Args:
        kind: one of `KINDS`.
        name: the subject's name.
        digest: the subject's digest in lower-case hex.
        predicate: JSON values of the kind's shape.

    Raises:
        Malformed: a part has not the kind's shape, or the leaf would be longer than 65,535 bytes.
    """
    if kind not in KINDS:
        raise Malformed(f"there is no statement {kind!r}; there are {', '.join(KINDS)}")
    leaf = jcs.canonical(Statement(kind, name, {KINDS[kind][1]: digest}, predicate).document())
    Statement.parse(leaf, f"the {kind} statement")
    if len(leaf) > MAX_LEAF:
        raise Malformed(f"the {kind} statement has {len(leaf)} bytes; a leaf has at most {MAX_LEAF}")
    return leaf


def schema(kind: str) -> dict[str, Any]:
    """Give a kind of statement as JSON Schema, which cannot express that subject and predicate agree."""
    shape = record(
        _type=one_of(TYPE),
        subject=single(_SUBJECTS[kind]),
        predicateType=one_of(_URN.format(kind)),
        predicate=KINDS[kind][2],
    )
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": _URN.format(kind)}
    return {**about, "title": f"The {kind} statement", **shape.schema}


def _require_counts(says: Mapping[str, Any]) -> None:
    for place, item in enumerate(says["cohorts"]):
        if item["count"] != len(item["tasks"]) or item["id"] != f"cohort-{item['retires']}":
            raise Malformed(
                f"$.predicate.cohorts[{place}] must count its tasks and be named after its month",
                where=f"$.predicate.cohorts[{place}]",
                expected={"count": len(item["tasks"]), "id": f"cohort-{item['retires']}"},
                found={"count": item["count"], "id": item["id"]},
            )
    listed = [task for item in says["cohorts"] for task in item["tasks"]]
    if len(set(listed)) != len(listed) or says["count"] != len(listed):
        raise Malformed(
            "$.predicate.count must be the number of tasks, each in one cohort",
            where="$.predicate.count",
            expected={"count": len(set(listed)), "listed": len(set(listed))},
            found={"count": says["count"], "listed": len(listed)},
        )


_RUN = matching(r"run/[1-9][0-9]*", "run/ and a number")
_VKEY = matching(r"[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+", "a verifier key")
_SIGNATURE = matching(r"[A-Za-z0-9+/]{85}[AQgw]==", "the 64 bytes of a signature in base64")
_STRATUM = matching(r"[a-z0-9-]+/[a-z0-9-]+/[a-z]+", "a stratum as server/category/difficulty")
_CODE = matching(r"[a-z0-9][a-z0-9-]{0,63}", "a word of small letters, digits and hyphens")

# kind: (shape of the subject's name, algorithm of its digest, shape of the predicate)
KINDS: Mapping[str, tuple[DocumentShape, str, DocumentShape]] = {
    "commit": (task_id, HMAC, record(spec=version, provenance=sha256, public_grammar=boolean)),
    "set": (
        matching(r"set/[0-9]{4}-(0[1-9]|1[0-2])", "set/ and a month"),
        SHA,
        record(
            {
                "month_key": sha256,  # a key has 32 bytes, too
                "access_log": record(entries=natural, commitment=sha256),
                "spot_check": sha256,
            },
            month=month,
            previous=optional(natural),
            count=natural,
            cohorts=list_of(record(id=cohort, retires=month, count=natural, root=sha256, tasks=list_of(task_id))),
            reserve=mapping_of(_STRATUM, list_of(sha256)),
            counts=record(unseen=natural, seen=natural),
            next_draw=sha256,
            public_grammar=boolean,
        ),
    ),
    "run-open": (
        _RUN,
        HMAC,
        record(
            run=positive,
            month=month,
            track=_CODE,
            set=sha256,
            cohorts=list_of(cohort),
            checkpoint=record(size=positive, root=sha256),
        ),
    ),
    "score": (
        _RUN,
        SHA,
        record(
            run=positive,
            month=month,
            track=_CODE,
            count=positive,
            results_root=sha256,
            totals=list_of(record(cohort=cohort, commitment=sha256)),
        ),
    ),
    "abort": (_RUN, HMAC, record(run=positive, month=month, reason=_CODE)),
    "retire": (
        matching(r"Historical-[0-9]{4}-(0[1-9]|1[0-2])", "Historical- and a month"),
        SHA,
        record(
            {"spot_check": record(seed=sha256, salt=sha256, chosen=natural, judged=natural, differed=natural)},
            month=month,
            cohort=cohort,
            tasks=list_of(record(id=task_id, commitment=sha256, sha256=sha256)),
        ),
    ),
    "withdraw": (
        task_id,
        HMAC,
        record(month=month, cause=one_of(*CAUSES), reason=text, replacement=optional(task_id)),
    ),
    "key": (text, SHA, record(old=_VKEY, new=_VKEY, size=natural, signatures=record(old=_SIGNATURE, new=_SIGNATURE))),
}

_SUBJECTS = {
    kind: record(name=name, digest=record(**{algorithm: sha256})) for kind, (name, algorithm, _) in KINDS.items()
}

_ENVELOPE = record(
    _type=one_of(TYPE),
    subject=single(anything),
    predicateType=one_of(*(_URN.format(kind) for kind in KINDS)),
    predicate=anything,
)
