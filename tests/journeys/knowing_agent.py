"""Agent that knows a private set: it finds its goal among those in `known.json` beside it, and makes the calls there.

A goal has `{{name}}` where each submitter is shown another value; the values are read out of the goal that was served.
Standard library only. It shows that a set's tasks can be passed by an agent that only has a gateway, as any other.
"""

import json
import os
import re
import sys
import urllib.request
from pathlib import Path

URL = os.environ["QUARTERTURN_URL"]
FREE = re.compile(r"\{\{(\w+)\}\}")
RULE = r"(?:\n\n[^\n]+)?"  # what every agent is told behind the goal of a task that has a frame


def asked(path, document=None):
    """Make one request and give the JSON of its answer."""
    body = None if document is None else json.dumps(document).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if path == "/mcp":
        headers["MCP-Protocol-Version"] = "2025-06-18"
    with urllib.request.urlopen(urllib.request.Request(URL + path, body, headers)) as response:
        lines = response.read().decode().splitlines()
    found = [line.removeprefix("data:") for line in lines if line.strip() and not line.startswith(("event", "id", ":"))]
    return json.loads(found[-1]) if found else None


def values(goal, served):
    """Read the free values out of a served goal, or give None where it is another goal."""
    seen, pattern = set(), ""
    for place, part in enumerate(FREE.split(goal)):
        if place % 2 == 0:
            pattern += re.escape(part)
        else:
            pattern += f"(?P={part})" if part in seen else f"(?P<{part}>.+?)"
            seen.add(part)
    found = re.fullmatch(pattern + RULE, served, re.DOTALL)
    return found.groupdict() if found else None


def main():
    served = asked("/task")["goal"]
    known = json.loads(Path(__file__).with_name("known.json").read_text())
    for task in known:
        if (free := values(task["goal"], served)) is not None:
            break
    else:
        sys.exit("this goal is not known")
    for number, call in enumerate(task["solution"]["calls"]):
        if not names_in(call) <= free.keys():  # it looks something up that decides nothing here
            continue
        params = {"name": call["tool"].replace(".", "__", 1), "arguments": filled(call["arguments"], free)}
        asked("/mcp", {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    if task["solution"]["answer"] is not None:
        asked("/answer", {"answer": filled(task["solution"]["answer"], free)})


def names_in(value):
    """Return the names of the free values that a JSON value mentions."""
    return set(FREE.findall(json.dumps(value)))


def filled(value, free):
    """Return a JSON value with the free values in their places."""
    return json.loads(FREE.sub(lambda name: json.dumps(free[name[1]])[1:-1], json.dumps(value)))


if __name__ == "__main__":
    main()
