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
    r"(?P<goal>.*?the file in <folder:PATH> that has the line \"(?P<line>ref: \S+?)\".*?"
    + UNLESS.format(verbs="(?:move|rename|set|copy|append|write)")
    + ".*)"
)
def file(tools: Tools, goal: str, folder: str, line: str, condition: str, then: str, other: str) -> None:
    """Do one of two things with the file that has a line, as something else decides."""
    (name,) = [name for name in tools.names(folder, ".txt") if line in tools.read(f"{folder}/{name}").splitlines()]
    path, act = f"{folder}/{name}", then if holds(tools, goal, condition) else other
    text = tools.read(path)
    if match := re.search(r"(?:move|copy) .*folder (/data/files/\S*\w)", act):
        tools.folder(match[1])
        if act.startswith("move"):
            tools("filesystem__move_file", source=path, destination=f"{match[1]}/{name}")
        else:
            tools("filesystem__write_file", path=f"{match[1]}/{name}", content=text)
    elif match := re.search(r"rename .* to (\S*\w)", act):
        tools("filesystem__move_file", source=path, destination=f"{folder}/{match[1]}")
    elif match := re.search(r"^set .* to (\w+)$", act):
        (before,) = re.findall(r"^state: .*$", text, re.MULTILINE)
        edits = [{"oldText": f"\n{before}\n", "newText": f"\nstate: {match[1]}\n"}]
        tools("filesystem__edit_file", path=path, edits=edits)
    elif match := re.search(r"(?:and|with) the word ([\w-]+)", act):
        (owner,) = re.findall(r"^owner: (.*)$", text, re.MULTILINE)
        memo = re.search(r"new file (\S+)", then)
        tools.write(memo[1] if memo else "", [f"{owner} {match[1]}"])
    elif match := re.search(r"append the line \"(.+)\"", act):
        tools.write(path, [*text.splitlines(), match[1]])
    elif match := re.search(r"take its line \"(\w+)\" out", act):
        tools.write(path, [one for one in text.splitlines() if not one.startswith(f"{match[1]}:")])
    else:
        tools.write(path, [])


@rule(
    r"(?P<goal>.*?\b(?:table <table:WORD> in the database|database table <too:WORD>)\b.*?"
    + UNLESS.format(verbs="(?:delete the row|move the row|set the state of the row|raise the pieces)")
    + ".*)"
)
def table_rows(
    tools: Tools, goal: str, table: str | None, too: str | None, condition: str, then: str, other: str
) -> None:
    """Do one of two things with rows of a table, as something else decides."""
    table, act = table or too, then if holds(tools, goal, condition) else other
    row = f"code = {quoted(match[1])}" if (match := re.search(r"with the code (\S*\w)", then)) else "state = 'open'"
    if match := re.search(r"into the table (\w+)", act):
        tools.change("sqlite", f"INSERT INTO {match[1]} SELECT * FROM {table} WHERE {row}")  # noqa: S608
    if act.startswith(("move", "delete")):
        tools.change("sqlite", f"DELETE FROM {table} WHERE {row}")  # noqa: S608
    elif match := re.search(r"(raise|lower) .*by (\d+)", act):
        by = int(match[2]) * (1 if match[1] == "raise" else -1)
        tools.change("sqlite", f"UPDATE {table} SET pieces = pieces + {by} WHERE {row}")  # noqa: S608
    elif match := re.search(r"^set .* to (\w+)$", act):
        tools.change("sqlite", f"UPDATE {table} SET state = {quoted(match[1])} WHERE {row}")  # noqa: S608
    elif act.startswith("double"):
        tools.change("sqlite", f"UPDATE {table} SET pieces = pieces * 2 WHERE {row}")  # noqa: S608


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


@rule(r"(?P<goal>.*\bmemory\b.*If <condition:TEXT>, then (?P<then>create|delete)(?P<acts>.+?; otherwise .+?)\. .*)")
def graph(tools: Tools, goal: str, condition: str, then: str, acts: str) -> None:
    """Do one of two things with entities of the memory, as a file and the memory decide."""
    yes, no = f"{then}{acts}".split("; otherwise ")
    act = yes if holds(tools, goal, condition) else no
    if match := re.search(r"delete (Project \S+)", act):
        tools("memory__delete_entities", entityNames=[match[1]])
    if match := re.search(r"an entity \"(.+?)\" of the type (\w+)", act):
        entity = {"name": match[1], "entityType": match[2], "observations": []}
        tools("memory__create_entities", entities=[entity])
    if relation := re.search(r"relation \"(.+?)\" from (.+?) to (.+?)(?: and |$)", act):
        start = match[1] if match else relation[2]
        relations = [{"from": start, "relationType": relation[1], "to": relation[3]}]
        tools("memory__create_relations", relations=relations)
    if match := re.search(r"add the observation \"(.+?)\" to (.+)$", act):
        tools("memory__add_observations", observations=[{"entityName": match[2], "contents": [match[1]]}])
