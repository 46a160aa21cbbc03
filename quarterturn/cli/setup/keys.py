"""Verbs of the key ring: its keys, the locks that open it, custodians' shares and copies."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed, NotFound

if TYPE_CHECKING:
    from vault.keys.locks import Maker
    from vault.keys.locks.custodians import KeyShare

PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
Name = Annotated[str | None, typer.Option("--name", help="The lock's name (default: its kind).")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    keys = typer.Typer(help="The key ring, and the locks that open it.")
    keys.command("list")(keys_list)
    keys.command("rotate")(keys_rotate)
    keys.command("remove")(keys_remove)
    keys.command("split")(keys_split)
    keys.command("restore-from-shares")(restore_from_shares)
    keys.command("backup")(keys_backup)
    add = typer.Typer(help="Add a lock: another way to open the key ring.")
    add.command("passphrase")(add_passphrase)
    add.command("pkcs11")(add_pkcs11)
    add.command("command")(add_command)
    keys.add_typer(add, name="add")
    app.add_typer(keys, name="keys")


def keys_list(home: Home = HOME, as_json: Json = False) -> None:
    """List the keys, their age and what each protects; and the locks of the ring."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.keys import key_locks, rekeying

    with open_app(home) as house:
        ring, locks = rekeying.listing(house), key_locks.listing(house)
        vkey = house.places.log_keys[-1].vkey
        sender, month = house.sender, house.month_key.public_key().public_bytes_raw().hex()
    Output(as_json=as_json).result(
        {
            "ring": ring.data,
            "locks": locks.data,
            "log": {"vkey": vkey},
            "month": {"public": month},
            "endpoint": {"key_id": sender.key_id, "public": sender.public_pem},
        },
        *ring.lines,
        *locks.lines,
        f"log       {vkey}",
        f"month     {month}  signs the results of turns: {house.places.public / 'allowed_signers'}",
        f"endpoint  {sender.key_id}  signs requests to hosted endpoints: {house.places.endpoint_pem}",
    )


def keys_rotate(who: Who, home: Home = HOME, as_json: Json = False) -> None:
    """Rotate the ring's key: wrap everything again under a new key, drop the old one. Run it again to resume."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.keys import rekeying

    out = Output(as_json=as_json)
    with open_app(home) as house:
        report = rekeying.rotate(house, who, out)
    out.result(report.data, *report.lines)


def add_passphrase(who: Who, name: Name = None, home: Home = HOME, as_json: Json = False) -> None:
    """Add a passphrase, from QUARTERTURN_NEW_PASSPHRASE or a prompt; in a ring without one it is the first lock."""
    from quarterturn.cli.terminal.secrets import next_passphrase
    from vault.keys.locks.passphrase import Passphrase

    _added(lambda: Passphrase(next_passphrase()), name, who, home, as_json)


def add_pkcs11(
    who: Who,
    module: Annotated[Path, typer.Option(help="The token's PKCS#11 library, by its absolute path.")],
    token: Annotated[str, typer.Option(help="The token's label.")],
    key: Annotated[str, typer.Option(help="The key's label; created in the token if missing.")] = "quarterturn",
    name: Name = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Add a hardware token (PKCS#11); its PIN comes from QUARTERTURN_PIN or a prompt."""
    from quarterturn.cli.terminal.secrets import pin
    from vault.keys.locks.pkcs11 import NewPkcs11

    _added(lambda: NewPkcs11(module.absolute(), token, key, pin()), name, who, home, as_json)


def add_command(
    who: Who,
    command: Annotated[list[str], typer.Argument(help="The program and its first arguments, after --.")],
    name: Name = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Add a command that wraps and unwraps the key, such as a cloud KMS client (docs/how-to/keep-the-keys.md)."""
    from vault.keys.locks.command import NewCommand

    program = shutil.which(command[0])
    if program is None:
        raise NotFound(f"there is no program {command[0]}: name it by its path")
    _added(lambda: NewCommand([os.path.abspath(program), *command[1:]]), name, who, home, as_json)  # noqa: PTH100 - links stay


def keys_remove(
    lock: Annotated[str, typer.Argument(help="Its name, as `keys list` shows it.")],
    who: Who,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Remove a lock; the last one cannot be removed."""
    from quarterturn.cli.terminal.secrets import open_app, openers
    from quarterturn.keys import key_locks

    with open_app(home) as house:
        report = key_locks.remove(house, lock, openers(house.places), who)
    Output(as_json=as_json).result(report.data, *report.lines)


def keys_split(
    who: Who,
    threshold: Annotated[int, typer.Option(help="How many custodians open the home together, at least 2.")],
    custodian: Annotated[
        list[str],
        typer.Option(help="NAME=KEY, one per custodian; KEY is an age or ssh-ed25519 public key, or a file with it."),
    ],
    out: Annotated[Path, typer.Option(help="A new folder for the custodians' files.")],
    name: Name = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Split the key among custodians (M of N): adds a lock, and writes each custodian an encrypted share file."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.keys import key_locks

    people = _people(custodian)
    with open_app(home) as house:
        report = key_locks.split(house, threshold, people, out, name=name, who=who)
    Output(as_json=as_json).result(report.data, *report.lines)


def restore_from_shares(
    who: Who,
    shares: Annotated[
        list[Path] | None,
        typer.Argument(help="Custodians' share files, encrypted or opened with `age -d`; - or none: prompt."),
    ] = None,
    identity: Annotated[
        list[Path] | None, typer.Option(help="An age or SSH private key that opens some of the files; may repeat.")
    ] = None,
    name: Name = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Restore access from custodians' shares: adds a new passphrase (QUARTERTURN_NEW_PASSPHRASE, or a prompt)."""
    from quarterturn.cli.terminal.secrets import next_passphrase, open_app
    from quarterturn.home.home import HomePaths
    from quarterturn.keys import key_locks
    from vault.keys.locks.custodians import Custodians
    from vault.keys.locks.passphrase import Passphrase

    places = HomePaths(home.resolve())
    places.require()
    key_locks.require_custodians(places)
    brought = [share for path in shares or [Path("-")] for share in _shares(path, identity or [])]
    with open_app(home, [Custodians(brought)]) as house:
        report = key_locks.add(house, Passphrase(next_passphrase()), name, who)
    Output(as_json=as_json).result(report.data, *report.lines)


def keys_backup(
    destination: Annotated[Path, typer.Argument(help="A new file, on another disk.")],
    unprotected: Annotated[
        bool, typer.Option("--unprotected", help="Allow a ring without a lock; only the file mode protects the copy.")
    ] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Copy the ring's file, which custodians need besides their shares; needs no passphrase."""
    from quarterturn.home.home import HomePaths
    from quarterturn.keys import key_locks

    places = HomePaths(home.resolve())
    places.require()
    report = key_locks.copy(places, destination.absolute(), unprotected=unprotected)
    Output(as_json=as_json).result(report.data, *report.lines)


def _added(make: Callable[[], Maker], name: str | None, who: str, home: Path, as_json: bool) -> None:
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.keys import key_locks

    with open_app(home) as house:
        report = key_locks.add(house, make(), name, who)
    Output(as_json=as_json).result(report.data, *report.lines)


def _people(words: Sequence[str]) -> dict[str, str]:
    """Give names and public keys, without the comments that SSH writes behind them."""
    people: dict[str, str] = {}
    for word in words:
        name, sign, key = word.partition("=")
        if not sign or not key or not PERSON.fullmatch(name) or name in people:
            raise Malformed("a custodian is NAME=KEY, each name once and of letters, digits, dots and dashes")
        text = key if key.startswith(("age1", "ssh-")) else Path(key).read_text(encoding="utf-8", errors="replace")
        people[name] = " ".join(text.split()[:2])
    return people


def _shares(path: Path, identities: Sequence[Path]) -> list[KeyShare]:
    """Read the shares in one file, or from standard input, or ask for them."""
    from vault.keys import private_files
    from vault.keys.locks.custodians import KeyShare, decrypted

    if str(path) == "-":
        data, what = _typed() if sys.stdin.isatty() else sys.stdin.buffer.read(private_files.MAX_SIZE), "the share"
    else:
        data, what = path.read_bytes()[: private_files.MAX_SIZE], f"the share in {path}"
    keys = [private_files.read(identity, "identity") for identity in identities]
    return [KeyShare.parse(line, what) for line in decrypted(data, keys, what).splitlines() if line.strip()]


def _typed() -> bytes:
    from quarterturn.cli.terminal.secrets import typed

    lines = iter(lambda: typed("Share (empty line to finish): "), "")
    return "\n".join(lines).encode()
