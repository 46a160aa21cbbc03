"""Strict reader of a document of ours that may come from somebody else: capped, one strict JSON value, and typed.

A runner that was taken over may write what a runner hands in. So nothing is converted, no member is ignored, and the
message quotes no value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from pydantic import ConfigDict, ValidationError, create_model

from sandbox.errors import Malformed
from sandbox.strict_json import strict_json
from vault.canonical import json_path
from vault.errors import Malformed as NotStrict

T = TypeVar("T")


def read_strictly(form: Callable[..., T], data: bytes, what: str, *, max_bytes: int, max_values: int) -> T:
    """Read a JSON text into a dataclass.

    Args:
        form: the dataclass; all its members are checked, those of dataclasses within it too.
        data: the text.
        what: how a sentence begins (`the serving`).
        max_bytes: the cap on its bytes.
        max_values: the cap on its values.

    Raises:
        Malformed: it is beyond a cap, no strict JSON, or of another form; the message names the place.
    """
    try:
        strict_json(data, what, max_size=max_bytes, max_values=max_values)
        document: T = model_around(form).model_validate_json(b'{"document":%b}' % data).document
    except NotStrict as error:
        raise Malformed(str(error)) from None
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_context=False, include_input=False)
        raise Malformed(f"{what} has another form at {json_path(first['loc'][1:])}: {first['msg']}") from None
    return document


@cache
def model_around(form: Any) -> Any:
    """Return a model around a dataclass, which takes its strictness from the model that it lies in.

    Making it takes a tenth of a second, so a process that many are forked from makes it for them.
    """
    config = ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True)
    return create_model("_Document", __config__=config, document=(form, ...))
