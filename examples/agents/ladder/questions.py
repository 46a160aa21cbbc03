"""Rung 2: questions that are answered by looking something up once."""

from __future__ import annotations

import csv
import io
import re
from datetime import date, datetime, timedelta

from knowledge import CURRENCIES, MEDIA, ZONES
from rules import Stuck, Tools, quoted, rule


@rule(r"How many minutes do all events .*at (?P<url>/\S+/).*week of Monday (?P<monday>\S+) is")
def minutes(tools: Tools, url: str, monday: str) -> str:
    """Add up the events of a week."""
    friday = (date.fromisoformat(monday) + timedelta(days=5)).isoformat()
    events = tools.json("calendar__list-events", calendarUrl=url, start=monday, end=friday)
    spans = [datetime.fromisoformat(event["end"]) - datetime.fromisoformat(event["start"]) for event in events]
    return str(round(sum(span.total_seconds() for span in spans) / 60))


@rule(
    r"subjects give ref, time zone and pieces.*ref has the one that was sent last among all bookings from"
    r" (?P<country>\w+)"
)
def last_booking(tools: Tools, country: str) -> str:
    """Find the newest of some mails."""
    mails = tools.json("email__list_emails_metadata", account_name="agent", page_size=100)["emails"]
    chosen = [mail for mail in mails if f": {ZONES[country]}," in mail["subject"]]
    return str(max(chosen, key=lambda mail: mail["date"])["subject"].split()[1].rstrip(":"))


@rule(r"Look at <path:PATH>: How many \w+ from (?P<country>\w+) are there\? The column time_zone decides")
def from_country(tools: Tools, path: str, country: str) -> str:
    """Count rows of a file."""
    return str(sum(row["time_zone"] == ZONES[country] for row in tools.table(path)))


@rule(r"repository <repo:REPO>, how many files does the folder <folder:WORD> hold at the tag (?P<tag>\S*\w)")
def files_at_tag(tools: Tools, repo: str, folder: str, tag: str) -> str:
    """Count the files of a folder as it was."""
    return str(len(tools("git__git_show", repo_path=repo, revision=f"{tag}:{folder}").split()))


COUNTS = ("zero", "one", "two", "three", "four", "five", "six")


@rule(
    r"What is the <column:WORD> of the <name:WORD> there\? The file is (?P<file>\S+) in the repository <repo:REPO>,"
    r" and its version on (?P<branch>\S+) <back:WORD> commits before the last"
)
def earlier_value(tools: Tools, column: str, name: str, file: str, repo: str, branch: str, back: str) -> str:
    """Look into an earlier version of a file."""
    text = tools("git__git_show", repo_path=repo, revision=f"{branch}~{COUNTS.index(back)}:{file}")
    return next(row[column] for row in csv.DictReader(io.StringIO(text)) if row["name"] == name)


@rule(r"about (?P<owner>[\w-]+)/<repo:WORD> on GitHub: How many open pull requests did <who:WORD> make")
def pull_requests(tools: Tools, owner: str, repo: str, who: str) -> str:
    """Count somebody's pull requests."""
    listed = tools.json("github__list_pull_requests", owner=owner, repo=repo, state="open", per_page=100)
    return str(sum(request["user"]["login"] == who for request in listed))


@rule(r"your memory: What do the budgets of those projects add up to whose budget is in (?P<currency>[A-Z]{3})")
def budgets(tools: Tools, currency: str) -> str:
    """Add up what was observed."""
    notes = [note for notes in tools.graph()[0].values() for note in notes]
    return str(sum(int(found[1]) for note in notes if (found := re.fullmatch(rf"budget (\d+) {currency}", note))))


@rule(
    r"Which ref has the one with the second largest amount among all \w+ whose currency is the (?P<currency>\w+ \w+)\?"
    r" It is in the table <table:WORD> of the (?P<where>Postgre)SQL"
)
def second_largest(tools: Tools, currency: str, table: str, where: str) -> str:
    """Find the second largest of a kind."""
    query = f"SELECT ref FROM {table} WHERE currency = {quoted(CURRENCIES[currency])} ORDER BY amount DESC"  # noqa: S608
    return str(tools.rows(where, query)[1][0])


@rule(r"How many \w+ of (?P<kind>\w+ \w+) are there\? It is in the table <table:WORD> of the (?P<where>Postgre)SQL")
def of_kind(tools: Tools, kind: str, table: str, where: str) -> str:
    """Count rows of a media type."""
    return _value(tools, where, f"SELECT COUNT(*) FROM {table} WHERE media_type = {quoted(MEDIA[kind])}")  # noqa: S608


@rule(r"How many members of the set <key:KEY> have a name of at least <least:WORD> letters")
def long_names(tools: Tools, key: str, least: str) -> str:
    """Count the members of a set."""
    return str(sum(len(name) >= COUNTS.index(least) for name in tools("redis__smembers", name=key).split()))


@rule(r"How many pieces does the order <number:N> have in the sheet <sheet:WORD> of <book:BOOK>")
def pieces(tools: Tools, number: str, sheet: str, book: str) -> str:
    """Look up an order."""
    return next(str(row["pieces"]) for row in tools.sheet(book, sheet)[1] if str(row["number"]) == number)


@rule(r"how many of them is it not known what was paid.*in the table <table:WORD>")
def unknown(tools: Tools, table: str) -> str:
    """Count rows without a value."""
    return _value(tools, "sqlite", f"SELECT COUNT(*) FROM {table} WHERE paid IS NULL")  # noqa: S608


@rule(r"The table <table:WORD> has.*code of the one with the largest amount whose state is <state:WORD>")
def largest(tools: Tools, table: str, state: str) -> str:
    """Find the largest of a kind."""
    return _value(tools, "sqlite", f"SELECT code FROM {table} WHERE state = {quoted(state)} ORDER BY amount DESC")  # noqa: S608


def _value(tools: Tools, where: str, query: str) -> str:
    rows = tools.rows(where, query)
    if not rows:
        raise Stuck("the database has no such row")
    return str(rows[0][0])
