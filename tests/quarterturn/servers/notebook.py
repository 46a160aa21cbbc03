"""MCP server of one JSON file that writes times and random ids: what the package in `shelf.py` holds.

Standard library only, so that the package needs nothing else and is installed without a registry.
"""

import datetime
import json
import os
import random
import sys
import time
import uuid
from pathlib import Path

TEXT = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
TOOLS = {"add_note": "Add a note.", "remove_note": "Remove a note.", "wait": "Wait for a while."}


def call(file: Path, name: str, title: str) -> str:
    notes = json.loads(file.read_text()) if file.exists() else {"notes": []}
    if name == "add_note":
        now = datetime.datetime.now(datetime.UTC)
        notes["notes"].append(
            {
                "id": str(uuid.uuid4()),
                "word": random.choice(range(10**6)),
                "salt": os.urandom(4).hex(),
                "title": title,
                "created": now.isoformat(),
                "stamp": time.time(),
                "day": datetime.date.today().isoformat(),  # noqa: DTZ011 - as many servers do
                "clock": time.strftime("%Y-%m-%d %H:%M:%S"),
            }
        )
    elif name == "remove_note":
        notes["notes"] = [note for note in notes["notes"] if note["title"] != title]
    else:
        before = time.monotonic()
        time.sleep(0.2)
        return f"{time.monotonic() - before:.1f}"
    file.write_text(json.dumps(notes))
    return "done"


def answer(number: int, **outcome: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": number, **outcome}) + "\n")
    sys.stdout.flush()


def main() -> None:
    file = Path(sys.argv[1])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            about = {"name": "notebook", "version": "1.0"}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        elif method == "tools/list":
            result = {"tools": [{"name": n, "description": d, "inputSchema": TEXT} for n, d in TOOLS.items()]}
        elif method == "tools/call":
            said = call(file, params["name"], params.get("arguments", {}).get("title", ""))
            result = {"content": [{"type": "text", "text": said}]}
        else:
            error = {"code": -32601, "message": f"no method {method}"}
            answer(message["id"], error=error)
            continue
        answer(message["id"], result=result)


if __name__ == "__main__":
    main()
