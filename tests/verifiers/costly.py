"""Worst inputs of predicates that match patterns or search texts: what a test counts the steps of, and a bench times.

Texts come in any size, so that a test can take small ones and the bench those at the caps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from verifiers.normal_form import NormalState
from verifiers.states.calendar.entries import CalendarEntry
from verifiers.states.calendar.entries import document_of as calendar_document
from verifiers.states.calendar.items import Item
from verifiers.states.forge.examples import ISSUE, PULL, REVIEW, forge
from verifiers.states.git.examples import repository
from verifiers.states.mailbox.messages import MailMessage, MailState
from verifiers.states.mailbox.messages import state_of as mail_state
from verifiers.states.postgres.examples import postgres_database
from verifiers.states.readers import read

States = Mapping[str, NormalState]

WIDE = "".join(map(chr, range(0x4E00, 0x9FA5)))
STUMBLING = "a" * 49 + "b" + "a" * 49
"""A part that a search without preparation compares nearly whole at every place of `aaa…`."""
SHORT = 29_000
"""Letters of the longest texts that CPython searches without preparation for a part of fewer than a hundred."""
CLASS = "(?i)[" + "".join(map(chr, range(0x400, 0x400 + 950, 2))) + "]{2}"
EXPANDING = "\u0130\u00df\u0149"
LINE = "abc def 123 4,567.89\n"
AT = {"repository": "acme/site", "branch": "main", "path": "big"}


class Costly(NamedTuple):
    """A probe on a state that is made to be expensive.

    Attributes:
        name: the predicate.
        arguments: its arguments.
        text: makes so many bytes; for a predicate of the answer, that is the answer.
        states: makes the state that has them in it.
        letters: the most bytes of that text which may cost one step.
    """

    name: str
    arguments: Mapping[str, Any]
    text: Callable[[int], bytes]
    states: Callable[[bytes], States]
    letters: int


def filled(pattern: str | bytes) -> Callable[[int], bytes]:
    """Return what repeats a pattern up to a size."""
    data = pattern.encode() if isinstance(pattern, str) else pattern
    return lambda size: data * (size // len(data))


def file(data: bytes) -> States:
    return {"filesystem": NormalState({"entries": [["a", "file", 0o644, 0]]}, (data,))}


def names(data: bytes) -> States:
    entries = [[f"out/{'a' * 240}{number}", "file", 0o644, 0] for number in range(len(data) // 240)]
    return {"filesystem": NormalState({"entries": entries}, (b"",))}


def file_at_branch(data: bytes) -> States:
    made = read("github", forge(merged=True, extra={"big": "HERE"}).states["github"])
    return {"github": NormalState(made.document, tuple(data if blob == b"HERE" else blob for blob in made.blobs))}


def issue(row: Mapping[str, Any] = ISSUE, **fields: Callable[[str], Any]) -> Callable[[bytes], States]:
    """Return what gives a forge with an issue or a pull request some fields of which are made from the text."""

    def states(data: bytes) -> States:
        made = {name: field(data.decode()) for name, field in fields.items()}
        return {"github": read("github", forge({**row, **made}).states["github"])}

    return states


def commented(text: str) -> list[dict[str, str]]:
    return [{"user": "ada", "body": text}]


def reviewed(text: str) -> list[dict[str, Any]]:
    return [{**REVIEW, "body": text}]


def commit(data: bytes) -> States:
    made = read("git", repository([("main", "HERE", {"a": "b"})]).states["git"])
    (repo,) = made.document["repositories"].values()
    for entry in repo["commits"].values():
        entry[2] = data.decode()
    return {"git": made}


def mail(data: bytes) -> States:
    """Return messages of up to SHORT letters each, kept as drafts and sent, and the whole text as an attachment."""
    text = data.decode("utf-8", "replace")
    there, people = ("m1@example.org",), ("b@example.org",)
    messages = tuple(
        MailMessage("p", "Drafts", frozenset(), *there, there, "a@example.org", people, (), people, "s", part, files)
        for place in range(0, len(text), SHORT)
        if (part := text[place : place + SHORT], files := (() if place else (("a", data),)))
    )
    return {"email": mail_state(MailState(("Drafts",), messages, messages))}


def event(data: bytes) -> States:
    item = Item("event", "u", data.decode(), "2026-01-05", "2026-01-06", "", data.decode())
    return {"calendar": NormalState(calendar_document([CalendarEntry("work", item)]))}


def observations(data: bytes) -> States:
    text = data.decode()
    parts = [text[place : place + SHORT] for place in range(0, len(text), SHORT)]
    return {"memory": NormalState({"entities": [["Ann", "person", parts]], "relations": []})}


def key(data: bytes) -> States:
    return {"redis": NormalState({"keys": {"a": {"type": "string", "value": data.decode(), "left": None}}})}


def keys(data: bytes) -> States:
    every = (f"{'a' * 900}{number}" for number in range(len(data) // 900))
    return {"redis": NormalState({"keys": {name: {"type": "string", "value": "", "left": None} for name in every}})}


def document(data: bytes) -> States:
    return {"json_document": NormalState({"value": {"a": data.decode()}})}


def table(data: bytes, each: int = 900_000) -> States:
    text = data.decode()
    rows = {"stock": [[str(place), text[place : place + each]] for place in range(0, len(text), each)]}
    columns = {"stock": [["id", "integer primary key"], ["item", "text"]]}
    return {"postgres": read("postgres", postgres_database(columns, rows).states["postgres"])}


def rows(data: bytes) -> States:
    return table(data, SHORT)


def book(cells: Sequence[Any] = (), width: int = 2, names: Mapping[str, str] = {}) -> States:
    places = [[1 + at // width, 1 + at % width, *cell] for at, cell in enumerate(cells)]
    sheet = {"name": "Stock", "hidden": False, "tables": [["t", "A1:B2", []]], "merged": [], "cells": places}
    return {"spreadsheet": NormalState(workbooks({"sheets": [sheet], "names": names}))}


def workbooks(document: Any) -> dict[str, Any]:
    return {"paths": [["a.xlsx", "file"]], "books": {"a.xlsx": document}}


def sheet(value: Any, width: int = 2) -> Callable[[bytes], States]:
    """Return what gives a sheet of a cell for every eight bytes, below the names of its columns."""
    heads = [[str(column)] for column in range(width)]
    return lambda data: book([*heads, *[[value]] * (len(data) // 8)], width)


def formula(data: bytes) -> States:
    return book([[1, data.decode()[:8192], True]])


def defined_name(data: bytes) -> States:
    return book(names={"total": data.decode()})


def sqlite_table(value: Any, width: int = 1) -> Callable[[bytes], States]:
    """Return what gives a table of a cell for every eight bytes."""
    columns = [[f"c{column}", "", 0, None, 0, 0] for column in range(width)]
    return lambda data: {
        "sqlite": NormalState(
            {"tables": [{"name": "stock", "columns": columns, "rows": [[value] * width] * (len(data) // 8 // width)}]}
        )
    }


def sqlite_names(data: bytes) -> States:
    made = [{"name": f"t{number}", "columns": [], "rows": []} for number in range(len(data) // 8)]
    return {"sqlite": NormalState({"tables": made})}


def nothing(_: bytes) -> States:
    return {}


def of_file(name: str, unit: str | bytes, letters: int, **arguments: Any) -> Costly:
    return Costly(f"filesystem.{name}", {"path": "a", **arguments}, filled(unit), file, letters)


def of_query(
    condition: str, pattern: str, letters: int, states: Callable[[bytes], States] = table, columns: str = "1"
) -> Costly:
    query = f"SELECT {columns} FROM stock WHERE {condition}"
    return Costly(
        "postgres.queryCount", {"query": query, "count": 0, "at_least": True}, filled(pattern), states, letters
    )


def of_answer(name: str, pattern: str, letters: int, **arguments: Any) -> Costly:
    return Costly(f"answer.{name}", arguments, lambda size: filled(pattern)(min(size, 60_000)), nothing, letters)


def of_sheet(name: str, value: Any, letters: int, width: int = 2, **arguments: Any) -> Costly:
    return of_book(name, "a", sheet(value, width), letters, sheet="Stock", **arguments)


def of_table(name: str, held: Any, letters: int, width: int = 1, **arguments: Any) -> Costly:
    states = sqlite_table(held, width)
    return Costly(f"sqlite.{name}", {"table": "stock", **arguments}, filled("a"), states, letters)


def of_forge(name: str, states: Callable[[bytes], States], letters: int, **arguments: Any) -> Costly:
    return Costly(f"github.{name}", {"repository": "acme/site", **arguments}, filled("a"), states, letters)


def of_mail(name: str, letters: int, unit: str | bytes = "a", /, **arguments: Any) -> Costly:
    return Costly(f"email.{name}", arguments, filled(unit), mail, letters)


def of_book(name: str, unit: str, states: Callable[[bytes], States], letters: int, /, **arguments: Any) -> Costly:
    return Costly(f"spreadsheet.{name}", {"path": "a.xlsx", **arguments}, filled(unit), states, letters)


FOLDED = {"ignore_case": True}
CASES: dict[str, Costly] = {
    "a pattern, no UTF-8": of_file("fileMatches", b"\xff", 7, pattern="[a-c]+d"),
    "a pattern, ASCII": of_file("fileMatches", LINE, 7, pattern=r"(?m)^total: \d+$"),
    "a pattern of many states": of_file("fileMatches", b"aac", 8, pattern="a[ac]{150}b"),
    "a pattern, many letters": of_file("fileMatches", WIDE, 24, pattern="a.b"),
    "a pattern of a large class": of_file("fileMatches", WIDE, 24, pattern=CLASS),
    "a pattern that always branches": of_file("fileMatches", "x \n", 8, pattern=r"(?m)(\b\w\b|\B.|^\s$){60}z"),
    "a part that stumbles": Costly(
        "filesystem.fileContains", {"path": "a", "text": STUMBLING}, lambda size: b"a" * min(size, SHORT), file, 10
    ),
    "a part": of_file("fileContains", "a", 64, text=STUMBLING),
    "a folded part, no UTF-8": of_file("fileContains", b"\xff", 8, text="b", **FOLDED),
    "a folded part, letters that expand": of_file("fileContains", "\u0130", 8, text="b", **FOLDED),
    "a folded text": of_file("fileTextEquals", b"\xff", 8, text="b", **FOLDED),
    "folded lines": of_file("fileLines", "\u0130", 16, lines=["a"], skip_blank=True, **FOLDED),
    "lines, no UTF-8": of_file("fileLines", b"\xff", 8, lines=["a"], skip_blank=True, **FOLDED),
    "line feeds, of which none counts": of_file("fileLineCount", "\n", 1, count=1, skip_blank=True),
    "line feeds that are split": of_file("fileLinesDiffer", "\n", 1, **FOLDED),
    "line feeds and numbers": of_file("fileNumberLines", "\n", 1, values=[1], any_order=True),
    "joined texts": of_file("fileJoins", "\r\n", 16, parts=["a"]),
    "numbers": of_file("fileNumber", LINE, 8, value=7.5),
    "numbers in groups": of_file("fileNumber", ",123", 8, value=7.5),
    "numbers that end in a letter": of_file("fileNumber", " 1" + ",123" * 600 + "a", 8, value=7.5),
    "CSV of form feeds": of_file("fileCsvRows", "\f", 1, rows=[["a", 1]]),
    "CSV of letters that expand": of_file(
        "fileCsvRows", "\u0130" * 999 + ",1\n", 8, rows=[["a", 1]] * 3, any_order=True, **FOLDED
    ),
    "names": Costly("filesystem.entryCount", {"path": "out", "count": 1, "glob": "*a*a?a*b"}, filled("a"), names, 10),
    "a commit's message": Costly(
        "git.headMessage", {"repository": "site", "branch": "main", "contains": STUMBLING}, filled("a"), commit, 64
    ),
    "a folded part at a branch": Costly(
        "github.fileContainsAtBranch", {**AT, "text": "b", **FOLDED}, filled(b"\xff"), file_at_branch, 8
    ),
    "a pattern at a branch": Costly(
        "github.fileMatchesAtBranch", {**AT, "pattern": "[a-c]+d"}, filled(b"\xff"), file_at_branch, 7
    ),
    "an issue's text": of_forge("issueBody", issue(body=str), 64, issue=1, contains=STUMBLING),
    "an issue's title": of_forge("issueTitle", issue(title=str), 64, number=1, contains=STUMBLING),
    "comments": of_forge("issueCommented", issue(comments=commented), 64, number=1, contains=STUMBLING),
    "issues": of_forge("issueCount", issue(body=str), 32, count=0, body_contains=[STUMBLING, "c"]),
    "a pull request's text": of_forge("prOpen", issue(PULL, body=str), 64, head="draft", body_contains=STUMBLING),
    "reviews": of_forge("prReviewed", issue(PULL, reviews=reviewed), 64, pull=2, state="APPROVED", contains=STUMBLING),
    "a folded document": Costly(
        "json_document.textContains", {"pointer": "/a", "text": "b", **FOLDED}, filled(EXPANDING), document, 16
    ),
    "a key's text": Costly("redis.stringEquals", {"key": "a", "value": "b"}, filled("a"), key, 256),
    "keys": Costly("redis.keyCount", {"count": 1, "prefix": "a" * 899}, filled("a"), keys, 256),
    "observations": Costly(
        "memory.observationMatches", {"name": "Ann", "text": "b"}, filled(EXPANDING), observations, 16
    ),
    "observations that stumble": Costly(
        "memory.observationMatches", {"name": "Ann", "text": STUMBLING}, filled("a"), observations, 10
    ),
    "sent mail": of_mail("messageSent", 10, to=["b@example.org"], contains=STUMBLING),
    "replies": of_mail("replySent", 10, message="m1@example.org", contains=STUMBLING),
    "drafts": of_mail("draftSaved", 10, subject="s", contains=STUMBLING),
    "a mail's text": of_mail("bodyContains", 10, message="m1@example.org", text=STUMBLING),
    "an attachment": of_mail("attachmentExists", 32, b"\xff", recipient="b@example.org", name="a", text="b"),
    "events": Costly("calendar.eventExists", {"summary": "a", "description": "b"}, filled(" "), event, 128),
    "LIKE": of_query(f"item LIKE '%{STUMBLING}%'", "a", 64),
    "LIKE, texts that stumble": of_query(f"item LIKE '%{STUMBLING}%'", "a", 10, rows),
    "LIKE with any letters": of_query(f"item LIKE '%{'a_' * 50}b%'", "a", 1),
    "LIKE with a column": of_query("item LIKE item || 'b'", "%_", 1),
    "ILIKE": of_query("item ILIKE '%ab%'", "A", 32),
    "ILIKE, wide letters": of_query("item ILIKE '%ab%'", "\u0130", 64),
    "lower": of_query("lower(item) = 'b'", "\u0130", 64),
    "initcap": of_query("initcap(item) = 'b'", "A ", 2),
    "position": of_query(f"strpos(item, '{STUMBLING}') > 1", "a", 10, rows),
    "replace": of_query("replace(item, 'aaaaaa', 'b') = 'c'", "a", 6),
    "split_part": of_query("split_part(item, 'aaaaaa', 2) = 'c'", "a", 6),
    "btrim": of_query(f"btrim(item, '{WIDE[:2000]}') = 'c'", WIDE[1999], 3),
    "to_char": of_query("to_char(date '2026-01-01', item) = 'c'", "YYYY", 1),
    "string_agg": of_query("true", "a", 32, rows, "string_agg(item, ',')"),
    "rows of a sheet": of_sheet("rowCount", "b", 2, count=1, where={"0": "b", "1": "b"}),
    "rows of a sheet, of a cell": of_sheet("rowExists", "b", 2, 1, where={"0": "c"}),
    "a sum of a sheet": of_sheet("columnSum", 1.7e-300, 1, column="1", sum=1, where={"0": 1.7e-300}, tolerance=0.5),
    "an area": of_sheet("rangeEquals", 1.7e-300, 1, area="A1:B700", rows=[[1.5e300, 1.5e300]] * 700, tolerance=0.5),
    "a whole sheet": of_sheet("sheetEquals", 1.7e-300, 1, rows=[[1]], tolerance=0.5),
    "a formula": of_book("formulaIs", '""a', formula, 64, sheet="Stock", cell="A1", formula="=1"),
    "a name of a workbook": of_book("namedRangeIs", "\u0130 $", defined_name, 16, name="total", refers_to="A1"),
    "rows of a table": of_table("rowExists", "b", 4, where={"c0": "c"}),
    "wide rows of a table": of_table("rowCount", "b", 32, 20, count=1, where={"c0": "b", "c19": "c"}),
    "a sum of a table": of_table("sumEquals", 1.7e-300, 1, column="c0", value=1, tolerance=0.5),
    "a table as a whole": of_table("tableEquals", 1.7e-300, 4, columns=["c0"], rows=[[1.7e-300]] * 20_000),
    "tables": Costly("sqlite.tableExists", {"table": "stock"}, filled("a"), sqlite_names, 8),
    "an answer": of_answer("equals", "\u0130\u00df", 16, text="b", **FOLDED),
    "one of some answers": of_answer("oneOf", "\u0130\u00df", 16, texts=["b", "c"], **FOLDED),
    "a part of an answer": of_answer("contains", "a", 21, text=STUMBLING, **FOLDED),
    "a number in an answer": of_answer("number", "1e999 2,345 ", 1, value=7),
    "numbers in an answer": of_answer("number", "1,", 1, value=7),
    "a set in an answer": of_answer("set", "a\n", 1, items=["b"], **FOLDED),
    "a list in an answer": of_answer("list", ";", 1, items=["b"], **FOLDED),
    "JSON in an answer": of_answer("json", "[", 32, value=7),
}
"""By what is looked through: bytes of its text of which one step pays for no more than `letters`."""
