"""Tasks in the format of Harbor (laude-institute/harbor), a folder a task. Pure.

    task.toml                schema 1.4, as harbor 0.25.0 reads it
    instruction.md           the goal
    environment/             the agent's container, and beside it the service `world`: the MCP servers with the task's
                             data, started by `quarterturn plumb world`
    tests/                   a container of its own, which runs `quarterturn predicate check` on the state that was left
    solution/                the reference solution, where it is known

Nothing of the predicate is ever in the agent's container or in the network that it shares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files as resources
from typing import Any

from quarterturn.errors import Refused
from quarterturn.public_records.records import PublicRecords, PublicTask
from sandbox.runs.task_world import render_goal

SCHEMA = "1.4"
CARD = "README.md"
PORT = 8700
SESSION_SECONDS = 1800
COLLECT = (
    "touch /world/finish && i=0 && while [ ! -e /world/session.json ] && [ $i -lt 1000 ]; do sleep 0.1; i=$((i+1)); "
    "done && test -e /world/session.json"
)
ANSWER = "If this asks a question, write the answer, and nothing else, to the file `/logs/artifacts/answer.txt`."
_COPIES = {
    "environment/Dockerfile": "main.Dockerfile",
    "environment/docker-compose.yaml": "docker-compose.yaml",
    "tests/Dockerfile": "verifier.Dockerfile",
    "tests/test.sh": "test.sh",
}
_SOLUTION = {"solution/solve.sh": "solve.sh", "solution/solve.py": "solve.py"}


def files(records: PublicRecords) -> dict[str, bytes]:
    """Return the files of an export: path -> bytes.

    Raises:
        Refused: there is no task.
    """
    if not records.tasks:
        raise Refused("there is no task to export")
    made = {CARD: "\n".join(_card(records)).encode() + b"\n"}
    for item in records.tasks:
        made |= {f"{item.task.id}/{name}": data for name, data in _task(records, item).items()}
    return made


def _task(records: PublicRecords, item: PublicTask) -> dict[str, bytes]:
    """Return the files of one task, of its base variant."""
    task = item.task.base()
    solutions = item.solutions
    copies = _COPIES | (_SOLUTION if solutions else {})
    made = {path: _resource(name) for path, name in copies.items()}
    document = _json(task.document)
    made |= {
        "task.toml": toml(config(records, item)).encode(),
        "instruction.md": f"{render_goal(task)}\n\n{ANSWER}\n".encode(),
        "environment/world/task.json": document,
        "tests/task.json": document,
    }
    return made | ({"solution/solution.json": _json(solutions[0])} if solutions else {})


def config(records: PublicRecords, item: PublicTask) -> dict[str, Any]:
    """Return the values of `task.toml`."""
    task = item.task
    about = {
        "server": task.server,
        "category": task.category,
        "difficulty": task.difficulty,
        "language": task.language,
        "max_steps": task.max_steps,
        "available_tools": list(task.available_tools),
        "status": item.status,
        "license": records.license,
        "source": records.name,
    }
    opened = {"commitment": item.commitment, "log": records.origin, "canary": records.canary}
    server = {"name": "quarterturn", "transport": "streamable-http", "url": f"http://127.0.0.1:{PORT}/mcp"}
    return {
        "schema_version": SCHEMA,
        "artifacts": [{"source": f"/world/{name}", "service": "world"} for name in ("state.json", "session.json")],
        "task": {
            "name": f"quarterturn/{task.id}",
            "description": f"{task.category} task for the MCP server {task.server}",
            "keywords": ["mcp", task.server, task.category],
        },
        "metadata": about | {name: value for name, value in opened.items() if value is not None},
        "agent": {"timeout_sec": float(SESSION_SECONDS)},
        "verifier": {
            "timeout_sec": 300.0,
            "environment_mode": "separate",
            "environment": {"network_mode": "no-network"},
            "collect": [{"command": COLLECT, "service": "world", "timeout_sec": 120.0}],
        },
        "environment": {"build_timeout_sec": 600.0, "mcp_servers": [server]},
    }


def toml(values: Mapping[str, Any]) -> str:
    """Write values as TOML: plain ones first, then tables, then arrays of tables."""
    return "\n".join(_table(values, ())) + "\n"


def _table(values: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    for name, value in values.items():
        if not _is_table(value) and not _is_tables(value):
            yield f"{name} = {_literal(value)}"
    for name, value in values.items():
        place = (*path, name)
        if _is_table(value):
            yield f"\n[{'.'.join(place)}]"
            yield from _table(value, place)
        elif _is_tables(value):
            for entry in value:
                yield f"\n[[{'.'.join(place)}]]"
                yield from _table(entry, place)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _literal(value: Any) -> str:
    """Write a plain value; a JSON string with its escapes is a basic string of TOML, but for the character 0x7f."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, default=dict).encode() + b"\n"


def _resource(name: str) -> bytes:
    return resources("quarterturn_export").joinpath("harbor_files", name).read_bytes()


def _card(records: PublicRecords) -> Sequence[str]:
    without = [item.task.id for item in records.tasks if not item.solutions]
    return [
        f"# {records.title}: tasks for Harbor",
        "",
        records.about,
        "",
        *(
            [f"Benchmark data must not be in training corpora. Canary GUID: {records.canary}", ""]
            if records.canary
            else []
        ),
        f"Licence: {records.license}.",
        "",
        "Each folder is a task. Its world and its verifier need the image `quarterturn-harbor`; build it once, in a",
        "checkout of Quarterturn:",
        "",
        "    git archive HEAD | docker build -f extras/export/Dockerfile -t quarterturn-harbor -",
        f"    harbor run --path {records.tasks[0].task.id} --agent oracle",
        "",
        "The oracle, which plays the reference solution, gets reward 1; an agent that does nothing gets 0.",
        *([f"No reference solution was opened of: {', '.join(without)}."] if without else []),
        "",
        "## What has no place here",
        "",
        "- The list of tools per task: the MCP server offers those of `available_tools` and counts calls to others.",
        "- `max_steps` and scheduled errors: the world applies both. A task whose budget was exceeded has reward 0.",
        "- Three-valued verdicts: *unknown* has reward 0.",
        "- The wall around the agent: its container has a network here. Such a score is no score of the benchmark.",
        "- Variants: each task is its base variant, with the first value of each free parameter.",
    ]
