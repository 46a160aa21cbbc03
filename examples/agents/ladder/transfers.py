"""Rung 3: what is read in one place is written, chosen and put in order in another."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta

from knowledge import COUNTRIES, CURRENCIES
from rules import Stuck, Tools, quoted, rule


@rule(r"prepare <new:TEXT> in <repo:REPO>: find the feature branch whose file VERSION says (?P<version>\S+);")
def release(tools: Tools, new: str, repo: str, version: str) -> None:
    """Branch off where a file says something."""
    for name in tools.branches(repo):
        if tools("git__git_show", repo_path=repo, revision=f"{name}:VERSION").strip() == version:
            tools("git__git_create_branch", repo_path=repo, branch_name=new, base_branch=name)
            return
    raise Stuck("no branch says so")


def enter(tools: Tools, url: str, title: str, start: datetime, minutes: int) -> None:
    """Enter an event, in UTC."""
    times = {"start": start, "end": start + timedelta(minutes=minutes)}
    tools(
        "calendar__create-event",
        calendarUrl=url,
        summary=title,
        **{k: f"{t:%Y-%m-%dT%H:%M:00Z}" for k, t in times.items()},
    )


@rule(
    r"Compare the files in <folder:PATH> with the folder <docs:WORD> on the branch (?P<branch>\S+) of the"
    r" repository <repo:REPO>: the files that are in both with the same content\. List their names, .* in"
    r" <path:PATH>"
)
def same_files(tools: Tools, folder: str, docs: str, branch: str, repo: str, path: str) -> None:
    """List the files that a folder has as a branch has them."""
    listed = tools("git__git_show", repo_path=repo, revision=f"{branch}:{docs}").splitlines()
    both = [name for name in tools.names(folder) if name in listed]
    theirs = {name: tools("git__git_show", repo_path=repo, revision=f"{branch}:{docs}/{name}") for name in both}
    tools.write(path, [name for name in both if tools.read(f"{folder}/{name}").strip() == theirs[name].strip()])


@rule(
    r"Compare <file:PATH> with the database table <table:WORD> .*Which skus are in the table and not in the"
    r" file\? Write them into <path:PATH>"
)
def missing_skus(tools: Tools, file: str, table: str, path: str) -> None:
    """List what a file lacks of a table."""
    there = {row["sku"] for row in tools.table(file)}
    skus = sorted(sku for (sku,) in tools.rows("sqlite", f"SELECT sku FROM {table}"))  # noqa: S608
    tools.write(path, [sku for sku in skus if sku not in there])


@rule(
    r"branch of <repo:REPO> is wanted: the feature branch with the largest number in its file <file:WORD>\."
    r" Copy its (?P<copied>\S+) unchanged into <path:PATH>"
)
def hand_out(tools: Tools, repo: str, file: str, copied: str, path: str) -> None:
    """Copy a file of the branch with the largest number."""
    numbers = {}
    for name in tools.branches(repo):
        text = tools("git__git_show", repo_path=repo, revision=f"{name}:{file}")
        numbers[name] = int(dict(re.findall(r"^(\w+): (.*)$", text, re.MULTILINE))["number"])
    best = max(numbers, key=lambda name: numbers[name])
    tools.folder(path.rpartition("/")[0])
    tools.write(path, tools("git__git_show", repo_path=repo, revision=f"{best}:{copied}").strip().splitlines())


@rule(
    r"From the table <table:WORD> in the PostgreSQL database, export everything whose currency is the"
    r" (?P<what>\w+ \w+) to <path:PATH>: as (?P<form>CSV)",
    r"write everything that comes from <what:TEXT> from the PostgreSQL table <table:WORD> to the file"
    r" <path:PATH>, as a (?P<form>JSON) list",
)
def export(tools: Tools, table: str, what: str, path: str, form: str) -> None:
    """Write a part of a table into a file."""
    column, code = ("currency", CURRENCIES[what]) if form == "CSV" else ("country", COUNTRIES[what])
    query = f"SELECT name, pieces FROM {table} WHERE {column} = {quoted(code)} ORDER BY name"  # noqa: S608
    found = tools.rows("PostgreSQL", query)
    if form == "CSV":
        tools.write(path, ["name,pieces", *(f"{name},{pieces}" for name, pieces in found)])
    else:
        tools.write(path, [json.dumps([{"name": name, "pieces": pieces} for name, pieces in found])])


@rule(
    r"<path:PATH> should hold everything with fewer than <limit:N> pieces, as the table <table:WORD> of the"
    r" database has it: the names only"
)
def few_pieces(tools: Tools, path: str, limit: str, table: str) -> None:
    """List what there is little of."""
    names = tools.rows("sqlite", f"SELECT name FROM {table} WHERE pieces < {limit} ORDER BY name")  # noqa: S608
    tools.write(path, [name for (name,) in names])


@rule(
    r"the <number:N> members with the highest scores of the sorted set <ranking:KEY>, each with its score as pieces, .*"
    r" The file is <path:PATH>, as (?:a )?(?P<form>CSV|JSON)"
)
def best_scores(tools: Tools, number: str, ranking: str, path: str, form: str) -> None:
    """Write the highest scores into a file."""
    best = tools.scores(ranking)[: -int(number) - 1 : -1]
    if form == "CSV":
        tools.write(path, ["name,pieces", *(f"{name},{score}" for name, score in best)])
    else:
        tools.write(path, [json.dumps([{"name": name, "pieces": score} for name, score in best])])


@rule(
    r"From the history of (?P<branch>\S+) in <repo:REPO>, put the subject lines of all commits by (?P<who>\S+) into"
    r" <path:PATH>, one a line and oldest first"
)
def history(tools: Tools, branch: str, repo: str, who: str, path: str) -> None:
    """List what somebody committed on a branch."""
    tools("git__git_checkout", repo_path=repo, branch_name=branch)
    log = tools("git__git_log", repo_path=repo, max_count=100)
    tools("git__git_checkout", repo_path=repo, branch_name="main")
    commits = re.findall(r"Author: (.*)\n(?:Date: .*\n)?Message: (.*)", log)
    tools.folder(path.rpartition("/")[0])
    tools.write(path, [subject.strip("'") for author, subject in reversed(commits) if who in author])


@rule(
    r"Write number and worth of the <count:N> orders that are worth most, where the worth is the pieces \(sheet"
    r" <orders:WORD>\) times the rate of the currency \(sheet <rates:WORD>\).* into a new file <path:PATH>, as CSV"
    r" .* workbook <book:BOOK>"
)
def worth_most(tools: Tools, count: str, orders: str, rates: str, path: str, book: str) -> None:
    """Write the orders that are worth most into a file."""
    rate = {row["currency"]: row["rate"] for row in tools.sheet(book, rates)[1]}
    worth = {row["number"]: row["pieces"] * rate[row["currency"]] for row in tools.sheet(book, orders)[1]}
    best = sorted(worth, key=lambda number: -worth[number])[: int(count)]
    tools.write(path, ["number,worth", *(f"{number},{worth[number]}" for number in best)])
