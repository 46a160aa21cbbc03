"""Anchors: answers whose claims people have judged, frozen with digests, against which a claim judge is held. Pure.

    {"anchors": [{"id", "goal", "answer", "claims": [{"id", "text", "rubric"?, "gold"}],
                  "sha256": {"transcript", "rubric", "gold"}}]}

The digests are SHA-256 (hex) of canonical JSON: of goal and answer, of the claims without their gold outcomes, and of
these outcomes in order. A file in which one of them is not that of what stands beside it is refused: an anchor that can
be changed to suit a judge holds nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from jsonschema import Draft202012Validator

from sandbox.errors import Malformed, Refused
from vault.canonical import canonical, json_path, parse_object
from vault.errors import Malformed as NotStrict
from verifiers.answer.claims import CLAIMS_SCHEMA, Claim, ClaimOutcome, Coverage, coverage

SHIPPED: Traversable = files("sandbox.claim_judge").joinpath("data/anchors.json")
"""Anchors that come with the package."""

MIN_ANCHORS = 8
"""With three of them only two correlations would pass."""
MAX_FILE = 4 << 20

_DIGEST = {"type": "string", "pattern": r"^[0-9a-f]{64}$(?!\n)"}
_NAMES = ("transcript", "rubric", "gold")
_CLAIM = dict(CLAIMS_SCHEMA["items"])
_GOLD = {"gold": {"enum": list(ClaimOutcome)}}
_JUDGED = _CLAIM | {"required": ["id", "text", "gold"], "properties": {**_CLAIM["properties"], **_GOLD}}
_ANCHOR = {
    "type": "object",
    "required": ["id", "goal", "answer", "claims", "sha256"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "minLength": 1, "maxLength": 64},
        "goal": {"type": "string", "minLength": 1},
        "answer": {"type": "string", "minLength": 1},
        "claims": dict(CLAIMS_SCHEMA) | {"items": _JUDGED},
        "sha256": {
            "type": "object",
            "required": list(_NAMES),
            "additionalProperties": False,
            "properties": dict.fromkeys(_NAMES, _DIGEST),
        },
    },
}
_VALIDATOR = Draft202012Validator(
    {
        "type": "object",
        "required": ["anchors"],
        "additionalProperties": False,
        "properties": {"anchors": {"type": "array", "items": _ANCHOR, "minItems": MIN_ANCHORS}},
    }
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """One answer whose claims people have judged.

    Attributes:
        id: its name.
        goal: what was asked for.
        answer: the answer.
        claims: the claims about it.
        gold: what people say of each.
    """

    id: str
    goal: str = field(repr=False)
    answer: str = field(repr=False)
    claims: tuple[Claim, ...] = field(repr=False)
    gold: tuple[ClaimOutcome, ...] = field(repr=False)

    @property
    def coverage(self) -> Coverage:
        """The coverage by the gold outcomes."""
        return coverage(self.gold)


def digests_of(anchor: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests that belong beside an anchor."""
    bare = [{name: claim[name] for name in claim if name != "gold"} for claim in anchor["claims"]]
    parts = (
        {"goal": anchor["goal"], "answer": anchor["answer"]},
        {"claims": bare},
        {"gold": [claim["gold"] for claim in anchor["claims"]]},
    )
    return {name: hashlib.sha256(canonical(part)).hexdigest() for name, part in zip(_NAMES, parts, strict=True)}


def parse(data: bytes, what: str) -> list[Anchor]:
    """Read anchors; `what` is where they come from.

    Raises:
        Malformed: they have another form, or are fewer than MIN_ANCHORS; the message says where.
        Refused: a digest is not that of what stands beside it, or all have the same coverage.
    """
    try:
        document = parse_object(data, what, max_size=MAX_FILE)
    except NotStrict as error:
        raise Malformed(str(error)) from None
    _require(document, what)
    anchors = []
    for plain in document["anchors"]:
        for name, digest in digests_of(plain).items():
            if plain["sha256"][name] != digest:
                raise Refused(f"{what}: the {name} of anchor {plain['id']} was changed: its digest is another now")
        claims = tuple(Claim(claim["id"], claim["text"], claim.get("rubric", "")) for claim in plain["claims"])
        gold = tuple(ClaimOutcome(claim["gold"]) for claim in plain["claims"])
        anchors.append(Anchor(plain["id"], plain["goal"], plain["answer"], claims, gold))
    if len({anchor.coverage for anchor in anchors}) == 1:
        raise Refused(f"{what}: all anchors have the same coverage, so nothing can be correlated with them")
    return anchors


def digest(anchors: Sequence[Anchor]) -> str:
    """Return the SHA-256 (hex) of anchors, in their order."""
    plain = [
        {
            "goal": anchor.goal,
            "answer": anchor.answer,
            "claims": [[claim.id, claim.text, claim.rubric] for claim in anchor.claims],
            "gold": list(anchor.gold),
        }
        for anchor in anchors
    ]
    return hashlib.sha256(canonical({"anchors": plain})).hexdigest()


def frozen(document: dict[str, Any], what: str = "the anchors") -> dict[str, Any]:
    """Return a document of anchors with the digests of what stands in it now.

    Raises:
        Malformed: it has another form; the message says where.
    """
    blank = {"sha256": dict.fromkeys(_NAMES, "0" * 64)}
    anchors = document.get("anchors")
    if not isinstance(anchors, list) or not all(isinstance(anchor, dict) for anchor in anchors):
        raise Malformed(f'{what} must be {{"anchors": [...]}}, an object for each anchor')
    _require(document | {"anchors": [anchor | blank for anchor in anchors]}, what)
    return {"anchors": [anchor | {"sha256": digests_of(anchor)} for anchor in anchors]}


def _require(document: Mapping[str, Any], what: str) -> None:
    if broken := next(_VALIDATOR.iter_errors(document), None):
        rule = f"breaks the rule {broken.validator}: {broken.validator_value}"
        raise Malformed(f"{what} at {json_path(broken.absolute_path)}: {rule[:300]}")
