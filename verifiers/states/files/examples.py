"""Small folders, on which the catalogue's examples of files are shown and run."""

from __future__ import annotations

from collections.abc import Mapping

from verifiers.tree import Views, tree_of


def files(content: Mapping[str, str]) -> Views:
    """Give the views of a world whose filesystem server left these files."""
    return Views({"filesystem": tree_of(content)})
