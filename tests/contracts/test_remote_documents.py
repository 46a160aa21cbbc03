"""Tests of every reader of a remote: thousands of odd documents, and only sentences of ours come out.

`READERS` is the list of what reads a remote. A new reader is one line more: a valid document, how it is read, and the
errors that it may raise. What is odd about a document is made from the valid one.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import random
import socket
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from quarterturn.accounts import oidc
from quarterturn.audit import log_monitor, release_download
from quarterturn.client import ApiError, Client, ReleaseClient
from quarterturn.home.witnesses import WitnessClient
from quarterturn.notices.channels import Webhook
from quarterturn.notices.outbox import Undelivered
from quarterturn.settings import OidcSettings
from sandbox.boxes.docker.engine import Container, Engine
from sandbox.boxes.docker.images import EngineImage
from sandbox.boxes.docker.strict_client import StrictApi
from sandbox.endpoint.address import Exceptions, parse, pin
from sandbox.endpoint.pinned_post import Caps, Exchange
from sandbox.errors import SandboxError
from sandbox.image_reference import ImageReference
from sandbox.judge import evidence, message
from sandbox.model_gateway.formats import sse
from sandbox.model_gateway.formats.registry import BY_NAME
from sandbox.model_gateway.formats.shape import Unfit
from sandbox.model_gateway.link import LinkReader, pack
from sandbox.model_gateway.log_protocol import ModelCallLog
from sandbox.model_gateway.spec import UpstreamSpec
from sandbox.model_gateway.upstream import Upstream, UpstreamFailed, UpstreamResponse
from sandbox.remote_client import RemoteClient
from vault.errors import VaultError
from vault.keys.locks import command
from vault.ledger.release import archive
from vault.ledger.signatures.note import Signer
from vault.ledger.statements import leaf
from vault.ledger.statements.log_state import LogState
from vault.ledger.write import cosigning
from vault.ledger.write.witness import WitnessReply
from verifiers.answer.claims import reply_outcome
from verifiers.language import predicate

from ..patience import PATIENCE

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
URL = "https://remote.example"
ISSUER = "https://issuer.example"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
LOG = Signer("bench.example/log", KEY)
DEEP = 5_000  # a token has at most 8 KiB

ODD_VALUES = (
    b"null", b"true", b"false", b"0", b"-1", b"5", b"1.5", b"1e400", b"-1e400", b"NaN", b"Infinity", b"1" + b"0" * 5000,
    b'""', b'"x"', b'"\\ud800"', b'"\\u001b[2J\\u0007"', b'"http://[::1"', b'"' + b"a" * 5000 + b'"',
    b"[]", b"{}", b"[5]", b'["x", null]', b'[["x"]]', b'{"a": 5}', b'{"": {"": []}}',
    b"[" * DEEP, b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP, b"",
)  # fmt: skip


class Reader(NamedTuple):
    """What reads a remote: a valid document, the way in, and the errors that it may raise."""

    valid: bytes
    read: Callable[[bytes], object]
    errors: tuple[type[Exception], ...]


def odd_documents(valid: bytes, seed: str) -> Iterator[bytes]:
    """Change a document in every way: each field by each odd value, dropped, twice; other encodings; single bytes."""
    yield from (b"", b"\xef\xbb\xbf" + valid, b"\xff" + valid, valid[:-1], valid + valid, gzip.compress(valid))
    yield from (valid.decode("latin-1").encode("utf-16"), b"\0" * 100, b" " + valid, *ODD_VALUES, b"[" * 100_000)
    if valid[:1] in (b"{", b"["):
        yield from odd_json(json.loads(valid))
    dice = random.Random(seed)
    for _ in range(60):
        data, at = bytearray(valid), dice.randrange(len(valid))
        data[at : at + dice.randrange(3)] = dice.randbytes(dice.randrange(3))
        yield bytes(data)


def odd_json(document: Any) -> Iterator[bytes]:
    for holder, key in places(document):
        kept, text = holder[key], json.dumps(key)
        for odd in ODD_VALUES:
            holder[key] = "@here@"
            yield json.dumps(document).encode().replace(b'"@here@"', odd, 1)
        holder[key] = kept
        if isinstance(holder, dict):
            yield json.dumps(document).replace(f"{text}: ", f"{text}: 0, {text}: ", 1).encode()
            items = list(holder.items())
            del holder[key]
            yield json.dumps(document).encode()
            holder.clear()
            holder.update(items)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


# -- clients of a service ---------------------------------------------------------------------------------------------

RELEASES = {"releases": [{"release": "Historical-2025-12", "archive": {"bytes": 5, "sha256": "a" * 64}}]}
PROBLEM = {
    "code": "invalid", "title": "No.", "status": 400, "detail": "A sentence.", "field": "image", "given": 5,
    "expected": "a name", "limit": {"name": "dev", "value": 1, "unit": "runs"}, "state": "done",
    "errors": [{"pointer": "/body/image", "reason": "missing", "expected": "a name"}],
}  # fmt: skip
FIGURES = {"attempted": 3, "success_rate": {"value": 0.5, "low": 0.1, "high": 0.9}}
SUBMISSION = {
    "id": "s-a", "set": "private", "kind": "image", "model": None, "counts": True, "month": "2026-12", "state": "done",
    "place": 3, "failure": {"code": "lost", "hint": "Again.", "ours": True}, "charged": True, "run": 3,
    "figures": {"whole": FIGURES, "sealed": FIGURES}, "score": {"passed": 1, "attempted": 2},
    "created_at": "2026-12-05T10:00:00+00:00",
}  # fmt: skip
AGENT = {"agent": "a", "display_name": "A", "removed": None}


def asked(make: Callable[[httpx2.MockTransport], Any], call: Callable[[Any], object], status: int = 200):
    """Read a document as the answer to a request of a client."""
    body = [b""]
    client = make(httpx2.MockTransport(lambda _: httpx2.Response(status, stream=httpx2.ByteStream(body[0]))))

    def read(data: bytes) -> object:
        body[0] = data
        return call(client)

    return read


def client(transport):
    return Client(URL, "qt_x", transport=transport, sleep=lambda _: None)


def release_client(transport):
    return ReleaseClient(URL, transport=transport, sleep=lambda _: None)


def client_readers() -> Iterator[tuple[str, Reader]]:
    for name, document, call, status in (
        ("quota", {"dev": {"used": 1}}, lambda it: it.quotas(), 200),
        ("submission", SUBMISSION, lambda it: it.submission("s-a").success_rate, 200),
        ("submissions", {"submissions": [SUBMISSION], "next": None}, lambda it: it.submissions(), 200),
        ("run", {"id": "s-a", "trace": {"tasks": []}}, lambda it: it.run("s-a"), 200),
        ("display names", {"agents": [AGENT]}, lambda it: it.agents(), 200),
        ("display name", AGENT, lambda it: it.choose_display_name("a", "A"), 200),
        ("problem", PROBLEM, lambda it: it.quotas(), 400),
        ("busy", PROBLEM | {"code": "rate"}, lambda it: it.quotas(), 429),
    ):
        yield f"client: {name}", Reader(json.dumps(document).encode(), asked(client, call, status), (ApiError,))
    read = asked(release_client, lambda it: it.releases())
    yield "client: releases", Reader(json.dumps(RELEASES).encode(), read, (ApiError,))


# -- OpenID provider --------------------------------------------------------------------------------------------------

TOKEN_HEADER = {"alg": "EdDSA", "typ": "JWT", "kid": "k"}
CLAIMS = {"iss": ISSUER, "aud": "q", "sub": "grace", "iat": int(NOW.timestamp()), "exp": int(NOW.timestamp()) + 600,
          "nbf": int(NOW.timestamp()), "azp": "q", "groups": ["admins"]}  # fmt: skip
DESCRIPTION = {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"}


def key_set() -> dict[str, Any]:
    own = json.loads(jwt.get_algorithm_by_name("EdDSA").to_jwk(KEY.public_key())) | {"kid": "k", "use": "sig"}
    rsa = {"kty": "RSA", "kid": "r", "alg": "RS256", "n": "x" * 342, "e": "AQAB"}
    curve = {"kty": "EC", "kid": "c", "alg": "ES256", "crv": "P-256", "x": "x" * 43, "y": "y" * 43}
    return {"keys": [own, rsa, curve]}


def caller(token: str, description: bytes | None = None, keys: bytes | None = None) -> object:
    pages = {f"{ISSUER}/keys": keys or json.dumps(key_set()).encode()}
    settings = OidcSettings(issuer=ISSUER, audience="q", roles=("admins=maintainer",))
    provider = oidc.Provider(
        settings, lambda: NOW, lambda url: pages.get(url, description or json.dumps(DESCRIPTION).encode())
    )
    return provider.caller(token)


def signed(header: bytes, claims: bytes) -> str:
    parts = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in (header, claims))
    return (parts + b"." + base64.urlsafe_b64encode(KEY.sign(parts)).rstrip(b"=")).decode()


def oidc_readers() -> Iterator[tuple[str, Reader]]:
    header, claims = json.dumps(TOKEN_HEADER).encode(), json.dumps(CLAIMS).encode()
    token = signed(header, claims)
    assert caller(token) is not None
    described = json.dumps(DESCRIPTION).encode()
    yield "oidc: description", Reader(described, lambda data: caller(token, description=data), ())
    yield "oidc: keys", Reader(json.dumps(key_set()).encode(), lambda data: caller(token, keys=data), ())
    yield "oidc: token's header", Reader(header, lambda data: caller(signed(data, claims)), ())
    yield "oidc: token's claims", Reader(claims, lambda data: caller(signed(header, data)), ())


# -- Docker engine ----------------------------------------------------------------------------------------------------

NAMED = ImageReference.parse("a")
IMAGE = {
    "Id": "sha256:" + "0" * 64, "RepoTags": ["a:1"], "Os": "linux", "Architecture": "amd64", "Size": 5,
    "Config": {"Entrypoint": ["/a"], "Cmd": None, "Volumes": {"/v": {}}, "Env": ["A=b"], "WorkingDir": "/"},
}  # fmt: skip
STATE = {"State": {"Running": False, "Status": "exited", "ExitCode": 1, "OOMKilled": False, "Pid": 5}}
LISTED = [{"Id": "a", "Labels": {"label": "x"}, "HostConfig": {"NetworkMode": "none"}}]


class FakeEngine(HTTPAdapter):
    """Answers each request of the SDK with one body."""

    status, body = 200, b""

    def send(self, request: PreparedRequest, **_: Any):
        raw = HTTPResponse(io.BytesIO(self.body), {}, self.status, preload_content=False)
        return self.build_response(request, raw)


@cache
def fake_engine() -> tuple[Engine, FakeEngine]:
    api, adapter, engine = StrictApi(base_url="http://127.0.0.1:1", version="1.41"), FakeEngine(), Engine()
    api.mount("http://", adapter)
    engine.__dict__["_client"] = SimpleNamespace(api=api, close=lambda: None)
    return engine, adapter


def of_engine(call: Callable[[Engine], object], status: int = 200) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        engine, adapter = fake_engine()
        adapter.status, adapter.body = status, data
        engine.__dict__.pop("platform", None)
        return call(engine)

    return read


def tar_of_a_file() -> bytes:
    file, entry = io.BytesIO(), tarfile.TarInfo("file")
    entry.size = 5
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(entry, io.BytesIO(b"hello"))
    return file.getvalue()[:2048]


def engine_readers() -> Iterator[tuple[str, Reader]]:
    for name, document, call, status in (
        ("image", IMAGE, lambda it: EngineImage.of(NAMED, it.image(NAMED)), 200),
        ("images", [{"RepoTags": ["a:1"]}], lambda it: it.names("a"), 200),
        ("containers", LISTED, lambda it: it.labelled("label"), 200),
        ("state", STATE, lambda it: Container(it, "a").facts(), 200),
        ("process", STATE, lambda it: Container(it, "a").pid(), 200),
        ("version", {"ApiVersion": "1.41", "Os": "linux", "Arch": "amd64"}, lambda it: it.platform, 200),
        ("info", {"Runtimes": {"runc": {}}}, lambda it: it.runtimes(), 200),
        ("created", {"Id": "a"}, lambda it: it.create({"Image": "a"}), 201),
        ("error", {"message": "no"}, lambda it: it.image(NAMED), 500),
        ("not found", {"message": "No such image: a"}, lambda it: it.image(NAMED), 404),
        ("removed", [{"Untagged": "a"}], lambda it: it.remove_image(NAMED), 200),
        ("attached", {"message": "no"}, lambda it: Container(it, "a").attach(None), 409),
    ):
        yield f"engine: {name}", Reader(json.dumps(document).encode(), of_engine(call, status), (SandboxError,))
    read = of_engine(lambda it: it.read(Container(it, "a"), "/file"))
    yield "engine: file", Reader(tar_of_a_file(), read, (SandboxError,))


# -- models -----------------------------------------------------------------------------------------------------------

ANSWERS = {
    "chat": {
        "object": "chat.completion", "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "a",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}],
    },
    "messages": {
        "type": "message", "role": "assistant", "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4},
        "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}],
    },
    "responses": {
        "object": "response", "status": "completed", "usage": {"input_tokens": 3, "output_tokens": 4},
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
                   {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
    },
}  # fmt: skip
EVENTS = {
    "chat": {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "a"}}], "usage": {}},
    "messages": {"type": "message_start", "message": ANSWERS["messages"]},
    "responses": {"type": "response.completed", "response": ANSWERS["responses"]},
}


@cache
def loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def of_upstream(read: Callable[[UpstreamResponse], Any]) -> Callable[[bytes], object]:
    def parts(data: bytes):
        async def aiter_raw():
            yield data

        return SimpleNamespace(aiter_raw=aiter_raw)

    return lambda data: loop().run_until_complete(read(UpstreamResponse(parts(data))))


def model_readers() -> Iterator[tuple[str, Reader]]:
    for name, wire in BY_NAME.items():

        async def answer(response: UpstreamResponse, wire=wire) -> object:
            document = await response.whole()
            rebuilt = wire.answered(document, "m", 1)
            return wire.failed(document), wire.usage(document), wire.pieces(rebuilt)

        async def event(response: UpstreamResponse, wire=wire) -> object:
            document = await response.whole()
            said = [wire.failed(document), wire.usage(document), wire.ends(document)]
            built = wire.event(document, "m", 1)
            return said, built and (wire.pieces(built[1]), wire.wanted(built[1], {}), sse.event(built[1], built[0]))

        async def stream(response: UpstreamResponse) -> object:
            return [document async for document in response.events()]

        errors, sample = (UpstreamFailed, Unfit), json.dumps(EVENTS[name]).encode()
        yield f"model: {name}", Reader(json.dumps(ANSWERS[name]).encode(), of_upstream(answer), errors)
        yield f"model: event of {name}", Reader(sample, of_upstream(event), errors)
        yield (
            f"model: stream of {name}",
            Reader(b"data: " + sample + b"\n\ndata: [DONE]\n\n", of_upstream(stream), errors),
        )
    reply = {"outcome": "correct", "justification": "It says so."}
    yield "model: reply", Reader(json.dumps(reply).encode(), lambda data: reply_outcome(data.decode("latin-1")), ())
    begin = {"begin": 1, "wire": "chat", "model": "m", "repeats": 0, "request": {}}
    end = {"end": 1, "response": [["content", "a"]], "read": 1, "written": 1, "estimated": False, "outcome": "ok",
           "detail": ""}  # fmt: skip

    def logged(data: bytes) -> object:
        log = ModelCallLog()
        log.feed(pack(begin) + len(data).to_bytes(4, "big") + data)
        return log.calls()

    yield "model: log", Reader(json.dumps(end).encode(), logged, (SandboxError,))
    yield "model: link", Reader(pack(begin), lambda data: list(LinkReader().feed(data)), (SandboxError,))


# -- everything else --------------------------------------------------------------------------------------------------

PREDICATE = predicate.parse({"all": [{"answer.number": {"value": 1}}, {"not": {"answer.number": {"value": 2}}}]})


def command_reply(data: bytes) -> object:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(command, "run", lambda *_: (0, data))
        return command._asked(["/bin/hook"], "wrap", {}, "wrapped", 1.0)


def witness_reply(status: int) -> Callable[[bytes], object]:
    cosigner = SimpleNamespace(size=3, format=lambda: "bench.example/log\n3\nAAAA\n")

    def read(data: bytes) -> object:
        asking = cosigning.Witnesses.__new__(cosigning.Witnesses)
        asking._writer = SimpleNamespace(prove_consistency=lambda *_: [])
        asking._on_record, asking._ask = {}, lambda *_: WitnessReply(status, "text/x.tlog.size", data)
        body = asking._signed(URL, cosigner, "note", 1)
        return cosigning._lines(body, {"w": LOG.verifier}, cosigner)

    return read


def log_leaf(data: bytes) -> object:
    return LogState(LOG.name).take(data)


def served_file(data: bytes) -> object:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=httpx2.ByteStream(data)))
    with RemoteClient(PATIENCE, transport=transport) as http:
        read = log_monitor._served(http, URL)
        return log_monitor.check_log(read, [LOG.verifier], None, NOW)


def manifest(folder: Path) -> Callable[[bytes], object]:
    target = folder / "Historical-2025-12"

    def read(data: bytes) -> None:
        target.mkdir(exist_ok=True)
        (target / "manifest.json").write_bytes(data)
        release_download._require_month(target)

    return read


def archived(folder: Path) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        file = folder / "archive.tar"
        file.write_bytes(data)
        with file.open("rb") as source:
            return [source.seek(size + -size % 512, 1) for _, size in archive._members(source, "Historical-2025-12")]

    return read


def other_readers(folder: Path) -> Iterator[tuple[str, Reader]]:
    answer = message.answer("done", part=b"part")
    judged = evidence.written(probes=[["true", "a", False], ["false", "b", False]], spent=0.5, unreadable=False)
    mutants = evidence.written(mutants=[["a", "broken", "true"]])
    committed = leaf.commit("t-aaaaaaaaaaaaaaaa", bytes(32), spec="1.0.0", provenance=bytes(32), public_grammar=False)
    yield "judge: message", Reader(answer, message.reply, (SandboxError,))
    yield "judge: evidence", Reader(judged, lambda data: evidence.parsed(data, PREDICATE), (SandboxError,))
    cases = evidence.written(cases=[[["true", "a", False], ["false", "b", False]]])
    yield "judge: cases", Reader(cases, lambda data: evidence.parsed_cases(data, PREDICATE, 1), (SandboxError,))
    yield "judge: mutants", Reader(mutants, evidence.parsed_mutants, (SandboxError,))
    yield "key command", Reader(b'{"wrapped": "AAAA"}', command_reply, (VaultError,))
    yield "witness: lines", Reader(b"\xe2\x80\x94 w.example AAAAAAAA\n", witness_reply(200), (VaultError,))
    yield "witness: size", Reader(b"2\n", witness_reply(409), (VaultError,))
    yield "witness: refusal", Reader(b"no\n", witness_reply(422), (VaultError,))
    yield "log: leaf", Reader(committed, log_leaf, (VaultError,))
    note = LOG.sign("bench.example/log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n")
    yield "log: head", Reader(note.encode(), served_file, (VaultError, SandboxError))
    yield "release: manifest", Reader(b'{"month": "2025-12"}', manifest(folder), (VaultError,))
    member = archive._header("Historical-2025-12/a.txt", 5) + b"hello".ljust(512, b"\0")
    yield "release: archive", Reader(member.ljust(10240, b"\0"), archived(folder), (VaultError,))


def readers(folder: Path) -> dict[str, Reader]:
    groups = (client_readers(), oidc_readers(), engine_readers(), model_readers(), other_readers(folder))
    return {name: reader for group in groups for name, reader in group}


@pytest.mark.parametrize(
    "thirds", [{0}, pytest.param({1, 2}, marks=pytest.mark.exhaustive)], ids=["every-third", "others"]
)
def test_no_odd_document_is_an_internal_error(tmp_path, monkeypatch, thirds):
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    faults, count = {}, 0
    for name, (valid, read, errors) in readers(tmp_path).items():
        read_or_refused(read, valid, errors)
        for number, data in enumerate(odd_documents(valid, name)):
            if number % 3 not in thirds:
                continue
            count += 1
            try:
                read(data)
            except errors as error:
                if len(str(error)) > 5000 or "Traceback" in str(error):
                    faults.setdefault(name, (type(error), data[:80]))
            except Exception as error:
                faults.setdefault(f"{name}: {type(error).__name__}", (str(error)[:120], data[:160]))
    assert not faults
    assert count > 3_500 * len(thirds)


def read_or_refused(read, valid, errors):
    with suppress(*errors):
        read(valid)


# -- the transports, once, over real sockets --------------------------------------------------------------------------

OK = b"HTTP/1.1 200 OK\r\n"
RAW_ANSWERS = (
    b"", b"\0" * 100, b"nonsense\r\n\r\n", b"{}", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"HTTP/1.1 2e2 OK\r\n\r\n",
    b"HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n", b"HTTP/1.1 99999999999 Odd\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n{}",
    b"HTTP/1.1 204 None\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" * 500,
    b"HTTP/1.1 \xff\xfe\x1b[2J OK\r\n\r\n", OK + b"\xff\xfe: \x1b[2J\r\ncontent-length: 2\r\n\r\n{}",
    OK + b"a: b\r\n" * 50_000 + b"\r\n{}", OK + b"a: " + b"b" * 1_000_000 + b"\r\n\r\n{}", OK + b"a\0: b\r\n\r\n{}",
    *(b"HTTP/1.1 302 Found\r\nlocation: " + place + b"\r\ncontent-length: 0\r\n\r\n"
      for place in (b"http://[::1", b"\xff\xfe", b"//", b"javascript:1", b"/", b"http://a:99999999/", b"")),
    *(OK + b"content-length: " + length + b"\r\n\r\n{}"
      for length in (b"9", b"1", b"-1", b"x", b"9" * 40, b"2\r\ncontent-length: 3")),
    *(OK + b"transfer-encoding: chunked\r\n\r\n" + chunks
      for chunks in (b"2\r\n{", b"2\r\n{}\r\n", b"-1\r\n{}\r\n0\r\n\r\n", b"F" * 40 + b"\r\n{}", b"x\r\n{}")),
    *(OK + b"content-encoding: " + coding + b"\r\nconnection: close\r\n\r\n" + gzip.compress(bytes(1 << 20))
      for coding in (b"gzip", b"deflate", b"odd, gzip", b"identity")),
    OK + b"content-type: \xff; charset=odd\r\nconnection: close\r\n\r\n[1]",
    OK + b"set-cookie: \xff=; expires=9999999999; domain=\r\nconnection: close\r\n\r\n5",
    b"HTTP/1.1 429 Wait\r\nretry-after: " + b"9" * 1000 + b"\r\nconnection: close\r\n\r\n{\"code\": \"rate\"}",
)  # fmt: skip


@pytest.fixture
def raw_server():
    """Yield the port of a server that answers each request with the bytes in a list, and hangs up."""
    answer = [b""]

    def serve() -> None:
        while True:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    if not connection.recv(1 << 16):
                        return
                    connection.sendall(answer[0])
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(1 << 16):
                        pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        yield port, answer
        socket.create_connection(("127.0.0.1", port)).close()
        thread.join(PATIENCE)


@pytest.mark.parametrize(
    "answers",
    [RAW_ANSWERS[::4], pytest.param([a for n, a in enumerate(RAW_ANSWERS) if n % 4], marks=pytest.mark.exhaustive)],
    ids=["every-fourth", "others"],
)
def test_no_odd_answer_of_http_is_an_internal_error(raw_server, tmp_path, monkeypatch, answers):
    port, answer = raw_server
    url, faults = f"http://127.0.0.1:{port}", {}
    monkeypatch.setattr(oidc, "WAIT", PATIENCE)
    exceptions = Exceptions.of(["127.0.0.0/8"], None)
    target, caps = pin(parse(f"{url}/"), exceptions), Caps(PATIENCE, 1000)
    api = StrictApi(base_url=url, version="1.41")
    engine = Engine()
    engine.__dict__["_client"] = SimpleNamespace(api=api)
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    hook = Webhook(f"{url}/hook", tmp_path / "secret", lambda: NOW)
    spec = UpstreamSpec("u", "openai", url, ("m",), 10, 10)
    upstream, wire = Upstream(spec, "key"), BY_NAME["chat"]

    async def model() -> object:
        async with upstream.opened(wire, wire.probe("m"), ()) as response:
            return await response.whole()

    with Client(url, "qt_x", sleep=lambda _: None) as asking, log_monitor._reading(url) as read:
        calls = (
            (asking.quotas, (ApiError,)),
            (lambda: read("checkpoint"), (VaultError, log_monitor.Unavailable)),
            (lambda: WitnessClient()(f"{url}/add-checkpoint", b""), (VaultError,)),
            (lambda: oidc.fetched(f"{url}/keys"), (SandboxError,)),
            (lambda: hook._post(b"{}", {}), (Undelivered,)),
            (lambda: Exchange(target, {}, b"{}", caps, context=None).wait(PATIENCE).said, ()),
            (lambda: engine.image("a"), (SandboxError,)),
            (lambda: engine.names("a"), (SandboxError,)),
            (lambda: loop().run_until_complete(model()), (UpstreamFailed,)),
        )
        for number, (call, errors) in enumerate(calls):
            for answer[0] in answers:
                try:
                    call()
                except errors:
                    pass
                except Exception as error:
                    faults.setdefault((number, type(error).__name__), (str(error)[:120], answer[0][:80]))
    loop().run_until_complete(upstream.close())
    api.close()
    assert not faults
