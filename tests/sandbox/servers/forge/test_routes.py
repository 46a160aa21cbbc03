"""Tests of what all forge routes share: authentication, rate limits, malformed bodies, and what a failure leaves."""

import json
import os
import re
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from sandbox.kinds.forge.backend.handlers import repositories
from sandbox.kinds.forge.backend.protocol.web import HttpRequest
from sandbox.kinds.forge.backend.routes import ROUTES, ForgeApp
from sandbox.kinds.forge.backend.storage.bare import GitFailed
from sandbox.kinds.forge.backend.storage.state import ForgeState

from ....patience import PATIENCE, until

pytestmark = pytest.mark.slow

R = "/repos/acme/site"
FORGE = Path(repositories.__file__).parents[1]


def test_every_route_is_described_by_github(description):
    for route in ROUTES:
        path = re.sub(r"\{\w+\*?\}", "7", route.path).replace(
            "/git/refs/7", "/git/ref/7" if route.method == "GET" else "/git/refs/7"
        )
        assert description.template(route.method, path)


def test_a_wrong_token_is_refused(forge):
    shown = forge("GET", R, status=401, headers={"authorization": "Bearer test-other"})
    assert shown["message"] == "Bad credentials"
    assert shown["status"] == "401"


def test_anonymous_callers_may_read_and_not_write(forge):
    assert forge("GET", R, headers={})["permissions"]["push"] is False
    assert forge("POST", f"{R}/issues", {"title": "t"}, status=401, headers={})["message"] == "Requires authentication"


def test_past_the_limit_nothing_is_answered(forge_of):
    forge = forge_of({"users": [{"login": "ada"}], "rate_limit": 2, "repositories": {"ada/a": {}}})
    forge("GET", "/repos/ada/a")
    forge("GET", "/repos/ada/a")
    assert forge.answer.headers["X-RateLimit-Remaining"] == "0"
    shown = forge("GET", "/repos/ada/a", status=403)
    assert shown["message"].startswith("API rate limit exceeded for user ID ")
    assert forge.answer.headers["X-RateLimit-Used"] == "2"


@pytest.mark.parametrize(
    ("data", "message"), [(b"{", "Problems parsing JSON"), (b"[]", "Body should be a JSON object"), (b"[" * 9999, None)]
)
def test_a_body_that_is_no_object_is_refused(forge, data, message):
    answer = forge.forge(HttpRequest("POST", f"{R}/issues", {}, forge.headers, data))
    assert answer.status == 400
    assert message in {None, answer.body["message"]}


def test_an_unknown_path_is_not_found(forge):
    shown = forge("GET", "/nowhere", status=404)
    assert shown["documentation_url"] == "https://docs.github.com/rest"


def test_the_clock_moves_with_writes_alone(forge):
    before = forge.state()["clock"]
    forge("GET", R)
    forge("POST", f"{R}/issues", {"title": ""}, status=422)
    assert forge.state()["clock"] == before
    forge("POST", f"{R}/issues", {"title": "t"}, status=201)
    assert forge.state()["clock"] == before + 1


def test_a_failure_halfway_leaves_nothing(forge, monkeypatch):
    def broken(*_):
        raise GitFailed("git fetch ended with 1")

    monkeypatch.setattr(ForgeState, "copy_git", broken)
    before = forge.state()
    answer = forge.forge(HttpRequest("POST", f"{R}/forks", {}, forge.headers, b""))
    assert (answer.status, answer.body) == (500, {"message": "Server Error"})
    assert forge.state() == before
    forge("GET", "/repos/ada/site", status=404)


def test_half_of_a_surrogate_pair_is_kept_out(forge):
    data = json.dumps({"title": "a\ud800b"}).encode()
    answer = forge.forge(HttpRequest("POST", f"{R}/issues", {}, forge.headers, data))
    assert (answer.status, answer.body["title"]) == (201, "a?b")
    assert forge.state()["repositories"]["acme/site"]["issues"]["6"]["title"] == "a?b"


def test_a_full_disk_is_reported_and_leaves_nothing(forge, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ForgeState, "save", full)
    answer = forge.forge(HttpRequest("POST", f"{R}/issues", {}, forge.headers, b'{"title": "t"}'))
    assert answer.status == 500
    monkeypatch.undo()
    forge("GET", f"{R}/issues/6", status=404)


def test_no_byte_of_an_address_reaches_git_as_an_option(forge):
    for query in ("sha=--all", "sha=main&path=--all", "sha=main%00", "path=a%00b", "sha=@{u}", "sha=main~1", "sha=:/x"):
        answer = forge.forge(HttpRequest("GET", f"{R}/commits", dict(parse_qsl(query)), forge.headers))
        assert answer.status in {200, 404, 500}
        assert answer.status != 200 or answer.body == []


def test_the_next_forge_reads_what_one_wrote(forge):
    forge("POST", f"{R}/issues", {"title": "kept"}, status=201)
    again = ForgeApp(ForgeState(forge.folder))
    answer = again(HttpRequest("GET", f"{R}/issues/6", {}, forge.headers))
    assert answer.body["title"] == "kept"


def test_the_same_calls_give_the_same_bytes(forge_of):
    def played():
        forge = forge_of({"users": [{"login": "ada"}], "repositories": {"ada/a": {}}})
        forge("PUT", "/repos/ada/a/contents/x", {"message": "m", "content": "eA=="}, status=201)
        forge("POST", "/repos/ada/a/issues", {"title": "t", "labels": ["x"]}, status=201)
        return {
            str(path.relative_to(forge.folder)): path.read_bytes() for path in forge.folder.rglob("*") if path.is_file()
        }

    assert played() == played()


@pytest.mark.parametrize("name", sorted(path.stem for path in FORGE.rglob("*.py")))
def test_no_module_hides_one_of_the_standard_library(name):
    assert name.startswith("__") or name not in sys.stdlib_module_names


@contextmanager
def started(folder, place):
    command = [sys.executable, "-I", "-S", str(FORGE), str(folder), place]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}, cwd="/") as process:
        assert process.stdout.readline() == b"ready\n"
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(place)
                yield process, client
        finally:
            process.terminate()
            process.wait(PATIENCE)


HEAD = "HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer world\r\n"


def test_it_is_started_alone_and_answers_on_its_socket(forge, tmp_path_factory):
    with started(forge.folder, str(tmp_path_factory.mktemp("s") / "forge.sock")) as (_, client):
        client.sendall(f"GET {R}/contents/docs%2Fa.md {HEAD}\r\n".encode())
        head, _, body = client.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 OK")
    assert b"application/json" in head
    assert json.loads(body)["path"] == "docs/a.md"


def test_an_end_in_the_middle_of_a_merge_leaves_all_of_it_or_nothing(forge, tmp_path_factory):
    before = forge.git("rev-parse", "main")
    with started(forge.folder, str(tmp_path_factory.mktemp("s") / "forge.sock")) as (process, client):
        files = set(forge.folder.rglob("*"))
        client.sendall(f"PUT {R}/pulls/4/merge {HEAD}Content-Length: 2\r\n\r\n{{}}".encode())
        until(lambda: set(forge.folder.rglob("*")) != files, "its first file")  # wherever it is, the two must agree
        process.terminate()
        process.wait(PATIENCE)
    merged = forge.state()["repositories"]["acme/site"]["issues"]["4"]["pull"]["merged_at"] is not None
    assert merged == (forge.git("rev-parse", "main") != before)
