"""Tests of the months' key and the files it signs, in a home: made once, kept, and reproducible."""

import contextlib
import shutil
import stat
from pathlib import Path

import pytest

from quarterturn.cli.terminal.output import Output
from quarterturn.home.home import create, month_key
from quarterturn.home.paths import HomePaths
from quarterturn.settings import BenchmarkSettings, Settings
from rotation.calendar import Month
from vault.errors import Broken
from vault.keys import signing
from vault.keys.ring import FileKeyRing
from vault.ledger.release import month
from vault.ledger.statements.leaf import Statement

pytestmark = pytest.mark.slow

CHOSEN = Settings(benchmark=BenchmarkSettings(first_month="2026-12"))
FIRST, SECOND = "2026-11", "2026-12"


def signed(home: Path) -> dict[str, bytes]:
    """Return the months' files and the list of keys, by their path below the public folder."""
    public = home / "public"
    paths = [*public.glob("months/*/*"), public / "allowed_signers"]
    return {path.relative_to(public).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def turned(live: Path, say) -> Path:
    assert say("turn", "run", "--early", "--home", live).code == 0
    return live


def test_a_new_home_has_a_key_of_its_own_for_months_sealed_and_open_to_nobody_else(tmp_path):
    create(tmp_path / "home", CHOSEN, b"passphrase")
    places = HomePaths(tmp_path / "home")
    assert stat.S_IMODE(places.month_key.stat().st_mode) == 0o600
    ring = FileKeyRing.open(places.ring, b"passphrase")
    key = month_key(places, ring)
    assert key.private_bytes_raw() not in places.month_key.read_bytes()
    assert key.private_bytes_raw() != signing.load(places.log_key, ring).private_bytes_raw()
    for other, use in ((places.log_key, signing.MONTH), (places.month_key, signing.LOG)):
        with pytest.raises(Broken):
            signing.load(other, ring, use)


def test_each_turn_leaves_three_files_of_one_key_and_publish_writes_again_what_is_missing(turned, say):
    before, public = signed(turned), turned / "public"
    names = [f"months/{turn}/{name}" for turn in (FIRST, SECOND) for name in month.FILES]
    assert sorted(before) == sorted([*names, "allowed_signers"])
    assert before["allowed_signers"].count(b"\n") == 1
    shutil.rmtree(public / "months")
    (public / "allowed_signers").unlink()
    for turn in (FIRST, SECOND):
        said = say("release", "path", turn, "--home", turned, "--json")
        assert (said.code, said.data["signed"]) == (0, str(public / "months" / turn))
        assert (said.data["release"] is None) is (turn == FIRST)
    assert signed(turned) == before


def test_a_turn_that_has_come_to_nothing_yet_is_three(live, say, opened):
    def stop(_: str) -> None:
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        opened(live).month.rotation.run(Month.parse(SECOND), stop)
    say("release", "path", SECOND, "--home", live).refuses(3, "has published nothing")


def test_a_home_without_the_key_gets_another_and_says_so_in_its_next_set(live, say, opened):
    """A home may be older than the key, or have lost it."""
    before = signed(live)
    (live / "keys" / "month.key").unlink()
    assert say("turn", "run", "--early", "--home", live).code == 0
    after = signed(live)
    assert {name: after[name] for name in before if name != "allowed_signers"} | {
        "allowed_signers": after["allowed_signers"][: len(before["allowed_signers"])]
    } == before
    assert after["allowed_signers"].count(b"\n") == 2
    house = opened(live)
    leaves = [Statement.parse(house.log.ledger.leaf(index)) for index in range(house.log.ledger.size)]
    assert len({one.predicate["month_key"] for one in leaves if one.kind == "set"}) == 2
    shutil.rmtree(live / "public" / "months" / FIRST)
    say("release", "path", FIRST, "--home", live).refuses(8, "put that key back")


def test_a_change_of_the_rings_key_changes_nothing_that_is_signed(live, say, opened):
    before, sealed = signed(live), (live / "keys" / "month.key").read_bytes()
    opened(live).keys.rotation.rotate("ada", Output(as_json=True))
    assert (live / "keys" / "month.key").read_bytes() != sealed
    shutil.rmtree(live / "public" / "months")
    assert say("release", "path", FIRST, "--home", live).code == 0
    assert signed(live) == before
