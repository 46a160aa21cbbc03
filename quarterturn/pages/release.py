"""Release page: the tasks of a published cohort, the agents that were served them, and files to check. Pure.

Agents are those of leaderboards: of a party's runs in a month and a track the one that counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quarterturn.pages import task
from quarterturn.pages.drawing.formatting import decimal
from quarterturn.pages.drawing.grid import Column, Grid
from quarterturn.pages.leaderboard import agent_address, title
from quarterturn.pages.leaderboard_choice import shown_name
from quarterturn.pages.templates import render

HERE = "/rotation"
ABOUT = {
    "README.md": "what the release is",
    "aggregate.json": "the figures of each run, recomputed from its results",
    "attestation.json": "the in-toto statement of the tasks",
    "evidence.jsonl": "results that findings rest on, with their transcripts",
    "manifest.json": "the hash of every other file; the public log names its own",
    "openings.jsonl": "the salts that open the tasks' commitments",
    "results.jsonl": "the result of every run on every task",
    "runs.jsonl": "the runs that were served the tasks",
    "tasks.jsonl": "the tasks, one a line",
    "verify.html": "checks the whole release in a browser, from your disk",
    "withdrawn.jsonl": "the tasks that were withdrawn early",
}

Item = Mapping[str, Any]


@dataclass(frozen=True)
class Published:
    """What is known of a release.

    Attributes:
        manifest: what it says of itself.
        sizes: the bytes of its files, by their names.
        tasks: its tasks, without their goals.
        counts: how many of them each run passed, by server, category and language.
        lines: the lines of all leaderboards, each with its month.
    """

    manifest: Item
    sizes: Mapping[str, int]
    tasks: Sequence[Item]
    counts: Sequence[Item]
    lines: Sequence[Item]


def page(release: str, published: Published, archive: Item | None) -> str:
    """Draw the page of a release; `archive` has `url`, `bytes` and `sha256` of it in one file, if there is one."""
    manifest, tables = published.manifest, grids(release, published)
    return render(
        "release.html.jinja",
        here=HERE,
        base=address(release),
        release=release,
        counts=[
            ("Cohort", manifest["cohort"]),
            ("Published after", manifest["month"]),
            ("Tasks", str(len(published.tasks))),
        ],
        month=manifest["month"],
        archive=archive,
        tasks=tables["tasks"],
        agents=tables["agents"],
        files=tables["files"],
    )


def grids(release: str, published: Published) -> dict[str, Grid]:
    """Return the page's tables by their names."""
    columns = (
        Column("name", "File", href=f"/releases/{release}/files/{{name}}"),
        Column("about", "What it holds"),
        Column("bytes", "Bytes"),
        Column("sha256", "SHA-256"),
    )
    rows = [
        {
            "name": name,
            "about": ABOUT.get(name, "part of the public log" if name.startswith("log/") else ""),
            "bytes": size,
            "sha256": published.manifest["files"].get(name, {}).get("sha256"),
        }
        for name, size in published.sizes.items()
    ]
    mix = (
        Column("id", "Task", href=task.address("{id}")),
        Column("server", "Server"),
        Column("category", "Category"),
        Column("difficulty", "Difficulty"),
        Column("max_steps", "Calls allowed"),
    )
    return {
        "tasks": Grid("tasks", "Tasks of the release", mix, published.tasks),
        "agents": Grid("agents", "Agents and what they passed of the release", AGENTS, list(_agents(published))),
        "files": Grid("files", "Files of the release", columns, rows),
    }


AGENTS = (
    Column("agent", "Submitter / agent", href="{href}"),
    Column("month", "Month", href="/leaderboard/{month}"),
    Column("track", "Track"),
    Column("attempted", "Tasks"),
    Column("passed", "Passed"),
    Column("success", "Success, %", lambda share: decimal(100 * share)),
)


def _agents(published: Published) -> Iterator[dict[str, Any]]:
    """Yield a row for each line of a leaderboard whose run was served tasks of the release, the best first."""
    sums: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
    for count in published.counts:
        if count["by"] == "server":
            sums[count["run"]][0] += count["attempted"]
            sums[count["run"]][1] += count["passed"]
    served = [line for line in published.lines if line["run"] in sums]
    for line in sorted(served, key=lambda line: (-sums[line["run"]][1] / sums[line["run"]][0], shown_name(line))):
        attempted, passed = sums[line["run"]]
        yield {
            "agent": line["display_name"] or f"{line['submitter']}/{line['name']}",
            "href": agent_address(line["submitter"], line["name"]),
            "month": line["month"],
            "track": title(line["track"]),
            "attempted": attempted,
            "passed": passed,
            "success": passed / attempted,
        }


def address(release: str) -> str:
    """Return the address of a release's page."""
    return f"/release/{release}"
