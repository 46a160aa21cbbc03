"""HTTP client with which a home's log asks its witnesses for cosignatures.

An answer that is longer than any valid one is refused (`sandbox.remote_client` says what else).
"""

from __future__ import annotations

import logging
import ssl
from functools import cached_property

from sandbox.remote_client import NoAnswer, RemoteClient
from sandbox.remote_document import InvalidAnswer, read_within
from vault.errors import Unavailable
from vault.ledger.signatures.policy import Policy
from vault.ledger.write.cosigning import Witnesses
from vault.ledger.write.log_files import LogFiles
from vault.ledger.write.witness import WitnessReply

MAX_ANSWER = 64 * 1024
SECONDS = 10.0  # for one step of an exchange; all of it has three times as long

log = logging.getLogger("quarterturn.witnesses")


def of(writer: LogFiles, policy: Policy) -> Witnesses:
    """Return the witnesses of a log."""
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
                RemoteClient(SECONDS, verify=self._context) as client,
                client.exchange("POST", url, 3 * SECONDS, content=body) as response,
            ):
                answer = read_within(response.iter_raw(), MAX_ANSWER, "it")
                return WitnessReply(response.status_code, response.headers.get("content-type", ""), answer)
        except NoAnswer as error:
            raise Unavailable(f"does not answer ({error})") from None
        except InvalidAnswer:
            raise Unavailable("answered without an end") from None

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context()
