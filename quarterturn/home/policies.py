"""Witness policy of a home's log: reading the policy file, and who cosigned a published head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quarterturn.errors import Malformed, NotFound
from quarterturn.home.paths import HomePaths
from quarterturn.settings import may_be_sent_to
from vault.errors import Broken
from vault.errors import Malformed as NoPolicy
from vault.ledger.signatures.policy import Policy, PolicyMember

NOBODY = "No witness cosigned this: order and time are the operator's word."


def of(places: HomePaths, name: str) -> Policy | None:
    """Return the policy of a home for its own log, or None where the settings name none.

    Raises:
        NotFound, Malformed: there is no such policy, or its quorum can never come together.
    """
    if not name:
        return None
    policy = read(places.home / name)
    policy.logs = [PolicyMember(key) for key in places.log_keys]
    return policy


def read(path: Path) -> Policy:
    """Read a policy whose witnesses are to be asked.

    Raises:
        NotFound: there is no such file.
        Malformed: it is none, a URL in it is not encrypted, or too many of its witnesses have none.
    """
    try:
        policy = Policy.parse(path.read_bytes())
    except (FileNotFoundError, IsADirectoryError):
        raise NotFound(f"there is no policy at {path}, which ledger.policy of the settings names") from None
    except NoPolicy as error:
        raise Malformed(f"{path} is no policy: {error}") from None
    for name, member in policy.witnesses.items():
        if member.url and not may_be_sent_to(member.url):
            raise Malformed(f"{path}: the URL of witness {name} is neither https nor on the loopback")
    if not policy.satisfied([name for name, member in policy.witnesses.items() if member.url]):
        raise Malformed(f"{path}: too few witnesses have a URL for the quorum {policy.quorum!r} ever to come together")
    return policy


def cosigners(policy: Policy | None, note: bytes | str | None) -> list[str]:
    """Return who cosigned a published head, as the policy names them; nobody where they are too few."""
    if policy is None or note is None:
        return []
    try:
        return list(policy.open(note).witnesses)
    except (NoPolicy, Broken):
        return []


def word(witnesses: Sequence[str]) -> str:
    """Say on whose word the log's order and time rest, under a head that these witnesses cosigned."""
    return f"Cosigned by {', '.join(witnesses)}: order and time are their word too." if witnesses else NOBODY
