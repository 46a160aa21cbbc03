"""Sixty-six failures made by hand, six of each class: six tasks, and on each a run that fails in each of the ways.


Each run is what such an agent does, with the noise of real ones: looks that no solution has, errors that were mended,
scheduled errors, calls in another order. `FAILURES` gives each with the class that a reader would give it.
"""

# ruff: noqa: E501 - a table: a call a line

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.results.outcome import TaskRun
from sandbox.transcript import CallRecord, Ended, ToolCall, Transcript
from verifiers.language.verdict import Evidence, Verdict

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Base:
    """A task: its goal, its solutions, and its predicate's conjuncts by a name."""

    goal: str
    solutions: Sequence[Sequence[Call]]
    conjuncts: Mapping[str, tuple[str, dict[str, Any]]]
    max_steps: int = 12


@dataclass(frozen=True)
class Case:
    """A failed run: its task, its calls, which conjuncts do not hold, its answer and how it ended."""

    base: Base
    calls: Sequence[CallRecord]
    false: Sequence[str]
    answer: str | None = None
    ended: Ended = "answered"
    output: str = ""

    def run(self) -> TaskRun:
        """Return the run as it is sealed."""
        children = tuple(
            Evidence(op, Verdict.FALSE if name in self.false else Verdict.TRUE, arguments)
            for name, (op, arguments) in self.base.conjuncts.items()
        )
        evidence = Evidence("all", Verdict.FALSE if self.false else Verdict.TRUE, children=children)
        verdict = Verdict.FALSE if self.false else Verdict.TRUE
        transcript = Transcript(tuple(self.calls), self.answer, self.ended)
        ending = {"output": self.output, "goal": self.base.goal}
        return TaskRun("t-1", "composition", self.base.max_steps, verdict, evidence, transcript, **ending)

    @property
    def solutions(self) -> list[list[ToolCall]]:
        """Return the task's solutions."""
        return [[ToolCall(*call) for call in solution] for solution in self.base.solutions]


def ok(call: Call, result: str = "done", **changes: Any) -> CallRecord:
    """A call that was answered; `changes` replace arguments."""
    return CallRecord(call[0], call[1] | changes, True, False, False, result, 0.1)


def err(call: Call, text: str, **changes: Any) -> CallRecord:
    """A call that was answered with an error."""
    return CallRecord(call[0], call[1] | changes, True, True, False, text, 0.1)


def busy(call: Call) -> CallRecord:
    """A call that got the scheduled error."""
    return CallRecord(call[0], call[1], True, True, True, "temporarily unavailable", 0.1)


def unlisted(tool: str, **arguments: Any) -> CallRecord:
    """A call to a tool that the task does not list."""
    return CallRecord(tool, arguments, False, True, False, f"unknown tool {tool}", 0.0, refused=True)


# fmt: off
# 1. files: two lists are read, and a third is written
READ_TODO: Call = ("filesystem.read_text_file", {"path": "/data/files/plan/todo.md"})
READ_DONE: Call = ("filesystem.read_text_file", {"path": "/data/files/plan/done.md"})
BOTH: Call = ("filesystem.read_multiple_files", {"paths": ["/data/files/plan/todo.md", "/data/files/plan/done.md"]})
LIST_PLAN: Call = ("filesystem.list_directory", {"path": "/data/files/plan"})
MAKE_OUT: Call = ("filesystem.create_directory", {"path": "/data/files/out"})
WRITE_OPEN: Call = ("filesystem.write_file", {"path": "/data/files/out/open.txt", "content": "KT-4471\nRV-9023\n"})
TODO_TEXT, DONE_TEXT = "KT-4471 sand the door\nRV-9023 oil the hinge\nLM-1187 paint\n", "LM-1187 paint\n"
FILES = Base(
    "Write the codes that stand in plan/todo.md and not in plan/done.md into out/open.txt, one a line. Nothing else.",
    [[LIST_PLAN, READ_TODO, READ_DONE, MAKE_OUT, WRITE_OPEN], [READ_DONE, READ_TODO, MAKE_OUT, WRITE_OPEN]],
    {
        "folder": ("filesystem.directoryExists", {"path": "out"}),
        "result": ("filesystem.fileTextEquals", {"path": "out/open.txt", "text": "KT-4471\nRV-9023\n"}),
        "todo": ("filesystem.fileTextEquals", {"path": "plan/todo.md", "text": TODO_TEXT}),
        "done": ("filesystem.fileTextEquals", {"path": "plan/done.md", "text": DONE_TEXT}),
    },
    max_steps=10,
)

# 2. a database: a row is found, changed, and told
TABLES: Call = ("sqlite.list_tables", {})
DESCRIBE: Call = ("sqlite.describe_table", {"table_name": "maple_stock"})
LEAST: Call = ("sqlite.read_query", {"query": "SELECT * FROM maple_stock ORDER BY pieces"})
SUPPLIER: Call = ("sqlite.read_query", {"query": "SELECT supplier FROM suppliers WHERE code = 'QF-3310'"})
DOUBLE: Call = ("sqlite.write_query", {"query": "UPDATE maple_stock SET pieces = 84 WHERE code = 'QF-3310'"})
NOTE: Call = ("sqlite.write_query", {"query": "INSERT INTO notes (text) VALUES ('QF-3310 from Okafor')"})
ROWS = "[{'code': 'QF-3310', 'pieces': 42}, {'code': 'AA-1000', 'pieces': 70}]"
STOCK = Base(
    "Double the pieces of the row of maple_stock with the fewest, note its code and supplier in notes as CODE from NAME, "
    "and answer with the code.",
    [[TABLES, DESCRIBE, LEAST, SUPPLIER, DOUBLE, NOTE], [LEAST, SUPPLIER, DOUBLE, NOTE]],
    {
        "row": ("sqlite.cellEquals", {"table": "maple_stock", "column": "pieces", "value": 84}),
        "note": ("sqlite.rowExists", {"table": "notes", "where": {"text": "QF-3310 from Okafor"}}),
        "suppliers": ("sqlite.tableEquals", {"table": "suppliers", "columns": ["code", "supplier"], "rows": []}),
        "answer": ("answer.equals", {"text": "QF-3310"}),
    },
)

# 3. a repository: a file is changed on a new branch, and committed
LOG: Call = ("git.git_log", {"repo_path": "/data/repos/lantern", "max_count": 10})
SHOW: Call = ("git.git_show", {"repo_path": "/data/repos/lantern", "revision": "HEAD~2"})
BRANCH: Call = ("git.git_create_branch",
    {"repo_path": "/data/repos/lantern", "branch_name": "fix/lamp", "base_branch": "main"})
CHECKOUT: Call = ("git.git_checkout", {"repo_path": "/data/repos/lantern", "branch_name": "fix/lamp"})
EDIT: Call = ("filesystem.write_file", {"path": "/data/repos/lantern/LAMP", "content": "watts: 40\n"})
ADD: Call = ("git.git_add", {"repo_path": "/data/repos/lantern", "files": ["LAMP"]})
COMMIT: Call = ("git.git_commit", {"repo_path": "/data/repos/lantern", "message": "Dim the lamp"})
REPO = Base(
    "On a new branch fix/lamp of /data/repos/lantern, set the file LAMP back to what it was two commits before main's "
    "head, and commit it as 'Dim the lamp'. main stays as it is.",
    [[LOG, SHOW, BRANCH, CHECKOUT, EDIT, ADD, COMMIT], [SHOW, LOG, BRANCH, CHECKOUT, EDIT, ADD, COMMIT]],
    {
        "branch": ("git.branchExists", {"repository": "lantern", "branch": "fix/lamp"}),
        "message": ("git.headMessage", {"repository": "lantern", "branch": "fix/lamp", "message": "Dim the lamp"}),
        "file": ("git.fileAtRef", {"repository": "lantern", "ref": "fix/lamp", "path": "LAMP", "text": "watts: 40\n"}),
        "main": ("git.commitCount", {"repository": "lantern", "branch": "main", "count": 3}),
    },
)

# 4. mail: a question is answered with what another mail says
HEADS: Call = ("email.list_emails_metadata", {"account_name": "agent", "mailbox": "INBOX"})
ASKED: Call = ("email.get_emails_content", {"account_name": "agent", "email_ids": ["17"]})
PRICES: Call = ("email.get_emails_content", {"account_name": "agent", "email_ids": ["9"]})
REPLY: Call = ("email.send_email", {"account_name": "agent", "recipients": ["ines.rocha@example.org"],
    "subject": "Re: price", "body": "It is 318 euro."})
FILE_AWAY: Call = ("email.move_emails",
    {"account_name": "agent", "email_ids": ["17"], "destination_mailbox": "Answered"})
MAIL = Base(
    "Ines Rocha asks for a price. Find it in the newest price list among the mails, reply to her with 'It is PRICE euro.', "
    "and move her mail to Answered.",
    [[HEADS, ASKED, PRICES, REPLY, FILE_AWAY], [HEADS, PRICES, ASKED, REPLY, FILE_AWAY]],
    {
        "reply": ("email.messageSent", {"to": "ines.rocha@example.org", "subject": "Re: price",
            "contains": "318 euro"}),
        "moved": ("email.messageInFolder", {"folder": "Answered", "subject": "price"}),
        "sent": ("email.sentCount", {"count": 1}),
        "list": ("email.messageInFolder", {"folder": "INBOX", "subject": "Price list of May"}),
    },
)

# 5. a calendar: two entries, by what a file says
WEEK: Call = ("calendar.list-events", {"calendarUrl": "/agent/team-12/", "start": "2025-03-03", "end": "2025-03-08"})
CALENDARS: Call = ("calendar.list-calendars", {})
AGENDA: Call = ("filesystem.read_text_file", {"path": "/data/files/agenda-83.txt"})
FIRST: Call = ("calendar.create-event",
    {"calendarUrl": "/agent/team-12/", "summary": "Fitting", "start": "2025-03-04T09:00:00Z",
    "end": "2025-03-04T10:00:00Z"})
SECOND: Call = ("calendar.create-event",
    {"calendarUrl": "/agent/team-12/", "summary": "Rehearsal", "start": "2025-03-06T14:00:00Z",
    "end": "2025-03-06T16:00:00Z"})
CLEAR: Call = ("filesystem.move_file",
    {"source": "/data/files/agenda-83.txt", "destination": "/data/files/done/agenda-83.txt"})
CALENDAR = Base(
    "Enter the appointments of agenda-83.txt (its hour is UTC) into the team's calendar, unless the hour is taken; then "
    "move the file into done.",
    [[CALENDARS, WEEK, AGENDA, FIRST, SECOND, CLEAR], [AGENDA, CALENDARS, WEEK, SECOND, FIRST, CLEAR]],
    {
        "first": ("calendar.eventExists",
            {"calendar": "team-12", "summary": "Fitting", "start": "2025-03-04T09:00:00Z"}),
        "second": ("calendar.eventExists",
            {"calendar": "team-12", "summary": "Rehearsal", "start": "2025-03-06T14:00:00Z"}),
        "moved": ("filesystem.fileExists", {"path": "done/agenda-83.txt"}),
        "old": ("calendar.eventExists", {"calendar": "team-12", "summary": "Stocktaking",
            "start": "2025-03-03T08:00:00Z"}),
    },
)

# 6. a question: three looks, one note, one answer
GRAPH: Call = ("memory.search_nodes", {"query": "harbour"})
OPEN: Call = ("memory.open_nodes", {"names": ["Pier 7"]})
CREW: Call = ("postgres.query", {"sql": "SELECT name, hours FROM crew WHERE pier = 7"})
RECORD: Call = ("memory.add_observations",
    {"observations": [{"entityName": "Pier 7", "contents": ["most hours: Halvorsen"]}]})
PIER = Base(
    "Which of the crew of the harbour's busiest pier has the most hours? Note it there as 'most hours: NAME', and answer "
    "with the name.",
    [[GRAPH, OPEN, CREW, RECORD], [OPEN, GRAPH, CREW, RECORD]],
    {
        "noted": ("memory.observationExists", {"entity": "Pier 7", "text": "most hours: Halvorsen"}),
        "entities": ("memory.entityCount", {"count": 4}),
        "crew": ("postgres.tableEquals", {"table": "crew", "columns": ["name"], "rows": []}),
        "answer": ("answer.contains", {"text": "Halvorsen"}),
    },
    max_steps=8,
)

# 7. a store: the field of three keys is set, one after another
KEYS: Call = ("redis.scan_all_keys", {"pattern": "order:*"})
LOOKS: list[Call] = [("redis.hgetall", {"name": f"order:{number}"}) for number in (3310, 4471, 9023)]
SETS: list[Call] = [
    ("redis.hset", {"name": f"order:{number}", "key": "state", "value": "shipped"}) for number in (3310, 4471, 9023)
]
ORDERS = Base(
    "Set the field state of every order that is packed to shipped. All else stays.",
    [[KEYS, *LOOKS, *SETS], [KEYS, *reversed(LOOKS), *SETS]],
    {
        **{
            f"order {number}": (
                "redis.hashFieldEquals",
                {"key": f"order:{number}", "field": "state", "value": "shipped"},
            )
            for number in (3310, 4471, 9023)
        },
        "others": ("redis.keyCount", {"pattern": "*", "count": 5}),
    },
)

SCANNED = [ok(KEYS, "order:3310 order:4471 order:9023"), *(ok(look, "state packed") for look in LOOKS)]
LOOKED = [ok(LIST_PLAN, "[FILE] todo.md\n[FILE] done.md"), ok(READ_TODO, TODO_TEXT), ok(READ_DONE, DONE_TEXT)]
FOUND = [ok(LEAST, ROWS), ok(SUPPLIER, "[{'supplier': 'Okafor'}]")]
PREPARED = [ok(LOG, "a1 b2 c3"), ok(SHOW, "+watts: 40"), ok(BRANCH), ok(CHECKOUT)]
READ_MAIL = [ok(HEADS, "9 Price list of May, 17 price"), ok(ASKED, "What does it cost?"), ok(PRICES, "lamp 318")]
SEEN = [ok(CALENDARS, "/agent/team-12/"), ok(WEEK, "Stocktaking"), ok(AGENDA, "Fitting 2025-03-04 09, Rehearsal ...")]
ASKED_ALL = [ok(GRAPH, "Pier 7, Pier 9"), ok(OPEN, "Pier 7 busiest"), ok(CREW, "Halvorsen 61, Moe 40")]

FAILURES: Mapping[str, Sequence[Case]] = {
    "no_tools_called": [
        Case(FILES, [], ["folder", "result"], "I have written the file."),
        Case(STOCK, [], ["row", "note", "answer"], "AA-1000"),
        Case(REPO, [], ["branch", "message", "file"], None, "agent-exited", "KeyError: 'tools'"),
        Case(MAIL, [], ["reply", "moved"], "Dear Ines, it is 300 euro."),
        Case(CALENDAR, [], ["first", "second", "moved"], None, "time-exceeded"),
        Case(PIER, [], ["noted", "answer"], ""),
    ],
    "capability_discovery_missing": [
        Case(FILES, [ok(("filesystem.list_allowed_directories", {}), "/data/files")], ["folder", "result"],
            "I cannot read files in this environment, so the list could not be made."),
        Case(STOCK, [ok(("filesystem.list_directory", {"path": "/data"}), "files")], ["row", "note", "answer"],
            "There is no database tool available to me."),
        Case(REPO, [ok(("filesystem.get_file_info", {"path": "/data/repos/lantern"}), "directory")],
            ["branch", "message", "file"], "I don't have access to git here; please run the commands yourself."),
        Case(MAIL, [ok(("email.list_available_accounts", {}), "agent"), ok(("email.list_mailboxes", {}), "INBOX")],
            ["reply", "moved"], "I am unable to read or send emails."),
        Case(CALENDAR, [ok(("sqlite.list_tables", {}), "")], ["first", "second", "moved"],
            "Unfortunately I do not have a tool to access your calendar."),
        Case(PIER, [ok(("redis.info", {}), "redis 7")], ["noted", "answer"],
            "It is not possible for me to look into the crew's hours."),
    ],
    "wrong_tool_selection": [
        Case(FILES, [ok(("git.git_status", {"repo_path": "/data/files"}), "no repository"),
            ok(("git.git_log", {"repo_path": "/data/files"}), "none")], ["folder", "result"], "Done."),
        Case(STOCK, [*FOUND, unlisted("sqlite.update_row", code="QF-3310", pieces=84)], ["row", "note"], "QF-3310"),
        Case(REPO, [*PREPARED, unlisted("shell.run", command="git commit -am 'Dim the lamp'")], ["message", "file"],
            "Committed."),
        Case(MAIL, [ok(("calendar.list-events", {"calendarUrl": "/agent/"}), "none"),
            ok(("calendar.create-todo", {"summary": "Reply to Ines"}))], ["reply", "moved"], "It is noted."),
        Case(CALENDAR, [*SEEN, unlisted("calendar__add_event", title="Fitting"), ok(FIRST)], ["second", "moved"],
            "Entered."),
        Case(PIER, [ok(("filesystem.search_files", {"path": "/data/files", "pattern": "*crew*"}), "No matches found"),
            ok(("filesystem.list_directory", {"path": "/data/files"}), "")], ["noted", "answer"], "Moe"),
    ],
    "incorrect_tool_parameters": [
        Case(FILES, [*LOOKED, ok(MAKE_OUT), ok(WRITE_OPEN, content="KT-4471, RV-9023")], ["result"], "Done."),
        Case(STOCK, [*FOUND, ok(DOUBLE, query="UPDATE maple_stock SET pieces = 82 WHERE code = 'QF-3310'"), ok(NOTE)],
            ["row"], "QF-3310"),
        Case(REPO, [*PREPARED, ok(EDIT), ok(ADD), ok(COMMIT, message="dim lamp")], ["message"], "Done."),
        Case(MAIL, [*READ_MAIL, busy(REPLY),
            err(REPLY, "Input validation error: 'body' is a required property", body=None), ok(FILE_AWAY)],
            ["reply", "sent"], "Sent."),
        Case(CALENDAR, [*SEEN, ok(FIRST, start="2025-03-04T10:00:00Z", end="2025-03-04T11:00:00Z"), ok(SECOND),
            ok(CLEAR)], ["first"], "Entered."),
        Case(PIER, [*ASKED_ALL, err(RECORD, "MCP error -32602: Invalid arguments: observations must be an array",
            observations="most hours: Halvorsen")], ["noted"], "Halvorsen"),
    ],
    "environment_constraint_violation": [
        Case(FILES, [*LOOKED, *[ok(LIST_PLAN)] * 8], ["folder", "result"], None, "steps-exceeded"),
        Case(STOCK, [*FOUND, ok(DOUBLE), ok(NOTE), ok(("sqlite.write_query", {"query": "DELETE FROM suppliers"}))],
            ["suppliers"], "QF-3310"),
        Case(REPO, [*PREPARED, ok(EDIT), ok(ADD), ok(COMMIT), ok(("git.git_checkout", {"branch_name": "main"})),
            ok(("git.git_commit", {"message": "also here"}))], ["main"], "Done on both."),
        Case(MAIL, [*READ_MAIL], ["reply", "moved"], None, "time-exceeded"),
        Case(CALENDAR, [*SEEN, ok(FIRST), ok(SECOND),
            err(("filesystem.write_file", {"path": "/etc/done/agenda"}),
            "Access denied - path outside allowed directories")], ["moved"], "Done."),
        Case(PIER, [*ASKED_ALL, ok(RECORD), ok(("memory.delete_entities", {"entityNames": ["Pier 9"]}))],
            ["entities"], "Halvorsen"),
    ],
    "missing_tool_calls": [
        Case(FILES, [*LOOKED, ok(MAKE_OUT)], ["result"], "KT-4471, RV-9023"),
        Case(STOCK, [ok(TABLES, "maple_stock, suppliers, notes"), *FOUND], ["row", "note"], "QF-3310"),
        Case(REPO, [*PREPARED, ok(EDIT), ok(ADD)], ["message", "file"], "The file is staged on fix/lamp."),
        Case(MAIL, [*READ_MAIL, busy(REPLY), ok(REPLY)], ["moved"], "Replied."),
        Case(CALENDAR, [*SEEN, ok(FIRST), ok(SECOND)], ["moved"], "Both are in the calendar."),
        Case(PIER, ASKED_ALL, ["noted"], "Halvorsen"),
    ],
    "insufficient_exploration": [
        Case(FILES, [ok(READ_TODO, TODO_TEXT), ok(MAKE_OUT), ok(WRITE_OPEN)], ["result"], "Done."),
        Case(STOCK, [ok(LEAST, ROWS), ok(DOUBLE), ok(NOTE)], ["note"], "QF-3310"),
        Case(ORDERS, [*SCANNED[:2], *map(ok, SETS)], ["order 9023"], "All three are shipped."),
        Case(MAIL, [ok(HEADS, "9, 17"), ok(ASKED, "What does it cost?"), ok(REPLY), ok(FILE_AWAY)], ["reply"], "Done."),
        Case(FILES, [ok(READ_DONE, DONE_TEXT), busy(MAKE_OUT), ok(MAKE_OUT), ok(WRITE_OPEN)], ["result"], "Written."),
        Case(MAIL, [ok(HEADS, "9, 17"), ok(HEADS, "9, 17"), ok(PRICES, "lamp 318"), ok(REPLY), ok(FILE_AWAY)],
            ["reply"], None, "agent-exited"),
    ],
    "skipped_steps": [
        Case(STOCK, [*FOUND, ok(NOTE)], ["row"], "QF-3310"),
        Case(STOCK, [ok(TABLES, "maple_stock"), ok(DESCRIBE, "code, pieces"), *FOUND, busy(NOTE), ok(NOTE)], ["row"],
            "QF-3310"),
        Case(CALENDAR, [*SEEN, ok(SECOND), ok(CLEAR)], ["first"], "Done."),
        Case(CALENDAR, [*SEEN, ok(FIRST), ok(CLEAR)], ["second"], "Both are in."),
        Case(ORDERS, [*SCANNED, ok(SETS[0]), ok(SETS[2])], ["order 4471"], "All shipped."),
        Case(ORDERS, [*SCANNED, busy(SETS[1]), ok(SETS[1]), ok(SETS[2])], ["order 3310"], None, "agent-exited"),
    ],
    "partial_task_completion": [
        Case(ORDERS, [*SCANNED, ok(SETS[0])], ["order 4471", "order 9023"], "Shipped."),
        Case(STOCK, [*FOUND, ok(DOUBLE)], ["note"], "QF-3310"),
        Case(ORDERS, [*SCANNED, ok(SETS[0]), ok(SETS[1])], ["order 9023"], None, "agent-exited"),
        Case(STOCK, [ok(TABLES, "maple_stock"), ok(DESCRIBE, "code, pieces"), *FOUND, ok(DOUBLE)], ["note", "answer"],
            None, "agent-exited"),
        Case(ORDERS, [*SCANNED, busy(SETS[0]), ok(SETS[0])], ["order 4471", "order 9023"], "The rest can wait."),
        Case(STOCK, [*FOUND, busy(DOUBLE), ok(DOUBLE)], ["note"], "QF-3310, doubled."),
    ],
    "incorrect_conclusion": [
        Case(STOCK, [*FOUND, ok(DOUBLE), ok(NOTE)], ["answer"], "AA-1000"),
        Case(STOCK, [ok(TABLES), ok(DESCRIBE), *FOUND, ok(DOUBLE), ok(NOTE)], ["answer"], "The code is maple."),
        Case(STOCK, [*FOUND, busy(DOUBLE), ok(DOUBLE), ok(NOTE)], ["answer"], "84"),
        Case(PIER, [*ASKED_ALL, ok(RECORD)], ["answer"], "Moe"),
        Case(PIER, [ok(OPEN, "busiest"), ok(GRAPH, "Pier 7"), ok(CREW, "Halvorsen 61"), ok(RECORD)], ["answer"], "61"),
        Case(PIER, [*ASKED_ALL, ok(("memory.read_graph", {}), "..."), ok(RECORD)], ["answer"], None, "agent-exited"),
    ],
    "misunderstood_task": [
        Case(FILES, [*LOOKED, ok(("filesystem.create_directory", {"path": "/tmp/z"})),
            ok(("filesystem.write_file", {"path": "/q.md", "content": "# A story\nOnce upon a time"}))],
            ["folder", "result"], "Here is a story about carpentry."),
        Case(STOCK, [ok(LEAST, ROWS), ok(("sqlite.read_query", {"query": "PRAGMA user_version"}), "0"),
            ok(("sqlite.write_query", {"query": "CREATE VIEW v AS VALUES (1)"}))], ["row", "note", "answer"],
            "I made a view for you."),
        Case(MAIL, [*READ_MAIL, ok(("email.send_email", {"account_name": "b", "recipients": ["x@y.net"],
            "subject": "Offer", "body": "Please buy more lamps from us, thanks"})),
            ok(("email.move_emails", {"account_name": "c", "email_ids": ["1"], "destination_mailbox": "Spam"}))],
            ["reply", "moved"], "I wrote to the supplier."),
        Case(CALENDAR, [*SEEN, ok(("calendar.create-event", {"calendarUrl": "#", "summary": "Zoo", "start": "1999",
            "end": "n"})), ok(("filesystem.move_file", {"source": "q", "destination": "w"}))],
            ["first", "second", "moved"], "I planned a visit to the zoo."),
        Case(PIER, [*ASKED_ALL, ok(("memory.add_observations", {"observations": [1, 2]}))], ["noted", "answer"],
            "The harbour has seven piers."),
        Case(REPO, [*PREPARED[:2], ok(("git.git_create_branch", {"repo_path": "z", "branch_name": "q"})),
            ok(("git.git_checkout", {"repo_path": "z", "branch_name": "q"})),
            ok(("filesystem.write_file", {"path": "u", "content": "v"})),
            ok(("git.git_add", {"repo_path": "z", "files": []})),
            ok(("git.git_commit", {"repo_path": "z", "message": "v"}))], ["branch", "message", "file"],
            "I started a new project."),
    ],
}
# fmt: on
