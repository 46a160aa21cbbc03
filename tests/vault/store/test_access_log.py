"""Tests of the access log: every opening leaves an entry, and no entry can be removed unnoticed."""

import dataclasses

import pytest
from sqlalchemy import event

from vault.database import transaction
from vault.errors import Broken, NotAllowed
from vault.store.access_log import START, Head, of_rules, rules, verify

pytestmark = pytest.mark.both_databases


@pytest.fixture
def log(vault, add):
    add(0)
    vault.seal_blob("trace/1", b"...")
    vault.open("t-" + "z" * 14 + "aa", who="ada", why="review")
    for n in range(4):
        vault.open_blob("trace/1", who="grace", why=f"dispute {n}")
    return vault.access_log()


def test_each_opening_says_who_what_when_and_why(log):
    first, second = log[:2]
    assert (first.number, first.who, first.what, first.why) == (1, "ada", "task/t-zzzzzzzzzzzzzzaa", "review")
    assert (second.who, second.what) == ("grace", "blob/trace/1")
    assert first.previous == START
    assert first.digest == "0ef511f3bac0a8bd279bd5ac735e96219fb16ee04aaa21217f471779111a29f9", (
        "what was written before must verify"
    )
    assert second.previous == first.digest
    assert first.at < second.at
    assert first.at.utcoffset().total_seconds() == 0


def test_an_untouched_log_is_in_order(vault, log):
    vault.verify_access_log()
    vault.verify_access_log(known=log[2].digest)
    verify([])


@pytest.mark.parametrize(("place", "name"), [(0, "who"), (1, "what"), (2, "why"), (3, "at"), (4, "who")])
def test_an_edited_entry_is_found(log, name, place):
    other = log[place].at.replace(year=2025) if name == "at" else "somebody else"
    edited = [*log]
    edited[place] = dataclasses.replace(log[place], **{name: other})
    with pytest.raises(Broken, match=f"Entry {place + 1} of the access log was changed"):
        verify(edited)


@pytest.mark.parametrize("place", range(4))
def test_a_missing_entry_is_found(log, place):
    with pytest.raises(Broken, match=f"has no entry {place + 1}"):
        verify(log[:place] + log[place + 1 :])


def test_closing_the_gap_by_counting_anew_does_not_help(log):
    forged = [dataclasses.replace(entry, number=n) for n, entry in enumerate(log[1:], start=1)]
    with pytest.raises(Broken):
        verify(forged)


def test_a_tail_that_was_cut_off_shows_to_whoever_kept_a_digest(log):
    verify(log[:-1])
    with pytest.raises(Broken, match="cut off or made anew"):
        verify(log[:-1], known=log[-1].digest)


def test_an_edit_in_the_database_itself_is_found(vault, engine, log):
    with transaction(engine) as session:
        session.connection().exec_driver_sql("UPDATE vault_access SET who = 'nobody' WHERE number = 3")
    with pytest.raises(Broken, match="Entry 3"):
        vault.verify_access_log()


@pytest.mark.parametrize(
    ("who", "why"), [("", "x"), ("x", " "), ("x" * 201, "x"), ("x", "y" * 501), ("a\nb", "x"), ("x", "\x1b[2J")]
)
def test_an_opening_without_a_name_and_a_reason_does_not_open(vault, log, who, why):
    with pytest.raises(NotAllowed, match="nothing was opened"):
        vault.open("t-" + "z" * 14 + "aa", who=who, why=why)
    with pytest.raises(NotAllowed, match="nothing was opened"):
        vault.open_blob("trace/1", who=who, why=why)
    assert vault.access_log() == log


def test_an_opening_that_cannot_be_logged_does_not_open(vault, engine, add, monkeypatch):
    """The disk fills up between the request and the log entry."""
    task_id = add(0).id
    vault.seal_blob("trace/1", b"...")
    monkeypatch.setattr("vault.store.tasks.unseal", lambda *_: pytest.fail("it was opened"))
    full = {
        "sqlite": "CREATE TRIGGER full BEFORE INSERT ON vault_access BEGIN SELECT RAISE(ABORT, 'disk full'); END",
        "postgresql": 'ALTER TABLE vault_access ADD CONSTRAINT "disk full" CHECK (number < 0) NOT VALID',
    }
    with transaction(engine) as session:
        session.connection().exec_driver_sql(full[engine.dialect.name])
    for opening in (
        lambda: vault.open(task_id, who="a", why="b"),
        lambda: vault.open_blob("trace/1", who="a", why="b"),
    ):
        with pytest.raises(Exception, match="disk full"):
            opening()
    assert vault.access_log() == []


def test_an_opening_inside_a_transaction_is_refused_because_its_line_could_be_rolled_back(vault, engine, add):
    task_id = add(0).id
    with transaction(engine), pytest.raises(RuntimeError, match="transaction is open here already"):
        vault.open(task_id, who="ada", why="review")


def test_a_committed_entry_must_stand_at_its_place(log):
    heads = [Head(3, log[2].digest, "march"), Head(0, START, "january"), Head(1, log[0].digest, "february")]
    assert verify(log, heads=heads) == 5
    assert verify(log, heads=[*heads, Head(3, log[2].digest, "april")]) == 5
    with pytest.raises(Broken, match="has 2 entries; march commits to 3"):
        verify(log[:2], heads=heads)
    for place, digest in ((3, log[1].digest), (0, log[0].digest), (3, START)):
        with pytest.raises(Broken, match=f"Entry {place} of the access log is not the one that may commits to"):
            verify(log, heads=[*heads, Head(place, digest, "may")])


def test_a_committed_entry_is_missed_in_an_empty_log():
    with pytest.raises(Broken, match="has 0 entries; march commits to 3"):
        verify([], heads=[Head(3, "00" * 32, "march")])


def test_the_head_is_that_of_the_last_entry(vault, engine, log):
    with transaction(engine) as session:
        assert vault.access_head(session) == (5, log[-1].digest)
        noted = vault.note(who="ada", what="rules/1", why="in force", session=session)
        assert vault.access_head(session) == (6, noted.digest)
    vault.verify_access_log(known=noted.digest)


def test_an_empty_log_has_a_head(vault, engine):
    with transaction(engine) as session:
        assert vault.access_head(session) == (0, START)


def test_parts_of_the_log_are_given_in_order(vault, log):
    def shown(**chosen):
        with vault.accesses(**chosen) as found:
            return list(found)

    assert shown() == log
    assert shown(task="t-" + "z" * 14 + "aa") == log[:1]
    assert shown(who="grace", limit=2) == log[-2:]
    assert shown(since=log[2].at) == log[2:]
    assert shown(task="_") == []
    with vault.accesses() as found:
        assert next(found) == log[0]


def test_the_newest_rules_are_found_among_other_entries_without_reading_them(vault, engine, log):
    with transaction(engine) as session:
        assert rules(session) == 0
        for what in (of_rules(1), of_rules(2), "approval/rules/7", "blob/rules/9"):
            vault.note(who="ada", what=what, why="in force", session=session)
        assert rules(session) == 2
        seen = []
        event.listen(session.connection(), "before_cursor_execute", lambda *asked: seen.append(asked[2:4]))
        rules(session)
        sql, values = seen[0]
        postgres = engine.dialect.name == "postgresql"
        if postgres:  # of a few rows it would read all
            session.connection().exec_driver_sql("SET LOCAL enable_seqscan = off")
        plan = session.connection().exec_driver_sql(f"EXPLAIN {'' if postgres else 'QUERY PLAN '}{sql}", values).all()
        assert "ix_vault_access_rules" in str(plan)
