"""Tests of what a frame compares: items, changes and damage."""

import pytest

from verifiers.normal_form import NormalState
from verifiers.states.changes import changes_between, described
from verifiers.states.damage import damages
from verifiers.states.items import items_of
from verifiers.states.own_changes import is_the_servers

FOLDER, FILE = ["out", "directory", 0o755, ""], ["out/a.txt", "file", 0o644, 0]
EVENT = ["work", "event", "e1", "Plan", "2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z", "", "", "", {}, []]


def test_a_folder_that_holds_a_file_is_there_without_an_entry_of_its_own():
    listed, implied = (NormalState({"entries": entries}, (b"a",)) for entries in ([FOLDER, FILE], [FILE]))
    assert [*items_of("filesystem", implied).items()] == [*items_of("filesystem", listed).items()]


def test_no_damage_takes_away_a_folder_and_leaves_the_file_in_it():
    baseline, final = NormalState({"entries": []}, ()), NormalState({"entries": [FOLDER, FILE]}, (b"a",))
    assert "folder out, removed" not in [described(change) for change, _ in damages("filesystem", baseline, final)]


def test_what_a_server_calls_a_new_item_can_be_another_name_and_what_it_called_an_old_one_cannot():
    made = [*EVENT[:2], "4f1c", "Review", *EVENT[4:]]
    states = NormalState({"items": [EVENT]}), NormalState({"items": [EVENT, made]})
    damaged = [change.after.label for change, _ in damages("calendar", *states)]
    assert "work: event e1~" in damaged
    assert "work: event 4f1c~" not in damaged
    assert damaged.count("work: event 4f1c") > 1  # its other fields, and the event itself


def message(folder, flags="S", name="m1@example.org"):
    told = ["", "a@example.org", "b@example.org", "", "", "Plan", "At 10?"]
    return [f"Maildir/{folder}", folder, flags, name, *told, []]


def changes_of_mail(before, after):
    states = (NormalState({"folders": ["Archive", "INBOX"], "kept": kept, "sent": []}) for kept in (before, after))
    return [(change.kind, change.fields) for change in changes_between(*(items_of("email", state) for state in states))]


def test_a_message_that_was_moved_is_the_same_one_in_another_folder():
    assert changes_of_mail([message("INBOX")], [message("Archive")]) == [("changed", ("folder",))]
    ((kind, _),) = changes_of_mail([message("INBOX")], [message("INBOX"), message("Archive")])
    assert kind == "added"


def test_each_mark_of_a_message_is_a_field_of_its_own():
    assert changes_of_mail([message("INBOX")], [message("INBOX", "FS")]) == [("changed", ("flagged",))]
    assert changes_of_mail([message("INBOX")], [message("INBOX", "a")]) == [("changed", ("read", "flag a"))]


def test_the_copy_of_a_sent_message_is_its_servers_and_another_one_is_not():
    def state(*kept):
        return NormalState({"folders": ["INBOX", "Sent"], "kept": [*kept], "sent": [message("")]})

    def labels(mail):
        return [*items_of("email", mail)][2:]

    assert labels(state(message("Sent"))) == ["sent message m1@example.org"]
    assert labels(state(message("Sent", "S"), message("Sent", "S"))) == ["message m1@example.org", *labels(state())]
    other = [*message("Sent")[:10], "At 11?", []]
    assert labels(state(other)) == ["message m1@example.org", *labels(state())]


def test_a_mail_folder_that_holds_a_message_is_there_without_an_entry_of_its_own():
    listed, implied = (
        NormalState({"folders": folders, "kept": [message("Desk")], "sent": []}) for folders in (["Desk"], [])
    )
    assert [*items_of("email", implied).items()] == [*items_of("email", listed).items()]


def test_a_set_has_each_member_once():
    keys = ({"s": {"type": "set", "value": members, "left": None}} for members in (["a"], ["a", "a"]))
    once, twice = (items_of("redis", NormalState({"keys": part})) for part in keys)
    assert once == twice


@pytest.mark.parametrize(("before", "after", "same"), [(9000, 9001, True), (9000, 8000, True), (9000, 10_000, False)])
def test_the_time_that_a_key_has_left_runs_down_and_is_read_to_the_second(before, after, same):
    assert is_the_servers("key", "expires", before, after) is same


def test_a_schema_that_has_a_table_is_there_without_an_entry_of_its_own():
    table = {"schema": "attic", "name": "t", "columns": [], "constraints": [], "indexes": [], "rows": []}
    listed, implied = (NormalState({"schemas": schemas, "tables": [table]}) for schemas in (["attic"], []))
    assert items_of("postgres", listed) == items_of("postgres", implied)
