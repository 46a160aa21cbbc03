"""The oracle: gets the reference solution from the runner and plays it, call by call, as any agent would.

Only the standard library, so that it starts at once; MCP over streamable HTTP by hand. It cannot be submitted: the
runner answers `GET /solution` to its own reference agent and to nobody else.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit

VERSION = "2025-06-18"
OK = (200, 202)


class Gateway:
    """One connection to the gateway: plain JSON, and MCP beside it."""

    def __init__(self, url: str) -> None:
        self.http = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self.number = 0

    def send(self, method: str, path: str, document: Any = None) -> tuple[Any, bytes]:
        """Make one request; give the response's headers and body."""
        body = None if document is None else json.dumps(document)
        self.http.request(method, path, body, self.headers)
        response = self.http.getresponse()
        content = response.read()
        if response.status not in OK:
            sys.exit(f"{method} {path} was refused with {response.status}")
        return response.headers, content

    def get(self, path: str) -> Any:
        """Get a JSON document."""
        return json.loads(self.send("GET", path)[1])

    def initialize(self) -> None:
        """Shake hands: from now on the version, and the session if there is one, go with every request."""
        client = {"name": "oracle", "version": "1"}
        headers, result = self.request(
            "initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
        )
        self.headers["MCP-Protocol-Version"] = result["protocolVersion"]
        if "Mcp-Session-Id" in headers:
            self.headers["Mcp-Session-Id"] = headers["Mcp-Session-Id"]
        self.send("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: Any) -> tuple[Any, Any]:
        """Make one JSON-RPC request; an error in the answer is an answer too."""
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        headers, content = self.send("POST", "/mcp", message)
        if headers.get_content_type() == "text/event-stream":
            lines = [line[5:] for line in content.decode().splitlines() if line.startswith("data:")]
            answer = next(
                event for event in map(json.loads, filter(str.strip, lines)) if event.get("id") == self.number
            )
        else:
            answer = json.loads(content)
        return headers, answer.get("result", {})


def main() -> None:
    """Play the solution."""
    gateway = Gateway(os.environ["QUARTERTURN_URL"])
    solution = gateway.get("/solution")
    if solution["calls"]:
        gateway.initialize()
    for call in solution["calls"]:
        gateway.request("tools/call", {"name": call["tool"], "arguments": call["arguments"]})
    if solution.get("answer") is not None:
        gateway.send("POST", "/answer", {"answer": solution["answer"]})


if __name__ == "__main__":
    main()
