"""Release page: the tasks and files of a published cohort, with their hashes, and how to check them. Pure.

Everything comes from the manifest of the release, the list of its tasks, and the sizes of its files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn.pages import task
from quarterturn.pages.drawing.grid import Column, Grid
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


def page(release: str, manifest: Item, sizes: Mapping[str, int], tasks: Sequence[Item], archive: Item | None) -> str:
    """Draw the page.

    Args:
        release: its name.
        manifest: what it says of itself.
        sizes: the bytes of its files, by their names.
        tasks: its tasks, without their goals.
        archive: `url`, `bytes` and `sha256` of the release in one file, if there is one.
    """
    tables = grids(release, manifest, sizes, tasks)
    return render(
        "release.html.jinja",
        here=HERE,
        base=address(release),
        release=release,
        counts=[("Cohort", manifest["cohort"]), ("Published after", manifest["month"]), ("Tasks", str(len(tasks)))],
        month=manifest["month"],
        archive=archive,
        tasks=tables["tasks"],
        files=tables["files"],
    )


def grids(release: str, manifest: Item, sizes: Mapping[str, int], tasks: Sequence[Item]) -> dict[str, Grid]:
    """Give the page's tables by their names."""
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
            "sha256": manifest["files"].get(name, {}).get("sha256"),
        }
        for name, size in sizes.items()
    ]
    mix = (
        Column("id", "Task", href=task.address("{id}")),
        Column("server", "Server"),
        Column("category", "Category"),
        Column("difficulty", "Difficulty"),
        Column("max_steps", "Calls allowed"),
    )
    return {
        "tasks": Grid("tasks", "Tasks of the release", mix, tasks),
        "files": Grid("files", "Files of the release", columns, rows),
    }


def address(release: str) -> str:
    """Give the address of a release's page."""
    return f"/release/{release}"
