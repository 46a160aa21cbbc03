"""Verbs of display names: the names that leaderboards show for one's agents at a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from quarterturn.cli.daily.submit import To, TokenFile, service_client
from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output

if TYPE_CHECKING:
    from quarterturn.client import NamedAgent

Agent = Annotated[str, typer.Argument(help="The agent: `mine` of the image ada/mine:1.")]


verbs = typer.Typer(name="display-name", help="Names that a service's leaderboards show for your agents.")


@verbs.command("set")
def choose(
    agent: Agent,
    name: Annotated[str, typer.Argument(help="The name: 2 to 40 ASCII letters and digits, a letter first.")],
    to: To,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Choose the name of an agent of yours, in all its versions; nobody else can have it."""
    with service_client(to, token_file) as client:
        named = client.choose_display_name(agent, name)
    Output(as_json=as_json).result(named.model_dump(), _line(named))


@verbs.command("remove")
def give_up(agent: Agent, to: To, token_file: TokenFile = None, as_json: Json = False) -> None:
    """Show an agent of yours without a name again; the name stays reserved for you."""
    with service_client(to, token_file) as client:
        named = client.give_up_display_name(agent)
    Output(as_json=as_json).result(named.model_dump(), _line(named))


@verbs.command("list")
def list_agents(to: To, token_file: TokenFile = None, as_json: Json = False) -> None:
    """List the agents that you have submitted, with their names."""
    with service_client(to, token_file) as client:
        agents = client.agents()
    lines = [_line(agent) for agent in agents] or ["You have submitted nothing yet: `quarterturn submit IMAGE`."]
    Output(as_json=as_json).result([agent.model_dump() for agent in agents], *lines)


def _line(agent: NamedAgent) -> str:
    removed = f"; the operator removed the name {agent.removed}" if agent.removed else ""
    return f"{agent.agent}: {agent.display_name or 'no display name'}{removed}"
