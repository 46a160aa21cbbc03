"""Tests of the response cache: public answers are served without asking again until public data changes."""

import asyncio
import gzip
import os

import pytest

from quarterturn.http.responses import response_cache
from quarterturn.http.responses.response_cache import ResponseCache

OLD = 1_000_000_000
PUBLIC = [(b"cache-control", b"public, max-age=30"), (b"etag", b'"a"'), (b"content-length", b"4")]


class App:
    """A stub application that gives the same answer each time and counts its requests."""

    def __init__(self):
        self.asked, self.status, self.headers = 0, 200, list(PUBLIC)

    async def __call__(self, scope, receive, send):
        self.asked += 1
        scope["route"] = "the route"
        await send({"type": "http.response.start", "status": self.status, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": b"body"})


class Place:
    """A folder, an application, and the cache in front of it; changes lie `age` seconds back."""

    def __init__(self, folder, age=60):
        self.folder, self.app = folder, App()
        self.changed(OLD)
        self.shelf = ResponseCache(self.app, [folder, folder / "none"], now=lambda: OLD + age)

    def changed(self, when):
        os.utime(self.folder, (when, when))

    def ask(self, path="/leaderboard", *, method="GET", query=b"", **headers):
        said = []

        async def send(message):
            said.append(message)

        given = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": given}
        asyncio.run(self.shelf(scope, None, send))
        start, body = said
        return start["status"], dict(start["headers"]), body["body"], scope["route"]


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_a_public_answer_is_computed_once(place):
    first = place.ask()
    assert place.ask() == first == (200, dict(PUBLIC), b"body", "the route")
    assert place.app.asked == 1
    place.ask("/tasks"), place.ask(query=b"month=2026-12")
    assert place.app.asked == 3


def test_a_page_is_compressed_for_clients_that_accept_gzip(place):
    place.app.headers.append((b"content-type", b"text/html; charset=utf-8"))
    place.ask()
    status, headers, body, _ = place.ask(accept_encoding=b"br, gzip;q=0.8")
    assert (status, gzip.decompress(body)) == (200, b"body")
    assert (headers[b"content-encoding"], headers[b"etag"], headers[b"vary"]) == (b"gzip", b'W/"a"', b"accept-encoding")
    assert headers[b"content-length"] == b"%d" % len(body)
    for tag in (b'W/"a"', b'"a"'):
        status, headers, body, _ = place.ask(accept_encoding=b"gzip", if_none_match=tag)
        assert (status, body, headers.keys() & {b"content-length", b"content-type"}) == (304, b"", set())
    for takes in (b"", b"br", b"gzip;q=0", b"identity"):
        _, headers, body, _ = place.ask(accept_encoding=takes)
        assert (headers.get(b"content-encoding"), headers[b"vary"], body) == (None, b"accept-encoding", b"body")


def test_nothing_but_pages_that_everybody_may_read_is_compressed(place):
    place.ask()
    assert b"content-encoding" not in place.ask(accept_encoding=b"gzip")[1], "it is no page"
    place.app.headers = [(b"cache-control", b"no-store"), (b"etag", b'"a"'), (b"content-type", b"text/html")]
    place.changed(OLD + 1)
    place.ask()
    assert b"content-encoding" not in place.ask(accept_encoding=b"gzip")[1], "it is somebody's own"
    place.app.headers = [*PUBLIC, (b"content-type", b"text/html")]
    place.changed(OLD + 2)
    place.ask()
    mine = place.ask(accept_encoding=b"gzip", authorization=b"Bearer x")
    assert b"content-encoding" not in mine[1], "who shows a token is answered anew"


def test_a_change_of_what_is_public_empties_it(place):
    place.ask()
    place.changed(OLD + 1)
    place.ask(), place.ask()
    assert place.app.asked == 2


def test_nothing_is_kept_while_the_last_change_is_young(tmp_path):
    place = Place(tmp_path, age=0.5)
    place.ask(), place.ask()
    assert place.app.asked == 2


def test_a_client_with_the_current_version_gets_304(place):
    place.ask()
    for tag in (b'"a"', b'W/"a"', b'"b", "a"', b"*"):
        status, headers, body, _ = place.ask(if_none_match=tag)
        assert (status, body, headers.get(b"etag"), b"content-length" in headers) == (304, b"", b'"a"', False)
    assert place.ask(if_none_match=b'"b"')[0] == 200
    assert place.app.asked == 1


@pytest.mark.parametrize(
    "change",
    [
        {"status": 404},
        {"headers": [(b"cache-control", b"no-store"), (b"etag", b'"a"')]},
        {"headers": [(b"cache-control", b"public")]},
        {"headers": [*PUBLIC, (b"set-cookie", b"a=b")]},
    ],
)
def test_a_private_answer_is_not_cached(place, change):
    vars(place.app).update(change)
    place.ask(), place.ask()
    assert place.app.asked == 2


def test_requests_with_a_token_or_another_method_bypass_the_cache(place):
    place.ask()
    place.ask(authorization=b"Bearer qt_")
    place.ask(method="POST")
    assert place.app.asked == 3


def test_invented_queries_fill_no_memory(place, monkeypatch):
    monkeypatch.setattr(response_cache, "MAX_RESPONSES", 10)
    monkeypatch.setattr(response_cache, "MAX_BYTES", 24)
    for number in range(50):
        place.ask(query=b"%d" % number)
        assert len(place.shelf._kept) <= 6
