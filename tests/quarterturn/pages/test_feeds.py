"""Tests of the feeds: Atom as RFC 4287 requires it, with stable ids."""

import re
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from quarterturn.pages.feeds import ATOM, Entry, Feed, written

DAY = datetime(2027, 1, 1, 0, 0, 5, tzinfo=UTC)
ENTRY = Entry("Historical-2026-12", 'Open: <b> & "c"', DAY, "/releases/Historical-2026-12", "application/json", "All.")


def parsed(*entries, origin="bench.example/log"):
    return ElementTree.fromstring(written(Feed("releases", "Releases", origin, "2026-12", entries)))


def of(element, name):
    return element.findall(f"{{{ATOM}}}{name}")


@pytest.mark.parametrize("entries", [(), (ENTRY,), (ENTRY, ENTRY)])
def test_a_feed_and_its_entries_have_what_they_must(entries):
    feed = parsed(*entries)
    assert feed.tag == f"{{{ATOM}}}feed"
    for element in (feed, *of(feed, "entry")):
        assert [len(of(element, name)) for name in ("id", "title", "updated")] == [1, 1, 1]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", of(element, "updated")[0].text)
    assert len(of(feed, "author")) == 1, "so no entry needs one"
    assert [link.get("href") for link in of(feed, "link") if link.get("rel") == "self"] == ["/feeds/releases.atom"]
    for entry in of(feed, "entry"):
        assert [link.get("rel") for link in of(entry, "link")] == ["alternate"]


def test_an_id_is_a_tag_of_what_cannot_change():
    feed = parsed(ENTRY)
    assert of(feed, "id")[0].text == "tag:bench.example,2026-12:log/releases"
    assert of(of(feed, "entry")[0], "id")[0].text == "tag:bench.example,2026-12:log/releases/Historical-2026-12"
    assert of(parsed(origin="Bench_1.example:8443"), "id")[0].text == "tag:bench-1.example,2026-12:releases"


def test_entries_are_plain_text_and_the_newest_dates_the_feed():
    later = Entry("x", "x", DAY.replace(day=2), "/x", "text/plain", "x")
    feed = parsed(ENTRY, later)
    assert of(of(feed, "entry")[0], "title")[0].text == 'Open: <b> & "c"'
    assert of(feed, "updated")[0].text == "2027-01-02T00:00:05Z"
