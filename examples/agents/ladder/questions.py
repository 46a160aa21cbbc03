"""Rung 2: questions that are answered by looking something up once."""

from __future__ import annotations

from knowledge import CURRENCIES, ZONES
from rules import Stuck, Tools, quoted, rule


@rule(
    r"subjects give ref, time zone and pieces.*ref has the one that was sent last among all bookings from"
    r" (?P<country>\w+)"
)
def last_booking(tools: Tools, country: str) -> str:
    """Find the newest of some mails."""
    mails = tools.json("email__list_emails_metadata", account_name="agent", page_size=100)["emails"]
    chosen = [mail for mail in mails if f": {ZONES[country]}," in mail["subject"]]
    return str(max(chosen, key=lambda mail: mail["date"])["subject"].split()[1].rstrip(":"))


@rule(r"repository <repo:REPO>, how many files does the folder <folder:WORD> hold at the tag (?P<tag>\S*\w)")
def files_at_tag(tools: Tools, repo: str, folder: str, tag: str) -> str:
    """Count the files of a folder as it was."""
    return str(len(tools("git__git_show", repo_path=repo, revision=f"{tag}:{folder}").split()))


COUNTS = ("zero", "one", "two", "three", "four", "five", "six")


@rule(
    r"Which ref has the one with the second largest amount among all \w+ whose currency is the"
    r" (?P<currency>\w+ \w+)\? It is in the table <table:WORD> of the (?P<where>Postgre)SQL"
)
def second_largest(tools: Tools, currency: str, table: str, where: str) -> str:
    """Find the second largest of a kind."""
    query = f"SELECT ref FROM {table} WHERE currency = {quoted(CURRENCIES[currency])} ORDER BY amount DESC"  # noqa: S608
    return str(tools.rows(where, query)[1][0])


@rule(r"How many members of the set <key:KEY> have a name of at least <least:WORD> letters")
def long_names(tools: Tools, key: str, least: str) -> str:
    """Count the members of a set."""
    return str(sum(len(name) >= COUNTS.index(least) for name in tools("redis__smembers", name=key).split()))


@rule(r"how many of them is it not known what was paid.*in the table <table:WORD>")
def unknown(tools: Tools, table: str) -> str:
    """Count rows without a value."""
    return _value(tools, "sqlite", f"SELECT COUNT(*) FROM {table} WHERE paid IS NULL")  # noqa: S608


def _value(tools: Tools, where: str, query: str) -> str:
    rows = tools.rows(where, query)
    if not rows:
        raise Stuck("the database has no such row")
    return str(rows[0][0])
