"""Conditions of goals, by their wording, and how each is looked up; rung 4's rules decide by them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache

from knowledge import CURRENCIES
from rules import Stuck, Tools, compiled, quoted

Condition = Callable[..., bool]
SLUG, BOOK = r"([\w-]+/[\w-]+)(?: on GitHub|[.:] [Ii]f)", r"([\w/-]+\.xlsx)"
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


@condition(r"their amounts .*add up to more than <limit:N>")
def amounts(tools: Tools, goal: str, limit: str) -> bool:
    """Compare the amounts of slips."""
    return sum(int(slip["amount"]) for slip in _slips(tools, goal)) > int(limit)


@condition(r"every one of them has a name in the line <line:WORD>")
def signed(tools: Tools, goal: str, line: str) -> bool:
    """Look for slips without a name."""
    return all(slip.get(line, "").strip(" -") for slip in _slips(tools, goal))


@condition(r"at least <limit:N> of them have the state <state:WORD>")
def in_state(tools: Tools, goal: str, limit: str, state: str) -> bool:
    """Count slips in a state."""
    return sum(slip["state"] == state for slip in _slips(tools, goal)) >= int(limit)


@condition(r"there are more than <limit:N> orders whose currency is the (?P<currency>\w+ \w+)")
def many_orders(tools: Tools, _goal: str, limit: str, currency: str) -> bool:
    """Count orders."""
    return sum(order["currency"] == CURRENCIES[currency] for order in tools.orders()) > int(limit)


@condition(r"the file (?P<path>\S+) has an edit in the work tree that is not committed")
def edited(tools: Tools, goal: str, path: str) -> bool:
    """Look for an edit."""
    return f"+++ b/{path}" in tools("git__git_diff_unstaged", repo_path=place(goal, r"(/data/repos/[\w-]*\w)"))


@condition(r"more than <limit:N> of the open issues have the label <label:WORD>")
def labelled(tools: Tools, goal: str, limit: str, label: str) -> bool:
    """Count issues."""
    issues = tools.issues(place(goal, SLUG), "open")
    return sum(label in [one["name"] for one in issue["labels"]] for issue in issues) > int(limit)


@condition(r"the budget of (?P<project>Project \S+) is at least the \"<limit:WORD>\" in the file")
def budget(tools: Tools, goal: str, project: str, limit: str) -> bool:
    """Compare a budget of the memory with a file."""
    (amount,) = [int(note.split()[1]) for note in tools.graph()[0][project] if note.startswith("budget ")]
    return amount >= int(_rule(tools, goal)[limit])


def _rule(tools: Tools, goal: str) -> dict[str, str]:
    text = tools.read(place(goal, r"(/data/files/\S*\.txt)"))
    return dict(re.findall(r"^(\w+)(?: =|:) (.+)$", text, re.MULTILINE))


@condition(r"at least <limit:N> of the rows of <who:WORD> have the state <state:WORD>")
def rows(tools: Tools, goal: str, limit: str, who: str, state: str) -> bool:
    """Count rows."""
    return _count(tools, goal, f"customer = {quoted(who)} AND state = {quoted(state)}") >= int(limit)


def _count(tools: Tools, goal: str, where: str, what: str = "COUNT(*)") -> int:
    table = place(goal, r"\btable (\w+)")
    server = "PostgreSQL" if "PostgreSQL" in goal else "sqlite"
    ((figure,),) = tools.rows(server, f"SELECT {what} FROM {table} WHERE {where}")  # noqa: S608
    return int(figure)


@condition(r"more than <limit:N> orders in the sheet <sheet:WORD> have exactly the state \"<state:WORD>\"")
def orders_in(tools: Tools, goal: str, limit: str, sheet: str, state: str) -> bool:
    """Count rows of a sheet."""
    return sum(row["state"] == state for row in tools.sheet(place(goal, BOOK), sheet)[1]) > int(limit)


@condition(r"no order whose currency is the (?P<currency>\w+ \w+) has an amount below <limit:N>")
def none_below(tools: Tools, _goal: str, currency: str, limit: str) -> bool:
    """Look for a small order."""
    return not any(
        one["currency"] == CURRENCIES[currency] and int(one["amount"]) < int(limit) for one in tools.orders()
    )


@condition(r"the earliest event of the calendar <name:NAME> takes place in <room:TEXT>$")
def first_place(tools: Tools, goal: str, name: str, room: str) -> bool:
    """Compare the place of a week's first event."""
    events = tools.week(name, place(goal, r"Monday ([\d-]+)"))
    return bool(min(events, key=lambda event: datetime.fromisoformat(event["start"]))["location"] == room)


@condition(r"at least <limit:N> of the issues, open or closed, were opened by <who:WORD>")
def opened_by(tools: Tools, goal: str, limit: str, who: str) -> bool:
    """Count issues of somebody."""
    issues = tools.issues(place(goal, SLUG), "all")
    return sum(issue["user"]["login"] == who for issue in issues) >= int(limit)


@condition(r"the issue titled \"<title:TEXT>\" is assigned to <who:WORD>")
def assigned(tools: Tools, goal: str, title: str, who: str) -> bool:
    """Look up whose an issue is."""
    (issue,) = [one for one in tools.issues(place(goal, SLUG), "all") if one["title"] == title]
    return who in [one["login"] for one in issue["assignees"]]


@condition(r"^<who:NAME> reports to the person whose name the file gives as \"<key:WORD>\"")
def reports_to(tools: Tools, goal: str, who: str, key: str) -> bool:
    """Compare a relation of the memory with a file."""
    return (who, "reports to", _rule(tools, goal)[key]) in tools.graph()[1]


@condition(r"^<who:NAME> lives in the city that the file gives as \"<key:WORD>\"")
def lives_in(tools: Tools, goal: str, who: str, key: str) -> bool:
    """Compare an observation of the memory with a file."""
    return f"lives in {_rule(tools, goal)[key]}" in tools.graph()[0][who]


@condition(r"the amounts of the open rows of <who:WORD> \(state exactly open\) add up to more than <limit:N>")
def open_amounts(tools: Tools, goal: str, who: str, limit: str) -> bool:
    """Add rows up."""
    return _count(tools, goal, f"customer = {quoted(who)} AND state = 'open'", "SUM(amount)") > int(limit)


@condition(r"the largest amount in the open rows of <who:WORD> \(state exactly open\) is above <limit:N>")
def open_largest(tools: Tools, goal: str, who: str, limit: str) -> bool:
    """Compare the largest row."""
    return _count(tools, goal, f"customer = {quoted(who)} AND state = 'open'", "MAX(amount)") > int(limit)


@condition(r"the score of <member:WORD> in the sorted set <ranking:KEY> is above <limit:N>")
def score(tools: Tools, _goal: str, member: str, ranking: str, limit: str) -> bool:
    """Look a score up."""
    return dict(tools.scores(ranking))[member] > int(limit)


@condition(r"^<who:NAME> works in (?P<department>\w+), as the sheet <sheet:WORD> has it")
def works_in(tools: Tools, goal: str, who: str, department: str, sheet: str) -> bool:
    """Look a person up."""
    rows = tools.sheet(place(goal, BOOK), sheet)[1]
    return any((row["name"], row["department"]) == (who, department) for row in rows)


@condition(r"at least <limit:N> of the guests in the list have the answer \"<answer:TEXT>\"")
def guests(tools: Tools, goal: str, limit: str, answer: str) -> bool:
    """Count guests."""
    return sum(row["answer"] == answer for row in tools.table(place(goal, r"(/data/files/\S*\.csv)"))) >= int(limit)


@condition(r"the file <path:PATH> has more than <limit:N> changes in it")
def many_lines(tools: Tools, _goal: str, limit: str, path: str) -> bool:
    """Count the lines of a file."""
    return sum(not line.startswith("#") for line in tools.read(path).splitlines()) > int(limit)


@condition(r"the pieces of all rows added up to more than <limit:N> before the changes")
def pieces_before(tools: Tools, goal: str, limit: str) -> bool:
    """Add up a column of a table that nothing has changed yet."""
    table = place(goal, r"\btable (\w+)")
    ((total,),) = tools.rows("sqlite", f"SELECT SUM(pieces) FROM {table}")  # noqa: S608
    return int(total) > int(limit)
