"""Rung 3: what is read in one place is written, chosen and put in order in another."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from datetime import datetime, timedelta

from knowledge import AIRPORTS, COUNTRIES, CURRENCIES
from rules import Stuck, Tools, quoted, rule


@rule(r"\.csv files in <folder:PATH> count visitors.*Write the answer into <path:PATH>: the number alone")
def visitors(tools: Tools, folder: str, path: str) -> None:
    """Add up the last column of all tables in a folder."""
    tables = [tools.table(f"{folder}/{name}") for name in tools.names(folder, ".csv")]
    tools.write(path, [str(sum(int(row["visitors"]) for table in tables for row in table))])


@rule(
    r"history of (?P<branch>\S+) in <repo:REPO>, put the subject lines of all commits by <who:WORD> into <path:PATH>,"
    r" one"
)
def subjects(tools: Tools, branch: str, repo: str, who: str, path: str) -> None:
    """Write what somebody committed on a branch."""
    tools("git__git_checkout", repo_path=repo, branch_name=branch)
    log = tools("git__git_log", repo_path=repo, max_count=100)
    tools("git__git_checkout", repo_path=repo, branch_name="main")
    commits = re.findall(r"^Author: (.+)\nDate: .+\nMessage: (.+)$", log, re.MULTILINE)
    tools.folder(path.rpartition("/")[0])
    tools.write(path, [subject for author, subject in reversed(commits) if author == who])


@rule(
    r"commit what is staged in <repo:REPO>, except everything in the folder <folder:WORD>,.*The message is"
    r" \"<message:TEXT>\""
)
def commit_without(tools: Tools, repo: str, folder: str, message: str) -> None:
    """Commit a part of what is staged."""
    staged = re.findall(r"^diff --git a/(\S+) b/", tools("git__git_diff_staged", repo_path=repo), re.MULTILINE)
    tools("git__git_reset", repo_path=repo)
    chosen = [path for path in staged if folder not in path.split("/")[:-1]]
    tools("git__git_add", repo_path=repo, files=chosen)
    tools("git__git_commit", repo_path=repo, message=message)


@rule(r"prepare <new:TEXT> in <repo:REPO>: find the feature branch whose file VERSION says (?P<version>\S+);")
def release(tools: Tools, new: str, repo: str, version: str) -> None:
    """Branch off where a file says something."""
    listed = tools("git__git_branch", repo_path=repo, branch_type="local")
    for name in [line[2:] for line in listed.splitlines() if line[2:].startswith("feature/")]:
        if tools("git__git_show", repo_path=repo, revision=f"{name}:VERSION").strip() == version:
            tools("git__git_create_branch", repo_path=repo, branch_name=new, base_branch=name)
            return
    raise Stuck("no branch says so")


@rule(
    r"Write the open issues with the label <label:WORD> of the GitHub repository (?P<owner>[\w-]+)/<repo:WORD>"
    r" into a new file <path:PATH>"
)
def issues(tools: Tools, label: str, owner: str, repo: str, path: str) -> None:
    """List issues in a file."""
    listed = tools.json("github__list_issues", owner=owner, repo=repo, state="open", per_page=100)
    chosen = [
        (issue["number"], issue["title"])
        for issue in listed
        if "pull_request" not in issue and label in [one["name"] for one in issue["labels"]]
    ]
    tools.folder(path.rpartition("/")[0])
    tools.write(path, [f"#{number} {title}" for number, title in sorted(chosen)])


@rule(r"list of the people who report to <boss:NAME> with their (?P<what>\w+)s, .* into a new file <path:PATH>")
def reports(tools: Tools, boss: str, what: str, path: str) -> None:
    """List people of the memory in a file."""
    entities, relations = tools.graph()
    people = sorted(start for start, kind, end in relations if (kind, end) == ("reports to", boss))
    numbers = {name: note.split()[-1] for name in people for note in entities[name] if note.startswith(what)}
    tools.folder(path.rpartition("/")[0])
    tools.write(path, [f"{name}: {number}" for name, number in numbers.items()])


@rule(
    r"the one JSON file, .* in <folder:PATH> and make an entity of the type <kind:WORD>.* leave out the ones in the"
    r" state"
    r" \"<out:TEXT>\".*\"flies from CODE\".*relation \"<relation:TEXT>\" to <boss:NAME>"
)
def guests(tools: Tools, folder: str, kind: str, out: str, relation: str, boss: str) -> None:
    """Enter people of a file into the memory."""
    (name,) = tools.names(folder, ".json")
    people = [person for person in json.loads(tools.read(f"{folder}/{name}")) if person["state"] != out]
    entities = [
        {"name": one["name"], "entityType": kind, "observations": [f"flies from {AIRPORTS[one['city']]}"]}
        for one in people
    ]
    tools("memory__create_entities", entities=entities)
    relations = [{"from": person["name"], "relationType": relation, "to": boss} for person in people]
    tools("memory__create_relations", relations=relations)


@rule(
    r"Delete these for good.* to \w+ \w+ \((?P<to>\S+)\) with the subject \"<subject:TEXT>\".*"
    r"orders in INBOX that go to the airport of (?P<city>\w+),"
)
def delete_orders(tools: Tools, to: str, subject: str, city: str) -> None:
    """Delete some mails and report which."""
    chosen = sorted((one for one in tools.orders() if one["airport"] == AIRPORTS[city]), key=lambda one: one["ref"])
    tools("email__delete_emails", account_name="agent", email_ids=[one["email_id"] for one in chosen])
    body = "".join(f"{one['ref']}\n" for one in chosen)
    tools("email__send_email", account_name="agent", recipients=[to], subject=subject, body=body)


@rule(
    r"copy every row of <old:WORD> with a day before (?P<day>[\d-]+) into a new table <new:WORD> with the same columns"
)
def copy_rows(tools: Tools, old: str, day: str, new: str) -> None:
    """Copy a part of a table into a new one that is made as it was."""
    (made,) = tools.rows("sqlite", f"SELECT sql FROM sqlite_master WHERE name = {quoted(old)}")[0]  # noqa: S608
    tools("sqlite__create_table", query=re.sub(rf"\"?{old}\"?", new, made, count=1))
    tools.change("sqlite", f"INSERT INTO {new} SELECT * FROM {old} WHERE day < {quoted(day)}")  # noqa: S608


@rule(
    r"Add a new last sheet <new:WORD> to the workbook <book:BOOK>: one row for each <key:WORD>.*the state <out:WORD>"
    r" do not count"
)
def groups(tools: Tools, new: str, book: str, key: str, out: str) -> None:
    """Sum up a sheet in a new one."""
    sums: dict[str, int] = defaultdict(int)
    for row in tools.sheet(book, "Orders")[1]:
        if row["state"] != out:
            sums[row[key]] += row["pieces"]
    tools("spreadsheet__create_sheet", path=book, new_name=new)
    rows = [[key, "pieces"], *([name, sums[name]] for name in sorted(sums))]
    tools("spreadsheet__write_range", path=book, sheet=new, at="A1", rows=rows)


@rule(
    r"Write name and extension of the people in (?P<department>\w+) \(sheet <sheet:WORD>\), the earliest day in the"
    r" column"
    r" since first into a new file <path:PATH>.* workbook <book:BOOK>"
)
def staff(tools: Tools, department: str, sheet: str, path: str, book: str) -> None:
    """Write a part of a sheet into a file."""
    people = [row for row in tools.sheet(book, sheet)[1] if row["department"] == department]
    tools.write(path, [f"{one['name']}: {one['extension']}" for one in sorted(people, key=lambda one: one["since"])])


@rule(
    r"<path:PATH> has wares for the (?P<where>Postgre)SQL table <table:WORD>,.*Use only what comes from"
    r" <countries:TEXT>; a sku.* into <refused:PATH>",
    r"(?P<where>Postgre)SQL table <table:WORD> \(.*\) up to date from <path:PATH>: use only lines that say how many"
    r".* into <refused:PATH>",
)
def wares(tools: Tools, path: str, where: str, table: str, refused: str, countries: str = "") -> None:
    """Bring a table up to date from a file, and write what was not taken into another."""
    lines = tools.table(path)
    codes = [COUNTRIES[name] for name in countries.split(" or ")] if countries else [row["country"] for row in lines]
    taken = [row for row in lines if row["pieces"] and row["country"] in codes]
    known = {sku for (sku,) in tools.rows(where, f"SELECT sku FROM {table}")}  # noqa: S608
    for row in taken:
        if row["sku"] in known:
            query = f"UPDATE {table} SET pieces = {int(row['pieces'])} WHERE sku = {quoted(row['sku'])}"  # noqa: S608
        else:
            values = ", ".join(quoted(row[name]) for name in ("sku", "name", "country"))
            query = f"INSERT INTO {table} VALUES ({values}, {int(row['pieces'])})"  # noqa: S608
        tools.change(where, query)
    tools.write(refused, sorted(row["sku"] for row in lines if row not in taken))


APPOINTMENT = re.compile(
    r"(?P<name>.+?) on (?P<day>\S+) at (?P<time>\S+), (?P<minutes>\d+) minutes, for (?P<calendar>.+); state:"
    r" (?P<state>.+)"
)


@rule(
    r"the only (?P<kind>CSV) file, .* in <folder:PATH>\. All but those that are \"<out:TEXT>\".*an event"
    r" \"<title:TEXT> with NAME\"",
    r"the one text file \((?P<kind>\.txt)\);.* in <folder:PATH>\. Leave out the appointments in the state"
    r" \"<out:TEXT>\".*"
    r"an event \"<title:TEXT> with NAME\".* in the calendar (?P<only>\w+ \w+), whatever",
)
def appointments(tools: Tools, kind: str, folder: str, out: str, title: str, only: str = "") -> None:
    """Enter the appointments of a file into calendars."""
    (name,) = tools.names(folder, f".{kind.lower().strip('.')}")
    if kind == "CSV":
        lines = tools.table(f"{folder}/{name}")
    else:
        matches = map(APPOINTMENT.fullmatch, tools.read(f"{folder}/{name}").splitlines())
        lines = [match.groupdict() for match in matches if match]
    urls = tools.calendars()
    for line in lines:
        if line["state"] != out:
            start = datetime.fromisoformat(f"{line['day']}T{line['time']}")
            enter(tools, urls[only or line["calendar"]], f"{title} with {line['name']}", start, int(line["minutes"]))


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
    r"<path:PATH> shall hold the orders that are not flagged and whose currency is not the (?P<currency>\w+ \w+) .*"
    r"\"REF: AMOUNT\" for each, the largest amount first.*marked as read"
)
def orders(tools: Tools, path: str, currency: str) -> None:
    """List some orders in a file and mark them as read."""
    flagged = tools.json("email__list_emails_metadata", account_name="agent", page_size=100, flagged=True)["emails"]
    left = {mail["email_id"] for mail in flagged}
    chosen = [one for one in tools.orders() if one["currency"] != CURRENCIES[currency] and one["email_id"] not in left]
    chosen.sort(key=lambda one: -int(one["amount"]))
    tools.folder(path.rpartition("/")[0])
    tools.write(path, [f"{one['ref']}: {one['amount']}" for one in chosen])
    tools("email__mark_emails_as_read", account_name="agent", email_ids=[one["email_id"] for one in chosen])
