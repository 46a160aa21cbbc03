"""Errors of the API, with GitHub's wording.

Whoever finds an error raises it; the dispatcher turns it into an answer and adds the page of the documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Detail = Mapping[str, Any] | str


class ApiError(Exception):
    """An answer that is no success: a status, a message, and for a validation what was wrong with which field."""

    def __init__(self, status: int, message: str, errors: Sequence[Detail] = ()) -> None:
        super().__init__(message)
        self.status, self.message, self.errors = status, message, tuple(errors)

    def body(self, documentation: str) -> dict[str, Any]:
        """Return the JSON body."""
        errors = {"errors": list(self.errors)} if self.errors else {}
        return {"message": self.message, **errors, "documentation_url": documentation, "status": str(self.status)}


def not_found(message: str = "Not Found") -> ApiError:
    """Say that there is no such thing, or none that the caller may see."""
    return ApiError(404, message)


def forbidden() -> ApiError:
    """Say that the token does not reach this far."""
    return ApiError(403, "Resource not accessible by personal access token")


def unprocessable(message: str) -> ApiError:
    """Refuse a request that is understood, in one sentence."""
    return ApiError(422, message)


def refused(*sentences: str) -> ApiError:
    """Refuse a request with sentences that belong to no field."""
    return ApiError(422, "Unprocessable Entity", sentences)


def invalid(resource: str, field: str, code: str = "invalid", **more: Any) -> ApiError:
    """Refuse a request for one field (`code` is missing, missing_field, invalid, already_exists or custom)."""
    return ApiError(422, "Validation Failed", [{**more, "resource": resource, "field": field, "code": code}])


def custom(resource: str, message: str, *, whole: str = "Validation Failed", **more: Any) -> ApiError:
    """Refuse a request with a sentence about a resource."""
    return ApiError(422, whole, [{"resource": resource, "code": "custom", **more, "message": message}])
