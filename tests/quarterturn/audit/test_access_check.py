"""Tests of checking the access log against the public log: it cannot be cut off or rewritten."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from quarterturn.app import Application
from quarterturn.audit import access_check
from quarterturn.audit.access_check import CheckedAccessLog
from rotation.calendar import Month
from rotation.turn import access_log_head
from vault.errors import Broken
from vault.ledger.statements.statement import Statement
from vault.store import access_log

from ..conftest import MONTH, make

pytestmark = pytest.mark.slow

BLOB = f"access-head/{MONTH}"


@pytest.fixture(scope="module")
def kept(memory: Path) -> Path:
    """Make a home whose first set commits to three openings, with two more made since."""
    home = make(memory / "accesses", tasks=4)
    with closing(Application(home, None)) as house:
        names = [record.id for record in house.home.vault.records()[:5]]
        for name in names[:3]:
            house.home.vault.open(name, who="ada", why="look")
        house.month.rotation.run(Month.parse(MONTH).plus(-1))
        for name in names[3:]:
            house.home.vault.open(name, who="grace", why="look again")
    return home


@pytest.fixture
def house(kept: Path, tmp_path: Path):
    with closing(Application(Path(shutil.copytree(kept, tmp_path / "home")), None)) as house:
        yield house


def verify(house: Application) -> CheckedAccessLog:
    return access_check.verify(
        house.home.vault, access_log_head.committed(house.home.vault, house.log.ledger, who="ada")
    )


def rewrite(house: Application, change: Callable[[sqlite3.Connection], None]) -> None:
    """Write to the database without the store."""
    with closing(sqlite3.connect(house.home.folder / "quarterturn.db")) as database:
        change(database)
        database.commit()


def made_anew(house: Application) -> list[access_log.AccessEntry]:
    """Rewrite the log with another name in its first entry and a valid chain; give its new content."""
    log, previous = [], access_log.START
    for entry in house.home.vault.access_log():
        who = "nobody" if entry.number == 1 else entry.who
        forged = replace(entry, who=who, previous=previous)
        log.append(replace(forged, digest=access_log._digest(forged)))
        previous = log[-1].digest
    rows = [{name: value for name, value in asdict(entry).items() if name != "at"} for entry in log]
    change = "UPDATE vault_access SET who = :who, previous = :previous, digest = :digest WHERE number = :number"
    rewrite(house, lambda database: database.executemany(change, rows))
    return log


def test_it_says_how_much_is_committed_to_and_what_came_after(house, say):
    assert verify(house) == CheckedAccessLog(6, heads=1, covered=3, last=f"the set statement of {MONTH}")
    assert house.home.vault.access_log()[-1].why == "check the access log against the ledger"
    said = say("access", "log", "--verify", "--home", house.home.folder)
    assert said.out.splitlines() == [
        "7 entries, the chain holds",
        f"committed to in the public log: 1 times, up to entry 3 by the set statement of {MONTH}",
        "newer than that: 4 entries, which the next turn commits to",
    ]
    assert "leave --task" in say("access", "log", "--verify", "--task", "t-x", "--home", house.home.folder).sentence


def test_an_auditor_opens_the_commitment_with_what_is_sealed(house):
    says = Statement.parse(house.log.ledger.leaf(house.log.ledger.find(f"set/{MONTH}"))).predicate["access_log"]
    opening = json.loads(house.home.vault.open_blob(BLOB, who="auditor", why="show it"))
    third = house.home.vault.access_log()[2]
    assert (says["entries"], opening["entries"], opening["digest"]) == (3, 3, third.digest)
    assert third.digest.encode() not in house.log.ledger.leaf(house.log.ledger.find(f"set/{MONTH}")), (
        "only under a salt"
    )


def test_an_end_that_was_cut_off_is_found_as_far_as_it_was_committed_to(house):
    rewrite(house, lambda database: database.execute("DELETE FROM vault_access WHERE number > 3"))
    assert verify(house).entries == 4, "what no head covers yet can be lost unseen"
    rewrite(house, lambda database: database.execute("DELETE FROM vault_access WHERE number > 1"))
    heads = access_log_head.committed(house.home.vault, house.log.ledger, who="ada")
    with pytest.raises(Broken, match=rf"has 2 entries; the set statement of {MONTH} commits to 3: its end was cut off"):
        house.home.vault.verify_access_log(heads=heads)


def test_a_log_that_was_made_anew_is_found_though_its_chain_holds(house, say):
    access_log.verify(made_anew(house))
    say("access", "log", "--verify", "--home", house.home.folder).refuses(
        1, f"Entry 3 of the access log is not the one that the set statement of {MONTH} commits to"
    )


def test_a_substituted_opening_is_found_too(house):
    forged = made_anew(house)[2]
    rewrite(house, lambda database: database.execute("DELETE FROM vault_blob WHERE name = ?", [BLOB]))
    with pytest.raises(Broken, match=r"sealed opening of the access-log head .* is missing"):
        verify(house)
    opening = {"entries": 3, "digest": forged.digest, "salt": "00" * 32}
    house.home.vault.seal_blob(BLOB, json.dumps(opening).encode())
    with pytest.raises(Broken, match="does not match the commitment in the set statement"):
        verify(house)


def test_entries_are_chosen_by_task_person_moment_and_number(house, say):
    def shown(*words: object) -> list[tuple[str, str]]:
        said = say("access", "log", *words, "--home", house.home.folder, "--json").data
        return [(row["who"], row["what"]) for row in said]

    every = shown()
    assert [who for who, _ in every] == ["ada"] * 3 + ["grace"] * 2
    assert shown("--task", every[1][1].removeprefix("task/")) == [every[1]]
    assert shown("--who", "grace") == every[3:]
    assert shown("--limit", "2") == every[3:]
    assert shown("--who", "ada", "--limit", 1) == [every[2]]
    assert shown("--since", "2026-01-01") == every
    assert shown("--since", "2999-01-01T00:00:00") == []
    assert say("access", "log", "--limit", "0", "--home", house.home.folder).code == 2
    assert shown("--task", "%") == []
    assert say("access", "log", "--limit", "1", "--home", house.home.folder).out.count("\n") == 1
