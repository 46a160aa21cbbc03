"""Rung 1: goals that spell out one call, which needs no look at anything."""

from __future__ import annotations

from rules import Tools, quoted, rule

PLACES = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}


@rule(r"rename <path:PATH> to (?P<name>\S*\w) in the same folder")
def rename(tools: Tools, path: str, name: str) -> None:
    """Rename a file."""
    tools("filesystem__move_file", source=path, destination=f"{path.rpartition('/')[0]}/{name}")


@rule(r"write a file <path:PATH> that holds exactly this one line: (?P<line>[\w ]+)")
def note(tools: Tools, path: str, line: str) -> None:
    """Write a file of one line."""
    tools.write(path, [line])


@rule(
    r"table <table:WORD> \(id, name, place, number, price\): add the <name:WORD> under the next free id: place"
    r" (?P<place>[\w ]+), number <number:N>, price <price:N>"
)
def stock(tools: Tools, table: str, name: str, place: str, number: str, price: str) -> None:
    """Add a row to a table."""
    cells = f"{quoted(name)}, {quoted(place)}, {number}, {price}"
    tools.change("", f"INSERT INTO {table} (name, place, number, price) VALUES ({cells})")  # noqa: S608


@rule(
    r"(?P<owner>[\w-]+)/<repo:WORD> on GitHub\. Make a branch (?P<new>\S+) that starts at the last commit of"
    r" (?P<base>\S*\w)"
)
def branch(tools: Tools, owner: str, repo: str, new: str, base: str) -> None:
    """Make a branch on GitHub."""
    tools("github__create_branch", owner=owner, repo=repo, branch=new, from_branch=base)


@rule(r"^<first:NAME> and <second:NAME> have left: delete these two")
def forget(tools: Tools, first: str, second: str) -> None:
    """Delete two people from the memory."""
    tools("memory__delete_entities", entityNames=[first, second])


@rule(r"Add an empty sheet <name:WORD> to <book:BOOK>, as the <place:WORD> one")
def sheet(tools: Tools, name: str, book: str, place: str) -> None:
    """Add a sheet."""
    tools("spreadsheet__create_sheet", path=book, new_name=name, position=PLACES[place])


@rule(
    r"calendar [^(]+ \((?P<url>\S+)\).*Enter an event \"<title:TEXT>\" on (?P<day>\S+) from (?P<start>\S+) to"
    r" (?P<end>\S+)"
    r" that repeats every week, <times:N> times"
)
def weekly(tools: Tools, url: str, title: str, day: str, start: str, end: str, times: str) -> None:
    """Enter an event that repeats."""
    tools(
        "calendar__create-event",
        calendarUrl=url,
        summary=title,
        start=f"{day}T{start}:00Z",
        end=f"{day}T{end}:00Z",
        recurrenceRule={"freq": "WEEKLY", "count": int(times)},
    )
