"""HTTP client of an upstream: sends rebuilt requests only, and trusts nothing that comes back.

1. The address is the operator's; no redirect is followed, and no proxy or other variable of the environment counts.
2. The headers are ours: none of an agent's is ever sent, none of an upstream's is ever passed back, and no cookie is
   kept from one request to the next.
3. The answer must come unencoded, so that a small one cannot become a large one, and within caps.
4. What may pass by itself is tried again before an agent hears of it, at most twice.
5. A failure is judged by a request of our own (`answers`): an upstream that answers that one was not down, so it was
   the agent's request that failed; one that does not answer it is down, whatever the agent had asked for. But one that
   has had too many requests, or is slow, may have been made so by the agent's.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2

from sandbox.errors import Malformed
from sandbox.model_gateway.formats.sse import Parser
from sandbox.model_gateway.formats.wire_format import Document, Wire
from sandbox.model_gateway.spec import UpstreamSpec
from sandbox.strict_json import strict_object
from vault.errors import Malformed as NotStrict

MAX_ANSWER = 8 * 1024 * 1024
MAX_VALUES = 200_000  # in an answer or an event
MAX_DETAIL = 2000
PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
CROWDED = frozenset({408, 429})
"""How an upstream says that it is asked too much."""
PAUSES = (0.5, 2.0)
TIMEOUT = httpx2.Timeout(connect=10.0, read=180.0, write=30.0, pool=60.0)
PROBE_SECONDS = 15.0
VERSION = "2023-06-01"  # of Anthropic's interface
_OK = 200


class UpstreamFailed(Exception):
    """The upstream gave no answer.

    Attributes:
        status: the HTTP status, or None where there was none.
        detail: what it said, for the sealed log alone: it may tell of other runs of the same account.
    """

    def __init__(self, status: int | None, detail: str) -> None:
        super().__init__(f"the upstream failed with status {status}")
        self.status, self.detail = status, detail[:MAX_DETAIL]


class Upstream:
    """One upstream, with its key.

    Args:
        spec: which one.
        key: its key.
        sleep: how to wait between two tries.
    """

    def __init__(self, spec: UpstreamSpec, key: str, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.spec, self._sleep = spec, sleep
        secret = {"x-api-key": key, "anthropic-version": VERSION} if spec.wire == "anthropic" else {}
        self._headers = secret or {"authorization": f"Bearer {key}"}
        self._client = httpx2.AsyncClient(
            verify=ssl.create_default_context(),
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            follow_redirects=False,
            timeout=TIMEOUT,
            limits=httpx2.Limits(max_connections=256, max_keepalive_connections=32),
        )

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def opened(
        self, wire: Wire, document: Document, pauses: Sequence[float] = PAUSES
    ) -> AsyncIterator[UpstreamResponse]:
        """Send a request, and give the answer whose head has come in.

        Raises:
            UpstreamFailed: there is none, also after the pauses.
        """
        for pause in (*pauses, None):
            try:
                response = await self._sent(wire, document)
                break
            except UpstreamFailed as failed:
                if pause is None or not (failed.status is None or failed.status in PASSING):
                    raise
                await self._sleep(pause)
        try:
            yield UpstreamResponse(response)
        finally:
            await response.aclose()

    async def answers(self, wire: Wire, model: str) -> bool | None:
        """Say whether the upstream answers a harmless request of our own; None where it is crowded, or too slow."""
        try:
            async with asyncio.timeout(PROBE_SECONDS), self.opened(wire, wire.probe(model), ()) as answer:
                await answer.whole()
        except TimeoutError:
            return None
        except UpstreamFailed as failed:
            return None if failed.status in CROWDED else False
        return True

    async def _sent(self, wire: Wire, document: Document) -> httpx2.Response:
        request = self._client.build_request(
            "POST",
            self.spec.url.rstrip("/") + wire.upstream_path,
            content=json.dumps(document).encode(),  # in the agent's order: a model reads it
            headers={
                **self._headers,
                "accept": "text/event-stream" if document.get("stream") else "application/json",
                "accept-encoding": "identity",
                "content-type": "application/json",
                "user-agent": "quarterturn",
            },
        )
        try:
            response = await self._client.send(request, stream=True)
        except httpx2.HTTPError as error:
            raise UpstreamFailed(None, type(error).__name__) from None
        if response.status_code == _OK and response.headers.get("content-encoding", "identity") == "identity":
            return response
        try:
            detail = await _some(response)
        finally:
            await response.aclose()
        raise UpstreamFailed(response.status_code, detail)


class UpstreamResponse:
    """An answer whose head has come in.

    Attributes:
        received: how many bytes of it have been read.
    """

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.received = 0

    async def whole(self) -> dict[str, Any]:
        """Read it as one JSON object.

        Raises:
            UpstreamFailed: it is none, breaks off, or is longer than MAX_ANSWER.
        """
        data = bytearray()
        async for chunk in self._chunks():
            data += chunk
        return _object(bytes(data))

    async def events(self) -> AsyncIterator[dict[str, Any] | None]:
        """Read it as a stream of events, each a JSON object; None stands for the line [DONE].

        Raises:
            UpstreamFailed: an event is none, the stream breaks off inside one, or is longer than MAX_ANSWER.
        """
        parser = Parser()
        async for chunk in self._chunks():
            try:
                for data in parser.feed(chunk):
                    yield None if data.strip() == b"[DONE]" else _object(data)
            except Malformed as error:
                raise UpstreamFailed(None, str(error)) from None

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_raw():
                self.received += len(chunk)
                if self.received > MAX_ANSWER:
                    raise UpstreamFailed(None, f"the answer is longer than {MAX_ANSWER} bytes")
                yield chunk
        except httpx2.HTTPError as error:
            raise UpstreamFailed(None, type(error).__name__) from None


def _object(data: bytes) -> dict[str, Any]:
    try:
        return strict_object(data, "the upstream's answer", max_size=MAX_ANSWER, max_values=MAX_VALUES)
    except NotStrict as error:
        raise UpstreamFailed(None, str(error)) from None


async def _some(response: httpx2.Response) -> str:
    """Read the beginning of an error, for the sealed log."""
    data = b""
    try:
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) >= MAX_DETAIL:
                break
    except httpx2.HTTPError:
        pass
    return data[:MAX_DETAIL].decode("utf-8", "replace")
