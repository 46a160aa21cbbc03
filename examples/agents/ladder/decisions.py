"""Rung 4: what is done depends on what is found, or is done to each that was found."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import datetime

from knowledge import CURRENCIES
from rules import Tools, quoted, rule

Slips = dict[str, dict[str, str]]


@rule(
    r"\.txt files in <folder:PATH> are slips\. If <condition:TEXT>, (?P<act>move all of them into a new folder|rename"
    r" the one"
    r" with the largest amount to) (?P<yes>\S+?)(?: \(in the same folder\))?; otherwise .*? (?:folder|it to)"
    r" (?P<no>/?[\w/.-]*\w)[. ]"
)
def slips(tools: Tools, folder: str, condition: str, act: str, yes: str, no: str) -> None:
    """Move all slips, or rename the largest, as what they say decides."""
    names = tools.names(folder, ".txt")
    all_slips: Slips = {
        name: dict(line.split(": ", 1) for line in tools.read(f"{folder}/{name}").splitlines() if ": " in line)
        for name in names
    }
    to = yes if _holds(condition, all_slips) else no
    if act.startswith("rename"):
        largest = max(names, key=lambda name: int(all_slips[name]["amount"]))
        tools("filesystem__move_file", source=f"{folder}/{largest}", destination=f"{folder}/{to}")
        return
    tools.folder(to)
    for name in names:
        tools("filesystem__move_file", source=f"{folder}/{name}", destination=f"{to}/{name}")


def _holds(condition: str, all_slips: Slips) -> bool:
    if match := re.search(r"add up to more than (\d+)", condition):
        return sum(int(slip["amount"]) for slip in all_slips.values()) > int(match[1])
    return all(slip.get("signed", "").strip(" -") for slip in all_slips.values())


@rule(
    r"In Redis: if (?:the field <field:WORD> of the hash <limits:KEY> is at least <least:N>|<member:WORD> is a member"
    r" of the set <crew:KEY>),"
    r" then <then:TEXT>; otherwise <other:TEXT>\. In either case store the text <text:WORD> in the string key"
    r" <key:KEY> at the end"
)
def redis(
    tools: Tools,
    field: str,
    limits: str,
    least: str,
    member: str,
    crew: str,
    then: str,
    other: str,
    text: str,
    key: str,
) -> None:
    """Do one of two things to a list, and leave a mark."""
    if field:
        met = int(tools("redis__hget", name=limits, key=field)) >= int(least)
    else:
        met = member in tools("redis__smembers", name=crew).split()
    _to_list(tools, then if met else other)
    tools("redis__set", key=key, value=text)


def _to_list(tools: Tools, act: str) -> None:
    if match := re.search(r"rename the list (\S+) to (\S+)", act):
        tools("redis__rename", old_key=match[1], new_key=match[2])
    elif match := re.search(r"list (\S+) expire in (\d+) hours", act):
        tools("redis__expire", name=match[1], expire_seconds=3600 * int(match[2]))
    elif match := re.search(r"append \"(.+)\" to the right end of (\S+)", act):
        tools("redis__rpush", name=match[2], value=match[1])
    elif match := re.search(r"leftmost entry from the list (\S+) to the right end of the list (\S+)", act):
        tools("redis__rpush", name=match[2], value=tools("redis__lpop", name=match[1]))


@rule(
    r"In the (?P<where>Postgre|data)\w*.* the table <table:WORD>: if at least <least:N> of the rows of <who:WORD>"
    r" have the state"
    r" <state:WORD>, set .* to <yes:WORD>; otherwise set it to <no:WORD>"
)
def rows(tools: Tools, where: str, table: str, least: str, who: str, state: str, yes: str, no: str) -> None:
    """Set the state of some rows, as their number decides."""
    chosen = f"customer = {quoted(who)} AND state = {quoted(state)}"
    ((count,),) = tools.rows(where, f"SELECT COUNT(*) FROM {table} WHERE {chosen}")  # noqa: S608
    tools.change(where, f"UPDATE {table} SET state = {quoted(yes if count >= int(least) else no)} WHERE {chosen}")  # noqa: S608


@rule(
    r"the table <table:WORD>: if any of the rows of <who:WORD> has the state <state:WORD>, add to the table <to:WORD>,"
    r" under id <id:N>, a row with the customer .* and the note <yes:WORD>; otherwise the same row with the note"
    r" <no:WORD>"
)
def note(tools: Tools, table: str, who: str, state: str, to: str, id: str, yes: str, no: str) -> None:  # noqa: A002
    """Add a row whose text depends on other rows."""
    query = f"SELECT COUNT(*) FROM {table} WHERE customer = {quoted(who)} AND state = {quoted(state)}"  # noqa: S608
    ((count,),) = tools.rows("sqlite", query)
    text = quoted(yes if count else no)
    tools.change("sqlite", f"INSERT INTO {to} (id, customer, note) VALUES ({id}, {quoted(who)}, {text})")  # noqa: S608


@rule(
    r"Read <path:PATH> and look at your memory\. If the budget of (?P<project>Project \S+) is at least the"
    r" \"<limit:WORD>\" in the"
    r" file, then delete (?P<gone>Project \S+) .*; otherwise create an entity \"<new:TEXT>\" of the type <kind:WORD>"
    r" without observations, and a relation \"<relation:TEXT>\" from it"
)
def budget(tools: Tools, path: str, project: str, limit: str, gone: str, new: str, kind: str, relation: str) -> None:
    """Delete or create an entity, as a file and a budget decide."""
    limits = dict(re.findall(r"^(\w+) = (\d+)$", tools.read(path), re.MULTILINE))
    amounts = [int(note.split()[1]) for note in tools.graph()[0][project] if note.startswith("budget ")]
    if amounts[0] >= int(limits[limit]):
        tools("memory__delete_entities", entityNames=[gone])
        return
    tools("memory__create_entities", entities=[{"name": new, "entityType": kind, "observations": []}])
    tools("memory__create_relations", relations=[{"from": new, "relationType": relation, "to": project}])


@rule(
    r"(?:repository |^)(?P<owner>[\w-]+)/<repo:WORD>(?:, take| on GitHub needs).*open issues that are assigned to"
    r" nobody(?P<more>.*)"
)
def issues(tools: Tools, owner: str, repo: str, more: str) -> None:
    """Change each issue that has nobody, and report how many there were if that is asked for."""
    at = {"owner": owner, "repo": repo}
    listed = tools.json("github__list_issues", **at, state="open", per_page=100)
    chosen = [issue for issue in listed if "pull_request" not in issue and not issue["assignees"]]
    label, who = re.search(r"add the label (\S+) to each", more), re.search(r"Assign each to (\S+)", more)
    comment = re.search(r"comment(?: on each with just)? \"(.+?)\"", more)
    for issue in chosen:
        change = {"assignees": [who[1]]} if who else {}
        if label:
            change = {"labels": [*(one["name"] for one in issue["labels"]), label[1]]}
        tools("github__update_issue", **at, issue_number=issue["number"], **change)
        if comment:
            tools("github__add_issue_comment", **at, issue_number=issue["number"], body=comment[1])
    if title := re.search(r"one new issue titled \"(.+?)\"", more):
        tools("github__create_issue", **at, title=title[1], body=str(len(chosen)))


@rule(
    r"If nothing in the calendar <name:NAME> goes on between (?P<start>\S+) and (?P<end>\S+) on (?P<day>\S+), then"
    r" mark the"
    r" task \"<todo:TEXT>\" .* as done; otherwise let it be due on (?P<later>\S+) at (?P<hour>\S+)\. In either case,"
    r" add a"
    r" task \"<new:TEXT>\" to the calendar <other:NAME> at the end, due on (?P<due>\S+) at (?P<at>[\d:]+)"
)
def decision(
    tools: Tools,
    name: str,
    start: str,
    end: str,
    day: str,
    todo: str,
    later: str,
    hour: str,
    new: str,
    other: str,
    due: str,
    at: str,
) -> None:
    """Complete or postpone a task, as a free time decides."""
    urls = tools.calendars()
    begin, until = (datetime.fromisoformat(f"{day}T{time}:00+00:00") for time in (start, end))
    events = tools.json("calendar__list-events", calendarUrl=urls[name], start=day, end=later)
    times = [[datetime.fromisoformat(event[edge]) for edge in ("start", "end")] for event in events]
    free = not any(first < until and begin < last for first, last in times)
    todos = tools.json("calendar__list-todos", calendarUrl=urls[name], status="ALL")["todos"]
    uid = next(one["uid"] for one in todos if one["summary"] == todo)
    if free:
        tools("calendar__complete-todo", calendarUrl=urls[name], uid=uid)
    else:
        tools("calendar__update-todo", calendarUrl=urls[name], uid=uid, due=f"{later}T{hour}:00Z")
    tools("calendar__create-todo", calendarUrl=urls[other], summary=new, due=f"{due}T{at}:00Z")


@rule(
    r"In <book:BOOK>, sheet <sheet:WORD>, it is about the orders with <least:N> pieces or more\. Move them, .* into a"
    r" new sheet"
    r" <to:WORD> .* append a sheet <last:WORD> with two cells"
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


@rule(
    r"reply to the order with the largest amount among those whose currency is the (?P<currency>\w+ \w+) .*"
    r"with (?P<cc>\S+) as the only Cc, .*each airport .* \"CODE: SUM\".*mark the order as read"
)
def reply(tools: Tools, currency: str, cc: str) -> None:
    """Answer one mail with figures of many."""
    chosen = [order for order in tools.orders() if order["currency"] == CURRENCIES[currency]]
    largest = max(chosen, key=lambda order: int(order["amount"]))
    sums: dict[str, int] = defaultdict(int)
    for order in chosen:
        sums[order["airport"]] += int(order["amount"])
    tools(
        "email__send_email",
        account_name="agent",
        recipients=[largest["address"]],
        cc=[cc],
        subject=f"Re: {largest['subject']}",
        body="".join(f"{code}: {sums[code]}\n" for code in sorted(sums)),
        in_reply_to=largest["message_id"],
    )
    tools("email__mark_emails_as_read", account_name="agent", email_ids=[largest["email_id"]])
