"""MCP server over GNU recutils: records are selected and inserted. Standard library only, to need no index."""

import json
import subprocess
import sys

TEXT = {"type": "string"}
FIELDS = {"type": "object", "additionalProperties": TEXT}


def tool(name: str, description: str, **properties: object) -> dict:
    """Describe a tool whose arguments are all required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    tool("select", "Select records by an expression such as Pages > 100.", file=TEXT, where=TEXT),
    tool("insert", "Insert a record.", file=TEXT, fields=FIELDS),
]


def call(name: str, arguments: dict) -> tuple[str, bool]:
    """Run a program of recutils, and return what it printed, and whether it failed."""
    if name == "select":
        words = ["recsel", "-e", arguments["where"], arguments["file"]]
    else:
        pairs = [word for key, value in arguments["fields"].items() for word in ("-f", key, "-v", value)]
        words = ["recins", *pairs, arguments["file"]]
    done = subprocess.run(words, cwd=sys.argv[1], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr, done.returncode != 0)


def result_of(message: dict) -> dict:
    """Answer one request of MCP."""
    if message["method"] == "initialize":
        about = {"name": "records", "version": "1.0"}
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if message["method"] == "tools/call":
        text, failed = call(message["params"]["name"], message["params"].get("arguments", {}))
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return {"tools": TOOLS}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result_of(request)}), flush=True)
