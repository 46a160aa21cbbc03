"""Tests of an engine that misbehaves: a stand-in on a socket, asked through the real SDK."""

from __future__ import annotations

import gc
import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from sandbox.boxes.docker import engine as module
from sandbox.boxes.docker.engine import Container, Engine
from sandbox.errors import Unavailable

from ....patience import PATIENCE, until

pytestmark = pytest.mark.slow


@contextmanager
def an_engine(path: Path, noted: bytes | None, status: int = 200) -> Iterator[list[dict[str, list[str]]]]:
    """Answer every request; one for events gets `noted`, or no answer where that is None.

    It makes containers and hangs up before it says so; to remove one is to be told, after once, that it is gone.
    """
    stop, asked, made = threading.Event(), [], set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if "/events" not in self.path:
                return self.say(200, json.dumps({"ApiVersion": "1.41"}).encode())
            asked.append(parse_qs(urlsplit(self.path).query))
            return self.say(status, noted) if noted is not None else stop.wait(PATIENCE)

        def do_POST(self) -> None:
            asked.append(parse_qs(urlsplit(self.path).query))
            made.update(asked[-1]["name"])
            self.connection.shutdown(socket.SHUT_RDWR)

        def do_DELETE(self) -> None:
            container = urlsplit(self.path).path.rpartition("/")[2]
            self.say(204 if container in made else 404, b"" if container in made else b'{"message":"gone"}')
            asked.append({"removed": [container]})
            made.discard(container)

        def say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self) -> str:
            return "here"

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Ignore clients that went away."""

    with Server(str(path), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield asked
        finally:
            stop.set()
            server.shutdown()


def memory_ran_out(path: Path, monkeypatch) -> bool:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    engine = Engine()
    with closing(engine._client):
        return Container(engine, "a").had_too_little_memory(17)


@pytest.mark.parametrize(
    ("noted", "status", "said"),
    [(b"", 200, False), (b'{"Action":"oom"}\n', 200, True), (b'{"message":"x"}', 500, False)],
)
def test_the_engines_out_of_memory_events_are_read(noted, status, said, tmp_path, monkeypatch):
    with an_engine(tmp_path / "d.sock", noted, status) as asked:
        assert memory_ran_out(tmp_path / "d.sock", monkeypatch) is said
    [query] = asked
    assert json.loads(query["filters"][0]) == {"container": ["a"], "event": ["oom"]}
    assert query["since"] == ["17"]


def test_an_engine_that_stands_still_over_that_question_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "EVENT_SECONDS", 0.3)
    with an_engine(tmp_path / "d.sock", None) as asked:
        assert memory_ran_out(tmp_path / "d.sock", monkeypatch) is False
        until(lambda: asked, "the question")  # it may come to read it only now
        assert len(asked) == 1


@pytest.mark.parametrize(("address", "reason"), [("tcp://127.0.0.1:1", "Connection refused"), ("nonsense", "port")])
def test_an_address_where_no_engine_answers_is_named_with_the_reason_alone(address, reason, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(Unavailable, match=rf"^no Docker engine answers at {address}: .*{reason}.*; start one, or corr"):
        Engine().ping()


def test_an_engine_that_goes_away_between_a_knock_and_a_question_leaves_no_socket_open(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/d.sock")
    engine = Engine()
    with an_engine(tmp_path / "d.sock", b""):
        engine.ping()
    engine._client.close()  # no connection is kept
    monkeypatch.setattr(module, "knock", lambda address: None)
    with closing(engine._client), pytest.raises(Unavailable, match="the Docker engine says"):
        engine.ping()
    gc.collect()


def test_a_container_that_was_made_by_an_engine_that_went_away_before_it_said_so_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/d.sock")
    engine = Engine()
    with an_engine(tmp_path / "d.sock", b"") as asked, closing(engine._client):
        with pytest.raises(Unavailable, match="making a container"):
            engine.create({"Image": "a"})
        [query] = asked
        assert engine.left == set(query["name"])
        engine.ping()
    assert asked[1:] == [{"removed": query["name"]}] * 2
    assert not engine.left
