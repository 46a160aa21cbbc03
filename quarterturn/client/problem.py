"""Problem documents of the API (RFC 9457) as the client raises them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import StringConstraints

from quarterturn.errors import Kind
from sandbox.remote_document import RemoteDocument

_KINDS: Mapping[str, Kind] = {
    "unauthenticated": "not-allowed",
    "forbidden": "not-allowed",
    "not-found": "not-found",
    "conflict": "not-allowed",
    "not-now": "not-allowed",
    "key-reused": "not-allowed",
    "not-yours": "refused",
    "quota": "quota",
    "rate": "quota",
    "mistake": "unavailable",
    "unavailable": "unavailable",
    "no-answer": "unavailable",
}
_SERVER_ERRORS = 500

Sentence = Annotated[str, StringConstraints(max_length=4000)]


class Problem(RemoteDocument):
    """A problem document of the API; members that do not apply are None.

    Attributes:
        code: one of the API's fixed codes, or `no-answer` where no problem came.
        title: the same for every problem of a code.
        status: the HTTP status; 0 where there was no answer.
        detail: what happened and the next step.
        field: the field, parameter or header that is wrong.
        given: its value, shortened.
        expected: what would be accepted.
        limit: the limit that was exceeded: `name`, `value`, `unit`, and `resets_at` or `retry_after`.
        state: the state that does not allow the request.
        errors: every invalid part of the request.
    """

    code: Sentence
    title: Sentence = ""
    status: int = 0
    detail: Sentence = ""
    field: str | None = None
    given: Any = None
    expected: str | None = None
    limit: Mapping[str, Any] | None = None
    state: str | None = None
    errors: tuple[Mapping[str, Any], ...] = ()


class ApiError(Exception):
    """A request that was refused, or that nobody answered.

    Args:
        problem: what the service says.
        retry_after: seconds after which the service wants to be asked again, or None.
    """

    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        text = " ".join(part for part in (problem.title, problem.detail) if part)
        super().__init__(text or f"The service answers with status {problem.status}, without a reason.")
        self.problem, self.retry_after = problem, retry_after

    @property
    def kind(self) -> Kind:
        """The kind of the error, from which the command line takes its exit code."""
        return _KINDS.get(self.problem.code, "unavailable" if self.problem.status >= _SERVER_ERRORS else "malformed")


def no_answer(detail: str, status: int = 0) -> ApiError:
    """Return the error of a request that got no answer of the API; `status` is that of an answer that is none."""
    return ApiError(Problem(code="no-answer", status=status, detail=detail[:4000]))
