"""Verbs of two-person approval: list, show and sign requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed, Refused

if TYPE_CHECKING:
    from quarterturn.approvals.signatures import ApprovalRequest

Id = Annotated[str, typer.Argument(help="A request's id.")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    approval = typer.Typer(help="Requests that two maintainers must sign, and who signed.")
    approval.command("list")(approval_list)
    approval.command("show")(approval_show)
    approval.command("sign")(approval_sign)
    app.add_typer(approval, name="approval")


def approval_list(
    everything: Annotated[bool, typer.Option("--all", help="Include used and expired requests.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List requests that wait for signatures, after adopting changed rules or requesting signatures for them."""
    from contextlib import suppress

    from quarterturn.approvals import approvals, signatures
    from quarterturn.cli.terminal.secrets import open_house
    from quarterturn.errors import Unapproved

    with open_house(home) as house:
        with suppress(Unapproved):  # what it says is among the lines
            approvals.in_force(house)
        rules = approvals.told(house)
        found = [one for one in signatures.requests(house) if everything or one.stands(house.now())]
    data = [_data(one) for one in found]
    lines = [f"{one.id}  {one.words}  {_signed(one)}" for one in found]
    Output(as_json=as_json).result({"rules": rules.data, "requests": data}, *rules.lines, *lines)


def approval_show(
    request_id: Id,
    out: Annotated[Path | None, typer.Option(help="Where to write the bytes that are to be signed.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show what a request asks for, and write the bytes to be signed."""
    from quarterturn.approvals import signatures
    from quarterturn.cli.terminal.secrets import open_house

    with open_house(home) as house:
        one = signatures.request(house, request_id)
    if out is not None:
        _write(out, one.body)
    lines = [
        f"{one.words[:1].upper()}{one.words[1:]}",
        *(f"  {name:<12} {value}" for name, value in _flat(one.detail)),
        f"Asked      by {one.asked_by} on {one.asked_at:%Y-%m-%d at %H:%M} UTC; stands until {one.expires_at:%Y-%m-%d}",
        f"Signed     {_signed(one)}",
    ]
    if out is not None:
        lines.append(f"Sign it    ssh-keygen -Y sign -n {signatures.NAMESPACE} -f KEY {out}")
    Output(as_json=as_json).result(_data(one) | {"body": one.body.decode()}, *lines)


def approval_sign(
    request_id: Id,
    key: Annotated[Path | None, typer.Option(help="Your OpenSSH key (Ed25519, without a passphrase).")] = None,
    signature: Annotated[Path | None, typer.Option(help="A signature that `ssh-keygen -Y sign` made.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Sign a request."""
    from quarterturn.approvals import signatures
    from quarterturn.cli.terminal.secrets import open_house

    if (key is None) == (signature is None):
        raise Malformed("give your --key, or a --signature that `ssh-keygen -Y sign` made")
    with open_house(home) as house:
        asked = signatures.request(house, request_id)
        armored = signatures.made(asked.body, key) if key is not None else _text(signature)
        one = signatures.keep(house, request_id, armored)
    Output(as_json=as_json).result(_data(one), f"{one.words}: {_signed(one)}")


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


def _signed(one: ApprovalRequest) -> str:
    names = f"signed by {', '.join(one.signed_by)}" if one.signed_by else "signed by nobody"
    return f"{names}; used up" if one.used_at is not None else names


def _data(one: ApprovalRequest) -> dict[str, Any]:
    return {
        "id": one.id,
        "action": one.action,
        "subject": one.subject,
        "detail": dict(one.detail),
        "asked_by": one.asked_by,
        "asked_at": one.asked_at.isoformat(),
        "expires_at": one.expires_at.isoformat(),
        "used_at": one.used_at.isoformat() if one.used_at else None,
        "signed_by": list(one.signed_by),
    }


def _flat(detail: Any, name: str = "") -> list[tuple[str, str]]:
    """Give every value of a detail with its path."""
    items = detail.items() if isinstance(detail, dict) else enumerate(detail) if isinstance(detail, list) else None
    if items is None:
        return [(name, "none" if detail is None else str(detail))]
    return [pair for key, value in items for pair in _flat(value, f"{name}.{key}" if name else str(key))]
