"""Verbs `submit` and `submissions`: send an agent to a service, wait for its result, list what was submitted."""

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

MOST = 200
"""The longest page of the API."""

if TYPE_CHECKING:
    from quarterturn.client import Client, Submission

To = Annotated[
    str, typer.Option("--to", envvar="QUARTERTURN_SERVICE", help="The address of the service, https://NAME.")
]
TokenFile = Annotated[
    Path | None, typer.Option(help="A file of mode 600 with your token (default: QUARTERTURN_TOKEN, or a prompt).")
]


verbs = typer.Typer()


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
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="How many to show.")] = 20,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """List your submissions at a service, with state and score."""
    with service_client(to, token_file) as client:
        page = client.submissions(limit=limit)
        shown = [_shown(submission) for submission in page.submissions]
    lines = [line for _, line in shown] or ["You have submitted nothing yet: `quarterturn submit IMAGE`."]
    if page.next is not None:
        lines.append(f"There are older ones; --limit shows up to {MOST}.")
    Output(as_json=as_json).result([data for data, _ in shown], *lines)


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
    """Give a submission with its score, as data and as a line."""
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
    """Give what its owner may see of a submission's score: of a private run its rate, else what was passed."""
    if rate := submission.success_rate:
        words = f"success rate {rate.value:.1%} ({rate.low:.1%} to {rate.high:.1%})"
        return {"value": rate.value, "low": rate.low, "high": rate.high}, words
    if score := submission.score:
        return score.model_dump(), f"{score.passed} of {score.attempted} passed"
    return None, ""
