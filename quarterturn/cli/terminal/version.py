"""Option `--version`: the version of the installed package, or of a checkout that is not installed."""

from __future__ import annotations

from pathlib import Path

import typer

PACKAGE = "quarterturn"
_PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def show(value: bool) -> None:
    """Print the version and end."""
    if value:
        print(f"{PACKAGE} {version()}")
        raise typer.Exit


def version() -> str:
    """Return the version: of the checkout that this file lies in, else of the installed package."""
    import tomllib

    if _PROJECT.is_file():
        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8")).get("project", {})
        if project.get("name") == PACKAGE:
            return str(project["version"])
    from importlib import metadata

    return metadata.version(PACKAGE)
