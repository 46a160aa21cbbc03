"""Rung 5: chores of several steps in which tools fail on the way; each step is asked for until it was carried out."""

from __future__ import annotations

import re
from datetime import datetime

from conditions import holds, place
from knowledge import COUNTRIES
from rules import KINDS, Tools, quoted, rule
from transfers import enter


@rule(
    r"<repo:REPO>(?:, make two commits on main out of the open edits:| into two commits on main,) first all edited"
    r" and new files"
    r" whose names end in (?P<first>\.\w+), then those that end in"
    r" (?P<second>\.\w+);.*?\"<one:TEXT>\".*?\"<two:TEXT>\""
)
def two_commits(tools: Tools, repo: str, first: str, second: str, one: str, two: str) -> None:
    """Commit what is open in two parts."""
    status = tools("git__git_status", repo_path=repo)
    open_files = re.findall(r"^\t(?:modified:   |new file:   )?(\S+)$", status, re.MULTILINE)
    for ending, message in ((first, one), (second, two)):
        tools("git__git_add", repo_path=repo, files=[path for path in open_files if path.endswith(ending)])
        tools("git__git_commit", repo_path=repo, message=message)


@rule(
    r"relations \"<kind:TEXT>\" the wrong way round: all of them start at (?P<project>Project \S+), .*add the"
    r" observation"
    r" \"<note:TEXT>\" to"
)
def turn_round(tools: Tools, kind: str, project: str, note: str) -> None:
    """Turn relations of the memory round."""
    wrong = [end for start, name, end in tools.graph()[1] if (start, name) == (project, kind)]
    relations = [{"from": project, "relationType": kind, "to": end} for end in wrong]
    tools("memory__delete_relations", relations=relations)
    relations = [{"from": end, "relationType": kind, "to": project} for end in wrong]
    tools("memory__create_relations", relations=relations)
    tools("memory__add_observations", observations=[{"entityName": project, "contents": [note]}])


@rule(
    r"Each (?P<ending>\.\w+) file in <folder:PATH> is the minutes.*calendar <name:NAME> gets an event \"Meeting on"
    r" the THING\""
)
def meetings(tools: Tools, ending: str, folder: str, name: str) -> None:
    """Enter the next meetings that minutes name, an hour long."""
    url = tools.calendars()[name]
    for file in tools.names(folder, ending):
        match = re.search(r"^next meeting: (.+)$", tools.read(f"{folder}/{file}"), re.MULTILINE)
        if match:
            title = f"Meeting on the {file.removesuffix(ending)}"
            enter(tools, url, title, datetime.fromisoformat(match[1]), 60)


@rule(
    r"The table <table:WORD> in the database needs slips: one file <folder:PATH>/CODE\.txt for each row that"
    r" goes to <country:TEXT>, named after its code"
)
def dispatch(tools: Tools, table: str, folder: str, country: str) -> None:
    """Write a file for each row that goes to a country."""
    query = f"SELECT code, receiver, country, amount FROM {table} WHERE country = {quoted(COUNTRIES[country])}"  # noqa: S608
    tools.folder(folder)
    for code, receiver, land, amount in tools.rows("sqlite", query):
        tools.write(f"{folder}/{code}.txt", [receiver, f"{land} {amount}"])


@rule(
    r"In the PostgreSQL database: <new:WORD> takes over all items of <old:WORD>: .* into journal: .* and the note"
    r" (?P<note>[\w ]+)\."
)
def take_over(tools: Tools, new: str, old: str, note: str) -> None:
    """Hand an account's items and balance over."""
    accounts = {owner: (key, balance) for key, owner, balance in tools.rows("PostgreSQL", "SELECT * FROM accounts")}
    (to, _), (start, amount) = accounts[new], accounts[old]
    balance = f"CASE id WHEN {start} THEN 0 ELSE balance + {amount} END"
    tools.change("PostgreSQL", f"UPDATE accounts SET balance = {balance} WHERE id IN ({start}, {to})")  # noqa: S608
    tools.change("PostgreSQL", f"UPDATE items SET account_id = {to} WHERE account_id = {start}")  # noqa: S608
    values = f"({to}, {amount}, {quoted(note)})"
    tools.change("PostgreSQL", f"INSERT INTO journal (account_id, amount, note) VALUES {values}")  # noqa: S608


@rule(
    r"(?P<goal>.*database table <table:WORD>.*: each line has a sku"
    r" (?:that must be deleted|and the name that it gets)\..*)"
)
def corrections(tools: Tools, goal: str, table: str) -> None:
    """Carry out the lines of a file on a table, and note the number of rows in one of two files."""
    path, yes, no = dict.fromkeys(re.findall(KINDS["PATH"], goal))
    report = yes if holds(tools, goal, goal) else no
    for sku, name in re.findall(r"^[^#\n]*?([A-Z]{2}-\d{4})(?: (\S+))?$", tools.read(path), re.MULTILINE):
        change = f"UPDATE {table} SET name = {quoted(name)}" if name else f"DELETE FROM {table}"  # noqa: S608
        tools.change("sqlite", f"{change} WHERE sku = {quoted(sku)}")
    ((count,),) = tools.rows("sqlite", f"SELECT COUNT(*) FROM {table}")  # noqa: S608
    tools.write(report, [f"{count} rows"])


@rule(
    r"(?P<goal>guests in (?P<folder>/data/files/\S+)/\S+\. Send every guest whose answer is \"<answer:TEXT>\" .*"
    r" subject \"<subject:TEXT>\".* text of the mails is \"<yes:TEXT>\" if <condition:TEXT>, otherwise \"<no:TEXT>\")"
)
def papers(tools: Tools, goal: str, folder: str, answer: str, subject: str, yes: str, condition: str, no: str) -> None:
    """Send each guest a file, with a text that the list decides."""
    text = yes if holds(tools, goal, condition) else no
    for guest in tools.table(place(goal, r"(/data/files/\S*\.csv)")):
        if guest["answer"] == answer:
            mail = {"recipients": [guest["mail"]], "subject": subject, "body": text}
            tools("email__send_email", account_name="agent", **mail, attachments=[f"{folder}/{guest['paper']}"])


@rule(
    r"(?P<goal>(?P<owner>[\w-]+)/<repo:WORD> on GitHub.* open issues with the label <label:WORD>\b.* If .*"
    r" comment \"<yes:TEXT>\".*; otherwise .*comment \"<no:TEXT>\".* issue .*\"<title:TEXT>\")"
)
def close_out(tools: Tools, goal: str, owner: str, repo: str, label: str, yes: str, no: str, title: str) -> None:
    """Close the issues that have a label, each with a comment, and open one with their number."""
    at, text = {"owner": owner, "repo": repo}, yes if holds(tools, goal, goal) else no
    issues = tools.issues(f"{owner}/{repo}", "open")
    numbers = [one["number"] for one in issues if label in [each["name"] for each in one["labels"]]]
    for number in numbers:
        tools("github__add_issue_comment", **at, issue_number=number, body=text)
        tools("github__update_issue", **at, issue_number=number, state="closed")
    tools("github__create_issue", **at, title=title, body=str(len(numbers)))


@rule(
    r"mirror the \.conf files of <folder:PATH> in Redis; only owner and <setting:WORD> matter\. One hash <key:KEY> with"
    r" a field for each file.* The set <names:KEY> shall hold"
)
def mirror(tools: Tools, folder: str, setting: str, key: str, names: str) -> None:
    """Write the settings of files into one hash."""
    for file in tools.names(folder, ".conf"):
        lines = dict(re.findall(r"^(\w+) = (.*)$", tools.read(f"{folder}/{file}"), re.MULTILINE))
        name = file.removesuffix(".conf")
        tools("redis__hset", name=key, key=name, value=lines[setting])
        tools("redis__hset", name=key, key=f"{name}.owner", value=lines["owner"])
        tools("redis__sadd", name=names, value=name)


@rule(
    r"\.txt file in <folder:PATH> has the order's number and the pieces counted .*on a new last sheet <to:WORD> of"
    r" <book:BOOK>: .* the sheet <sheet:WORD> has and those counted"
)
def counts(tools: Tools, folder: str, to: str, book: str, sheet: str) -> None:
    """Write what was counted beside what a sheet has."""
    texts = [tools.read(f"{folder}/{file}") for file in tools.names(folder, ".txt")]
    lines = [dict(re.findall(r"^(counted|order): (\d+)$", text, re.MULTILINE)) for text in texts]
    pieces = {row["number"]: row["pieces"] for row in tools.sheet(book, sheet)[1]}
    rows = sorted([int(one["order"]), pieces[int(one["order"])], int(one["counted"])] for one in lines)
    tools("spreadsheet__create_sheet", path=book, new_name=to)
    tools("spreadsheet__write_range", path=book, sheet=to, at="A1", rows=[["number", "pieces", "counted"], *rows])
