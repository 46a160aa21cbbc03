"""Verb `access log`: who opened which task or evidence, when and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import Malformed

if TYPE_CHECKING:
    from quarterturn.app import Application
    from vault.store.tasks import AccessEntry


verbs = typer.Typer(name="access", help="Who opened what, when and why.")


@verbs.command("log")
def access_log(
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the hash chain, and the heads that the public log commits to.")
    ] = False,
    task: Annotated[str | None, typer.Option(help="Only entries about this task.")] = None,
    who: Annotated[str | None, typer.Option(help="Only entries of this person.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only entries since then: YYYY-MM-DD or YYYY-MM-DDTHH:MM, UTC.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="How many entries, the newest.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List every opening of a task or of sealed evidence, and the acts that two maintainers signed for."""
    moment = _moment(since) if since is not None else None
    if verify and (task, who, since, limit) != (None, None, None, None):
        raise Malformed("--verify checks the whole log: leave --task, --who, --since and --limit out")
    out = Output(as_json=as_json)
    with open_app(home) as app:
        if verify:
            _verify(app, out)
            return
        with app.home.vault.accesses(task=task, who=who, since=moment, limit=limit) as entries:
            rendered: list[Any] = [_data(entry) if as_json else _line(entry) for entry in entries]
    out.result(rendered if as_json else [], *([] if as_json else rendered))


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        sentence = f"--since '{text}' is no day: write it as 2026-12-01, or with a time as 2026-12-01T06:30, in UTC"
        raise Malformed(sentence) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _verify(app: Application, out: Output) -> None:
    from dataclasses import asdict

    from quarterturn.approvals.approvals import account
    from quarterturn.audit import access_check
    from rotation.turn import access_log_head

    log = access_check.verify(app.home.vault, access_log_head.committed(app.home.vault, app.log.ledger, who=account()))
    lines = [f"{log.entries} entries, the chain holds"]
    if log.heads:
        lines.append(f"committed to in the public log: {log.heads} times, up to entry {log.covered} by {log.last}")
    lines.append(f"newer than that: {log.entries - log.covered} entries, which the next turn commits to")
    out.result(asdict(log), *lines)


def _data(entry: AccessEntry) -> dict[str, str]:
    return {"at": entry.at.isoformat(), "who": entry.who, "what": entry.what, "why": entry.why}


def _line(entry: AccessEntry) -> str:
    return f"{entry.at.isoformat()}  {entry.who:<12} {entry.what:<28} {entry.why}"
