"""HTTP client with which a home's log asks its witnesses for cosignatures.

Redirects are not followed and no proxy is used; an answer that is longer than any valid one is refused.
"""

from __future__ import annotations

import logging
import ssl
from functools import cached_property

import httpx2

from sandbox.remote_document import InvalidAnswer, read_within
from vault.errors import Unavailable
from vault.ledger.signatures.policy import Policy
from vault.ledger.write.append import LogWriter
from vault.ledger.write.cosigning import Witnesses
from vault.ledger.write.witness import WitnessReply

MAX_ANSWER = 64 * 1024
TIMEOUT = httpx2.Timeout(10.0)

log = logging.getLogger("quarterturn.witnesses")


def of(writer: LogWriter, policy: Policy) -> Witnesses:
    """Give the witnesses of a log."""
    return Witnesses(writer, policy, WitnessClient(), on_complaint=lambda sentence: log.warning("%s", sentence))


class WitnessClient:
    """Posts to a witness."""

    def __call__(self, url: str, body: bytes) -> WitnessReply:
        """Ask.

        Raises:
            Unavailable: there is no answer, or it never ends.
        """
        try:
            with (
                httpx2.Client(verify=self._context, trust_env=False, timeout=TIMEOUT) as client,
                client.stream("POST", url, content=body, headers={"accept-encoding": "identity"}) as response,
            ):
                return WitnessReply(response.status_code, response.headers.get("content-type", ""), _whole(response))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unavailable(f"does not answer ({type(error).__name__})") from None

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context()


def _whole(response: httpx2.Response) -> bytes:
    try:
        return read_within(response.iter_raw(), MAX_ANSWER, "it")
    except InvalidAnswer:
        raise Unavailable("answered without an end") from None
