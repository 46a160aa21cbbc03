"""Verbs of submitters: send an agent to a service, wait for its result, list what was submitted, name agents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.choices import TaskSet
from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import api_token
from quarterturn.errors import Malformed

if TYPE_CHECKING:
    from quarterturn.client import Client, NamedAgent, Submission

MAX_PAGE_ENTRIES = 200
"""The longest page of the API."""

To = Annotated[
    str, typer.Option("--to", envvar="QUARTERTURN_SERVICE", help="The address of the service, https://NAME.")
]
TokenFile = Annotated[
    Path | None, typer.Option(help="A file of mode 600 with your token (default: QUARTERTURN_TOKEN, or a prompt).")
]
Agent = Annotated[str, typer.Argument(help="The agent: `mine` of the image ada/mine:1.")]

verbs = typer.Typer()
name_verbs = typer.Typer(name="display-name", help="Names that a service's leaderboards show for your agents.")


@verbs.command("submit")
def submit(
    image: Annotated[str, typer.Argument(help="A container image that the service can pull.")],
    to: To,
    tasks: Annotated[TaskSet, typer.Option("--set", help="The public dev set, or the private set.")] = "dev",
    model: Annotated[str | None, typer.Option(help="A language model of the service that the agent may use.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended; exit 1 unless it is done.")] = False,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Submit a container image to a service, and show its score."""
    out = Output(as_json=as_json)
    with service_client(to, token_file) as client:
        submission = client.submit(image=image, set=tasks, model=model)
        if wait:
            out.say(f"{submission.id}: submitted. It goes on if you interrupt; `quarterturn submissions` shows it.")
            submission = client.wait(submission.id, on_change=lambda now: out.say(f"{now.id}: {_state(now)}"))
        data, line = _shown(submission)
    out.result(data, line, ok=not wait or submission.state == "done")


@verbs.command("submissions")
def submissions(
    to: To,
    limit: Annotated[int, typer.Option(min=1, max=MAX_PAGE_ENTRIES, help="How many to show.")] = 20,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """List your submissions at a service, with state and score."""
    with service_client(to, token_file) as client:
        page = client.submissions(limit=limit)
        shown = [_shown(submission) for submission in page.submissions]
    lines = [line for _, line in shown] or ["You have submitted nothing yet: `quarterturn submit IMAGE`."]
    if page.next is not None:
        lines.append(f"There are older ones; --limit shows up to {MAX_PAGE_ENTRIES}.")
    Output(as_json=as_json).result([data for data, _ in shown], *lines)


@name_verbs.command("set")
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
    Output(as_json=as_json).result(named.model_dump(), _name_line(named))


@name_verbs.command("remove")
def give_up(agent: Agent, to: To, token_file: TokenFile = None, as_json: Json = False) -> None:
    """Show an agent of yours without a name again; the name stays reserved for you."""
    with service_client(to, token_file) as client:
        named = client.give_up_display_name(agent)
    Output(as_json=as_json).result(named.model_dump(), _name_line(named))


@name_verbs.command("list")
def list_agents(to: To, token_file: TokenFile = None, as_json: Json = False) -> None:
    """List the agents that you have submitted, with their names."""
    with service_client(to, token_file) as client:
        agents = client.agents()
    lines = [_name_line(agent) for agent in agents] or ["You have submitted nothing yet: `quarterturn submit IMAGE`."]
    Output(as_json=as_json).result([agent.model_dump() for agent in agents], *lines)


@contextmanager
def service_client(to: str, token_file: Path | None) -> Iterator[Client]:
    """Connect to a service with the caller's token.

    Raises:
        Malformed: the address or the token cannot be one.
    """
    from quarterturn.client import Client, require_address

    try:
        require_address(to)
        client = Client(to, api_token(token_file))
    except ValueError as error:
        raise Malformed(f"{error} (--to, --token-file)") from None
    with client:
        yield client


def _shown(submission: Submission) -> tuple[dict[str, Any], str]:
    """Return a submission with its score, as data and as a line."""
    score, words = _score(submission)
    made = submission.created_at
    line = f"{submission.id}  {made:%Y-%m-%d %H:%M} UTC  {submission.set:<7}  {submission.month}  {_state(submission)}"
    data = submission.model_dump(exclude={"created_at"}) | {"created_at": made.isoformat(), "score": score}
    return data, f"{line}  {words}".rstrip()


def _state(submission: Submission) -> str:
    """Say where a submission is, in the words of the service's pages."""
    if submission.state == "queued":
        return f"waiting (queue position {(submission.place or 0) + 1})"
    if submission.failure is None:
        return submission.state
    refunded = "" if submission.charged else " Not charged."
    return f"{submission.state} ({submission.failure.code}): {submission.failure.hint}{refunded}"


def _score(submission: Submission) -> tuple[dict[str, Any] | None, str]:
    """Return what its owner may see of a submission's score: of a private run its rate, else what was passed."""
    if rate := submission.success_rate:
        words = f"success rate {rate.value:.1%} ({rate.low:.1%} to {rate.high:.1%})"
        return {"value": rate.value, "low": rate.low, "high": rate.high}, words
    if score := submission.score:
        return score.model_dump(), f"{score.passed} of {score.attempted} passed"
    return None, ""


def _name_line(agent: NamedAgent) -> str:
    removed = f"; the operator removed the name {agent.removed}" if agent.removed else ""
    return f"{agent.agent}: {agent.display_name or 'no display name'}{removed}"
