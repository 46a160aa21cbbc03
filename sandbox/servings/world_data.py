"""Builds the data folder of a world from the initial states of its servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.kinds.common.check import check
from sandbox.servers.registry import SERVERS
from verifiers.tree import DIRECTORY, FileTree, Node


def build_world_data(initial_state: Mapping[str, Mapping[str, Any]]) -> FileTree:
    """Build the whole data folder, with a folder for each server that has a part of the state.

    Raises:
        Malformed: a part does not fit its server's schema, or contradicts itself.
        NotFound: there is no such server.
    """
    nodes: dict[str, Node] = {}
    for name, state in initial_state.items():
        server = SERVERS.named(name)
        check(server.state_schema, state, f"the initial state of {name}")
        nodes |= {server.root: DIRECTORY, **server.seed(state).under(server.root)}
    return FileTree(nodes)
