"""Verbs of two-person approval: list, show and sign requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import Malformed, Refused

if TYPE_CHECKING:
    from quarterturn.approvals.approvals import RulesStatus
    from quarterturn.approvals.request import ApprovalRequest

Id = Annotated[str, typer.Argument(help="A request's id.")]


verbs = typer.Typer(name="approval", help="Requests that two maintainers must sign, and who signed.")


@verbs.command("list")
def approval_list(
    everything: Annotated[bool, typer.Option("--all", help="Include used and expired requests.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List requests that wait for signatures, after adopting changed rules or requesting signatures for them."""
    from contextlib import suppress

    from quarterturn.errors import Unapproved

    with open_app(home) as app:
        with suppress(Unapproved):  # what it says is among the lines
            app.auth.approvals.in_force()
        status = app.auth.approvals.status()
        requests = [
            request for request in app.auth.approvals.requests() if everything or request.stands(app.home.now())
        ]
    data = {"rules": status.rules.document(), "requests": [_data(request) for request in requests]}
    lines = [f"{request.id}  {request.words}  {_signed(request)}" for request in requests]
    Output(as_json=as_json).result(data, *rules_lines(status), *lines)


@verbs.command("show")
def approval_show(
    request_id: Id,
    out: Annotated[Path | None, typer.Option(help="Where to write the bytes that are to be signed.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show what a request asks for, and write the bytes to be signed."""
    from quarterturn.approvals.signatures import NAMESPACE

    with open_app(home) as app:
        request = app.auth.approvals.request(request_id)
    if out is not None:
        _write(out, request.body)
    lines = [
        f"{request.words[:1].upper()}{request.words[1:]}",
        *(f"  {name:<12} {value}" for name, value in _flat(request.detail)),
        f"Asked      by {request.asked_by} on {request.asked_at:%Y-%m-%d at %H:%M} UTC; "
        f"stands until {request.expires_at:%Y-%m-%d}",
        f"Signed     {_signed(request)}",
    ]
    if out is not None:
        lines.append(f"Sign it    ssh-keygen -Y sign -n {NAMESPACE} -f KEY {out}")
    Output(as_json=as_json).result(_data(request) | {"body": request.body.decode()}, *lines)


@verbs.command("sign")
def approval_sign(
    request_id: Id,
    key: Annotated[Path | None, typer.Option(help="Your OpenSSH key (Ed25519, without a passphrase).")] = None,
    signature: Annotated[Path | None, typer.Option(help="A signature that `ssh-keygen -Y sign` made.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Sign a request."""
    from quarterturn.approvals import signatures

    if (key is None) == (signature is None):
        both = "give --key or --signature, not both"
        raise Malformed(both if key else "give your --key, or a --signature that `ssh-keygen -Y sign` made")
    with open_app(home) as app:
        asked = app.auth.approvals.request(request_id)
        armored = signatures.sign(asked.body, key) if key is not None else _text(signature)
        request = app.auth.approvals.sign(request_id, armored)
    Output(as_json=as_json).result(_data(request), f"{request.words}: {_signed(request)}")


def rules_lines(status: RulesStatus) -> list[str]:
    """Say which acts need two maintainers, and whether the settings say the same."""
    from quarterturn.settings import SIGNERS

    rules, names = status.rules, ", ".join(sorted(status.rules.maintainers))
    if not rules.actions:
        return ["nothing takes two maintainers: one person may do everything"]
    lines = [f"{SIGNERS} of {names} sign for: {', '.join(sorted(set(rules.actions)))}"]
    if status.state == "proposed":
        lines.append("these rules come into force with the first such act, or now: `quarterturn approval list`")
    if status.state == "changed":
        request = status.request
        wait = f"request {request} waits for signatures" if request else "`quarterturn approval list` makes it"
        changed = "the settings or the witnesses' policy differ, and two maintainers must sign for the change"
        lines.append(f"{changed}: {wait}")
    return lines


def _write(file: Path, body: bytes) -> None:
    try:
        with file.open("xb") as new:
            new.write(body)
    except FileExistsError:
        raise Refused(f"{file} is there already and was left as it is: name a new file") from None


def _text(file: Path | None) -> str:
    try:
        return (file or Path()).read_text(encoding="ascii")
    except UnicodeDecodeError:
        raise Malformed(f"{file} is no text, so it holds no signature") from None


def _signed(request: ApprovalRequest) -> str:
    names = f"signed by {', '.join(request.signed_by)}" if request.signed_by else "signed by nobody"
    return f"{names}; used up" if request.used_at is not None else names


def _data(request: ApprovalRequest) -> dict[str, Any]:
    return {
        "id": request.id,
        "action": request.action,
        "subject": request.subject,
        "detail": dict(request.detail),
        "asked_by": request.asked_by,
        "asked_at": request.asked_at.isoformat(),
        "expires_at": request.expires_at.isoformat(),
        "used_at": request.used_at.isoformat() if request.used_at else None,
        "signed_by": list(request.signed_by),
    }


def _flat(detail: Any, name: str = "") -> list[tuple[str, str]]:
    """Return every value of a detail with its path."""
    items = detail.items() if isinstance(detail, dict) else enumerate(detail) if isinstance(detail, list) else None
    if items is None:
        return [(name, "none" if detail is None else str(detail))]
    return [pair for key, value in items for pair in _flat(value, f"{name}.{key}" if name else str(key))]
