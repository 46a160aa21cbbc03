"""Verbs of the key ring: its keys, the locks that open it, custodians' shares and copies."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import next_passphrase, open_app, openers, pin, typed
from quarterturn.errors import Malformed, NotFound

if TYPE_CHECKING:
    from quarterturn.keys.key_locks import LockChange
    from quarterturn.keys.rekeying import RingKey
    from vault.keys.locks import Maker
    from vault.keys.locks.custodians import KeyShare

PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
SHUT = "Only custodians open it now, so no service can start on it: `keys restore-from-shares` gives it a passphrase."
Name = Annotated[str | None, typer.Option("--name", help="The lock's name (default: its kind).")]


verbs = typer.Typer(name="keys", help="The key ring, and the locks that open it.")
add_verbs = typer.Typer(name="add", help="Add a lock: another way to open the key ring.")
verbs.add_typer(add_verbs)


@verbs.command("list")
def keys_list(home: Home = HOME, as_json: Json = False) -> None:
    """List the keys, their age and what each protects; and the locks of the ring."""
    from vault.keys.locks import asks

    with open_app(home) as app:
        keys, places = app.keys.rotation.keys(), app.home.places
        locks = [{"name": lock["name"], "kind": lock["kind"], "opens": asks(lock)} for lock in app.home.ring.locks]
        vkey = places.log_keys[-1].vkey
        sender, month = app.keys.sender, app.keys.month_key.public_key().public_bytes_raw().hex()
    Output(as_json=as_json).result(
        {
            "ring": [_key_data(key) for key in keys],
            "locks": locks,
            "log": {"vkey": vkey},
            "month": {"public": month},
            "endpoint": {"key_id": sender.key_id, "public": sender.public_pem},
        },
        *map(_key_line, keys),
        *(f"lock      {lock['name']}  to open it, {lock['opens']}" for lock in locks),
        f"log       {vkey}",
        f"month     {month}  signs the results of turns: {places.public / 'allowed_signers'}",
        f"endpoint  {sender.key_id}  signs requests to hosted endpoints: {places.endpoint_pem}",
    )


@verbs.command("rotate")
def keys_rotate(who: Who, home: Home = HOME, as_json: Json = False) -> None:
    """Rotate the ring's key: wrap everything again under a new key, drop the old one. Run it again to resume."""
    out = Output(as_json=as_json)
    with open_app(home) as app:
        made, ring = app.keys.rotation.rotate(who, out), app.home.places.ring
    out.result(
        asdict(made),
        f"{made.key_id} is the ring's key now; {made.rewrapped} were wrapped again under it.",
        f"Dropped: {', '.join(made.dropped)}. Backups of before open only with a copy of {ring} of before.",
        f"Copy {ring.parent} again: older copies do not open what is sealed from now on.",
    )


@add_verbs.command("passphrase")
def add_passphrase(who: Who, name: Name = None, home: Home = HOME, as_json: Json = False) -> None:
    """Add a passphrase, from QUARTERTURN_NEW_PASSPHRASE or a prompt; in a ring without one it is the first lock."""
    from vault.keys.locks.passphrase import Passphrase

    _added(lambda: Passphrase(next_passphrase()), name, who, home, as_json)


@add_verbs.command("pkcs11")
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
    from vault.keys.locks.pkcs11 import NewPkcs11

    _added(lambda: NewPkcs11(module.absolute(), token, key, pin()), name, who, home, as_json)


@add_verbs.command("command")
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


@verbs.command("remove")
def keys_remove(
    lock: Annotated[str, typer.Argument(help="Its name, as `keys list` shows it.")],
    who: Who,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Remove a lock; the last one cannot be removed."""
    with open_app(home) as app:
        change = app.keys.locks.remove(lock, openers(app.home.places), who)
    names = _names(change)
    lines = [f"{lock} no longer opens the key ring; {', '.join(names)} does."]
    if change.fresh_root:
        lines.append("The root key is a fresh one; start again what runs on this home, and copy the ring's file again.")
    else:
        lines.append(
            "The root key is unchanged, since not every remaining lock could be opened here: whoever has an older copy "
            f"of the ring's file, and what opens {lock}, still has it. For a fresh one, open the home with what is "
            "left, add any lock and remove it again."
        )
    if {left["kind"] for left in change.locks} == {"custodians"}:
        lines.append(SHUT)
    data = {"removed": lock, "fresh_root": change.fresh_root, "locks": names}
    Output(as_json=as_json).result(data, *lines)


@verbs.command("split")
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
    people, folder = _people(custodian), out.resolve()
    with open_app(home) as app:
        change, ring = app.keys.locks.split(threshold, people, folder, name=name, who=who), app.home.places.ring
    lines = [
        f"{folder}: one file for each of {', '.join(people)}, encrypted to their own keys. Hand them out.",
        f"Any {threshold} of them open the home with a copy of {ring} and the verb",
        "`quarterturn keys restore-from-shares`.",
    ]
    if len(change.locks) == 1:
        lines.append(SHUT)
    shares = {"shares": str(folder), "threshold": threshold, "custodians": list(people)}
    data = {"lock": change.name, "locks": _names(change), **shares}
    Output(as_json=as_json).result(data, *lines, *_if_it_was_open(change))


@verbs.command("restore-from-shares")
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
    from quarterturn.home.paths import HomePaths
    from quarterturn.keys import key_locks
    from vault.keys.locks.custodians import Custodians
    from vault.keys.locks.passphrase import Passphrase

    places = HomePaths(home.resolve())
    places.require()
    key_locks.require_custodians(places)
    brought = [share for path in shares or [Path("-")] for share in _shares(path, identity or [])]
    with open_app(home, [Custodians(brought)]) as app:
        change = app.keys.locks.add(Passphrase(next_passphrase()), name, who)
    _say_added(change, places.ring, as_json)


@verbs.command("backup")
def keys_backup(
    destination: Annotated[Path, typer.Argument(help="A new file, on another disk.")],
    unprotected: Annotated[
        bool, typer.Option("--unprotected", help="Allow a ring without a lock; only the file mode protects the copy.")
    ] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Copy the ring's file, which custodians need besides their shares; needs no passphrase."""
    from quarterturn.home.paths import HomePaths
    from quarterturn.keys import key_locks
    from vault.keys.unlocking import protected

    places = HomePaths(home.resolve())
    places.require()
    destination = destination.absolute()
    key_locks.copy(places, destination, unprotected=unprotected)
    names = " or ".join(lock["name"] for lock in key_locks.locks_of(places))
    line = f"{destination} opens with {names}, also after one of them was removed from the home's own."
    if not protected(places.ring):
        line = f"{destination} opens for whoever can read it: nothing but its mode protects it."
    Output(as_json=as_json).result({"copy": str(destination)}, line)


def _added(make: Callable[[], Maker], name: str | None, who: str, home: Path, as_json: bool) -> None:
    with open_app(home) as app:
        _say_added(app.keys.locks.add(make(), name, who), app.home.places.ring, as_json)


def _say_added(change: LockChange, ring: Path, as_json: bool) -> None:
    line = f"{change.name} opens the key ring now. Copy {ring} again: older copies lack this lock."
    data = {"lock": change.name, "locks": _names(change)}
    Output(as_json=as_json).result(data, line, *_if_it_was_open(change))


def _if_it_was_open(change: LockChange) -> list[str]:
    if not change.was_open:
        return []
    return ["Older copies of it lie open: destroy them, and change the ring's key with `quarterturn keys rotate`."]


def _names(change: LockChange) -> list[str]:
    return [lock["name"] for lock in change.locks]


def _key_data(key: RingKey) -> dict[str, Any]:
    return {
        "key_id": key.key_id,
        "primary": key.primary,
        "made": key.made and key.made.isoformat(),
        "age_days": key.age_days,
        **asdict(key.protects),
    }


def _key_line(key: RingKey) -> str:
    age = "of unknown age" if key.made is None else f"{key.age_days} days old"
    return f"ring      {key.key_id}  {'primary' if key.primary else 'old'}, {age}, protects {key.protects}"


def _people(words: Sequence[str]) -> dict[str, str]:
    """Return names and public keys, without the comments that SSH writes behind them."""
    people: dict[str, str] = {}
    for word in words:
        name, sign, key = word.partition("=")
        if not sign or not key or not PERSON.fullmatch(name) or name in people:
            raise Malformed("a custodian is NAME=KEY, each name once and of letters, digits, dots and dashes")
        text = key if key.startswith(("age1", "ssh-")) else _key_in(name, Path(key))
        people[name] = " ".join(text.split()[:2])
    return people


def _key_in(name: str, file: Path) -> str:
    if not file.is_file():
        raise NotFound(f"the key of {name} is neither age1... nor ssh-ed25519 ..., and there is no file {file}")
    return file.read_text(encoding="utf-8", errors="replace")


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
    lines = iter(lambda: typed("Share (empty line to finish): "), "")
    return "\n".join(lines).encode()
