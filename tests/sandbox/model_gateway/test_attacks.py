"""Tests of attacks by an agent, or by an upstream, through the model gateway."""

from __future__ import annotations

import gzip
import json
import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.errors import Malformed
from sandbox.gateway import FORK_SERVER
from sandbox.model_gateway.link import LinkReader, pack
from sandbox.model_gateway.spec import UpstreamSpec, require_address, require_key
from sandbox.model_gateway.upstream import MAX_ANSWER

from ...certificates import make_certificate
from ...patience import PATIENCE
from ..processes import first_of, holds, require_confined
from .conftest import CHAT, MESSAGES, PATHS, a_request, a_spec, style
from .stub import Stub

pytestmark = pytest.mark.slow

SECRET = "heliotrope-over-the-wire"  # what an agent would like to carry somewhere else


@pytest.mark.parametrize("path", PATHS)
def test_no_header_of_an_agent_reaches_an_upstream(path, session_for, stub):
    upstream = stub()
    headers = {
        "Authorization": f"Bearer {SECRET}",
        "X-Api-Key": SECRET,
        "User-Agent": SECRET,
        "X-Stainless-Lang": SECRET,
        "Cookie": f"a={SECRET}",
        "Forwarded": f"for={SECRET}",
        "X-Forwarded-Host": f"{SECRET}.example",
        "Anthropic-Version": SECRET,
    }
    task = session_for(upstream, style(path))
    assert task.ask(path, a_request(path), headers=headers).status_code == 200
    assert SECRET not in str(upstream.seen)
    assert len(upstream.seen) == 1


@pytest.mark.parametrize("header", ["anthropic-beta", "OpenAI-Beta", "OpenAI-Organization", "OpenAI-Project"])
def test_a_header_that_switches_something_on_is_refused_by_name(header, session_for, stub):
    upstream = stub()
    answer = session_for(upstream).ask(CHAT, a_request(CHAT), headers={header: SECRET})
    assert answer.status_code == 400
    assert header.lower() in answer.json()["error"]["message"]
    assert not upstream.seen


@pytest.mark.parametrize(
    "path",
    [
        f"{CHAT}?q={SECRET}", f"{CHAT}/{SECRET}", f"/v1/{SECRET}", "/v1/files", "/v1/messages",
        "/v1/messages/batches", "/v1/../v1/files", "/v1/chat%2fcompletions%00",
    ],
)  # fmt: skip
def test_no_other_address_is_ever_asked(path, session_for, stub):
    upstream = stub()
    answer = session_for(upstream).ask(path, a_request(CHAT))
    assert answer.status_code in {400, 404}
    assert SECRET not in answer.text
    assert not upstream.seen


def test_nothing_of_an_agent_is_in_what_an_upstream_sees_beside_the_conversation(session_for, stub):
    upstream = stub()
    task = session_for(upstream)
    for document in (
        a_request(CHAT, model=SECRET),
        a_request(CHAT, user=SECRET),
        a_request(CHAT, **{SECRET: 1}),
        a_request(CHAT, tools=[{"type": SECRET}]),
        a_request(CHAT, service_tier=SECRET),
        a_request(CHAT) | {"messages": [{"role": SECRET, "content": "x"}]},
        a_request(CHAT, stream_options={"include_usage": True, SECRET: 1}),
    ):
        answer = task.ask(CHAT, document)
        assert answer.status_code == 400
    assert not upstream.seen
    task.ask(CHAT, a_request(CHAT, prompt_cache_key=SECRET, stream_options={"include_usage": True}))
    assert SECRET not in str(upstream.seen)


def test_smuggled_json_is_refused_before_anything_is_rebuilt(session_for, stub):
    upstream = stub()
    task = session_for(upstream)
    for body in (
        b'{"model": "small", "model": "large", "messages": []}',
        b'{"model": "small", "messages": NaN}',
        b'{"model": "small", "messages": ["\\ud800"]}',
        b"[" * 5000,
        b'{"model": "small", "messages": []} {"model": "large"}',
        b"",
    ):
        answer = task.client.post(CHAT, content=body)
        assert answer.status_code == 400, body[:40]
        assert answer.json()["error"]["type"] == "invalid_request_error"
    assert not upstream.seen


@pytest.mark.parametrize("path", PATHS)
def test_nothing_that_tells_of_other_runs_comes_back(path, session_for, stub):
    task = session_for(stub(), style(path))
    answer = task.ask(path, a_request(path))
    assert answer.headers.keys() <= {"content-type", "cache-control", "transfer-encoding", "content-length"}
    streamed = task.stream(path, a_request(path, **{"stream_options": {"include_usage": True}} if path == CHAT else {}))
    for text in (answer.text, json.dumps(streamed)):
        for mark in ("fp-of-another-run", "upstream", "cached", "cache_read", "priority", "snapshot", "17000", "xxxx"):
            assert mark not in text


def test_no_cookie_of_an_upstream_is_kept_for_another_run(session_for, stub):
    upstream = stub()
    one = session_for(upstream)
    one.ask(CHAT, a_request(CHAT))
    session_for.another(one.models).ask(CHAT, a_request(CHAT))
    assert [seen.headers.get("cookie") for seen in upstream.seen] == [None, None]


@pytest.mark.parametrize("fault", ["redirect", "gzip", "nonsense", "line"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_upstream_that_answers_oddly_costs_nothing_and_tells_nothing(fault, stream, session_for, stub):
    task = session_for(stub(*[{"fault": fault}] * 2))
    answer = task.ask(CHAT, a_request(CHAT, stream=stream))
    assert answer.status_code == 502
    assert answer.json()["error"]["type"] == "server_error"
    (call,) = task.finish()
    assert call.outcome == "refused"
    assert call.written == 0


def test_a_body_that_would_unpack_to_a_gigabyte_is_never_unpacked(session_for, stub):
    """The response claims gzip, and the agent's own Accept-Encoding is not passed on."""
    upstream = stub({"fault": "gzip"}, {"fault": "gzip"})
    task = session_for(upstream)
    assert task.ask(CHAT, a_request(CHAT), headers={"Accept-Encoding": "gzip"}).status_code == 502
    assert upstream.seen[0].headers["accept-encoding"] == "identity"
    bomb = gzip.compress(b"x" * 1_000_000)
    assert task.client.post(CHAT, content=bomb, headers={"Content-Encoding": "gzip"}).status_code == 400


def test_an_answer_beyond_the_cap_is_given_up(session_for, stub):
    huge = {"text": "x" * (MAX_ANSWER + 1)}
    task = session_for(stub(huge, huge))
    assert task.ask(CHAT, a_request(CHAT)).status_code == 502
    assert task.finish()[0].written == 0


def test_an_upstream_cannot_write_a_header_or_another_event(session_for, stub):
    upstream = stub({"text": 'a\r\n\r\nHTTP/1.1 200 OK\r\nX-Evil:1 \n\ndata:{"evil":1}\n\nevent:evil'})
    task = session_for(upstream)
    events = task.stream(CHAT, a_request(CHAT))
    assert events[-1] is None
    assert all("evil" not in event for event in events[:-1])


def processes_of(task):
    """Return the fork server with the gateways that it spawned, and the model process of a session."""
    fork_server = first_of(FORK_SERVER._process)
    children = Path(f"/proc/{fork_server}/task/{fork_server}/children").read_text().split()
    return [fork_server, *map(int, children)], first_of(task.models._process)


@pytest.mark.needs("root")
def test_the_key_is_in_the_model_process_and_nowhere_else(session_for, stub):
    upstream = stub()
    task = session_for(upstream)
    assert task.ask(CHAT, a_request(CHAT)).status_code == 200
    key = upstream.seen[0].headers["authorization"].split()[1].encode()
    gateways, model = processes_of(task)
    assert holds(model, key)  # so that looking for it proves something
    assert len(gateways) >= 2  # the fork server, and what was forked from it
    for pid in gateways:
        assert not holds(pid, key)
    for name in ("environ", "cmdline"):
        assert key not in Path(f"/proc/{model}/{name}").read_bytes()


@pytest.mark.needs("root")
def test_the_model_process_is_nobody_and_knows_no_task(session_for, stub):
    task = session_for(stub())
    task.ask(CHAT, a_request(CHAT))
    _, model = processes_of(task)
    require_confined(model, 65530, "ipc", "pid", "uts")
    variables = Path(f"/proc/{model}/environ").read_bytes()
    assert b"PATH" in variables
    assert variables.count(b"=") == 2


def answer_over(link):
    reader, found = LinkReader(), []
    while not found or "end" not in found[-1]:
        found += reader.feed(link.recv(65536))
    return "".join(message.get("data", "") for message in found)


def test_a_gateway_that_was_taken_over_can_send_no_more_than_an_agent(stub):
    """Everything sent over the link is rebuilt once more, and malformed data ends the session."""
    from sandbox.model_gateway.process import ModelGateway

    upstream = stub()
    with ModelGateway(a_spec(upstream.url), "test-key") as models:
        session = models.open()
        link = socket.socket(fileno=os.dup(session.gateway_end.fileno()))
        link.settimeout(PATIENCE)
        request = a_request(CHAT) | {"web_search_options": {}, "user": SECRET}
        link.sendall(pack({"id": 1, "wire": "chat", "request": request}))
        assert "web_search_options" in answer_over(link)
        link.sendall(pack({"id": 2, "wire": "messages", "request": a_request(MESSAGES)}))
        link.sendall(pack({"id": 3, "wire": "chat", "request": a_request(CHAT, model="huge")}))
        assert "small, large" in answer_over(link)
        link.sendall(pack({"id": "x"}))
        while link.recv(65536):
            pass
        link.close()
        session.finish()
        assert session.calls == ()
        assert not session.lost
    assert not upstream.seen


def test_a_session_that_ended_asks_no_more(session_for, stub):
    upstream = stub()
    task = session_for(upstream)
    task.client.post("/answer", json={"answer": "done"})
    answer = task.ask(CHAT, a_request(CHAT))
    assert answer.status_code == 403
    assert not upstream.seen


@pytest.mark.parametrize(
    "url",
    [
        "http://models.example/v1", "http://192.0.2.1/v1", "http://127.0.0.1.example/v1",
        "https://user:word@models.example", "https://models.example/?key=x", "https://models.example/#x",
        "ftp://127.0.0.1/", "https://", "https://models.example/a b", "file:///etc/passwd",
        "http://[::ffff:192.0.2.1]/", "https://models.example:port/",
    ],
)  # fmt: skip
def test_a_key_is_sent_in_the_clear_to_nobody_but_this_machine(url):
    with pytest.raises(Malformed):
        require_address(url)


@pytest.mark.parametrize("url", ["https://models.example/v1", "http://127.0.0.1:8000", "http://[::1]:1/v1"])
def test_an_address_that_may_be_asked_is(url):
    assert UpstreamSpec("x", "openai", url, ["small"], 1000, 1).url == url


@pytest.mark.parametrize("key", ["", " ", "two words", "line\nline", "ü", "x" * 600])
def test_a_malformed_key_is_refused_and_not_quoted(key):
    with pytest.raises(Malformed) as refusal:
        require_key(key)
    assert not key.strip() or key not in str(refusal.value)


def test_a_key_is_never_sent_to_a_server_that_cannot_show_who_it_is(session_for, tmp_path):
    _, context = make_certificate(tmp_path, "127.0.0.1")
    with closing(Stub()) as upstream:
        upstream.server.socket = context.wrap_socket(upstream.server.socket, server_side=True)
        task = session_for(upstream, url=f"https://127.0.0.1:{upstream.server.server_port}/v1")
        assert task.ask(CHAT, a_request(CHAT)).status_code == 502
        assert task.finish()[0].outcome == "down"
        assert not upstream.seen
