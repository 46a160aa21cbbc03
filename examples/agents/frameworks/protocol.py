"""What every agent does: it asks for its task, and answers. The standard library is enough."""

import json
import os
import urllib.request
from typing import Any

URL = os.environ["QUARTERTURN_URL"]


def get_task() -> dict[str, Any]:
    """Return the task."""
    with urllib.request.urlopen(f"{URL}/task") as response:  # noqa: S310 - the address is the runner's own
        return json.load(response)


def answer(text: str) -> None:
    """Answer, which ends the task."""
    body = json.dumps({"answer": text}).encode()
    request = urllib.request.Request(f"{URL}/answer", body, {"Content-Type": "application/json"})  # noqa: S310
    urllib.request.urlopen(request).close()  # noqa: S310
