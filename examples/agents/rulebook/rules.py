"""The rules: a sentence to look for in the goal, and what to do about it. First match wins.

A rule looks with the tools before it acts, gives the answer as text or None, and raises `Stuck` where it does not know
on. There is no table of answers in here, and there are goals that no rule is about: those are not solved.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Awaitable, Callable
from typing import Any

Tools = Callable[..., Awaitable[str]]
Rule = Callable[..., Awaitable[str | None]]
RULES: list[tuple[re.Pattern[str], Rule]] = []

PATH = r"/data/files/\S*\w"


class Stuck(Exception):
    """No rule knows on."""


def rule(sentence: str) -> Callable[[Rule], Rule]:
    """Make a function the rule for goals with this sentence in them; its named groups become the arguments."""

    def keep(function: Rule) -> Rule:
        RULES.append((re.compile(sentence.replace("PATH", PATH), re.IGNORECASE | re.DOTALL), function))
        return function

    return keep


async def solve(goal: str, tools: Tools) -> str | None:
    """Find the rule for a goal and follow it."""
    for pattern, function in RULES:
        if found := pattern.search(goal):
            return await function(tools, **found.groupdict())
    raise Stuck("no rule is about this goal")


# -- questions about a file -------------------------------------------------------------------------------------------


@rule(r"value of (?P<key>\w+) in (?P<path>PATH)")
async def setting(tools: Tools, key: str, path: str) -> str:
    """Read a setting; a comment is no setting."""
    for line in (await read(tools, path)).splitlines():
        name, equals, value = line.partition("=")
        if equals and name.strip() == key:
            return value.strip()
    raise Stuck(f"{path} has no {key}")


@rule(r"code does the last line of level (?P<level>\w+) in (?P<path>PATH)")
async def last_code(tools: Tools, level: str, path: str) -> str:
    """Find a log's last line of a level: day, time, level, code, words."""
    lines = [line.split() for line in (await read(tools, path)).splitlines()]
    codes = [code for _, _, kind, code, *_ in filter(None, lines) if kind == level.upper()]
    return codes[-1] if codes else "none"


@rule(r"how many \w+ in (?P<path>PATH) have the (?P<column>\w+) (?P<wanted>[\w-]+)")
async def how_many(tools: Tools, path: str, column: str, wanted: str) -> str:
    """Count the rows of a table."""
    return str(sum(row[column] == wanted for row in await table(tools, path)))


@rule(r"amounts of the (?P<column>\w+) (?P<wanted>[\w-]+) in (?P<path>PATH) add up to")
async def total(tools: Tools, column: str, wanted: str, path: str) -> str:
    """Add up the rows of a table."""
    return str(sum(int(row["amount"]) for row in await table(tools, path) if row[column] == wanted))


# -- one change to a file ---------------------------------------------------------------------------------------------


@rule(r"rename (?P<path>PATH) to (?P<name>\S*\w) in the same folder")
async def rename(tools: Tools, path: str, name: str) -> None:
    """Give a file another name."""
    await tools("filesystem__move_file", source=path, destination=f"{path.rpartition('/')[0]}/{name}")


@rule(r"move (?P<path>PATH) into the folder (?P<folder>PATH)")
async def refile(tools: Tools, path: str, folder: str) -> None:
    """Put a file into another folder."""
    await tools("filesystem__move_file", source=path, destination=f"{folder}/{path.rpartition('/')[2]}")


@rule(r"create the folder (?P<path>PATH)")
async def make_folder(tools: Tools, path: str) -> None:
    """Make a folder."""
    await tools("filesystem__create_directory", path=path)


@rule(r"write a file (?P<path>PATH) that holds exactly this one line: (?P<line>[^.\n]+)")
async def write_note(tools: Tools, path: str, line: str) -> None:
    """Write a line into a file."""
    await tools("filesystem__write_file", path=path, content=line + "\n")


# -- tidying a folder -------------------------------------------------------------------------------------------------


@rule(
    r"(?P<folder>PATH).*every file whose (?P<test>(\w+ line (says|names)|name ends in) \.?\w+)"
    r".*move them into (?P<target>PATH)\.(?P<more>.*)"
)
async def tidy(tools: Tools, folder: str, test: str, target: str, more: str) -> None:
    """Move the files that have a line `key: wanted`, or an ending, into a folder of their own."""
    key, *_, wanted = test.split()
    chosen = await names(tools, folder)
    if key == "name":
        chosen = [name for name in chosen if name.endswith(wanted)]
    else:
        texts = {name: await read(tools, f"{folder}/{name}") for name in chosen}
        chosen = [name for name, text in texts.items() if f"{key}: {wanted}" in text.splitlines()]
    await tools("filesystem__create_directory", path=target)
    for name in chosen:
        await tools("filesystem__move_file", source=f"{folder}/{name}", destination=f"{target}/{name}")
    if count := re.search(f"how many there were.* into (?P<path>{PATH})", more):
        await tools("filesystem__write_file", path=count["path"], content=f"{len(chosen)}\n")


# -- looking ----------------------------------------------------------------------------------------------------------


async def read(tools: Tools, path: str) -> str:
    """Read a text file."""
    return await tools("filesystem__read_text_file", path=path)


async def names(tools: Tools, folder: str) -> list[str]:
    """List the files in a folder."""
    listed = await tools("filesystem__list_directory", path=folder)
    return [line.removeprefix("[FILE] ") for line in listed.splitlines() if line.startswith("[FILE] ")]


async def table(tools: Tools, path: str) -> list[dict[str, Any]]:
    """Read a CSV file with a line of headings."""
    return list(csv.DictReader(io.StringIO(await read(tools, path))))
