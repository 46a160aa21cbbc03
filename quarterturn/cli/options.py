"""The options that every verb shares."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Home = Annotated[
    Path,
    typer.Option("--home", envvar="QUARTERTURN_HOME", help="The folder that holds everything.", show_default=True),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Who = Annotated[str, typer.Option("--as", envvar="QUARTERTURN_USER", help="Who you are, for the access log.")]

HOME = Path("quarterturn-home")
