"""Rung 4: what is done depends on what is found, or is done to each that was found."""

from __future__ import annotations

import re

from conditions import holds, slips
from rules import Stuck, Tools, quoted, rule

UNLESS = r"[Ii]f <condition:TEXT>, (?:then )?(?P<then>{verbs} .+?); otherwise <other:TEXT>\. "


@rule(
    r"(?P<goal>\.txt files in <folder:PATH> are slips\. If <condition:TEXT>, (?P<act>move all of them into a"
    r" new folder|rename the one with the largest amount to) (?P<yes>\S+?)(?: \(in the same folder\))?;"
    r" otherwise .*? (?:folder|it to) (?P<no>/?[\w/.-]*\w)[. ])"
)
def move_slips(tools: Tools, goal: str, folder: str, condition: str, act: str, yes: str, no: str) -> None:
    """Move all slips, or rename the largest, as what they say decides."""
    all_slips = slips(tools, folder)
    to = yes if holds(tools, goal, condition) else no
    if act.startswith("rename"):
        largest = max(all_slips, key=lambda name: int(all_slips[name]["amount"]))
        tools("filesystem__move_file", source=f"{folder}/{largest}", destination=f"{folder}/{to}")
        return
    tools.folder(to)
    for name in all_slips:
        tools("filesystem__move_file", source=f"{folder}/{name}", destination=f"{to}/{name}")


@rule(
    r"(?P<goal>.*?(?:at|about|of) the file (?:in <folder:PATH> )?(?:that has|with) the line \"(?P<line>ref: \S+?)\""
    r"(?:, one of those in <other_folder:PATH>)?.*?" + UNLESS.format(verbs="(?:move|rename|set|copy|append)") + ".*)"
)
def file(
    tools: Tools,
    goal: str,
    folder: str | None,
    other_folder: str | None,
    line: str,
    condition: str,
    then: str,
    other: str,
) -> None:
    """Do one of two things with the file that has a line, as something else decides."""
    where = folder or other_folder or ""
    (name,) = [name for name in tools.names(where, ".txt") if line in tools.read(f"{where}/{name}").splitlines()]
    path, act = f"{where}/{name}", then if holds(tools, goal, condition) else other
    text = tools.read(path)
    if match := re.search(r"(?:move|copy) .*folder (/data/files/\S*\w)", act):
        tools.folder(match[1])
        if act.startswith("move"):
            tools("filesystem__move_file", source=path, destination=f"{match[1]}/{name}")
        else:
            tools("filesystem__write_file", path=f"{match[1]}/{name}", content=text)
    elif match := re.search(r"rename .* to (\S*\w)", act):
        tools("filesystem__move_file", source=path, destination=f"{where}/{match[1]}")
    elif match := re.search(r"^set .* to (\w+)$", act):
        (before,) = re.findall(r"^state: .*$", text, re.MULTILINE)
        edits = [{"oldText": f"\n{before}\n", "newText": f"\nstate: {match[1]}\n"}]
        tools("filesystem__edit_file", path=path, edits=edits)
    elif match := re.search(r"append the line \"(.+)\"", act):
        tools.write(path, [*text.splitlines(), match[1]])
    elif match := re.search(r"take its line \"(\w+)\" out", act):
        tools.write(path, [one for one in text.splitlines() if not one.startswith(f"{match[1]}:")])
    else:
        tools.write(path, [])


@rule(
    r"(?P<goal>.*?\btable <table:WORD> (?:in the database\.|in line with|depends on)?.*?"
    + UNLESS.format(verbs="(?:delete|move|raise) (?:the|every) (?:row|pieces)")
    + ".*)",
    r"(?P<goal>.*?\bdatabase table <table:WORD>, and what it is depends on .*?"
    + UNLESS.format(verbs="raise the pieces")
    + ".*)",
)
def table_rows(tools: Tools, goal: str, table: str, condition: str, then: str, other: str) -> None:
    """Do one of two things with rows of a table, as something else decides."""
    act = then if holds(tools, goal, condition) else other
    row = f"code = {quoted(match[1])}" if (match := re.search(r"with the code (\S*\w)", then)) else "state = 'open'"
    if match := re.search(r"into the table (\w+)", act):
        tools.change("sqlite", f"INSERT INTO {match[1]} SELECT * FROM {table} WHERE {row}")  # noqa: S608
    if act.startswith(("move", "delete")):
        tools.change("sqlite", f"DELETE FROM {table} WHERE {row}")  # noqa: S608
    elif match := re.search(r"(raise|lower) .*by (\d+)", act):
        by = int(match[2]) * (1 if match[1] == "raise" else -1)
        tools.change("sqlite", f"UPDATE {table} SET pieces = pieces + {by} WHERE {row}")  # noqa: S608
    elif act.startswith("double"):
        tools.change("sqlite", f"UPDATE {table} SET pieces = pieces * 2 WHERE {row}")  # noqa: S608


@rule(
    r"(?P<goal>In the (?P<where>Postgre|data)\w*.* the table <table:WORD>: if (?P<condition>at least \d+ of"
    r" the rows of <who:WORD> have the state <state:WORD>), set .* to <yes:WORD>; otherwise set it to <no:WORD>)"
)
def rows(
    tools: Tools, goal: str, where: str, table: str, condition: str, who: str, state: str, yes: str, no: str
) -> None:
    """Set the state of some rows, as their number decides."""
    to = yes if holds(tools, goal, condition) else no
    chosen = f"customer = {quoted(who)} AND state = {quoted(state)}"
    tools.change(where, f"UPDATE {table} SET state = {quoted(to)} WHERE {chosen}")  # noqa: S608


@rule(
    r"(?P<goal>.*[Ii]f (?P<condition>.*?\bcalendar <name:NAME>.*?), then <then:TEXT>; otherwise <other:TEXT>\."
    r" (?:Whatever you did, the calendar <board:NAME> then gets a task \"<new:TEXT>\" that is"
    r"|When that is done, either way, note a task \"<new_too:TEXT>\" in the calendar <board_too:NAME>,)"
    r" due on (?P<due>[\d-]+) at (?P<at>[\d:]*\d).*)"
)
def week(
    tools: Tools,
    goal: str,
    condition: str,
    name: str,
    then: str,
    other: str,
    due: str,
    at: str,
    board: str | None,
    new: str | None,
    board_too: str | None,
    new_too: str | None,
) -> None:
    """Change an event or a task, as the calendars decide, and add a task."""
    urls, act = tools.calendars(), then if holds(tools, goal, condition) else other
    url = urls[name]
    if todo := re.search(r"the task \"(.+?)\"", then):
        todos = tools.json("calendar__list-todos", calendarUrl=url, status="ALL")["todos"]
        uid = next(one["uid"] for one in todos if one["summary"] == todo[1])
        if later := re.search(r"due on (\S+) at (\S+)", act):
            tools("calendar__update-todo", calendarUrl=url, uid=uid, due=f"{later[1]}T{later[2]}:00Z")
        else:
            tools("calendar__complete-todo", calendarUrl=url, uid=uid)
    elif event := re.search(r"move the event \"(.+?)\" from that calendar into (\w+ \w+)", then):
        monday = re.search(r"Monday ([\d-]+)", goal)
        events = tools.week(name, monday[1] if monday else due)
        found = next(one for one in events if one["summary"] == event[1])
        if act == then:
            keys = ("summary", "start", "end", "location")
            tools("calendar__create-event", calendarUrl=urls[event[2]], **{key: found[key] for key in keys})
        tools("calendar__delete-event", calendarUrl=url, uid=found["uid"])
    else:
        raise Stuck("no rule is about what is to be done")
    tools(
        "calendar__create-todo",
        calendarUrl=urls[board or board_too or ""],
        summary=new or new_too,
        due=f"{due}T{at}:00Z",
    )


@rule(
    r"(?P<goal>[Ii]f <condition:TEXT>, then forward the order <ref:WORD> to .*? \((?P<to>\S+)\) and nobody"
    r" else, with the note \"<note:TEXT>\" above it; otherwise save a draft to \S+ with the subject"
    r" \"<subject:TEXT>\")"
)
def forward(tools: Tools, goal: str, condition: str, ref: str, to: str, note: str, subject: str) -> None:
    """Forward a mail or save a draft, as other mails decide."""
    if holds(tools, goal, condition):
        (order,) = [one for one in tools.orders() if one["ref"] == ref]
        ids = {"email_id": order["email_id"], "recipients": [to]}
        tools("email__forward_email", account_name="agent", **ids, body=note)
    else:
        tools("email__save_draft", account_name="agent", recipients=[to], subject=subject, body=note)


@rule(
    r"table <table:WORD> of the database \(ref, amount, state\).*orders from anybody but <who:NAME> .*Enter"
    r" those that the table lacks.* the state \"<state:WORD>\", and then move just these mails into Archive"
)
def book(tools: Tools, table: str, who: str, state: str) -> None:
    """Enter the orders that a table lacks, and archive them."""
    known = {ref for (ref,) in tools.rows("sqlite", f"SELECT ref FROM {table}")}  # noqa: S608
    chosen = [one for one in tools.orders() if one["ref"] not in known and not one["sender"].startswith(f"{who} ")]
    for order in chosen:
        values = f"{quoted(order['ref'])}, {int(order['amount'])}, {quoted(state)}"
        tools.change("sqlite", f"INSERT INTO {table} (ref, amount, state) VALUES ({values})")  # noqa: S608
    ids = [order["email_id"] for order in chosen]
    tools("email__archive_emails", account_name="agent", email_ids=ids)


@rule(
    r"(?P<slug>[\w-]+/[\w-]+) on GitHub has open pull requests\. Take those that <who:WORD> made and that were not"
    r" reviewed by <judge:WORD> .*merge it into main .*comment on it with just \"<comment:TEXT>\""
)
def gate(tools: Tools, slug: str, who: str, judge: str, comment: str) -> None:
    """Merge the pull requests of somebody that somebody else has not reviewed."""
    at = dict(zip(("owner", "repo"), slug.split("/"), strict=True))
    for request in tools.json("github__list_pull_requests", **at, state="open", per_page=100):
        number = request["number"]
        reviews = tools.json("github__get_pull_request_reviews", **at, pull_number=number)
        if request["user"]["login"] == who and judge not in [review["user"]["login"] for review in reviews]:
            tools("github__merge_pull_request", **at, pull_number=number, merge_method="merge")
            tools("github__add_issue_comment", **at, issue_number=number, body=comment)


@rule(
    r"Take the people who report to <boss:NAME>, except <one:NAME> and <two:NAME>: they stop working on the"
    r" project .* work on (?P<project>Project \S+) instead .*the observation \"<note:TEXT>: N people\""
)
def regroup(tools: Tools, boss: str, one: str, two: str, project: str, note: str) -> None:
    """Move people to another project, and note how many they were."""
    relations = tools.graph()[1]
    people = {start for start, kind, end in relations if (kind, end) == ("reports to", boss)} - {one, two}
    old = [{"from": a, "relationType": kind, "to": b} for a, kind, b in relations if a in people and kind == "works on"]
    tools("memory__delete_relations", relations=old)
    tools("memory__create_relations", relations=[relation | {"to": project} for relation in old])
    contents = [f"{note}: {len(people)} people"]
    tools("memory__add_observations", observations=[{"entityName": project, "contents": contents}])


@rule(
    r"(?P<goal>.*If <condition:TEXT>, then replace the observation of (?P<project>Project \S+) about its"
    r" <what:WORD> by \"<new:TEXT>\"; otherwise keep it and add the observation \"<more:TEXT>\".*)"
)
def observe(tools: Tools, goal: str, condition: str, project: str, what: str, new: str, more: str) -> None:
    """Replace or add an observation, as a file and the memory decide."""
    contents = [more]
    if holds(tools, goal, condition):
        old = [note for note in tools.graph()[0][project] if note.startswith(f"{what} ")]
        tools("memory__delete_observations", deletions=[{"entityName": project, "observations": old}])
        contents = [new]
    tools("memory__add_observations", observations=[{"entityName": project, "contents": contents}])


@rule(
    r"Redis as hashes (?P<key>[\w:-]+:)NUMBER\. Find those whose field <field:WORD> is exactly \"<value:TEXT>\";"
    r" delete the key\. Then make a list <to:KEY> of their numbers"
)
def drop(tools: Tools, key: str, field: str, value: str, to: str) -> None:
    """Delete hashes, and list which they were."""
    keys = sorted(tools.keys(f"{key}*"))
    chosen = [name for name in keys if tools("redis__hget", name=name, key=field) == value]
    for name in chosen:
        tools("redis__delete", key=name)
    for name in sorted(chosen, key=lambda name: int(name.removeprefix(key))):
        tools("redis__rpush", name=to, value=name.removeprefix(key))


@rule(
    r"In <book:BOOK>, sheet <sheet:WORD>, it is about the orders with <least:N> pieces or more\. Move them,"
    r" .* into a new sheet <to:WORD> .* append a sheet <last:WORD> with two cells"
)
def move_orders(tools: Tools, book: str, sheet: str, least: str, to: str, last: str) -> None:
    """Move rows into a new sheet, and count them in another."""
    header, all_rows = tools.sheet(book, sheet)
    places = [place for place, row in enumerate(all_rows) if row["pieces"] >= int(least)]
    moved = [all_rows[place] for place in places]
    tools("spreadsheet__create_sheet", path=book, new_name=to)
    values = [header, *([row[name] for name in header] for row in moved)]
    tools("spreadsheet__write_range", path=book, sheet=to, at="A1", rows=values)
    for place in reversed(places):
        tools("spreadsheet__delete_rows_or_columns", path=book, sheet=sheet, axis="rows", start=place + 2)
    tools("spreadsheet__create_sheet", path=book, new_name=last)
    figures = [[len(moved), sum(row["pieces"] for row in moved)]]
    tools("spreadsheet__write_range", path=book, sheet=last, at="A1", rows=figures)
