"""Worst inputs for predicates that match patterns or search texts: states at the caps, and texts that fold badly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from verifiers.normal_form import NormalState
from verifiers.states.calendar.entries import CalendarEntry
from verifiers.states.calendar.entries import document_of as calendar_document
from verifiers.states.calendar.items import Item
from verifiers.states.forge.examples import ISSUE, forge
from verifiers.states.git.examples import repository
from verifiers.states.mailbox.messages import MailMessage, MailState
from verifiers.states.mailbox.messages import state_of as mail_state
from verifiers.states.postgres.examples import postgres_database
from verifiers.states.readers import read

SIZE = 4 << 20
"""Bytes of a file; the texts of a namespace have at most 24 MiB together as they are written down."""
WIDE = "".join(map(chr, range(0x4E00, 0x9FA5)))
NO_UTF8 = b"\xff" * SIZE
EXPANDING = "\u0130\u00df\u0149" * (1 << 18)
"""Letters of which case folding makes two or three."""
STUMBLING = "a" * 49 + "b" + "a" * 49
"""A part that a search without preparation compares nearly whole at every place of `aaa…`."""
CLASS = "(?i)[" + "".join(map(chr, range(0x400, 0x400 + 950, 2))) + "]{2}"
ASCII_LINE = "abc def 123 4,567.89 " * 3 + "\n"


class Costly(NamedTuple):
    """A probe on a state that is made to be expensive."""

    name: str
    arguments: Mapping[str, Any]
    states: Callable[[], Mapping[str, NormalState]] = dict
    answer: str | None = None


def files(**contents: bytes) -> Callable[[], Mapping[str, NormalState]]:
    """Give files of a folder as a reader gives them."""
    entries = [[path, "file", 0o644, number] for number, path in enumerate(contents)]
    return lambda: {"filesystem": NormalState({"entries": entries}, tuple(contents.values()))}


def names(count: int) -> Callable[[], Mapping[str, NormalState]]:
    entries = [[f"out/{'a' * 240}{number}", "file", 0o644, 0] for number in range(count)]
    return lambda: {"filesystem": NormalState({"entries": entries}, (b"",))}


def table(query: str, *texts: str) -> Costly:
    """Give a query on a table of texts."""

    def states() -> Mapping[str, NormalState]:
        rows = {"stock": [[str(number), text] for number, text in enumerate(texts)]}
        columns = {"stock": [["id", "integer primary key"], ["item", "text"]]}
        return {"postgres": read("postgres", postgres_database(columns, rows).states["postgres"])}

    return Costly("postgres.queryCount", {"query": query, "count": 0, "at_least": True}, states)


def git_file(data: bytes, **more: Any) -> Callable[[], Mapping[str, NormalState]]:
    def states() -> Mapping[str, NormalState]:
        made = read("github", forge(merged=True, extra={"big": "HERE"}).states["github"])
        return {"github": NormalState(made.document, tuple(data if blob == b"HERE" else blob for blob in made.blobs))}

    return states


def issues(**fields: Any) -> Callable[[], Mapping[str, NormalState]]:
    return lambda: {"github": read("github", forge({**ISSUE, **fields}).states["github"])}


def message_of(text: str) -> Callable[[], Mapping[str, NormalState]]:
    def states() -> Mapping[str, NormalState]:
        made = read("git", repository([("main", "HERE", {"a": "b"})]).states["git"])
        (repo,) = made.document["repositories"].values()
        for commit in repo["commits"].values():
            commit[2] = text
        return {"git": made}

    return states


def mail(count: int, text: str, data: bytes = b"") -> Callable[[], Mapping[str, NormalState]]:
    """Give sent messages and as many kept ones."""
    one = MailMessage(
        "p", "", frozenset(), "m1@example.org", ("m1@example.org",), "a@example.org", ("b@example.org",), (),
        ("b@example.org",), "s", text, (("a", data),),
    )  # fmt: skip
    return lambda: {"email": mail_state(MailState(("Drafts",), (one,) * count, (one,) * count))}


def events(count: int, text: str) -> Callable[[], Mapping[str, NormalState]]:
    item = Item("event", "u", text, "2026-01-05", "2026-01-06", "", text)
    return lambda: {"calendar": NormalState(calendar_document([CalendarEntry("work", item)] * count))}


def graph(*observations: str) -> Callable[[], Mapping[str, NormalState]]:
    return lambda: {"memory": NormalState({"entities": [["Ann", "person", list(observations)]], "relations": []})}


def keys(**strings: str) -> Callable[[], Mapping[str, NormalState]]:
    document = {name: {"type": "string", "value": text, "left": None} for name, text in strings.items()}
    return lambda: {"redis": NormalState({"keys": document})}


def document(value: Any) -> Callable[[], Mapping[str, NormalState]]:
    return lambda: {"json_document": NormalState({"value": value})}


LINES = ASCII_LINE.encode() * (SIZE // len(ASCII_LINE))
FEEDS = b"\n" * SIZE
SHORT = "a" * 29_999
AT = {"repository": "acme/site", "branch": "main", "path": "big"}
FILE = {"path": "a"}
COPIES = 700
ANSWERS = {
    "lists": "1," * 32_000,
    "numbers": "1,234.5 " * 8_000,
    "folds": "\u0130\u00df" * 32_000,
    "lines": "a\n" * 32_000,
    "semi": ";" * 64_000,
    "plain": "a" * 65_000,
    "blank": "a" + " " * 65_000 + "b",
    "quotes": "`" * 64_000,
    "digits": "9" * 65_000,
    "bullets": ("1" * 300 + "\n") * 210,
    "minus": "\u2212" * 65_000,
    "dots": "1." * 32_000,
}

CASES: dict[str, Costly] = {
    "fileMatches, no UTF-8": Costly("filesystem.fileMatches", {**FILE, "pattern": "[a-c]+d"}, files(a=NO_UTF8)),
    "fileMatches, ASCII": Costly("filesystem.fileMatches", {**FILE, "pattern": "(?m)^total: \\d+$"}, files(a=LINES)),
    "fileMatches, many states": Costly(
        "filesystem.fileMatches", {**FILE, "pattern": "a[ac]{150}b"}, files(a=b"aac" * (SIZE // 3))
    ),
    "fileMatches, many letters": Costly(
        "filesystem.fileMatches", {**FILE, "pattern": "a.b"}, files(a=(WIDE * 64).encode()[:SIZE])
    ),
    "fileMatches, all letters": Costly(
        "filesystem.fileMatches",
        {**FILE, "pattern": "(?i)ab"},
        files(a="".join(map(chr, range(0x10000, 0x10FFFF))).encode()[:SIZE]),
    ),
    "fileMatches, large class": Costly(
        "filesystem.fileMatches", {**FILE, "pattern": CLASS}, files(a=(WIDE * 64).encode()[:SIZE])
    ),
    "fileMatches, boundaries": Costly(
        "filesystem.fileMatches", {**FILE, "pattern": "(\\b\\B|\\B\\b|\\bx\\b){1,60}"}, files(a=b"x \n" * (SIZE // 3))
    ),
    "fileMatches, empty repeats": Costly(
        "filesystem.fileMatches", {**FILE, "pattern": "((a?){0,30}){0,30}b"}, files(a=b"a" * SIZE)
    ),
    "fileContains, stumbling": Costly("filesystem.fileContains", {**FILE, "text": STUMBLING}, files(a=SHORT.encode())),
    "fileContains, stumbling long": Costly(
        "filesystem.fileContains", {**FILE, "text": "a" * 600 + "b" + "a" * 600}, files(a=b"a" * 2400)
    ),
    "fileContains, large": Costly("filesystem.fileContains", {**FILE, "text": STUMBLING}, files(a=b"a" * SIZE)),
    "fileContains, folded no UTF-8": Costly(
        "filesystem.fileContains", {**FILE, "text": "b", "ignore_case": True}, files(a=NO_UTF8)
    ),
    "fileContains, folded expanding": Costly(
        "filesystem.fileContains", {**FILE, "text": "b", "ignore_case": True}, files(a=EXPANDING.encode())
    ),
    "fileTextEquals, folded": Costly(
        "filesystem.fileTextEquals", {**FILE, "text": "b", "ignore_case": True}, files(a=NO_UTF8)
    ),
    "fileTextEquals, late difference": Costly(
        "filesystem.fileTextEquals", {**FILE, "text": "a" * (1 << 20) + "b"}, files(a=b"a" * (1 << 20))
    ),
    "fileTextEquals, blanks": Costly(
        "filesystem.fileTextEquals", {**FILE, "text": "a", "trim": True}, files(a=b" " * SIZE)
    ),
    "fileSha256": Costly("filesystem.fileSha256", {**FILE, "sha256": "0" * 64}, files(a=NO_UTF8)),
    "fileLineCount": Costly("filesystem.fileLineCount", {**FILE, "count": 1, "skip_blank": True}, files(a=FEEDS)),
    "fileLineCount, blanks": Costly(
        "filesystem.fileLineCount", {**FILE, "count": 1, "skip_blank": True}, files(a=b" " * SIZE)
    ),
    "fileLines, no UTF-8": Costly(
        "filesystem.fileLines", {**FILE, "lines": ["a"], "ignore_case": True, "skip_blank": True}, files(a=NO_UTF8)
    ),
    "fileLines, expanding": Costly(
        "filesystem.fileLines",
        {**FILE, "lines": ["a"], "ignore_case": True, "skip_blank": True},
        files(a=EXPANDING.encode()),
    ),
    "fileLines, feeds": Costly(
        "filesystem.fileLines",
        {**FILE, "lines": ["a"], "ignore_case": True, "skip_blank": True},
        files(a=b"a\n" * (SIZE // 2)),
    ),
    "fileLines, blanks": Costly(
        "filesystem.fileLines",
        {**FILE, "lines": ["a"], "ignore_case": True, "skip_blank": True},
        files(a=("\u2003" * (SIZE // 3)).encode()),
    ),
    "fileLinesDiffer, feeds": Costly("filesystem.fileLinesDiffer", {**FILE, "ignore_case": True}, files(a=FEEDS)),
    "fileLinesDiffer, lines": Costly(
        "filesystem.fileLinesDiffer",
        {**FILE, "ignore_case": True},
        files(a=b"".join(b"%d\n" % n for n in range(500_000))),
    ),
    "fileLinesDiffer, expanding": Costly(
        "filesystem.fileLinesDiffer", {**FILE, "ignore_case": True}, files(a=EXPANDING.encode())
    ),
    "fileJoins, no UTF-8": Costly("filesystem.fileJoins", {**FILE, "parts": ["a"]}, files(a=NO_UTF8)),
    "fileJoins, returns": Costly("filesystem.fileJoins", {**FILE, "parts": ["a"]}, files(a=b"\r" * SIZE)),
    "fileJoins, returns and feeds": Costly(
        "filesystem.fileJoins", {**FILE, "parts": ["a"]}, files(a=b"\r\n" * (SIZE // 2))
    ),
    "sameLength, no UTF-8": Costly("filesystem.sameLength", {"paths": ["a"]}, files(a=NO_UTF8)),
    "fileNumber, lines": Costly("filesystem.fileNumber", {**FILE, "value": 7.5}, files(a=LINES)),
    "fileNumber, numbers": Costly(
        "filesystem.fileNumber", {**FILE, "value": 7.5}, files(a=b"".join(b"%d.5 " % n for n in range(500_000)))
    ),
    "fileNumber, groups": Costly("filesystem.fileNumber", {**FILE, "value": 7.5}, files(a=b"1," * (SIZE // 2))),
    "fileNumber, triples": Costly("filesystem.fileNumber", {**FILE, "value": 7.5}, files(a=b",123" * 10_000)),
    "fileNumber, triples dots": Costly(
        "filesystem.fileNumber", {**FILE, "value": 7.5}, files(a=(b" 1" + b",123" * 600 + b"a") * (SIZE // 2403))
    ),
    "fileNumber, digits": Costly("filesystem.fileNumber", {**FILE, "value": 7.5}, files(a=b"+" + b"9" * SIZE)),
    "fileNumber, digits starting": Costly(
        "filesystem.fileNumber", {**FILE, "value": 7.5}, files(a=(b"-" + b"9" * 41) * (SIZE // 42))
    ),
    "fileNumber, wide": Costly(
        "filesystem.fileNumber", {**FILE, "value": 7.5}, files(a=("\u96f6" * (SIZE // 3)).encode())
    ),
    "fileNumberLines": Costly(
        "filesystem.fileNumberLines", {**FILE, "values": [1]}, files(a=b"".join(b"%d\n" % n for n in range(500_000)))
    ),
    "fileNumberLines, feeds": Costly("filesystem.fileNumberLines", {**FILE, "values": [1]}, files(a=FEEDS)),
    "fileNumberLines, any order": Costly(
        "filesystem.fileNumberLines",
        {**FILE, "values": [1], "any_order": True},
        files(a=b"".join(b"%d.5\n" % n for n in range(500_000))),
    ),
    "fileNumberLines, long line": Costly("filesystem.fileNumberLines", {**FILE, "values": [1]}, files(a=NO_UTF8)),
    "fileCsvRows": Costly(
        "filesystem.fileCsvRows",
        {**FILE, "rows": [["a", 1]] * 3, "any_order": True, "ignore_case": True, "extra_rows": True},
        files(a=b"b,2\n" * (SIZE // 16)),
    ),
    "fileCsvRows, feeds": Costly("filesystem.fileCsvRows", {**FILE, "rows": [["a", 1]]}, files(a=FEEDS)),
    "fileCsvRows, odd line ends": Costly(
        "filesystem.fileCsvRows", {**FILE, "rows": [["a", 1]]}, files(a=b"\x0c" * SIZE)
    ),
    "fileCsvRows, long cells": Costly(
        "filesystem.fileCsvRows",
        {**FILE, "rows": [["a", 1]] * 40, "ignore_case": True, "any_order": True},
        files(a=(("\u0130" * 60_000 + ",1\n") * 30).encode()),
    ),
    "fileCsvRows, no UTF-8": Costly("filesystem.fileCsvRows", {**FILE, "rows": [["a", 1]]}, files(a=NO_UTF8)),
    "fileCsvRows, columns": Costly(
        "filesystem.fileCsvRows", {**FILE, "columns": ["x"], "rows": [["a", 1]]}, files(a=b"x," * 200_000)
    ),
    "fileJsonEquals": Costly(
        "filesystem.fileJsonEquals", {**FILE, "value": 1}, files(a=b"[" + b"1," * (SIZE // 2 - 4) + b"1]")
    ),
    "fileJsonEquals, escapes": Costly(
        "filesystem.fileJsonEquals", {**FILE, "value": 1}, files(a=b'"' + b"\\n" * (SIZE // 2 - 4) + b'"')
    ),
    "fileJsonEquals, brackets": Costly("filesystem.fileJsonEquals", {**FILE, "value": 1}, files(a=b"[]" * (SIZE // 2))),
    "entryCount": Costly("filesystem.entryCount", {"path": "out", "count": 1, "glob": "*a*a*a*b"}, names(20_000)),
    "entryCount, deep": Costly(
        "filesystem.entryCount", {"path": ".", "count": 1, "glob": "*a?a*b", "deep": True}, names(20_000)
    ),
    "headMessage": Costly(
        "git.headMessage", {"repository": "site", "branch": "main", "contains": STUMBLING}, message_of(SHORT)
    ),
    "headMessage, large": Costly(
        "git.headMessage", {"repository": "site", "branch": "main", "contains": STUMBLING}, message_of("a" * SIZE)
    ),
    "fileContainsAtBranch": Costly(
        "github.fileContainsAtBranch", {**AT, "text": "b", "ignore_case": True}, git_file(NO_UTF8)
    ),
    "fileContainsAtBranch, expanding": Costly(
        "github.fileContainsAtBranch", {**AT, "text": "b", "ignore_case": True}, git_file(EXPANDING.encode())
    ),
    "fileMatchesAtBranch": Costly("github.fileMatchesAtBranch", {**AT, "pattern": "[a-c]+d"}, git_file(NO_UTF8)),
    "issueBody": Costly(
        "github.issueBody", {"repository": "acme/site", "issue": 1, "contains": STUMBLING}, issues(body=SHORT)
    ),
    "issueBody, large": Costly(
        "github.issueBody", {"repository": "acme/site", "issue": 1, "contains": STUMBLING}, issues(body="a" * SIZE)
    ),
    "issueTitle": Costly(
        "github.issueTitle", {"repository": "acme/site", "number": 1, "contains": STUMBLING}, issues(title=SHORT)
    ),
    "issueCommented": Costly(
        "github.issueCommented",
        {"repository": "acme/site", "number": 1, "contains": STUMBLING},
        issues(comments=[{"user": "ada", "body": SHORT}] * COPIES),
    ),
    "issueCommented, blanks": Costly(
        "github.issueCommented",
        {"repository": "acme/site", "number": 1, "equals": "a"},
        issues(comments=[{"user": "ada", "body": " " * 30_000}] * COPIES),
    ),
    "issueCount": Costly(
        "github.issueCount",
        {
            "repository": "acme/site",
            "count": 0,
            "body_contains": [STUMBLING, STUMBLING + "c", "d" + STUMBLING],
            "at_least": True,
        },
        issues(body=SHORT),
    ),
    "textContains": Costly(
        "json_document.textContains", {"pointer": "/a", "text": "b", "ignore_case": True}, document({"a": EXPANDING})
    ),
    "textContains, stumbling": Costly(
        "json_document.textContains", {"pointer": "/a", "text": STUMBLING}, document({"a": SHORT})
    ),
    "valueEquals": Costly(
        "json_document.valueEquals", {"pointer": "/a", "value": 1}, document({"a": [EXPANDING, *range(100_000)]})
    ),
    "keyCount": Costly(
        "redis.keyCount", {"count": 1, "prefix": "a" * 900}, keys(**{"a" * 899 + str(n): "" for n in range(20_000)})
    ),
    "stringEquals": Costly("redis.stringEquals", {"key": "a", "value": "a" * SIZE + "b"}, keys(a="a" * SIZE)),
    "redis.jsonEquals": Costly(
        "redis.jsonEquals", {"key": "a", "value": 1}, keys(a="[" + "1," * (SIZE // 2 - 4) + "1]")
    ),
    "observationMatches": Costly("memory.observationMatches", {"name": "Ann", "text": "b"}, graph(EXPANDING)),
    "observationMatches, short": Costly(
        "memory.observationMatches", {"name": "Ann", "text": STUMBLING}, graph(*["a" * 2000] * 2000)
    ),
    "observationMatches, many": Costly(
        "memory.observationMatches", {"name": "Ann", "text": "b"}, graph(*["\u00df"] * 200_000)
    ),
    "messageSent": Costly("email.messageSent", {"to": ["b@example.org"], "contains": STUMBLING}, mail(COPIES, SHORT)),
    "messageSent, large": Costly(
        "email.messageSent", {"to": ["b@example.org"], "contains": STUMBLING}, mail(1, "a" * SIZE)
    ),
    "messageSent, many": Costly(
        "email.messageSent", {"to": ["b@example.org"], "contains": STUMBLING, "cc": [], "bcc": []}, mail(20_000, "")
    ),
    "replySent": Costly("email.replySent", {"message": "m1@example.org", "contains": STUMBLING}, mail(COPIES, SHORT)),
    "bodyContains": Costly("email.bodyContains", {"message": "m1@example.org", "text": STUMBLING}, mail(COPIES, SHORT)),
    "attachmentExists": Costly(
        "email.attachmentExists", {"recipient": "b@example.org", "name": "a", "text": "b"}, mail(1, "", NO_UTF8)
    ),
    "attachmentExists, returns": Costly(
        "email.attachmentExists",
        {"recipient": "b@example.org", "name": "a", "text": "b"},
        mail(1, "", b"\r\n" * (SIZE // 2)),
    ),
    "eventExists": Costly("calendar.eventExists", {"summary": "a", "description": "b"}, events(COPIES, " " * 15_000)),
    "LIKE": table("SELECT 1 FROM stock WHERE item LIKE '%' || repeat('a', 1)", "a")
    if False
    else table(f"SELECT 1 FROM stock WHERE item LIKE '%{STUMBLING}%'", *["a" * 1_000_000] * 8),
    "LIKE, many parts": table(f"SELECT 1 FROM stock WHERE item LIKE '{'%a' * 300}%b'", *["a" * 1_000_000] * 8),
    "LIKE, unders": table(f"SELECT 1 FROM stock WHERE item LIKE '%{'_' * 50}b%'", *["a" * 1_000_000] * 8),
    "LIKE, unders late": table(f"SELECT 1 FROM stock WHERE item LIKE '%{'a_' * 50}b%'", *["a" * 1_000_000] * 8),
    "LIKE, short texts": table("SELECT 1 FROM stock WHERE item LIKE '%b%'", *["a"] * 20_000),
    "LIKE, long pattern": table(f"SELECT 1 FROM stock WHERE item LIKE '{'%ab_' * 1000}'", *["abc"] * 20_000),
    "LIKE, column as pattern": table("SELECT 1 FROM stock WHERE item LIKE item || 'b'", *["%_" * 200_000] * 8),
    "LIKE, stumbling short": table(f"SELECT 1 FROM stock WHERE item LIKE '%{STUMBLING}%'", *[SHORT] * 250),
    "ILIKE": table("SELECT 1 FROM stock WHERE item ILIKE '%ab%'", *["A" * 1_000_000] * 8),
    "ILIKE, wide": table("SELECT 1 FROM stock WHERE item ILIKE '%ab%'", *["\u0130" * 500_000] * 4),
    "lower": table("SELECT 1 FROM stock WHERE lower(item) = 'b'", *["\u0130" * 500_000] * 4),
    "lower, ASCII": table("SELECT 1 FROM stock WHERE lower(item) = 'b'", *["A" * 1_000_000] * 8),
    "initcap": table("SELECT 1 FROM stock WHERE initcap(item) = 'b'", *["A" * 1_000_000] * 8),
    "position": table(f"SELECT 1 FROM stock WHERE position('{STUMBLING}' in item) > 1", *[SHORT] * 250),
    "strpos": table(f"SELECT 1 FROM stock WHERE strpos(item, '{STUMBLING}') > 1", *[SHORT] * 250),
    "replace": table("SELECT 1 FROM stock WHERE replace(item, 'a', 'b') = 'c'", *["a" * 500_000] * 8),
    "replace, stumbling": table(f"SELECT 1 FROM stock WHERE replace(item, '{STUMBLING}', 'b') = 'c'", *[SHORT] * 250),
    "split_part": table("SELECT 1 FROM stock WHERE split_part(item, 'a', 2) = 'c'", *["a" * 1_000_000] * 8),
    "btrim": table(f"SELECT 1 FROM stock WHERE btrim(item, '{WIDE[:2000]}a') = 'c'", *["a" * 1_000_000] * 8),
    "btrim, wide": table(f"SELECT 1 FROM stock WHERE btrim(item, '{WIDE[:2000]}') = 'c'", *[WIDE[1999] * 500_000] * 4),
    "to_char": table("SELECT 1 FROM stock WHERE to_char(date '2026-01-01', item) = 'c'", *["YYYY" * 200_000] * 8),
    "join": table("SELECT 1 FROM stock WHERE item || item = 'c'", *["a" * 400_000] * 20),
    "equality": table(
        "SELECT 1 FROM stock AS a JOIN stock AS b ON a.item < b.item", *["a" * 1000 + str(n) for n in range(3000)]
    ),
    "concat": table("SELECT 1 FROM stock WHERE concat(item, item) = 'c'", *["a" * 400_000] * 20),
    "string_agg": table("SELECT string_agg(item, ',') FROM stock", *["a"] * 60_000),
    "in list": table(
        f"SELECT 1 FROM stock WHERE item IN ({','.join(repr('a' * 20 + str(n)) for n in range(300))})",
        *["a" * 20] * 10_000,
    ),
    "order": table("SELECT item FROM stock ORDER BY item", *["a" * 1000 + str(n) for n in range(8000)]),
    "rows": table("SELECT id + 1 FROM stock WHERE id * 2 > 5 AND item <> 'b' GROUP BY id", *["a"] * 30_000),
    "cross": table("SELECT count(*) FROM stock a, stock b WHERE a.id + b.id = 7", *["a"] * 600),
    **{
        f"{name}, {kind}": Costly(f"answer.{name}", arguments, answer=text)
        for kind, text in ANSWERS.items()
        for name, arguments in {
            "equals": {"text": "b", "ignore_case": True},
            "oneOf": {"texts": ["b", "c"], "ignore_case": True},
            "contains": {"text": STUMBLING, "ignore_case": True},
            "number": {"value": 7},
            "set": {"items": ["b"], "ignore_case": True},
            "list": {"items": ["b"], "ignore_case": True},
            "json": {"value": 7},
        }.items()
    },
}
