"""Agent that uses the standard library alone: it starts at once, so its own start-up hides none of the box's cost."""

from __future__ import annotations

import http.client
import json
import sys
import time
from urllib.parse import urlsplit

from calls import CALLS, URL, end

VERSION = "2025-06-18"
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": VERSION,
}


def over_http():
    """Return what sends one message and gives the answer, over HTTP."""
    connection = http.client.HTTPConnection(urlsplit(URL).netloc, timeout=60)

    def send(message):
        connection.request("POST", "/mcp", json.dumps(message), HEADERS)
        body = connection.getresponse().read()
        return json.loads(body) if "id" in message else None

    return send


def over_stdio():
    """Return the same over standard input and output."""

    def send(message):
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
        while "id" in message:
            answer = json.loads(sys.stdin.readline())
            if answer.get("id") == message["id"]:
                return answer
        return None

    return send


def main() -> None:
    """Make the calls."""
    send = over_http() if URL else over_stdio()
    hello = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "lean", "version": "1"}}
    send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    seconds = []
    for number, (name, arguments) in enumerate(CALLS, 1):
        params = {"name": name, "arguments": arguments}
        start = time.perf_counter()
        answer = send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        seconds.append(time.perf_counter() - start)
        if "error" in answer or answer["result"].get("isError"):
            sys.exit(f"{name} failed")
    end(seconds)


main()
