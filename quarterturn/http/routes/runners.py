"""Routes for runners, version 1: registering, taking and starting a serving, and handing in what it left.

A runner asks again and again; an answer is held back for a few seconds while there is nothing to say (a long poll).
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from quarterturn.errors import NotFound
from quarterturn.http.dependencies.services import Runners
from quarterturn.http.identity.auth import Who
from quarterturn.http.responses import json_responses, models
from quarterturn.runners.hand_in_folder import TooLarge
from quarterturn.runners.programs import INTERFACE_VERSION
from quarterturn.runners.service import Registration

PREFIX = "/runner/v1"
router = APIRouter(prefix=PREFIX, tags=["runners"])

MAX_HELD_SECONDS = 20
"""For how long an answer is held back at most."""
POLL_SECONDS = 0.1
"""Seconds between two looks meanwhile."""
MAX_LINK_BYTES = 1 << 20
"""Bytes of a link in one request or answer."""
BYTES = "application/octet-stream"
T = TypeVar("T")
Seconds = Annotated[int, Query(ge=0, le=MAX_HELD_SECONDS, description="How long to wait for one.")]
Handle = Annotated[str, Path(description="A serving's handle.", max_length=64), models.of_form("s-[0-9a-f]{32}")]

Position = Annotated[int, Query(ge=0, le=1 << 40, description="The position of the first byte.")]


@router.post("/registration", response_model=models.Registered, name="register_runner")
def register(runners: Runners, who: Who, wanted: models.NewRegistration) -> Response:
    """Register a runner, which is refused where its servers differ from this service's."""
    public = runners.register(who.token, Registration(**wanted.model_dump()))
    return json_responses.plain({"version": INTERFACE_VERSION, "public_key": public.hex()})


@router.post("/work", response_model=models.TakenServing, responses={204: {"description": "Nothing to play now."}},
             name="take_serving")  # fmt: skip
async def take(request: Request, runners: Runners, who: Who, seconds: Seconds = MAX_HELD_SECONDS) -> Response:
    """Take the next serving, encrypted; ask again where there is none within so many seconds."""
    runner = await run_in_threadpool(runners.runner, who.token)
    offer = await _until(request, lambda: runners.take(runner), seconds)
    if offer is None:
        return Response(status_code=204)
    document = base64.b64encode(offer.document).decode()
    return json_responses.plain({"handle": offer.handle, "document": document})


@router.post("/servings/{handle}/start", response_model=models.ServingKey,
             responses={204: {"description": "Not yet; ask again."}}, name="start_serving")  # fmt: skip
async def start(request: Request, runners: Runners, who: Who, handle: Handle) -> Response:
    """Return the key of a serving that was taken; from now on its task counts as served."""
    key = await _until(request, lambda: runners.start(who.token, handle), MAX_HELD_SECONDS)
    return Response(status_code=204) if key is None else json_responses.plain({"key": base64.b64encode(key).decode()})


@router.post("/alive", response_model=models.WantedServings, name="say_alive")
def alive(runners: Runners, who: Who, named: models.PlayedServings) -> Response:
    """Say which servings a runner plays or holds, and learn which of them are still wanted."""
    runners.runner(who.token)
    return json_responses.plain({"wanted": runners.still_wanted(who.token, named.servings)})


@router.post("/servings/{handle}/failure", status_code=204, response_class=Response, name="report_failure")
def report_failure(runners: Runners, who: Who, handle: Handle, ended: models.FailedServing) -> Response:
    """Report that a serving ended and left nothing; its task is served again only if its agent was never let go."""
    runners.report_failure(who.token, handle, agent_started=ended.agent_started)
    return Response(status_code=204)


@router.put("/servings/{handle}/result", status_code=204, response_class=Response, name="hand_in")
async def hand_in(request: Request, runners: Runners, who: Who, handle: Handle) -> Response:
    """Hand in what a serving left, sealed to the key of this service."""
    await runners.receive(who.token, handle, request.stream())
    return Response(status_code=204)


@router.put("/servings/{handle}/model", status_code=204, response_class=Response, name="send_to_model")
async def send_to_model(request: Request, runners: Runners, handle: Handle, at: Position) -> Response:
    """Send bytes of a serving's link to its language model; the bearer token is that of the serving's model."""
    relay = runners.models.find(handle, _bearer(request))
    await run_in_threadpool(relay.write, at, await _read(request, MAX_LINK_BYTES))
    return Response(status_code=204)


@router.get("/servings/{handle}/model", response_class=Response, responses=models.content(BYTES),
            name="receive_from_model")  # fmt: skip
async def receive_from_model(request: Request, runners: Runners, handle: Handle, at: Position) -> Response:
    """Return bytes of a serving's link as they come from its language model; ask again when the answer has ended."""
    relay = runners.models.find(handle, _bearer(request))
    relay.forget(at)

    async def chunks() -> AsyncIterator[bytes]:
        position, end = at, time.monotonic() + MAX_HELD_SECONDS
        while time.monotonic() < end and position - at < MAX_LINK_BYTES and not await request.is_disconnected():
            data = relay.read(position)
            if data is None:
                return
            if data:
                yield data
                position += len(data)
            else:
                await asyncio.sleep(POLL_SECONDS)

    if relay.read(at) is None:
        raise NotFound(f"the model of the serving {handle} is gone")
    return StreamingResponse(chunks(), media_type=BYTES)


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").partition(" ")[2]


async def _read(request: Request, max_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise TooLarge(f"at most {max_bytes} bytes are taken at a time", limit=None)
    return bytes(body)


async def _until(request: Request, look: Callable[[], T | None], seconds: float) -> T | None:
    """Look until there is something, or the answer was held back for so many seconds."""
    end = time.monotonic() + seconds
    while (result := look()) is None and time.monotonic() < end and not await request.is_disconnected():
        await asyncio.sleep(POLL_SECONDS)
    return result
