"""Passphrases: from the environment, else from the terminal, never from an argument."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from quarterturn.errors import Malformed

if TYPE_CHECKING:
    from quarterturn.wiring import House


def open_house(home: Path) -> House:
    """Open a home, asking for the passphrase where the ring needs one and a person is there to give it."""
    from quarterturn import wiring
    from vault.errors import Locked

    house = wiring.open_house(home)
    try:
        _ = house.ring
    except Locked:
        if house.has_passphrase or not sys.stdin.isatty():
            raise
        house = wiring.House(home, getpass.getpass("Passphrase of the key ring: ").encode())
    return house


def new_passphrase() -> bytes:
    """Take a new passphrase from the environment, or ask for it twice.

    Raises:
        Malformed: it is empty, or the two differ.
    """
    from quarterturn.wiring import PASSPHRASE, passphrase_from_environment

    if (given := passphrase_from_environment()) is not None:
        first = second = given
    elif sys.stdin.isatty():
        first = getpass.getpass("New passphrase: ").encode()
        second = getpass.getpass("The same again: ").encode()
    else:
        raise Malformed(f"there is nobody to ask for a passphrase: put it into {PASSPHRASE}")
    if not first or first != second:
        raise Malformed("the passphrase is empty or the two differ; nothing was made")
    return first
