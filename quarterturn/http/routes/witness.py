"""HTTP server of a witness: the one route of C2SP tlog-witness, `POST /add-checkpoint`.

It has no home, no session and no database; `vault.ledger.write.witness` decides every answer. Bodies are bounded before
they are read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from quarterturn.http.responses.listening import Listening
from sandbox.strict_http import StrictProtocol
from vault.errors import VaultError
from vault.ledger.write.witness import MAX_BODY, TEXT, LocalWitness

SHUTDOWN_TIMEOUT_SECONDS = 10  # for answers in the making

log = logging.getLogger("quarterturn.witness")


def create(witness: LocalWitness) -> Starlette:
    """Return the application."""

    async def add_checkpoint(request: Request) -> Response:
        body = b""
        try:
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY:
                    return Response(f"a request has at most {MAX_BODY} bytes\n", 400, media_type=TEXT)
        except ClientDisconnect:
            return Response(status_code=400)
        try:
            reply = await run_in_threadpool(witness.add_checkpoint, body)
        except VaultError as error:
            log.error("nothing was signed: %s", error)  # noqa: TRY400 - the sentence says it all
            return Response("this witness cannot keep what it sees, so it signs nothing\n", 503, media_type=TEXT)
        return Response(reply.body, reply.status, {"content-type": reply.content_type})

    app = Starlette(routes=[Route("/add-checkpoint", add_checkpoint, methods=["POST"])])
    app.router.redirect_slashes = False  # a redirect would name whatever host the request does
    return app


def serve(witness: LocalWitness, host: str, port: int, *, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` is called with the address once it answers there."""
    config = uvicorn.Config(
        create(witness),
        host=host,
        port=port,
        http=StrictProtocol,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        ws="none",
        lifespan="off",
        log_config=None,
    )
    Listening(config, ready).run()
