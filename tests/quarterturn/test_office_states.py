"""Tests of workbook, calendar and mail states given as folders: anybody can check a retired task."""

import json

import pytest

from sandbox.servers.registry import SERVERS

WHEN, PEOPLE = "2026-01-05T10:00:00Z", {"from": "bob@example.org", "to": ["agent@example.org"]}
MESSAGE = PEOPLE | {"subject": "Plan", "text": "x", "date": WHEN}
EVENT = {"summary": "Plan", "start": WHEN, "end": "2026-01-05T11:00:00Z"}
STATES = {
    "spreadsheet": {"workbooks": {"a.xlsx": {"sheets": [{"name": "S", "rows": [["n"], [2], ["=A2*2"]]}]}}},
    "calendar": {"calendars": {"work": {"events": [EVENT]}}},
    "email": {"folders": {"INBOX": [MESSAGE]}},
}
TRUTHS = {
    "spreadsheet": {"spreadsheet.cellEquals": {"path": "a.xlsx", "sheet": "S", "cell": "A3", "value": 4}},
    "calendar": {"calendar.countOnDay": {"day": "2026-01-05", "count": 1}},
    "email": {"email.messageInFolder": {"message": "message-1@example.org", "folder": "INBOX"}},
}


@pytest.mark.parametrize("name", STATES)
def test_a_folder_is_looked_at_as_its_server_left_it(name, tmp_path, say):
    for path, node in SERVERS[name].seed(STATES[name]).items():
        place = tmp_path / "state" / name / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if node.kind == "file":
            place.write_bytes(node.data)
        else:
            place.mkdir(exist_ok=True)
    verdicts = []
    for predicate in (TRUTHS[name], {"not": TRUTHS[name]}):
        asked = tmp_path / "predicate.json"
        asked.write_text(json.dumps(predicate))
        said = say("predicate", "check", "--state", tmp_path / "state", "--predicate", asked)
        verdicts.append((said.out.splitlines()[0], said.code))
    assert verdicts == [("true", 0), ("false", 1)]
