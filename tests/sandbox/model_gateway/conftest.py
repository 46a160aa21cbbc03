"""Fixtures of a gateway and a model process as in a run, with a stub upstream; the test stands in for the relay."""

from __future__ import annotations

import json
import socket

import httpx2
import pytest

from sandbox.boxes.box import SOCKET_NAME
from sandbox.gateway import FORK_SERVER, GatewaySpec, listing, start
from sandbox.gateway.process import listen
from sandbox.model_gateway.process import ModelGateway
from sandbox.model_gateway.spec import UpstreamSpec

from ...patience import PATIENCE
from .stub import Stub, Turn

KEY = "test-key-amaranth-5f1c"
CHAT, RESPONSES, MESSAGES = PATHS = ["/v1/chat/completions", "/v1/responses", "/v1/messages"]


def a_spec(address, wire="openai", **changes):
    url = f"{address}/v1" if wire == "openai" else address
    known = {"name": "stub", "wire": wire, "url": url, "models": ["small", "large"], "tokens": 100_000, "requests": 50}
    return UpstreamSpec(**known | changes)


class ModelSession:
    """One task's session, asked as an agent asks, over the gateway's own socket."""

    def __init__(self, models, folder):
        self.models, self.session = models, models.open()
        world, self._world = socket.socketpair()
        model = {"wire": models.spec.wire, "models": list(models.spec.models)}
        tools = listing(["filesystem.list_allowed_directories"])
        spec = GatewaySpec("r-1", "a goal", tools, ("filesystem",), 4, model=model)
        self.gateway = start(spec, world, listen(folder), self.session.gateway_end)
        self.gateway.ready(PATIENCE)
        self.client = httpx2.Client(
            transport=httpx2.HTTPTransport(uds=str(folder / SOCKET_NAME)),
            base_url="http://127.0.0.1:8700",
            timeout=PATIENCE,
        )

    def ask(self, path, document, **options):
        return self.client.post(path, json=document, **options)

    def stream(self, path, document):
        """Return the events of a stream as they arrived."""
        with self.client.stream("POST", path, json=document | {"stream": True}) as response:
            assert response.status_code == 200, response.read()
            assert response.headers["content-type"] == "text/event-stream"
            return events_of(response.read().decode())

    def finish(self):
        """End the session, and give the content of its log."""
        self.client.close()
        self.gateway.finish(PATIENCE)
        self.session.finish()
        return self.session.calls

    def close(self):
        self.finish()
        self._world.close()


def events_of(text):
    data = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    return [None if one == "[DONE]" else json.loads(one) for one in data]


@pytest.fixture(scope="module")
def lasting():
    """Keep one upstream and one model process per specification; each test resets the upstream."""
    upstream, processes = Stub(), {}
    yield upstream, processes
    for models in processes.values():
        models.close()
    upstream.close()


@pytest.fixture
def stub(lasting):
    def make(*turns, **options):
        lasting[0].begin([Turn(**turn) for turn in turns], **options)
        return lasting[0]

    yield make
    lasting[0].begin()


@pytest.fixture
def session_for(tmp_path, lasting):
    made = []

    def make(stub, wire="openai", **changes):
        spec, processes = a_spec(stub.url, wire, **changes), lasting[1]
        return another(processes.setdefault(str(spec.as_json()), ModelGateway(spec, KEY)))

    def another(models):
        folder = tmp_path / f"gw{len(made)}"
        folder.mkdir()
        made.append(ModelSession(models, folder))
        return made[-1]

    make.another = another
    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session", autouse=True)
def fork_server():
    yield FORK_SERVER
    FORK_SERVER.close()


def a_request(path, text="What is it?", **more):
    said = [{"role": "user", "content": text}]
    told = {CHAT: {"messages": said}, RESPONSES: {"input": said}, MESSAGES: {"messages": said, "max_tokens": 50}}
    return {"model": "small"} | told[path] | more


def style(path):
    return "anthropic" if path == MESSAGES else "openai"
