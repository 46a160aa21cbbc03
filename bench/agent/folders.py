"""Agent of the chaos bench, of the standard library alone: after a pause it does every other task, by its number."""

import http.client
import json
import os
import re
import time
from urllib.parse import urlsplit

PAUSE_SECONDS = 1.0
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-06-18",
}
connection = http.client.HTTPConnection(urlsplit(os.environ["QUARTERTURN_URL"]).netloc, timeout=60)


def post(message: dict) -> None:
    connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), HEADERS)
    connection.getresponse().read()


connection.request("GET", "/task")
name = re.search("number-[0-9]+", json.load(connection.getresponse())["goal"])
time.sleep(PAUSE_SECONDS)
if name and int(name[0][7:]) % 2:
    client = {"protocolVersion": HEADERS["MCP-Protocol-Version"], "capabilities": {}}
    post({"id": 1, "method": "initialize", "params": client | {"clientInfo": {"name": "folders", "version": "1"}}})
    post({"method": "notifications/initialized"})
    arguments = {"path": f"/data/files/{name[0]}"}
    post({"id": 2, "method": "tools/call", "params": {"name": "filesystem__create_directory", "arguments": arguments}})
