"""Documents that a remote answers, read strictly and within caps into typed models.

1. The bytes are counted while they come (`read_within`), and are taken unencoded, so that few cannot become many.
2. They are one strict JSON value (`sandbox.strict_json`): its values and levels are counted before one is built.
3. A model (`RemoteDocument`) checks each field that we use; nothing is converted, so `true` is no number.

Whatever is wrong becomes one `InvalidAnswer`, whose sentence names the remote, the field and what was expected. It
quotes no value of the document: a remote's text may be a secret, endless, or a terminal's control sequence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from sandbox.errors import Unavailable
from sandbox.strict_json import MAX_NODES, strict_json
from vault.canonical import json_path
from vault.errors import Malformed

EXCERPT = 200  # characters of a remote's text that a sentence quotes

T = TypeVar("T")


class InvalidAnswer(Unavailable):
    """A remote answered something that is not what its interface promises."""


class RemoteDocument(BaseModel):
    """Base of the models of remote documents: strict, frozen, and without the members that nobody here reads."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)


def read_document(form: type[T], data: bytes, remote: str, *, max_bytes: int, max_values: int = MAX_NODES) -> T:
    """Read a remote's document into a typed model.

    Args:
        form: a `RemoteDocument`, or another type of pydantic's made of them.
        data: the document.
        remote: what answered, as a sentence begins (`https://bench.example.org`), without a secret in it.
        max_bytes: the cap on its bytes.
        max_values: the cap on its values.

    Raises:
        InvalidAnswer: it is no strict JSON, or of another form.
    """
    try:
        strict_json(data, "the answer", max_size=max_bytes, max_values=max_values)
        return TypeAdapter(form).validate_json(data, strict=True)
    except Malformed as error:
        raise InvalidAnswer(f"{remote} answers in another form than is known here: {str(error).rstrip('.')}") from None
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidAnswer(f"{remote} answers in another form than is known here: {_fault(first)}") from None


def read_within(parts: Iterable[bytes], max_bytes: int, remote: str) -> bytes:
    """Join the parts of an answer's body as they come.

    Raises:
        InvalidAnswer: they are more than the cap; the rest is not read.
    """
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > max_bytes:
            raise InvalidAnswer(f"{remote} answers with more than {max_bytes} bytes")
    return bytes(body)


def excerpt(text: str) -> str:
    """Return the beginning of a remote's text on one line, its control characters escaped."""
    line = " ".join(text[: 4 * EXCERPT].split())
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return shown if len(shown) <= EXCERPT else f"{shown[: EXCERPT - 1]}…"


def _fault(error: ErrorDetails) -> str:
    """Return the place of an error and what was expected there; pydantic's words quote no value."""
    place, message = json_path(error["loc"]), error["msg"]
    if error["type"] == "missing":
        return f"{place} is missing"
    _, should, expected = message.partition(" should ")
    return f"{place} must {expected}" if should else f"{place}: {message}"
