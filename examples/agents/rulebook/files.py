"""Rules about files and folders."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

from file_tools import find_line, make_folder, move, names, read, write
from rulebook import Stuck, Tools, rule

STARTS = {"a dollar sign": "$", "!! (two exclamation marks)": "!!"}


@rule(r"value of <key:WORD> in <path:PATH>")
async def setting(tools: Tools, key: str, path: str) -> str:
    """Read a setting; a comment is no setting."""
    for line in (await read(tools, path)).splitlines():
        name, equals, value = line.partition("=")
        if equals and name.strip() == key:
            return value.strip()
    raise Stuck(f"{path} has no {key}")


@rule(r"code does the last line of level <level:WORD> in <path:PATH>")
async def last_code(tools: Tools, level: str, path: str) -> str:
    """Find a log's last line of a level: day, time, level, code, words."""
    lines = [line.split() for line in (await read(tools, path)).splitlines()]
    codes = [code for _, _, kind, code, *_ in filter(None, lines) if kind == level.upper()]
    return codes[-1] if codes else "none"


@rule(r"how many \w+ in <path:PATH> have the <column:WORD> <wanted:WORD>")
async def how_many(tools: Tools, path: str, column: str, wanted: str) -> str:
    """Count the rows of a table."""
    return str(sum(row[column] == wanted for row in await table(tools, path)))


@rule(r"amounts of the <column:WORD> <wanted:WORD> in <path:PATH> add up to")
async def total(tools: Tools, column: str, wanted: str, path: str) -> str:
    """Add up the rows of a table."""
    return str(sum(int(row["amount"]) for row in await table(tools, path) if row[column] == wanted))


@rule(r"in which file of <folder:PATH> and in which line does `(?P<line>.+?)` stand")
async def place(tools: Tools, folder: str, line: str) -> str:
    """Cite the place of a line."""
    return await find_line(tools, folder, line)


@rule(r"rename <path:PATH> to (?P<name>\S*\w) in the same folder")
async def rename(tools: Tools, path: str, name: str) -> None:
    """Give a file another name."""
    await move(tools, path, f"{path.rpartition('/')[0]}/{name}")


@rule(r"move <path:PATH> into the folder <folder:PATH>")
async def refile(tools: Tools, path: str, folder: str) -> None:
    """Put a file into another folder."""
    await move(tools, path, f"{folder}/{path.rpartition('/')[2]}")


@rule(r"create the folder <path:PATH>")
async def create_folder(tools: Tools, path: str) -> None:
    """Make the folder that is asked for."""
    await make_folder(tools, path)


@rule(r"write a file <path:PATH> that holds exactly this one line: (?P<line>[\w ]+)")
async def write_note(tools: Tools, path: str, line: str) -> None:
    """Write a line into a file."""
    await write(tools, path, [line])


@rule(r"change the line `(?P<old>.+?)` in <path:PATH> to `(?P<new>.+?)`")
async def change_line(tools: Tools, old: str, path: str, new: str) -> None:
    """Change one line, and no line that only looks like it."""
    lines = (await read(tools, path)).splitlines()
    await write(tools, path, [new if line == old else line for line in lines])


@rule(r"\.conf files? in <folder:PATH> .*?line `(?P<old>.+?)`.*?make it `(?P<new>.+?)`")
async def change_lines(tools: Tools, folder: str, old: str, new: str) -> None:
    """Change a line wherever it stands in a folder's settings."""
    for name in await names(tools, folder, ".conf"):
        if old in (await read(tools, f"{folder}/{name}")).splitlines():
            await change_line(tools, old, f"{folder}/{name}", new)


@rule(r"collect every line that starts with (?P<start>.+?) from the \.txt files in <folder:PATH> into <path:PATH>")
@rule(r"<path:PATH> should hold every line that starts with (?P<start>.+?), whole, .*\.txt files in <folder:PATH>")
async def collect(tools: Tools, start: str, folder: str, path: str) -> None:
    """Collect lines from many files into one."""
    kept_lines = []
    for name in sorted(await names(tools, folder, ".txt")):
        lines = (await read(tools, f"{folder}/{name}")).splitlines()
        kept_lines += [line for line in lines if line.startswith(STARTS.get(start, start))]
    await make_folder(tools, path.rpartition("/")[0])
    await write(tools, path, kept_lines)


@rule(r"\.csv files?.* in <folder:PATH> count visitors.*How many visitors .* in all.* into <path:PATH>")
@rule(r"In <folder:PATH> there is a \.csv file of .*visitors.*How many visitors .* in all.* into <path:PATH>")
async def visitors(tools: Tools, folder: str, path: str) -> None:
    """Add up the last column of all tables in a folder."""
    figures = []
    for name in await names(tools, folder, ".csv"):
        figures += [int(list(row.values())[-1]) for row in await table(tools, f"{folder}/{name}")]
    amount = sum(figures)
    await write(tools, path, [json.dumps({"total": amount}) if path.endswith(".json") else str(amount)])


@rule(
    r"<folder:PATH>.*every file whose (?P<test>(\w+ line (says|names)|name ends in) \.?\w+)"
    r".*move them into <target:PATH>\.(?P<more>.*)"
)
async def tidy(tools: Tools, folder: str, test: str, target: str, more: str) -> None:
    """Move the files that have a line `key: wanted`, or an ending, into a folder of their own."""
    key, *_, wanted = test.split()
    chosen = await names(tools, folder, wanted if key == "name" else "")
    if key != "name":
        texts = {name: await read(tools, f"{folder}/{name}") for name in chosen}
        chosen = [name for name, text in texts.items() if f"{key}: {wanted}" in text.splitlines()]
    await make_folder(tools, target)
    for name in chosen:
        await move(tools, f"{folder}/{name}", f"{target}/{name}")
    if count := re.search(r"how many there were.* into (\S+\w)", more):
        await write(tools, count[1], [str(len(chosen))])


async def table(tools: Tools, path: str) -> list[dict[str, Any]]:
    """Read a CSV file with a line of headings."""
    return list(csv.DictReader(io.StringIO(await read(tools, path))))
