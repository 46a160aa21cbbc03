"""Servers that a home has added, for verbs that read grammars or predicates and open no home."""

from __future__ import annotations

from pathlib import Path


def register_servers_of(home: Path | None) -> None:
    """Have this process know the servers that a home has added; without a home it knows the shipped ones alone.

    Raises:
        Malformed, NotFound: as for `quarterturn.servers.home_servers.of_home`.
    """
    if home is not None:
        from quarterturn.servers.home_servers import of_home

        of_home(home).register()
