"""Rung 5: chores of several steps in which tools fail on the way; each step is asked for until it was carried out."""

from __future__ import annotations

import re
from datetime import datetime

from knowledge import COUNTRIES
from rules import Tools, quoted, rule
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
    r"(?P<where>Postgre)SQL table <table:WORD> \(.*\) in line with <path:PATH>\. Each line has a sku and the number"
    r" of pieces to be"
    r" added.* into <done:PATH>",
    r"Carry out what <path:PATH> says on the database table <table:WORD> .*each line has a sku that must be"
    r" deleted\. At the end"
    r" <done:PATH>",
)
def corrections(tools: Tools, path: str, table: str, done: str, where: str = "sqlite") -> None:
    """Carry out the lines of a file on a table, each once."""
    for line in tools.read(path).splitlines():
        words = re.findall(r"[A-Z]{2}-\d{4}|\b\d+$", line)
        if not words or line.startswith("#"):
            continue
        sku = quoted(words[0])
        if where == "sqlite":
            tools.change(where, f"DELETE FROM {table} WHERE sku = {sku}")  # noqa: S608
        else:
            tools.change(where, f"UPDATE {table} SET pieces = pieces + {int(words[1])} WHERE sku = {sku}")  # noqa: S608
    ((count,),) = tools.rows(where, f"SELECT COUNT(*) FROM {table}")  # noqa: S608
    tools.write(done, [f"{count} rows"])


@rule(
    r"take the leftmost amount off the list <claims:KEY>, add it to the <field:WORD> of <who:WORD> \(hash"
    r" <account:KEY>\), and"
    r" append \".*:AMOUNT\" .* list <journal:KEY>"
)
def booking(tools: Tools, claims: str, field: str, who: str, account: str, journal: str) -> None:
    """Book an amount."""
    before = int(tools("redis__hget", name=account, key=field))
    amount = int(tools("redis__lpop", name=claims))
    tools("redis__hset", name=account, key=field, value=str(before + amount))
    tools("redis__rpush", name=journal, value=f"{who}:{amount}")


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
    r"<path:PATH> lists guests .*whose answer is \"<answer:TEXT>\" gets a mail .* with the subject"
    r" \"<subject:TEXT>\", the text"
    r" \"<text:TEXT>\" and that guest's paper"
)
def papers(tools: Tools, path: str, answer: str, subject: str, text: str) -> None:
    """Send each guest a file."""
    guests = re.findall(r"^- (\S+) is for .+ <(.+)>, .+; answer: (.+)$", tools.read(path), re.MULTILINE)
    for paper, address, said in guests:
        if said == answer:
            tools(
                "email__send_email",
                account_name="agent",
                recipients=[address],
                subject=subject,
                body=text,
                attachments=[f"{path.rpartition('/')[0]}/{paper}"],
            )


@rule(
    r"into main of (?P<owner>[\w-]+)/<repo:WORD> on GitHub: set <key:WORD> in (?P<file>\S+) to <value:WORD>"
    r" .*in one commit"
    r" \"<message:TEXT>\" on a new branch (?P<branch>\S+) that starts at main; then a pull request titled"
    r" \"<title:TEXT>\""
)
def change(
    tools: Tools, owner: str, repo: str, key: str, file: str, value: str, message: str, branch: str, title: str
) -> None:
    """Bring a change into main by a pull request."""
    at = {"owner": owner, "repo": repo}
    tools("github__create_branch", **at, branch=branch, from_branch="main")
    before = tools.json("github__get_file_contents", **at, path=file, branch=branch)
    text = re.sub(rf"^{key} = .*$", f"{key} = {value}", before["content"], flags=re.MULTILINE)
    where = {"path": file, "branch": branch, "sha": before["sha"]}
    tools("github__create_or_update_file", **at, **where, content=text, message=message)
    request = tools.json("github__create_pull_request", **at, title=title, head=branch, base="main")
    tools("github__merge_pull_request", **at, pull_number=request["number"], merge_method="merge")


@rule(
    r"(?P<name>\w+ \w+) is new in (?P<department>\w+), with the extension <extension:N>, since (?P<since>[\d-]+)\."
    r" Append that to"
    r" the sheet <sheet:WORD> of <book:BOOK> below the last person \(row <row:N>\), and let the defined name"
    r" <range:WORD>"
)
def new_person(
    tools: Tools,
    name: str,
    department: str,
    extension: str,
    since: str,
    sheet: str,
    book: str,
    row: str,
    range: str,  # noqa: A002
) -> None:
    """Add a row, and let a defined name reach it."""
    names = tools.json("spreadsheet__describe_workbook", path=book)["defined_names"]
    last, new = int(row), int(row) + 1
    values = [[name, department, int(extension), since]]
    tools("spreadsheet__write_range", path=book, sheet=sheet, at=f"A{new}", rows=values)
    refers = next(one["refers_to"] for one in names if one["name"] == range)
    tools("spreadsheet__set_defined_name", path=book, name=range, refers_to=re.sub(rf"{last}$", str(new), refers))


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
    r"Carry out what <path:PATH> says on the database table <table:WORD> .*each line has a sku and the name"
    r" that it gets\. At the end <done:PATH>"
)
def names(tools: Tools, path: str, table: str, done: str) -> None:
    """Carry out the lines of a file that give names."""
    for sku, name in re.findall(r"^[^#\n]*?([A-Z]{2}-\d{4}) (\S+)$", tools.read(path), re.MULTILINE):
        tools.change("sqlite", f"UPDATE {table} SET name = {quoted(name)} WHERE sku = {quoted(sku)}")  # noqa: S608
    ((count,),) = tools.rows("sqlite", f"SELECT COUNT(*) FROM {table}")  # noqa: S608
    tools.write(done, [f"{count} rows"])


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
