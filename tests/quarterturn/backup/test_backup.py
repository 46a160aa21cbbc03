"""Tests of backups: whole or absent, taken while others write, and a restored home never contradicts the log."""

import json
import os
import shutil
import signal
import sqlite3
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, select

from quarterturn.app import Application
from quarterturn.backup.backup import MANIFEST
from quarterturn.backup.restore import restore
from quarterturn.cli.setup.backup import restored_lines
from quarterturn.errors import Malformed, NotFound, Refused
from quarterturn.home.home import create
from quarterturn.migrations.scripts.metadata import METADATA
from quarterturn.settings import BenchmarkSettings, Settings
from rotation.calendar import Month
from vault.errors import Broken
from vault.errors import Refused as Unsigned
from vault.ledger.audit import verify

from ..children import Child, Gate
from ..conftest import committed, copy_of

pytestmark = pytest.mark.slow

both = pytest.mark.both_databases


@pytest.fixture
def elsewhere(backend, tmp_path, request):
    """Yield the address of an empty database for a restored home, where the old one's rows are on a server."""
    if backend == "sqlite":
        yield None
        return
    with request.getfixturevalue("postgres").empty() as url:
        yield url


def counts(house: Application) -> dict[str, int]:
    with house.home.engine.connect() as connection:
        return {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in METADATA.tables.items()
        }


def turn(house: Application, month: str = "2026-12") -> None:
    house.month.rotation.run(Month.parse(month))


def with_keys(home: Path, restored: Path) -> Path:
    shutil.copytree(home / "keys", restored / "keys", dirs_exist_ok=True)
    return restored


@both
def test_a_home_goes_through_a_backup_and_goes_on_from_there(live, tmp_path, opened, elsewhere):
    turn(opened(live))
    opened(live).home.backups.write(tmp_path / "copy", with_keys=False)
    report = restore(tmp_path / "copy", tmp_path / "new", live / "head" / "signed", elsewhere)
    assert report.signs is True
    old, new = opened(live), opened(with_keys(live, tmp_path / "new"), database=elsewhere)
    assert counts(new) == counts(old)
    assert new.home.vault.records() == old.home.vault.records()
    new.home.vault.verify_access_log()
    new.log.ledger.verify()
    size = new.log.ledger.size
    new.log.ledger.record("key/a-test", committed(1))
    assert new.log.ledger.publish().size == size + 1
    new.auth.accounts.create("ada", "submitter")
    release = new.home.places.releases / "Historical-2026-12"
    assert verify.audit(release, [new.home.places.log_vkey.read_text()]).ok


def test_rows_move_from_sqlite_to_postgresql_and_back(live, tmp_path, opened, postgres):
    house = opened(live)
    house.auth.accounts.create("ada", "submitter")
    house.home.backups.write(tmp_path / "one", with_keys=False)
    head = live / "head" / "signed"
    with postgres.empty() as url:
        restore(tmp_path / "one", tmp_path / "there", head, url)
        there = opened(with_keys(live, tmp_path / "there"), database=url)
        assert counts(there) == counts(house)
        there.auth.accounts.create("bob", "submitter")  # numbers go on behind those that came
        assert [token.id for token in there.auth.accounts.list()] == [1, 2]
        there.home.backups.write(tmp_path / "two", with_keys=False)
        with pytest.raises(Refused, match="has rows already"):
            restore(tmp_path / "two", tmp_path / "again", head, url)
        assert not (tmp_path / "again").exists()
        there.close()
    restore(tmp_path / "two", tmp_path / "back", head, None)
    back = opened(with_keys(live, tmp_path / "back"))
    assert [token.account for token in back.auth.accounts.list()] == ["ada", "bob"]
    assert back.home.vault.records() == house.home.vault.records()


def write_on_and_on(home: Path, busy: Gate) -> None:
    """Write leaves and tokens in turns until killed; report when it is well under way."""
    house, number = Application(home, None), 0
    while True:
        house.log.ledger.record(f"key/{number}", committed(number))
        house.log.ledger.publish()
        house.auth.accounts.create(f"a{number}", "submitter")
        if number == 3:
            busy.open()
        number += 1


@both
def test_a_backup_that_is_taken_while_others_write_is_of_one_moment(live, tmp_path, opened, elsewhere):
    """Tokens are written after the leaf of the same number is signed, and the log is never ahead of its rows."""
    with Gate() as busy:
        writer = Child(lambda: write_on_and_on(live, busy))
        try:
            busy.wait()
            for number in range(4):
                opened(live).home.backups.write(tmp_path / f"copy-{number}", with_keys=False)
        finally:
            said = writer.kill()
    assert (said.code, said.text) == (-signal.SIGKILL, ""), "it wrote until now"
    sizes = []
    for number in range(4):
        copy = tmp_path / f"copy-{number}"
        with closing(sqlite3.connect(copy / "rows.db")) as found:
            assert found.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            leaves = found.execute("SELECT max(number) + 1 FROM vault_ledger_leaf").fetchone()[0]
            tokens = found.execute("SELECT count(*) FROM quarterturn_token").fetchone()[0]
        signed = json.loads((copy / MANIFEST).read_bytes())["head"]["size"]
        assert signed <= leaves
        assert leaves - tokens in {25, 26}, "commits and a set, and of the rest a token for each but the last"
        sizes.append(signed)
    assert sizes == sorted(sizes)
    restore(tmp_path / "copy-3", tmp_path / "new", tmp_path / "copy-3" / "head" / "signed", elsewhere)
    new = opened(with_keys(live, tmp_path / "new"), database=elsewhere)
    new.log.ledger.publish()
    new.log.ledger.verify()


def test_the_contents_of_a_backup(live, tmp_path, opened, listing):
    (live / "smtp.password").write_text("test-password")
    before = listing(live)
    report = opened(live).home.backups.write(tmp_path / "copy", with_keys=False)
    assert listing(live) == before
    names = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert {MANIFEST, "quarterturn.toml", "rows.db", "head/signed", "public/log/checkpoint", "public/log.vkey"} <= names
    assert not [name for name in names if name.startswith(("keys/", "public/view/")) or "lock" in name]
    assert "smtp.password" not in names
    assert report["head"]["size"] == opened(live).log.writer.size
    assert set(json.loads((tmp_path / "copy" / MANIFEST).read_bytes())["files"]) == names - {MANIFEST}
    for path in [tmp_path / "copy", *filter(Path.is_file, (tmp_path / "copy").rglob("*"))]:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "home"]


def test_keys_are_backed_up_only_if_asked_and_only_under_a_passphrase(live, tmp_path, opened, monkeypatch):
    with pytest.raises(Refused, match="has no passphrase, so its file is the key"):
        opened(live).home.backups.write(tmp_path / "copy", with_keys=True)
    assert not (tmp_path / "copy").exists()
    home = tmp_path / "locked"
    create(home, Settings(benchmark=BenchmarkSettings(first_month="2026-12")), b"test-phrase")
    opened(home).home.backups.write(tmp_path / "copy", with_keys=True)  # which takes no passphrase
    for name in ("ring.json", "log.key", "endpoint.key", "month.key"):
        assert (tmp_path / "copy" / "keys" / name).read_bytes() == (home / "keys" / name).read_bytes()
    restore(tmp_path / "copy", tmp_path / "new", None, None)
    new = Application(tmp_path / "new", b"test-phrase")
    assert new.log.ledger.publish().size == 0
    new.close()


def test_a_backup_goes_to_a_new_folder_outside_of_the_home(live, tmp_path, opened):
    (tmp_path / "there").mkdir()
    for place, sentence in ((tmp_path / "there", "is there already"), (live / "copy", "lies in the home")):
        with pytest.raises(Refused, match=sentence):
            opened(live).home.backups.write(place, with_keys=False)


def test_leftovers_of_a_killed_backup_are_removed_by_the_next_one_of_its_name(live, tmp_path, opened):
    left, others = tmp_path / f".copy.{'ab' * 8}", tmp_path / f".copy-2.{'ab' * 8}"
    for folder in (left, others):
        (folder / "public").mkdir(parents=True)
        (folder / "rows.db").write_bytes(b"half")
    opened(live).home.backups.write(tmp_path / "copy", with_keys=False)
    assert not left.exists()
    assert (others / "rows.db").exists()


@pytest.fixture(scope="module")
def backed_up(templates, memory) -> Path:
    """Back a live home up once; `live` is another copy of it."""
    folder = Path(tempfile.mkdtemp(dir=memory))
    with closing(Application(copy_of(templates, "live", folder / "home", tasks=5, live=True), None)) as house:
        house.home.backups.write(folder / "copy", with_keys=False)
    return folder / "copy"


@pytest.fixture
def copy_of_live(backed_up, live, tmp_path) -> Path:
    """Return a backup of the home `live`."""
    return Path(shutil.copytree(backed_up, tmp_path / "copy"))


def change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "error", "sentence"),
    [
        (lambda copy: change(copy / "rows.db"), Broken, "rows.db is not what was backed up"),
        (lambda copy: change(copy / "public" / "log.vkey"), Broken, r"log.vkey is not what"),
        (lambda copy: (copy / "head" / "signed").unlink(), Broken, "head/signed is not what"),
        (lambda copy: (copy / "public" / "more").write_text("x"), Broken, "does not know: public/more"),
        (lambda copy: (copy / "link").symlink_to("/etc/passwd"), Broken, "does not know: link"),
        (lambda copy: (copy / MANIFEST).write_text("{"), Malformed, "is no manifest"),
        (lambda copy: (copy / MANIFEST).write_text('{"format": "other", "head": null}'), Malformed, "is no manifest"),
        (lambda copy: (copy / MANIFEST).unlink(), NotFound, "there is no backup"),
    ],
)
def test_a_damaged_backup_is_refused_before_anything_is_written(copy_of_live, tmp_path, spoil, error, sentence):
    spoil(copy_of_live)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(error, match=sentence):
        restore(copy_of_live, tmp_path / "new", tmp_path / "home" / "head" / "signed", None)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_home_is_restored_into_nothing_or_an_empty_folder(live, copy_of_live, tmp_path):
    head = live / "head" / "signed"
    with pytest.raises(Refused, match="is not empty"):
        restore(copy_of_live, live, head, None)
    (tmp_path / "new").mkdir()
    restore(copy_of_live, tmp_path / "new", head, None)
    assert stat.S_IMODE((tmp_path / "new" / "keys").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "quarterturn.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new" / "public" / "log" / "checkpoint").stat().st_mode) == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "home", "new"]


@pytest.mark.parametrize("path", ["{}/rows.db", "../rows.db"], ids=["whole", "from the home"])
def test_rows_outside_of_the_home_replace_nothing_however_their_path_is_written(live, tmp_path, opened, path):
    """`home/../rows.db` begins with the home and lies beside it."""
    settings, head = live / "quarterturn.toml", live / "head" / "signed"
    settings.write_text(settings.read_text().replace("quarterturn.db", path.format(tmp_path)))
    (live / "quarterturn.db").rename(tmp_path / "rows.db")
    opened(live).home.backups.write(tmp_path / "copy", with_keys=False)
    before = (tmp_path / "rows.db").read_bytes()
    with pytest.raises(Refused, match="there is a database at"):
        restore(tmp_path / "copy", tmp_path / "new", head, None)
    assert ((tmp_path / "rows.db").read_bytes(), (tmp_path / "new").exists()) == (before, False)
    restore(tmp_path / "copy", tmp_path / "new", head, f"sqlite:///{tmp_path}/other.db")
    assert (tmp_path / "other.db").stat().st_size == (tmp_path / "copy" / "rows.db").stat().st_size


def test_the_newest_head_is_asked_for(live, copy_of_live, tmp_path, opened):
    with pytest.raises(Malformed, match="name the newest head that was signed, with --head"):
        restore(copy_of_live, tmp_path / "new", None, None)
    with pytest.raises(NotFound, match="cannot be read"):
        restore(copy_of_live, tmp_path / "new", tmp_path / "nothing", None)
    other = tmp_path / "other"
    create(other, Settings(benchmark=BenchmarkSettings(first_month="2026-12")), None)
    stranger = opened(other)
    stranger.log.ledger.record("key/1", committed(1))
    stranger.log.ledger.publish()
    with pytest.raises((Broken, Malformed, Unsigned)):
        restore(copy_of_live, tmp_path / "new", other / "head" / "signed", None)
    assert not (tmp_path / "new").exists()


@both
def test_a_copy_that_is_older_than_the_signed_head_signs_nothing_and_says_what_to_do(  # noqa: PLR0917 - fixtures
    live, tmp_path, opened, elsewhere, say, monkeypatch
):
    opened(live).home.backups.write(tmp_path / "copy", with_keys=False)
    before = opened(live).log.writer.note()
    turn(opened(live))
    report = restore(tmp_path / "copy", tmp_path / "new", live / "public" / "log" / "checkpoint", elsewhere)
    assert report.signs is False
    assert any("It can be read, and signs nothing. Restore a newer backup" in line for line in restored_lines(report))
    new = with_keys(live, tmp_path / "new")
    for sentence in (
        "put back from an older backup. Put the newest copy of the log back",
        "Use the newest database; nothing can be promised from an older one",
    ):
        if elsewhere:
            monkeypatch.setitem(os.environ, "QUARTERTURN_DATABASE", elsewhere)
        say("turn", "run", "--month", "2026-12", "--early", "--home", new).refuses(8, sentence)
        shutil.copytree(live / "public" / "log", new / "public" / "log", dirs_exist_ok=True)
    (tmp_path / "before").write_text(before)
    opened(live).home.backups.write(tmp_path / "newer", with_keys=False)
    with pytest.raises(Refused, match="name the newest head there is"):
        restore(tmp_path / "newer", tmp_path / "third", tmp_path / "before", None)


def test_two_heads_of_one_size_are_noticed(live, copy_of_live, tmp_path, opened):
    """The old home signed again after the backup, and so did a running copy of it: that is a fork."""
    restore(copy_of_live, tmp_path / "twin", live / "head" / "signed", None)
    for home, number in ((live, 1), (with_keys(live, tmp_path / "twin"), 2)):
        opened(home).log.ledger.record("key/1", committed(number))
        opened(home).log.ledger.publish()
    opened(live).home.backups.write(tmp_path / "later", with_keys=False)
    with pytest.raises(Refused, match="are two logs of one size"):
        restore(tmp_path / "later", tmp_path / "new", tmp_path / "twin" / "head" / "signed", None)


def test_both_verbs_speak(live, tmp_path, say):
    made = say("backup", tmp_path / "copy", "--home", live, "--json")
    assert (made.code, made.data["keys"], made.data["origin"]) == (0, False, "quarterturn.example/log")
    assert say("backup", tmp_path / "copy", "--home", live).code == 8
    again = ["restore", tmp_path / "copy", "--home", tmp_path / "new"]
    assert say(*again).code == 2
    done = say(*again, "--head", tmp_path / "copy" / "head" / "signed")
    keys = f"Put its keys back: {tmp_path / 'new' / 'keys'}, of a copy whose ring holds {made.data['key_id']}"
    assert (done.code, done.out.splitlines()[1]) == (0, keys)
    assert say("turn", "run", "--early", "--home", tmp_path / "new").code == 7, "the keys are missing, and that is said"
    change(tmp_path / "copy" / "rows.db")
    assert say("restore", tmp_path / "copy", "--home", tmp_path / "x", "--head", live / "head" / "signed").code == 1
    assert say("restore", tmp_path / "none", "--home", tmp_path / "x").code == 3


def test_two_backups_at_once_do_not_touch_each_other(live, tmp_path, opened):
    houses = [opened(live) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda n: houses[n].home.backups.write(tmp_path / f"copy-{n}", with_keys=False), range(3)))
    manifests = [json.loads((tmp_path / f"copy-{n}" / MANIFEST).read_bytes())["files"] for n in range(3)]
    assert manifests[0].keys() == manifests[1].keys() == manifests[2].keys()
