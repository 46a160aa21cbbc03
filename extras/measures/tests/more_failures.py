"""Twenty-two failures more, two of each class, on other tasks: written from the classes' definition and not from its code.

`failures` is what the rules were made with; these say what the rules do with failures that nobody had seen then.
"""

# ruff: noqa: E501 - a table: a call a line

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .failures import Base, Call, Case, err, ok, unlisted

# fmt: off
# 1. issues: the oldest of a label is commented on and closed
COMPASS = {"owner": "atlas", "repo": "compass"}
ISSUES: Call = ("github.list_issues", COMPASS | {"labels": ["stale"], "state": "open"})
ISSUE: Call = ("github.get_issue", COMPASS | {"issue_number": 14})
COMMENT: Call = ("github.add_issue_comment", COMPASS | {"issue_number": 14, "body": "Closed as stale."})
CLOSE: Call = ("github.update_issue", COMPASS | {"issue_number": 14, "state": "closed"})
STALE = Base(
    "Comment 'Closed as stale.' on the open issue of atlas/compass that has the label stale and was updated longest ago, "
    "and close it. Leave the others alone.",
    [[ISSUES, ISSUE, COMMENT, CLOSE], [ISSUES, COMMENT, CLOSE]],
    {
        "commented": ("github.issueCommented",
            {"repository": "atlas/compass", "issue": 14, "body": "Closed as stale."}),
        "closed": ("github.issueState", {"repository": "atlas/compass", "issue": 14, "state": "closed"}),
        "others": ("github.issueState", {"repository": "atlas/compass", "issue": 17, "state": "open"}),
    },
)

# 2. a workbook: a sum is written, and told
SALES = "/data/books/sales.xlsx"
BOOK: Call = ("spreadsheet.describe_workbook", {"path": SALES})
ROWS: Call = ("spreadsheet.read_range", {"path": SALES, "sheet": "Sales"})
TOTAL: Call = ("spreadsheet.write_range", {"path": SALES, "sheet": "Summary", "at": "B2", "rows": [[1284]]})
LEDGER = Base(
    "Write the sum of the amounts of the region North of the sheet Sales into cell B2 of the sheet Summary of sales.xlsx, and "
    "answer with it.",
    [[BOOK, ROWS, TOTAL], [ROWS, TOTAL]],
    {
        "cell": ("spreadsheet.cellEquals", {"workbook": "sales.xlsx", "sheet": "Summary", "cell": "B2", "value": 1284}),
        "sales": ("spreadsheet.rowCount", {"workbook": "sales.xlsx", "sheet": "Sales", "count": 9}),
        "answer": ("answer.number", {"value": 1284}),
    },
)

# 3. two lists: the two oldest jobs go from one to the other
INBOX: Call = ("redis.lrange", {"name": "inbox", "start": 0, "stop": -1})
POP: Call = ("redis.lpop", {"name": "inbox"})
PUSH_1: Call = ("redis.rpush", {"name": "done", "value": "job-551"})
PUSH_2: Call = ("redis.rpush", {"name": "done", "value": "job-552"})
QUEUE = Base(
    "Take the first two jobs of the list inbox out of it and add them at the end of the list done, in the order in which they "
    "were.",
    [[POP, PUSH_1, POP, PUSH_2], [INBOX, PUSH_1, POP, PUSH_2, POP]],
    {
        "inbox": ("redis.listEquals", {"key": "inbox", "values": ["job-553", "job-554"]}),
        "done": ("redis.listEquals", {"key": "done", "values": ["job-498", "job-551", "job-552"]}),
        "mode": ("redis.stringEquals", {"key": "mode", "value": "batch"}),
    },
    max_steps=10,
)

# 4. a graph: a person changes teams
NORA: Call = ("memory.search_nodes", {"query": "Nora Quist"})
LEAVE: Call = ("memory.delete_relations", {"relations": [{"from": "Nora Quist", "to": "Anvil", "relationType": "in"}]})
JOIN: Call = ("memory.create_relations", {"relations": [{"from": "Nora Quist", "to": "Brass", "relationType": "in"}]})
SINCE: Call = ("memory.add_observations",
    {"observations": [{"entityName": "Nora Quist", "contents": ["in Brass since 2025-04"]}]})
HIRE = Base(
    "Nora Quist has left the team Anvil for the team Brass: change the relation, and note 'in Brass since 2025-04' at her.",
    [[NORA, LEAVE, JOIN, SINCE], [NORA, JOIN, LEAVE, SINCE]],
    {
        "new": ("memory.relationExists", {"from": "Nora Quist", "to": "Brass", "type": "in"}),
        "relations": ("memory.relationCount", {"count": 11}),
        "since": ("memory.observationExists", {"entity": "Nora Quist", "text": "in Brass since 2025-04"}),
        "entities": ("memory.entityCount", {"count": 7}),
    },
)

# 5. a database and a file: who owes the most
INVOICES: Call = ("postgres.describe_table", {"table": "invoices"})
OWES: Call = ("postgres.query",
    {"sql": "SELECT customer, sum(amount) FROM invoices WHERE NOT paid GROUP BY customer ORDER BY 2 DESC LIMIT 1"})
SAVE: Call = ("filesystem.write_file", {"path": "/data/files/reports/debtor.txt", "content": "Ferrum;7120\n"})
REMIND: Call = ("postgres.execute",
    {"sql": "UPDATE invoices SET reminded = true WHERE customer = 'Ferrum' AND NOT paid"})
DEBTOR = Base(
    "Write the customer that owes the most in unpaid invoices into reports/debtor.txt as NAME;AMOUNT, and mark the unpaid "
    "invoices of that customer as reminded.",
    [[INVOICES, OWES, SAVE, REMIND], [OWES, SAVE, REMIND]],
    {
        "file": ("filesystem.fileTextEquals", {"path": "reports/debtor.txt", "text": "Ferrum;7120\n"}),
        "reminded": ("postgres.rowCount", {"table": "invoices", "where": {"reminded": True}, "count": 3}),
        "folder": ("filesystem.directoryHasOnly", {"path": "reports", "entries": ["debtor.txt"]}),
    },
)

# 6. a question about three files
NOTES: Call = ("filesystem.list_directory", {"path": "/data/files/notes"})
READS: list[Call] = [("filesystem.read_text_file", {"path": f"/data/files/notes/{name}.md"}) for name in "abc"]
HERON = Base(
    "How many of the notes in the folder notes mention the Heron? Answer with the number. Change nothing.",
    [[NOTES, *READS], [NOTES, *reversed(READS)]],
    {
        "answer": ("answer.number", {"value": 2}),
        "notes": ("filesystem.directoryHasOnly", {"path": "notes", "entries": ["a.md", "b.md", "c.md"]}),
    },
)

# 7. a question about three calendars
ROOMS: Call = ("calendar.list-calendars", {})
DAY = {"start": "2025-05-06", "end": "2025-05-07"}
BUSY: list[Call] = [("calendar.list-events", DAY | {"calendarUrl": f"/agent/{room}/"}) for room in ("oak", "elm",
    "ash")]
FREE = Base(
    "Which of the rooms that have a calendar has no event on 6 May 2025? Answer with its name.",
    [[ROOMS, *BUSY], [ROOMS, BUSY[2], BUSY[0], BUSY[1]]],
    {"answer": ("answer.equals", {"text": "ash"})},
)

# 8. a plan: four entries, and the placeholder goes
PLAN: Call = ("filesystem.read_text_file", {"path": "/data/files/plan.txt"})
ENTRIES: list[Call] = [("calendar.create-event",
    {"calendarUrl": "/agent/shop/", "summary": f"Shift {name}", "start": f"{day}T06:00:00Z",
    "end": f"{day}T14:00:00Z"}) for name, day in (("K2", "2025-06-02"), ("K5", "2025-06-04"), ("K8", "2025-06-06"))]
PLACEHOLDER: Call = ("calendar.delete-event", {"calendarUrl": "/agent/shop/", "uid": "tba-40"})
WEEK: Call = ("calendar.list-events", {"calendarUrl": "/agent/shop/", "start": "2025-06-01", "end": "2025-06-08"})
SHIFTS = Base(
    "Enter the shifts of plan.txt into the calendar shop (6 to 14 o'clock UTC), and then delete the entry TBA.",
    [[PLAN, WEEK, *ENTRIES, PLACEHOLDER], [WEEK, PLAN, *ENTRIES, PLACEHOLDER]],
    {
        **{
            name: (
                "calendar.eventExists",
                {"calendar": "shop", "summary": f"Shift {name}", "start": f"{day}T06:00:00Z"},
            )
            for name, day in (("K2", "2025-06-02"), ("K5", "2025-06-04"), ("K8", "2025-06-06"))
        },
        "placeholder": ("calendar.eventAbsent", {"calendar": "shop", "summary": "TBA"}),
        "other": ("calendar.eventExists", {"calendar": "shop", "summary": "Inventory"}),
    },
)

# 9. three workbooks of one kind
NAMES = ("north", "south", "west")
HEADS: list[Call] = [("spreadsheet.read_range",
    {"path": f"/data/books/{name}.xlsx", "sheet": "Main"}) for name in NAMES]
MARKS: list[Call] = [("spreadsheet.write_range",
    {"path": f"/data/books/{name}.xlsx", "sheet": "Main", "at": "D1", "rows": [["checked"]]}) for name in NAMES]
BOOKS = Base(
    "Write 'checked' into D1 of the sheet Main of each workbook whose A1 says 'open'.",
    [[*HEADS, *MARKS], [HEADS[2], HEADS[0], HEADS[1], *MARKS]],
    {
        name: (
            "spreadsheet.cellEquals",
            {"workbook": f"{name}.xlsx", "sheet": "Main", "cell": "D1", "value": "checked"},
        )
        for name in NAMES
    },
)

LISTED = ok(ISSUES, "#17 updated 2025-02-01, #14 updated 2024-03-09")
OWING = [ok(INVOICES, "id, customer, amount, paid, reminded"), ok(OWES, "[{'customer': 'Ferrum', 'sum': 7120}]")]
JOBS = "job-551 job-552 job-553 job-554"
PLANNED = [ok(PLAN, "K2 Mon 2, K5 Wed 4, K8 Fri 6 June"), ok(WEEK, "TBA tba-40, Inventory inv-3")]
MENTIONS = [ok(NOTES, "a.md b.md c.md"),
    *(ok(read, text) for read, text in zip(READS, ("Heron", "Egret", "a Heron"), strict=True))]

MORE_FAILURES: Mapping[str, Sequence[Case]] = {
    "no_tools_called": [
        Case(STALE, [], ["commented", "closed"], "I commented on issue #14 and closed it."),
        Case(DEBTOR, [], ["file", "reminded", "folder"], None, "agent-exited",
            "Traceback (most recent call last): ..."),
    ],
    "capability_discovery_missing": [
        Case(STALE, [ok(("filesystem.list_directory", {"path": "/data/files"}), "README.md")],
            ["commented", "closed"],
            "GitHub is not available to me, only a folder of files. I would need a token to close the issue."),
        Case(HIRE, [ok(("redis.scan_all_keys", {"pattern": "*nora*"}), "[]"), ok(("redis.dbsize", {}), "12")],
            ["new", "relations", "since"],
            "No tool for the knowledge graph is offered in this session, so I can't change Nora's team."),
    ],
    "wrong_tool_selection": [
        Case(HIRE, [ok(("memory.open_nodes", {"names": ["Nora Quist"]}), "Nora Quist in Anvil"),
            ok(("memory.create_entities", {"entities": [{"name": "Nora Quist", "entityType": "person",
            "observations": []}]}), "[]")], ["new", "relations", "since"], "Nora Quist is now in Brass."),
        Case(QUEUE, [ok(INBOX, JOBS), unlisted("redis.lmove", source="inbox", destination="done")], ["inbox", "done"],
            "The move of the jobs failed."),
    ],
    "incorrect_tool_parameters": [
        Case(DEBTOR, [*OWING, ok(SAVE), err(REMIND, 'column "reminder" does not exist',
            sql="UPDATE invoices SET reminder = 1 WHERE customer = 'Ferrum'")], ["reminded"],
            "The report is written; the invoices could not be marked."),
        Case(LEDGER, [ok(ROWS, "North 900, South 20, North 384"), ok(TOTAL, at="C2")], ["cell"], "1284"),
    ],
    "environment_constraint_violation": [
        Case(QUEUE, [ok(INBOX, JOBS)] * 10, ["inbox", "done"], None, "steps-exceeded"),
        Case(HERON, [*MENTIONS, ok(("filesystem.move_file", {"source": "/data/files/notes/b.md",
            "destination": "/data/files/b.md"}))], ["notes"], "2"),
    ],
    "missing_tool_calls": [
        Case(STALE, [LISTED, ok(ISSUE, "updated 2024-03-09"), ok(CLOSE, "closed")], ["commented"], "Closed #14."),
        Case(DEBTOR, [*OWING, ok(REMIND, "3 rows")], ["file", "folder"], "Ferrum;7120"),
    ],
    "insufficient_exploration": [
        Case(HERON, MENTIONS[:3], ["answer"], "1"),
        Case(FREE, [ok(ROOMS, "oak elm ash"), ok(BUSY[0], "Review 9:00"), ok(BUSY[1], "Interview 15:00"),
            ok(BUSY[0], "Review 9:00")], ["answer"], "none"),
    ],
    "skipped_steps": [
        Case(QUEUE, [ok(POP, "job-551"), ok(PUSH_1, "2"), ok(INBOX, "job-552 job-553 job-554"), ok(PUSH_2, "3")],
            ["inbox"], "Moved."),
        Case(SHIFTS, [*PLANNED, ok(ENTRIES[0]), ok(ENTRIES[2]), ok(PLACEHOLDER)], ["K5"], "All shifts are entered."),
    ],
    "partial_task_completion": [
        Case(BOOKS, [*(ok(head, "open") for head in HEADS), ok(MARKS[0]), ok(MARKS[1])], ["west"],
            "Checked all of them."),
        Case(BOOKS, [*(ok(head, "open") for head in HEADS), ok(MARKS[0])], ["south", "west"], None, "agent-exited",
            "context length exceeded"),
    ],
    "incorrect_conclusion": [
        Case(LEDGER, [ok(BOOK, "Sales, Summary"), ok(ROWS, "North 900, South 20, North 384"), ok(TOTAL)], ["answer"],
            "1248"),
        Case(HERON, MENTIONS, ["answer"], "All 3 of them mention it."),
    ],
    "misunderstood_task": [
        Case(QUEUE, [ok(POP, "job-551"), ok(POP, "job-552"), ok(PUSH_2, "2"), ok(PUSH_1, "3")], ["done"],
            "The jobs are in done, the newest first."),
        Case(HIRE, [ok(NORA, "Nora Quist in Anvil"), *(ok(call) for call in (LEAVE, JOIN, SINCE)),
            ok(("memory.delete_observations",
            {"deletions": [{"entityName": "Nora Quist", "observations": ["in Brass since 2025-04"]}]}))], ["since"],
            "Nora Quist is in Brass; I removed the note again, as the relation says it."),
    ],
}
# fmt: on
