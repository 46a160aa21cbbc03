"""Parquet files of an export, by `pyarrow`, which `quarterturn-export[parquet]` names."""

from __future__ import annotations

import io
import shlex
import sys
from importlib.util import find_spec

from quarterturn.errors import Unavailable
from quarterturn_export.columns import Table

PACKAGE = "pyarrow>=26"


def require() -> None:
    """Refuse to write Parquet where its library is missing.

    Raises:
        Unavailable: it is; the message has the command that installs it.
    """
    if find_spec("pyarrow") is None:
        raise Unavailable(f"Parquet files are written by pyarrow, which is not installed: {install()}")


def install() -> str:
    """Return the command that installs it into this environment."""
    return f"{shlex.quote(sys.executable)} -m pip install '{PACKAGE}'"


def parquet(table: Table) -> bytes:
    """Write a table as a Parquet file, with its columns' types also where it has no row."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra
    from pyarrow import parquet as writer  # noqa: PLC0415

    types = {
        "text": arrow.string(),
        "texts": arrow.list_(arrow.string()),
        "integer": arrow.int64(),
        "number": arrow.float64(),
        "boolean": arrow.bool_(),
    }
    schema = arrow.schema([(column.name, types[column.type]) for column in table.columns])
    sink = io.BytesIO()
    writer.write_table(arrow.Table.from_pylist([dict(row) for row in table.rows], schema=schema), sink)
    return sink.getvalue()
