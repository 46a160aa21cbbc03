"""Invalid and refused requests as problems: which part is wrong, what was given, and what is expected.

Values are repeated only of fields of `HARMLESS`; an endpoint's URL, a note or a header may hold a secret, and a path
may name a task.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from quarterturn.http.responses.models import EXAMPLES, WORDS
from quarterturn.http.responses.problems import Invalid, Members, Problem, code_of, shown

MAX_LISTED_ERRORS = 20
REPEATED = ("body", "query")
HARMLESS = frozenset(
    ("account", "all", "counts", "days", "file", "from", "id", "image", "index", "limit", "model", "month", "name")
) | {"number", "role", "set", "size", "state", "to", "track"}


def not_json(errors: Sequence[Any]) -> Members:
    """Explain a body that is not JSON; the parser's words are fixed and quote nothing."""
    error = next(error for error in errors if error["type"] == "json_invalid")
    place, words = error["loc"][-1], error.get("ctx", {}).get("error", "it ends too early")
    return {"detail": f"The body is not valid JSON: {words} (character {place}). Correct it and send it again."}


def explained(errors: Sequence[Any]) -> Members:
    """Explain what pydantic found wrong in a request."""
    wrong = [_invalid(error) for error in errors[:MAX_LISTED_ERRORS]]
    first, field = wrong[0], str(errors[0]["loc"][-1])
    others = f"; {len(errors) - 1} more in `errors`" if len(errors) > 1 else ""
    members: Members = {
        "detail": f"{field}: expected {first['expected']}{others}. Correct it and send the request again.",
        "field": field,
        "expected": first["expected"],
        "errors": wrong,
    }
    if "given" in first:
        members["given"] = first["given"]
    return members


def problem_of(error: Exception) -> Problem:
    """Return an exception as a problem; of its text nothing is sent, only what it holds for callers."""
    if isinstance(error, Problem):
        return error
    code, members = code_of(error), dict(getattr(error, "shown", {}))
    headers = {"retry-after": members.pop("retry_after")} if "retry_after" in members else {}
    if code == "invalid":
        return Problem(code, headers, **of_field(**members))
    if (given := members.pop("given", None)) is not None:
        members["given"] = shown(given)
    return Problem(code, headers, **members)


def of_field(field: str, expected: str, given: Any = None) -> Members:
    """Explain one wrong field of a body that pydantic accepted."""
    error = {"type": "value_error", "loc": ("body", field), "input": given, "ctx": {"expected": expected}}
    return explained([error])


def unknown_parameters(given: Collection[str], known: Sequence[str]) -> Members:
    """Explain query parameters that a route does not have; one whose name may be a secret is not repeated."""
    names = (
        f"one of this route's query parameters ({', '.join(known)})" if known else "no query parameter on this route"
    )
    places = [("query", shown(name) or "a name") for name in given]
    return explained([{"type": "unknown_parameter", "loc": place, "ctx": {"names": names}} for place in places])


def _invalid(error: Mapping[str, Any]) -> Invalid:
    place = error["loc"]
    invalid = Invalid(
        pointer="/" + "/".join(map(str, place)), reason=error["type"], expected=_expected(error["type"], error)
    )
    given = shown(error.get("input")) if place[-1] in HARMLESS and place[0] in REPEATED else None
    if given is not None:
        invalid["given"] = given
    return invalid


def _expected(kind: str, error: Mapping[str, Any]) -> str:
    context = error.get("ctx", {})
    if kind == "string_pattern_mismatch":
        pattern = context["pattern"]
        example = f", such as {EXAMPLES[pattern]}" if pattern in EXAMPLES else ""
        return WORDS.get(pattern, f"text that matches {pattern}") + example
    if kind == "value_error":
        return str(context.get("expected") or context.get("error") or error["msg"])
    return _SENTENCES[kind].format(**context) if kind in _SENTENCES else str(error["msg"])


_SENTENCES: Mapping[str, str] = {
    "missing": "a value; this part is required",
    "extra_forbidden": "no field of this name; GET /openapi.json lists those that there are",
    "unknown_parameter": "{names}",
    "literal_error": "{expected}",
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "model_attributes_type": "a JSON object",
    "greater_than_equal": "a number from {ge} on",
    "less_than_equal": "a number up to {le}",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "too_long": "at most {max_length} entries",
}
"""What is expected, by the rule that was broken; elsewhere pydantic's own words, which quote no value."""
