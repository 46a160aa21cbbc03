"""Tests of changing the ring's key in a whole home: rows and key files, resumed where it was interrupted."""

import itertools
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quarterturn.app import Application
from quarterturn.backup import rows
from quarterturn.errors import Unavailable
from quarterturn.keys import rekeying
from quarterturn.settings import ModelSettings
from vault.files import list_files
from vault.keys import private_files
from vault.keys.seal import Sealed, seal

from ..children import Child, die
from ..conftest import configure

pytestmark = pytest.mark.slow


@pytest.fixture
def with_model(home, opened):
    """A home that also holds a language model's key."""
    configure(home, models={"smart": ModelSettings(wire="openai", url="https://model.example/v1", models=["m"])})
    house = opened(home)
    house.keys.models.keep_key("smart", "dev", "test-key-of-dev")
    house.close()  # a child may open it
    return home


def key_files(home):
    found = {path: path.read_bytes() for path in list_files(home / "keys") if path.name != "ring.json"}
    return {path.name: Sealed.from_json(data, path.name) for path, data in found.items()}


def everything_opens(home):
    house = Application(home, None)
    house.log.ledger.publish()
    assert house.keys.sender.public_pem
    assert house.keys.month_key
    for record in house.home.vault.records():
        house.home.vault.open(record.id, who="ada", why="look")
    house.home.vault.verify_access_log()
    house.close()


@pytest.mark.both_databases
def test_one_verb_wraps_rows_and_files_again_and_says_how_many(stocked, say):
    before, (old,) = key_files(stocked), say("keys", "list", "--home", stocked, "--json").data["ring"]
    said = say("keys", "rotate", "--home", stocked, "--as", "ada", "--json")
    assert said.code == 0
    assert said.data == {
        "key_id": said.data["key_id"],
        "resumed": False,
        "rewrapped": {"tasks": old["tasks"], "blobs": old["blobs"], "files": len(before)},
        "dropped": [old["key_id"]],
    }
    assert old["tasks"] > 0
    after = key_files(stocked)
    ciphertexts = [{name: one.ciphertext for name, one in found.items()} for found in (before, after)]
    assert ciphertexts[0] == ciphertexts[1]
    assert {one.key_id for one in after.values()} == {said.data["key_id"]}
    (new,) = say("keys", "list", "--home", stocked, "--json").data["ring"]
    assert (new["key_id"], new["primary"], new["age_days"]) == (said.data["key_id"], True, 0)
    assert [new[name] for name in ("tasks", "blobs", "files")] == [old[name] for name in ("tasks", "blobs", "files")]
    everything_opens(stocked)
    entries = say("access", "log", "--home", stocked, "--json").data
    assert [entry["who"] for entry in entries if entry["what"] == f"ring/{old['key_id']}"] == ["ada", "ada"]


def test_progress_goes_to_standard_error_and_the_lines_say_what_to_keep(with_model, say, opened):
    said = say("keys", "rotate", "--home", with_model, "--as", "ada")
    assert said.code == 0
    assert "wrapping again" in said.err
    assert "Copy " in said.out
    house = opened(with_model)
    with house.keys.models.gateway("smart", "dev") as gateway:
        assert gateway is not None
    listed = say("keys", "list", "--home", with_model).out
    assert "primary, 0 days old, protects 0 tasks," in listed
    assert house.keys.month_key.public_key().public_bytes_raw().hex() in listed


def test_old_and_new_are_listed_while_it_is_under_way(home, say, opened):
    house = opened(home, lambda: datetime(2031, 1, 1, tzinfo=UTC))
    old = house.home.ring.key_id
    house.home.ring.add_key(house.home.now())
    ring = house.keys.rotation.keys()
    told = [(key.key_id == old, key.primary, key.protects.files) for key in ring]
    assert told == [(True, False, len(key_files(home))), (False, True, 0)]
    assert ring[1].made == datetime(2031, 1, 1, tzinfo=UTC)
    assert (ring[1].age_days, ring[0].age_days is None or ring[0].age_days > 0) == (0, True)
    said = say("keys", "rotate", "--home", home, "--as", "ada", "--json")
    assert (said.data["resumed"], said.data["dropped"]) == (True, [old])


def test_a_sealed_file_of_which_nobody_knows_the_use_keeps_the_old_key(home, say, opened):
    house = opened(home)
    old = house.home.ring.key_id
    private_files.create(home / "keys" / "guest", seal(b"x", b"a guest's", house.home.ring).to_json(), "guest")
    (home / "keys" / "note.txt").write_text("not sealed, and left alone")
    (home / "keys" / "note.txt").chmod(0o600)
    say("keys", "rotate", "--home", home, "--as", "ada").refuses(
        8, f"{home / 'keys' / 'guest'} is sealed for an unknown use"
    )
    assert old in house.home.ring.key_ids
    (home / "keys" / "guest").unlink()
    assert say("keys", "rotate", "--home", home, "--as", "ada").code == 0
    assert house.home.ring.key_ids == (house.home.ring.key_id,)


def test_a_key_that_is_entered_meanwhile_is_under_the_new_key(with_model):
    """A running service enters a key between any two steps of a rotation in another process."""
    service, other = Application(with_model, None), Application(with_model, None)
    assert service.home.ring.key_id == other.home.ring.key_id
    other.home.ring.add_key(other.home.now())
    service.keys.models.keep_key("smart", "private", "test-key-of-private")
    assert key_files(with_model)["smart.private.key"].key_id == other.home.ring.key_id
    service.close()
    other.close()


def test_no_backup_is_kept_whose_rows_need_two_keys(home, tmp_path, monkeypatch, say):
    service, take = Application(home, None), rows.take

    def meanwhile(*arguments):
        say("keys", "rotate", "--home", home, "--as", "ada")
        return take(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(rows, "take", meanwhile)
        with pytest.raises(Unavailable, match="key ring was changed meanwhile: make the backup again"):
            service.home.backups.write(tmp_path / "copy", with_keys=False)
    service.home.ring.add_key(service.home.now())
    with pytest.raises(Unavailable, match="finish that with `quarterturn keys rotate`"):
        service.home.backups.write(tmp_path / "copy", with_keys=False)
    assert [path.name for path in tmp_path.iterdir()] == [home.name]
    say("keys", "rotate", "--home", home, "--as", "ada")
    assert service.home.backups.write(tmp_path / "copy", with_keys=False)["key_id"] == service.home.ring.key_id
    said = say("restore", tmp_path / "copy", "--home", tmp_path / "new")
    assert f"of a copy whose ring holds {service.home.ring.key_id}" in said.out
    service.close()


def rewrap_and_die(home: Path) -> None:
    """Die right after the first key file was renamed, and before its folder is synced."""
    house, calls = Application(home, None), itertools.count(1)
    house.home.ring.add_key(house.home.now())

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        return lambda *given, **how: die() if next(calls) == 3 else real(*given, **how)

    os.fsync, os.rename = counted(os.fsync), counted(os.rename)
    rekeying.KeyFiles(house.home.places, house.home.ring).rewrap()


def test_killed_among_the_files_it_goes_on(with_model, say):
    assert Child(lambda: rewrap_and_die(with_model))().code == -signal.SIGKILL
    everything_opens(with_model)
    under = {one.key_id for one in key_files(with_model).values()}
    assert len(under) == 2
    said = say("keys", "rotate", "--home", with_model, "--as", "ada", "--json")
    assert said.data["resumed"] is True
    assert said.data["rewrapped"]["files"] == len(key_files(with_model)) - 1
    everything_opens(with_model)
