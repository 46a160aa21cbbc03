"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.choices import BoxName

LONGEST_NAME = 200


def _name(value: str | None) -> str | None:
    """Refuse a name that the access log could not hold."""
    if value is not None and (not value.strip() or len(value) > LONGEST_NAME or not value.isprintable()):
        raise typer.BadParameter(f"a name has 1 to {LONGEST_NAME} printable characters")
    return value


Home = Annotated[
    Path,
    typer.Option("--home", envvar="QUARTERTURN_HOME", help="The folder that holds everything.", show_default=True),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Who = Annotated[
    str, typer.Option("--as", envvar="QUARTERTURN_USER", callback=_name, help="Who you are, for the access log.")
]
WhoIfPrivate = Annotated[
    str | None,
    typer.Option(
        "--as",
        envvar="QUARTERTURN_USER",
        callback=_name,
        help="Who you are, for the access log: for a task of the home.",
    ),
]
Box = Annotated[BoxName | None, typer.Option("--box", help="Where to run it (default: the home's setting).")]

HOME = Path("quarterturn-home")
