"""Conditions of goals, by their wording, and how each is looked up; rung 4's rules decide by them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache

from knowledge import AIRPORTS, CURRENCIES
from rules import Stuck, Tools, compiled, quoted

Condition = Callable[..., bool]
CONDITIONS: list[tuple[re.Pattern[str], Condition]] = []


def condition(wording: str) -> Callable[[Condition], Condition]:
    """Make a function what finds out whether a condition of this wording holds."""

    def keep(function: Condition) -> Condition:
        CONDITIONS.append((compiled(wording), function))
        return function

    return keep


def holds(tools: Tools, goal: str, words: str) -> bool:
    """Find out whether a condition holds; the goal says where to look.

    Raises:
        Stuck: no function is about it.
    """
    for pattern, function in CONDITIONS:
        if match := pattern.search(words):
            return function(tools, goal, **match.groupdict())
    raise Stuck(f"no rule is about the condition {words!r}")


def place(goal: str, pattern: str) -> str:
    """Return the part of a goal that says where to look.

    Raises:
        Stuck: it does not say.
    """
    if match := re.search(pattern, goal):
        return match[1]
    raise Stuck("the goal does not say where to look")


@cache
def slips(tools: Tools, folder: str) -> dict[str, dict[str, str]]:
    """Read all slips in a folder once: their lines `key: value`, by the file's name."""
    texts = {name: tools.read(f"{folder}/{name}") for name in tools.names(folder, ".txt")}
    return {name: dict(re.findall(r"^(\w+): ?(.*)$", text, re.MULTILINE)) for name, text in texts.items()}


def _slips(tools: Tools, goal: str) -> list[dict[str, str]]:
    return list(slips(tools, place(goal, r"\.txt files in (/data/files/\S*\w)")).values())


@condition(r"add up to more than <limit:N>")
def amounts(tools: Tools, goal: str, limit: str) -> bool:
    """Compare the amounts of slips."""
    return sum(int(slip["amount"]) for slip in _slips(tools, goal)) > int(limit)


@condition(r"every one of them has a name in the line <line:WORD>")
def signed(tools: Tools, goal: str, line: str) -> bool:
    """Look for slips without a name."""
    return all(slip.get(line, "").strip(" -") for slip in _slips(tools, goal))


@condition(r"any of them is in the currency <currency:TEXT>$")
def in_currency(tools: Tools, goal: str, currency: str) -> bool:
    """Look for a slip in a currency."""
    return any(slip["currency"] == CURRENCIES[currency] for slip in _slips(tools, goal))


@condition(r"the task \"<todo:TEXT>\" of the calendar <name:NAME> is done")
def done(tools: Tools, _goal: str, todo: str, name: str) -> bool:
    """Look a task up."""
    todos = tools.json("calendar__list-todos", calendarUrl=tools.calendars()[name], status="ALL")["todos"]
    return any(one["summary"] == todo and one["status"] == "COMPLETED" for one in todos)


@condition(r"the calendar <name:NAME> has more than <limit:N> events")
def busy(tools: Tools, goal: str, name: str, limit: str) -> bool:
    """Count the events of a week."""
    return len(tools.week(name, place(goal, r"Monday ([\d-]+)"))) > int(limit)


@condition(r"nothing in the calendar <name:NAME> goes on between (?P<start>\S+) and (?P<end>\S+) on (?P<day>[\d-]+)")
def free(tools: Tools, goal: str, name: str, start: str, end: str, day: str) -> bool:
    """Look for events at a time."""
    begin, until = (datetime.fromisoformat(f"{day}T{time}:00+00:00") for time in (start, end))
    events = tools.week(name, place(goal, r"Monday ([\d-]+)"))
    times = [[datetime.fromisoformat(event[edge]) for edge in ("start", "end")] for event in events]
    return not any(first < until and begin < last for first, last in times)


@condition(r"there are more than <limit:N> orders whose currency is the (?P<currency>\w+ \w+)")
def many_orders(tools: Tools, _goal: str, limit: str, currency: str) -> bool:
    """Count orders."""
    return sum(order["currency"] == CURRENCIES[currency] for order in tools.orders()) > int(limit)


@condition(r"orders to the airport of <city:WORD> add up to <limit:N> or more")
def orders_to(tools: Tools, _goal: str, city: str, limit: str) -> bool:
    """Add orders up."""
    return sum(int(one["amount"]) for one in tools.orders() if one["airport"] == AIRPORTS[city]) >= int(limit)


@condition(r"the last commit on (?P<branch>\S+) was made by <who:WORD>")
def made_by(tools: Tools, goal: str, branch: str, who: str) -> bool:
    """Look a commit up."""
    repo = place(goal, r"(/data/repos/[\w-]*\w)")
    return who in place(tools("git__git_show", repo_path=repo, revision=branch), r"(?m)^Author: (.*)$")


@condition(r"the file (?P<path>\S+) has an edit in the work tree that is not committed")
def edited(tools: Tools, goal: str, path: str) -> bool:
    """Look for an edit."""
    return f"+++ b/{path}" in tools("git__git_diff_unstaged", repo_path=place(goal, r"(/data/repos/[\w-]*\w)"))


@condition(r"more than <limit:N> of the open issues have the label <label:WORD>")
def labelled(tools: Tools, goal: str, limit: str, label: str) -> bool:
    """Count issues."""
    issues = tools.issues(place(goal, r"repository ([\w-]+/[\w-]+)"), "open")
    return sum(label in [one["name"] for one in issue["labels"]] for issue in issues) > int(limit)


@condition(r"the issue titled \"<title:TEXT>\" is closed")
def closed(tools: Tools, goal: str, title: str) -> bool:
    """Look an issue up."""
    return title in [issue["title"] for issue in tools.issues(place(goal, r"repository ([\w-]+/[\w-]+)"), "closed")]


@condition(r"the budget of (?P<project>Project \S+) is at least the \"<limit:WORD>\" in the file")
def budget(tools: Tools, goal: str, project: str, limit: str) -> bool:
    """Compare a budget of the memory with a file."""
    (amount,) = [int(note.split()[1]) for note in tools.graph()[0][project] if note.startswith("budget ")]
    return amount >= _limit(tools, goal, limit)


@condition(r"more people work on (?P<project>Project \S+) than \"<limit:WORD>\" says in the file")
def crowded(tools: Tools, goal: str, project: str, limit: str) -> bool:
    """Compare a number of people with a file."""
    people = [start for start, kind, end in tools.graph()[1] if (kind, end) == ("works on", project)]
    return len(people) > _limit(tools, goal, limit)


def _limit(tools: Tools, goal: str, name: str) -> int:
    text = tools.read(place(goal, r"(/data/files/\S*\.txt)"))
    return int(dict(re.findall(r"^(\w+) = (\d+)$", text, re.MULTILINE))[name])


@condition(r"the newest of the rows of <who:WORD> \(of any state\) has a day before (?P<day>[\d-]+)")
def newest(tools: Tools, goal: str, who: str, day: str) -> bool:
    """Compare the newest day."""
    return bool(_count(tools, goal, f"customer = {quoted(who)}", f"MAX(day) < {quoted(day)}"))


@condition(r"any of the rows of <who:WORD> has the state <state:WORD>")
def any_row(tools: Tools, goal: str, who: str, state: str) -> bool:
    """Look for a row."""
    return bool(_count(tools, goal, f"customer = {quoted(who)} AND state = {quoted(state)}"))


@condition(r"at least <limit:N> of the rows of <who:WORD> have the state <state:WORD>")
def rows(tools: Tools, goal: str, limit: str, who: str, state: str) -> bool:
    """Count rows."""
    return _count(tools, goal, f"customer = {quoted(who)} AND state = {quoted(state)}") >= int(limit)


def _count(tools: Tools, goal: str, where: str, what: str = "COUNT(*)") -> int:
    table = place(goal, r"\btable (\w+)")
    server = "PostgreSQL" if "PostgreSQL" in goal else "sqlite"
    ((figure,),) = tools.rows(server, f"SELECT {what} FROM {table} WHERE {where}")  # noqa: S608
    return int(figure)


@condition(r"^<member:WORD> is a member of the set <crew:KEY>")
def member_of(tools: Tools, _goal: str, member: str, crew: str) -> bool:
    """Look a member up."""
    return member in re.findall(r"\w+", tools("redis__smembers", name=crew))


@condition(r"more than <limit:N> orders in the sheet <sheet:WORD> have exactly the state \"<state:WORD>\"")
def orders_in(tools: Tools, goal: str, limit: str, sheet: str, state: str) -> bool:
    """Count rows of a sheet."""
    book = place(goal, r"([\w/-]+\.xlsx)")
    return sum(row["state"] == state for row in tools.sheet(book, sheet)[1]) > int(limit)
