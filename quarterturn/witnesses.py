"""The witnesses of a home: the policy that its settings name, and how its log asks them over HTTP.

Redirects are not followed and proxies not asked; an answer is cut off where it is longer than any that is one.
"""

from __future__ import annotations

import logging
import ssl
from functools import cached_property
from pathlib import Path

import httpx2

from quarterturn.errors import Malformed, NotFound
from quarterturn.settings import may_be_sent_to
from vault.errors import Malformed as NoPolicy
from vault.errors import Unavailable
from vault.ledger.append import LogWriter
from vault.ledger.cosigning import Witnesses
from vault.ledger.policy import Policy
from vault.ledger.witness import Reply

MAX_ANSWER = 64 * 1024
TIMEOUT = httpx2.Timeout(10.0)

log = logging.getLogger("quarterturn.witnesses")


def of(writer: LogWriter, path: Path) -> Witnesses:
    """Give the witnesses of a log.

    Raises:
        NotFound, Malformed: there is no such policy, or its quorum can never come together.
    """
    return Witnesses(writer, read(path), Asker(), told=lambda sentence: log.warning("%s", sentence))


def read(path: Path) -> Policy:
    """Read a policy whose witnesses are to be asked.

    Raises:
        NotFound: there is no such file.
        Malformed: it is none, a URL in it is not encrypted, or too many of its witnesses have none.
    """
    try:
        policy = Policy.parse(path.read_bytes())
    except (FileNotFoundError, IsADirectoryError):
        raise NotFound(f"there is no policy at {path}: ledger.policy of the settings names it") from None
    except NoPolicy as error:
        raise Malformed(f"{path} is no policy: {error}") from None
    for name, one in policy.witnesses.items():
        if one.url and not may_be_sent_to(one.url):
            raise Malformed(f"{path}: the URL of witness {name} is neither https nor on the loopback")
    if not policy.satisfied([name for name, one in policy.witnesses.items() if one.url]):
        raise Malformed(f"{path}: too few witnesses have a URL for the quorum {policy.quorum!r} ever to come together")
    return policy


class Asker:
    """Posts to a witness."""

    def __call__(self, url: str, body: bytes) -> Reply:
        """Ask.

        Raises:
            Unavailable: there is no answer, or it never ends.
        """
        try:
            with (
                httpx2.Client(verify=self._context, trust_env=False, timeout=TIMEOUT) as client,
                client.stream("POST", url, content=body, headers={"accept-encoding": "identity"}) as response,
            ):
                return Reply(response.status_code, response.headers.get("content-type", ""), _whole(response))
        except httpx2.HTTPError as error:
            raise Unavailable(f"does not answer ({type(error).__name__})") from None

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context()


def _whole(response: httpx2.Response) -> bytes:
    found = b""
    for part in response.iter_raw():
        found += part
        if len(found) > MAX_ANSWER:
            raise Unavailable("answered without an end")
    return found
