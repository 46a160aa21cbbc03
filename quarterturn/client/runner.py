"""Client of the API for a runner: it registers, takes and starts servings, and hands in what they left.

It implements `sandbox.servings.runner.RunnerService`. Every request may be sent again.
"""

from __future__ import annotations

from sandbox.remote_document import RemoteDocument

VERSION = 1
HELD_BACK_SECONDS = 30.0
"""A service answers within twenty where it has nothing to say."""


class Registered(RemoteDocument):
    """The answer to a registration."""

    version: int
    hand_in_key: str


class TakenServing(RemoteDocument):
    """A serving that was taken, encrypted."""

    handle: str
    document: str


class ServingKey(RemoteDocument):
    """The key of a serving."""

    key: str


class WantedServings(RemoteDocument):
    """The servings that are still wanted."""

    wanted: list[str]
