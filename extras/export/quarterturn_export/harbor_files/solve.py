"""Player of a reference solution for a Harbor task: plays solution.json, which lies beside it, through the MCP server.

A copy lies in the folder of each exported task. Standard library only; the answer goes to the file of answers.
"""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

URL = os.environ.get("MCP_URL", "http://127.0.0.1:8700/mcp")
ANSWERS = Path(os.environ.get("LOGS", "/logs"), "artifacts", "answer.txt")
VERSION = "2025-06-18"
HEADERS = {
    "Host": "127.0.0.1:8700",
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": VERSION,
}


def send(message: dict[str, Any]) -> None:
    """Send one JSON-RPC message."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    request = urllib.request.Request(URL, body, HEADERS)  # noqa: S310 - the address is ours
    with urllib.request.urlopen(request, timeout=120) as response:  # noqa: S310
        response.read()


def main() -> None:
    """Play the solution."""
    solution = json.loads(Path(__file__).with_name("solution.json").read_text(encoding="utf-8"))
    client = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "solution", "version": "1"}}
    send({"id": 0, "method": "initialize", "params": client})
    send({"method": "notifications/initialized"})
    for number, call in enumerate(solution["calls"], 1):
        params = {"name": call["tool"].replace(".", "__", 1), "arguments": call.get("arguments", {})}
        send({"id": number, "method": "tools/call", "params": params})
    if solution.get("answer") is not None:
        ANSWERS.parent.mkdir(parents=True, exist_ok=True)
        ANSWERS.write_text(solution["answer"], encoding="utf-8")


if __name__ == "__main__":
    main()
