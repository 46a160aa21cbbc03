"""JSON Schemas (draft 2020-12) that documents must match; their messages never quote the document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from vault.errors import Malformed


class Schema:
    """A JSON Schema. The library is loaded with the first document: that takes a tenth of a second."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema

    @cached_property
    def _first_fault(self) -> Callable[[Any], tuple[str, str] | None]:
        from vault.schema_validator import Strict, first_fault  # noqa: PLC0415 - see the class

        return partial(first_fault, Strict(self._schema))

    def require(self, document: Any, what: str) -> None:
        """Refuse a document that does not match.

        Raises:
            Malformed: the message gives the path of the first thing that is wrong (in document order) and says what
                belongs there.
        """
        if fault := self._first_fault(document):
            raise Malformed(f"{what} is malformed at {fault[0]}: {fault[1]}.")
