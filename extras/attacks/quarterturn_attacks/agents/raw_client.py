"""Hand-written HTTP and MCP client, so that requests can be wrong on purpose."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import Any
from urllib.parse import urlsplit

_URL = urlsplit(os.environ.get("QUARTERTURN_URL", "http://127.0.0.1:8700"))
ADDRESS = (_URL.hostname or "127.0.0.1", _URL.port or 8700)
HOST = f"{ADDRESS[0]}:{ADDRESS[1]}"
ANSWER_TIMEOUT_SECONDS = 20.0
FILE = "/data/files/colour.txt"


def dial(patience: float = ANSWER_TIMEOUT_SECONDS) -> socket.socket:
    """Open a connection to the gateway."""
    return socket.create_connection(ADDRESS, patience)


def send(data: bytes, patience: float = ANSWER_TIMEOUT_SECONDS) -> bytes:
    """Send bytes over a connection of their own, and give what comes back until it is closed or time is up."""
    answer = b""
    with dial(patience) as caller:
        with contextlib.suppress(OSError):
            caller.sendall(data)
        with contextlib.suppress(OSError):
            while more := caller.recv(65536):
                answer += more
    return answer


def request(
    method: str, path: str, body: bytes = b"", *headers: str, host: str = f"Host: {HOST}", close: bool = True
) -> bytes:
    """Write a request; the headers that are given stand behind the usual ones."""
    lines = [f"{method} {path} HTTP/1.1", host, "Content-Type: application/json"]
    lines += ["Accept: application/json, text/event-stream", *headers]
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    lines.append("Connection: close" if close else "Connection: keep-alive")
    return "\r\n".join([line for line in lines if line] + ["", ""]).encode("latin-1") + body


def post(path: str, body: bytes, *headers: str) -> int:
    """Post a body and give the status of the answer, 0 where there is none."""
    return status(send(request("POST", path, body, *headers)))


def status(answer: bytes) -> int:
    """Read the status of an answer."""
    words = answer.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def successes(answer: bytes) -> int:
    """Count the answers in a row that tell of success."""
    return answer.count(b"HTTP/1.1 200") + answer.count(b"HTTP/1.0 200")


def calling(tool: str, number: int = 1, **arguments: Any) -> bytes:
    """Write a tool call as JSON."""
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return json.dumps(message).encode()


def solving() -> bytes:
    """Write the call that does the task: nobody here makes it openly."""
    return calling("filesystem__write_file", path=FILE, content="heliotrope")


def slow_query(rows: int) -> str:
    """Write a query that takes some seconds for each ten million rows; the server wants a SELECT in front."""
    numbers = "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < ROWS) SELECT x FROM c"
    return f"SELECT count(*) FROM ({numbers.replace('ROWS', str(rows))})"  # noqa: S608 - our own words


def call(tool: str, **arguments: Any) -> tuple[bool, str]:
    """Call a tool; say whether it went well, and give the text of the answer."""
    answer = send(request("POST", "/mcp", calling(tool, **arguments)))
    _, _, body = answer.partition(b"\r\n\r\n")
    try:
        result = json.loads(body)["result"]
        text = "\n".join(str(block.get("text", "")) for block in result["content"])
        return not result.get("isError"), text
    except (ValueError, KeyError, TypeError):
        return False, body[:200].decode("latin-1")


def honest() -> bool:
    """Say whether an ordinary request is answered."""
    return status(send(request("GET", "/task"))) == 200  # noqa: PLR2004 - HTTP's own number
