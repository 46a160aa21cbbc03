"""Parses frozen states for tests, in the test's own process; the product's runner never does."""

from __future__ import annotations

import io

from sandbox.world.frozen import FrozenState
from verifiers.formats.archive import tree_from_tar
from verifiers.tree import FileTree


def content(state: FrozenState) -> FileTree:
    """Parse a frozen state.

    Raises:
        Malformed: of `verifiers.errors`: it is none.
    """
    return tree_from_tar(io.BytesIO(state.tar))
