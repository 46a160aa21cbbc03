"""The service's floor: a bare FastAPI route that returns the bytes of a file, started as `bare.py FILE MEDIA`."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Response

FILE, MEDIA = sys.argv[1:]
BODY = Path(FILE).read_bytes()
app = FastAPI()


@app.get("/")
async def bare() -> Response:
    """Return the bytes."""
    return Response(BODY, media_type=MEDIA)


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, access_log=False, log_config=None)).run([listener])
