"""MCP server of a shop, which talks to its API at SHOP_API. Standard library only, to be installed without an index."""

import http.client
import json
import os
import sys

TEXT = {"type": "string"}
ORDER = {"type": "object", "properties": {"customer": TEXT, "item": TEXT}, "required": ["customer", "item"]}
TOOLS = [
    {"name": "list_orders", "description": "List the orders.", "inputSchema": {"type": "object"}},
    {"name": "add_order", "description": "Add an order of one item.", "inputSchema": ORDER},
]


def call(name: str, arguments: dict[str, str]) -> str:
    """Ask the API."""
    connection = http.client.HTTPConnection(os.environ["SHOP_API"])
    connection.request(*(("POST", "/orders", json.dumps(arguments)) if name == "add_order" else ("GET", "/orders")))
    return connection.getresponse().read().decode()


def result_of(message: dict) -> dict:
    """Answer one request of MCP."""
    if message["method"] == "initialize":
        about = {"name": "shop", "version": "1.0"}
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if message["method"] == "tools/call":
        text = call(message["params"]["name"], message["params"].get("arguments", {}))
        return {"content": [{"type": "text", "text": text}]}
    return {"tools": TOOLS}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result_of(request)}), flush=True)
