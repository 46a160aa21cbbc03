"""Form that submits an agent: its fields with what is wrong at each, and the same request as a line for curl. Pure.

It asks for what `POST /submissions` and `POST /checks` take. Of a mistake it says what to do, in words of its own: the
text of an error is never shown.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quarterturn.pages.drawing.grid import minute

SETS = {
    "check": "Check: one task of the dev set",
    "dev": "Dev set: shows every call; not on the leaderboard",
    "private": "Private set: counts on the leaderboard",
}
PROBLEMS: Mapping[str, tuple[str, str]] = {
    "nothing": ("agent", "Name an image or the https address of an endpoint."),
    "malformed": ("agent", "This is neither an image's name nor an https address: check it for blanks and typos."),
    "no-endpoints": ("agent", "This service runs no hosted endpoints: submit an image, or ask its operator."),
    "no-track": (
        "set",
        "The private set accepts no runs of this kind of agent: choose the dev set, or ask its operator.",
    ),
    "not-yours": ("agent", "This image may be somebody else's: name it by its digest, or {images}."),
    "no-model": ("model", "The settings allow no such language model: choose one of the list."),
    "no-set": ("set", "Choose one of these sets."),
    "not-now": ("set", "No private set is live, or a turn is under way: wait for its end, or choose the dev set."),
    "quota": ("set", "{quota}"),
    "not-private": ("counts", "Only a private run can be designated to count: leave this out."),
    "conflict": ("counts", "A private run of yours has begun this month and counts: leave this out."),
    "key-reused": ("agent", "This form was sent before with other values: open this page anew to submit again."),
}
"""Each mistake: its field, and what is said there."""
EXAMPLE = "NAME@sha256:DIGEST"

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """The form as it stands.

    Attributes:
        key: the idempotency key: the same form sent twice is one submission.
        agent: the image or the https address.
        set: `dev`, `private` or `check`.
        model: the language model, or "".
        counts: whether the run is designated to count.
        problem: what is wrong, as one of `PROBLEMS`, or "".
    """

    key: str
    agent: str = ""
    set: str = "dev"
    model: str = ""
    counts: bool = False
    problem: str = ""

    @classmethod
    def of(cls, key: str, given: Mapping[str, Sequence[str]]) -> Form:
        """Read what a browser sent; `key` is used where it sent none."""
        one = {name: values[0].strip() for name, values in given.items()}
        return cls(
            one.get("key", "")[:200] or key, one.get("agent", ""), one.get("set", ""), one.get("model", ""),
            counts="counts" in one,
        )  # fmt: skip

    def body(self) -> dict[str, Any]:
        """Return the body of the request."""
        kind = "endpoint" if self.agent.lower().startswith(("https:", "http:")) else "image"
        body: dict[str, Any] = {kind: self.agent or EXAMPLE}
        if self.set != "check":
            body["set"] = self.set
        if self.model:
            body["model"] = self.model
        if self.counts:
            body["counts"] = True
        return body

    def curl(self, service: str) -> str:
        """Write the request as a line for curl; `service` is the address of the service."""
        address = f"{service}/{'checks' if self.set == 'check' else 'submissions'}"
        body = shlex.quote(json.dumps(self.body(), ensure_ascii=False))
        heads = '-H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json"'
        return f"curl {heads} -d {body} {shlex.quote(address)}"


@dataclass(frozen=True, slots=True)
class FormView:
    """What the page shows of the form beside its values.

    Attributes:
        form: the form.
        errors: what is said at each field.
        sets: the sets, and what each costs.
        models: the language models that may be named.
        images: how images may be named.
        curl: the same request as a line for curl.
    """

    form: Form
    sets: Sequence[tuple[str, str, str]]
    models: Sequence[str]
    images: str
    curl: str
    errors: Mapping[str, str] = field(default_factory=dict)


def view(form: Form, quotas: Item, service: str, *, images: Sequence[str], models: Collection[str]) -> FormView:
    """Lay the form out; `images` are the prefixes that an image without a digest may have, and "" allows all."""
    named = "under any name" if "" in images else f"by a name that begins with {' or '.join(images)}"
    errors = {}
    if form.problem:
        at, words = PROBLEMS[form.problem]
        errors[at] = words.format(images=named, quota=_used_up(form.set, quotas))
    sets = [(name, words, _left(quotas[name])) for name, words in SETS.items()]
    return FormView(form, sets, sorted(models), named, form.curl(service), errors)


def _left(quota: Item) -> str:
    return f"{quota['left']} of {quota['limit']} left until {minute(quota['until'])}"


def _used_up(of: str, quotas: Item) -> str:
    """Say which quota is used up, and when there is more."""
    if of in SETS and not quotas[of]["left"]:
        return f"All {quotas[of]['limit']} are used. It resets at {minute(quotas[of]['until'])}."
    if not quotas["waiting"]["left"]:
        return (
            f"{quotas['waiting']['limit']} of your party wait or run already: cancel one, or wait until one has ended."
        )
    return "All private runs of this month, which all parties share, are used. Submit again after the turn."
