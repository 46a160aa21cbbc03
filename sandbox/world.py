"""From a task document to the state of its world, and back to what predicates look at.

Every server of which the task lists a tool is seeded, with an empty state where the document gives none. A document
that no world can be made from is refused before anything is started, with the place that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sandbox.errors import Malformed, NotFound
from sandbox.servers import SERVERS
from sandbox.servers.check import check
from verifiers.views import DIRECTORY, Node, Tree, Views


def servers_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the servers of which the task lists a tool, sorted.

    Raises:
        Malformed: a listed tool is not one of the pinned servers'.
    """
    for place, tool in enumerate(document["available_tools"]):
        server, _, name = tool.partition(".")
        if server not in SERVERS or name not in SERVERS[server].tools:
            raise Malformed(f"the task at $.available_tools[{place}] names {tool!r}, which no pinned server has")
    return tuple(sorted({tool.partition(".")[0] for tool in document["available_tools"]}))


def seed(servers: Sequence[str], initial_state: Mapping[str, Any]) -> Tree:
    """Build the whole data folder of a world with these servers.

    Raises:
        Malformed: a state does not fit its server's schema, contradicts itself, or is for a server that does not run.
        NotFound: there is no server of one of these names.
    """
    if extra := sorted(initial_state.keys() - set(servers)):
        raise Malformed(f"the task at $.initial_state.{extra[0]} seeds a server of which no tool is listed")
    nodes: dict[str, Node] = {}
    for name in servers:
        if name not in SERVERS:
            raise NotFound(f"there is no server {name!r}; the servers are {', '.join(SERVERS)}")
        server, state = SERVERS[name], initial_state.get(name, {})
        check(server.state_schema, state, f"the initial state of {name}")
        nodes |= {server.root: DIRECTORY, **server.seed(state).under(server.root)}
    return Tree(nodes)


def views(tree: Tree, servers: Iterable[str], answer: str | None) -> Views:
    """Cut a world's data folder into one view a server; one that is gone is empty, as its agent left it."""
    return Views({name: tree.below(SERVERS[name].root) for name in servers}, answer)
