"""Atom feeds (RFC 4287) of releases and of the log's checkpoints. Pure.

An id is a tag (RFC 4151) of the log's own name and of what cannot change, a release's name or a checkpoint's size, so
it stays the same wherever the feed is served. Addresses are relative to the feed's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.etree import ElementTree as Tree

ATOM = "http://www.w3.org/2005/Atom"
_NO_NAME = re.compile(r"[^a-z0-9.-]")


@dataclass(frozen=True)
class Entry:
    """An entry of a feed.

    Attributes:
        name: what it is called for ever, within the feed.
        title: for people.
        at: when it was published.
        href: where it is.
        media: what it is.
        text: what there is to say.
    """

    name: str
    title: str
    at: datetime
    href: str
    media: str
    text: str


@dataclass(frozen=True)
class Feed:
    """A feed.

    Attributes:
        name: the last part of its address, and of its id.
        title: for people.
        origin: the log's name.
        since: the first month, YYYY-MM: since then the name has been the log's.
        entries: the newest first.
    """

    name: str
    title: str
    origin: str
    since: str
    entries: Sequence[Entry]

    @property
    def id(self) -> str:
        """Its tag."""
        authority, _, path = self.origin.partition("/")
        host = _NO_NAME.sub("-", authority.partition(":")[0].lower())
        return f"tag:{host},{self.since}:{path}/{self.name}" if path else f"tag:{host},{self.since}:{self.name}"


def written(feed: Feed) -> bytes:
    """Write a feed; the same one gives the same bytes."""
    root = Tree.Element("feed", {"xmlns": ATOM, "xml:lang": "en"})
    newest = max((entry.at for entry in feed.entries), default=_beginning(feed.since))
    _texts(root, id=feed.id, title=feed.title, updated=_moment(newest))
    Tree.SubElement(root, "link", {"rel": "self", "type": "application/atom+xml", "href": f"/feeds/{feed.name}.atom"})
    Tree.SubElement(root, "link", {"rel": "alternate", "type": "text/html", "href": "/rotation"})
    _texts(Tree.SubElement(root, "author"), name=feed.origin)
    for entry in feed.entries:
        item = Tree.SubElement(root, "entry")
        at = _moment(entry.at)
        _texts(item, id=f"{feed.id}/{entry.name}", title=entry.title, updated=at, published=at, summary=entry.text)
        Tree.SubElement(item, "link", {"rel": "alternate", "type": entry.media, "href": entry.href})
    text: str = Tree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def _texts(parent: Tree.Element, **texts: str) -> None:
    for name, text in texts.items():
        Tree.SubElement(parent, name).text = text


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _beginning(month: str) -> datetime:
    year, number = map(int, month.split("-"))
    return datetime(year, number, 1, tzinfo=UTC)
