"""Hosted-endpoint options of a run, and what must hold before a task is sent to the endpoint.

A process that runs endpoints also listens for their callbacks, for as long as one is run; all endpoints of a process
share the listener. It speaks plain HTTP: `--public-url` names the https address of the proxy in front of it.

The exceptions that make this testable (`--test-allow`, `--test-authority`) are refused for a run that counts: a private
run in an official box, or of any set but the public `demo`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quarterturn.choices import LISTEN
from quarterturn.errors import Malformed, NotFound, Refused
from sandbox.boxes.box import Box
from sandbox.endpoint.address import Exceptions, parse, pin
from sandbox.endpoint.callbacks import Callbacks, listening
from sandbox.endpoint.hosted_agent import EndpointLauncher, public_base
from sandbox.endpoint.signature import Sender
from sandbox.runs import submission as submissions
from sandbox.runs.submission import Submission

PUBLIC_SET = "demo"


@dataclass(frozen=True, slots=True)
class Hosting:
    """The options of a hosted endpoint.

    Attributes:
        url: the endpoint.
        listen: `ADDRESS:PORT` for its callbacks.
        public_url: the URL under which it reaches them; None where the exceptions cover `listen` itself.
        test_allow: ranges of addresses that are reached whatever they are.
        test_authority: certificates that are believed beside the machine's own.
    """

    url: str
    listen: str = LISTEN
    public_url: str | None = None
    test_allow: tuple[str, ...] = ()
    test_authority: Path | None = None

    @property
    def exceptions(self) -> Exceptions:
        """What a test may do."""
        if self.test_authority is not None and not self.test_authority.is_file():
            raise NotFound(f"{self.test_authority} is not a file; --test-authority takes certificates as PEM")
        return Exceptions.of(self.test_allow, self.test_authority)

    def submission(self, submitter: str) -> Submission:
        """Make the submission; a wrong address to listen on is refused before a task is drawn for it."""
        listening(self.listen)
        return submissions.endpoint(parse(self.url), submitter=submitter)

    def require_official(self, box: Box, of_set: str) -> None:
        """Refuse the exceptions in a run that counts.

        Raises:
            Refused: there are some, and the run does.
        """
        if self.exceptions and (box.official or of_set != PUBLIC_SET):
            raise Refused(
                "--test-allow and --test-authority are for tests: private tasks are sent to public addresses, with "
                f"certificates that everybody believes (a private run of the set '{of_set}' in the {box.name} box)"
            )

    @contextmanager
    def places(self, sender: Sender) -> Iterator[EndpointLauncher]:
        """Pin the endpoint, and listen for its callbacks; before this nothing was opened or sent.

        Raises:
            Malformed, Refused: a URL or an address is none that may be used; the message says why.
            Unavailable: the name cannot be resolved, or nobody can listen there.
        """
        listening(self.listen)
        exceptions = self.exceptions
        pinned = pin(parse(self.url), exceptions)
        if self.public_url is None and not exceptions.ranges:
            raise Malformed(
                "give --public-url: the https URL under which the endpoint reaches what listens on --listen"
            )
        base = public_base(self.public_url or f"http://{self.listen}", exceptions)
        with _heard(self.listen, base) as callbacks:
            yield EndpointLauncher(pinned, sender, callbacks, exceptions)


_shared: dict[tuple[str, str], tuple[Callbacks, int]] = {}  # by where and as what, with how many use it
_sharing = threading.Lock()


@contextmanager
def _heard(listen: str, base: str) -> Iterator[Callbacks]:
    """Listen for callbacks, sharing a listener at this address in this process; its last user closes it."""
    place = (listen, base)
    with _sharing:
        callbacks, users = _shared.get(place) or (Callbacks(listen, base), 0)
        _shared[place] = (callbacks, users + 1)
    try:
        yield callbacks
    finally:
        with _sharing:
            users = _shared[place][1] - 1
            _shared[place] = (callbacks, users)
            if not users:
                _shared.pop(place)[0].close()


def ephemeral() -> Sender:
    """Make a request signer whose key lasts for one command."""
    return Sender(Ed25519PrivateKey.generate())
