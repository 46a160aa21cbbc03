"""Builds the state of a world from a task document, and the question that is asked of it in the end.

Every server of which the task lists a tool is seeded; where the document gives no state, with what it starts with, or
an empty one. A document
that no world can be made from is refused before anything is started, with the place that is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sandbox.errors import Malformed
from sandbox.gateway import CALL_SECONDS, GatewaySpec, listing
from sandbox.judge import Question
from sandbox.kinds.registry import KINDS
from sandbox.model_gateway.process import ModelGateway
from sandbox.servers.registry import SERVERS, Server
from sandbox.servings.world_data import build_world_data
from sandbox.transcript import ToolCall
from sandbox.world.frozen import FrozenState
from vault.task.document import Task
from verifiers.language import predicate as predicates
from verifiers.tree import FileTree


def servers_of(document: Mapping[str, Any], offered_tools: Sequence[str] = ()) -> tuple[Server, ...]:
    """Return the servers of which the task lists a tool, or the run offers one beside them, sorted by name.

    Raises:
        Malformed: a listed tool is not one of the pinned servers', or two servers need one backend.
    """
    for place, tool in enumerate(document["available_tools"]):
        server, _, name = tool.partition(".")
        if server not in SERVERS or name not in SERVERS[server].tools:
            raise Malformed(f"the task at $.available_tools[{place}] names {tool!r}, which no pinned server has")
    names = sorted({tool.partition(".")[0] for tool in (*document["available_tools"], *offered_tools)})
    servers = tuple(SERVERS[name] for name in names)
    kinds = [server.kind for server in servers if KINDS[server.kind].backend]
    if twice := next((kind for kind in kinds if kinds.count(kind) > 1), None):
        where = "what the run offers names" if offered_tools else "the task at $.available_tools lists"
        raise Malformed(f"{where} two servers of the state kind {twice}, whose backend a world has once")
    return servers


def read_by(task: Task) -> list[Server]:
    """List the servers that a task's predicate looks at and whose state only their own program can read."""
    looked_at = predicates.namespaces(predicates.parse(task.success_predicate))
    return [server for server in servers_of(task.document) if server.reader and server.name in looked_at]


def initial_state_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the initial state of each of a task's servers, the one that it starts with where the document gives none.

    Raises:
        Malformed: it is for a server of which no tool is listed, or as for `servers_of`.
    """
    servers = servers_of(document)
    states: Mapping[str, Any] = document.get("initial_state", {})
    if extra := sorted(states.keys() - {server.name for server in servers}):
        raise Malformed(f"the task at $.initial_state.{extra[0]} seeds a server of which no tool is listed")
    return {server.name: states.get(server.name, server.start_with) for server in servers}


def seed(document: Mapping[str, Any]) -> FileTree:
    """Build the whole data folder of a task's world.

    Raises:
        Malformed: the initial state does not fit its server's schema, contradicts itself, or is for a server of which
            no tool is listed.
    """
    return build_world_data(initial_state_of(document))


def untouched(document: Mapping[str, Any]) -> FrozenState:
    """Return a task's seed as a state that nobody has touched.

    Raises:
        Malformed: as for `seed`.
    """
    return FrozenState(seed(document).to_tar())


RULE = "Leave everything else as it is, unless the task says otherwise."
"""What an agent is told with each task that has a frame (`verifiers.states.frame`)."""


def render_goal(task: Task) -> str:
    """Return the goal as an agent is told it: with the rule, where its verdict has a frame."""
    framed = predicates.needs_baseline(predicates.parse(task.success_predicate, filled=False))
    return f"{task.goal}\n\n{RULE}" if framed else task.goal


def question_of(task: Task) -> Question:
    """Return what is asked of a task's final state."""
    servers = servers_of(task.document)
    roots = {server.name: server.root for server in servers}
    files = {server.name: (server.file, KINDS[server.kind].file or "") for server in servers if server.file}
    return Question(task.success_predicate, predicates.parse(task.success_predicate), roots, files)


def specify(
    task: Task,
    *,
    alias: str,
    wall: float,
    servers: Sequence[Server],
    solution: Mapping[str, Any] | None = None,
    script: Sequence[ToolCall] | None = None,
    models: ModelGateway | None = None,
    call_seconds: float = CALL_SECONDS,
    offered_tools: Sequence[str] = (),
) -> GatewaySpec:
    """Select from a task what its agent may see: never its id, its predicate or its initial state.

    Where tools are offered beside its own, all are in alphabetical order: none tells which the task lists.
    """
    tools = sorted({*task.available_tools, *offered_tools}) if offered_tools else task.available_tools
    return GatewaySpec(
        alias=alias,
        goal=render_goal(task),
        tools=listing(tools),
        servers=[server.name for server in servers],
        max_steps=task.max_steps,
        faults=[asdict(fault) for fault in task.faults],
        wall=wall,
        call_seconds=max(call_seconds, *(server.call_seconds for server in servers), 0),
        solution=solution,
        script=script,
        model={"wire": models.spec.wire, "models": list(models.spec.models)} if models else None,
        server=task.server,
    )
