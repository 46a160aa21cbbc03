"""JSON Schemas (draft 2020-12) that documents must match; their messages never quote the document."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vault.errors import Malformed

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


class Schema:
    """A JSON Schema. The library is loaded with the first document: it takes a sixth of a short command's time."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema

    @cached_property
    def _validator(self) -> Validator:
        from vault.schema_validator import Strict  # noqa: PLC0415 - see the class

        validator: Validator = Strict(self._schema)
        return validator

    def require(self, document: Any, what: str) -> None:
        """Refuse a document that does not match.

        Raises:
            Malformed: the message gives the path of the first thing that is wrong (in document order) and says what
                belongs there.
        """
        from vault.schema_validator import first_fault  # noqa: PLC0415 - see the class

        if fault := first_fault(self._validator, document):
            raise Malformed(f"{what} is malformed at {fault[0]}: {fault[1]}.")
