"""Client of the gateway in the standard library: plain JSON beside MCP over streamable HTTP."""

from __future__ import annotations

import http.client
import json
import os
from typing import Any
from urllib.parse import urlsplit

VERSION = "2025-06-18"


class ToolFailed(Exception):
    """A tool answered with an error."""


class Gateway:
    """One connection to the address in `QUARTERTURN_URL`."""

    def __init__(self) -> None:
        self.http = http.client.HTTPConnection(urlsplit(os.environ["QUARTERTURN_URL"]).netloc, timeout=60)
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self.number = 0

    def get(self, path: str) -> Any:
        """Get a JSON document."""
        return json.loads(self._send("GET", path)[1])

    def answer(self, text: str) -> None:
        """Answer the task, which ends the session."""
        self._send("POST", "/answer", {"answer": text})

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool and give the text of its result.

        Raises:
            ToolFailed: it answered with an error.
        """
        if not self.number:
            about = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "ladder", "version": "1"}}
            self.headers["MCP-Protocol-Version"] = self._request("initialize", about)["protocolVersion"]
            self._send("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        result = self._request("tools/call", {"name": name, "arguments": arguments})
        text = "\n".join(block.get("text", "") for block in result.get("content", []))
        if result.get("isError", "content" not in result):
            raise ToolFailed(f"{name}: {text}")
        return text

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.number += 1
        headers, content = self._send(
            "POST", "/mcp", {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        )
        if "Mcp-Session-Id" in headers:
            self.headers["Mcp-Session-Id"] = headers["Mcp-Session-Id"]
        lines = [content]
        if headers.get_content_type() == "text/event-stream":
            lines = [line[5:] for line in content.splitlines() if line.startswith(b"data:") and line[5:].strip()]
        answers = (json.loads(line) for line in lines)
        return dict(next(message for message in answers if message.get("id") == self.number).get("result", {}))

    def _send(self, method: str, path: str, document: Any = None) -> tuple[Any, bytes]:
        self.http.request(method, path, None if document is None else json.dumps(document), self.headers)
        response = self.http.getresponse()
        return response.headers, response.read()
