"""Tests of changing a home's log key: killed after any step, and a whole turn audited across the change."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from quarterturn.app import Application
from quarterturn.keys.log_key import LogKeyChange
from vault.errors import Broken, Refused
from vault.ledger.audit.verify import audit
from vault.ledger.signatures.note import open_note

pytestmark = pytest.mark.slow


def opened(home: Path) -> closing[Application]:
    return closing(Application(home, None))


def keys(home: Path) -> list[str]:
    return (home / "public" / "log.vkey").read_text().splitlines()


@pytest.mark.parametrize("done", range(len(LogKeyChange.STEPS) + 1))
def test_interrupted_after_any_step_it_is_resumed_and_changes_once(live: Path, say: Callable, done: int) -> None:
    (old,) = keys(live)
    with opened(live) as house:
        size = house.log.writer.size
        for step in LogKeyChange.STEPS[:done]:
            step(house.log.key_change)
    with opened(live) as house:
        assert house.log.writer.fsck() == []
    said = say("log", "change-key", "--as", "ada", "--home", live, "--json")
    assert said.code == 0, said.err
    assert keys(live) == [old, said.data["vkey"]]
    assert said.data["size"] == size + 1
    assert not (live / "keys" / "log.next.key").exists()
    with opened(live) as house:
        note = house.log.writer.note()
        assert note is not None
        assert tuple(open_note(note, house.log.writer.verifiers).verified) == (said.data["vkey"],)
        house.log.ledger.verify()
        (entry,) = house.home.vault.access_log()[-1:]
        why = "going on" if done else "a new one"
        assert (entry.who, entry.what, entry.why) == ("ada", "log/key", f"log change-key: {why}")


def test_a_process_with_the_old_key_signs_nothing(live: Path, say: Callable) -> None:
    with opened(live) as running:
        running.log.ledger.publish()
        with opened(live) as house:
            for step in LogKeyChange.STEPS:
                step(house.log.key_change)
        size = running.log.writer.size
        with pytest.raises(Refused, match="it signed nothing"):
            running.log.ledger.publish()
        assert running.log.writer.size == size
        assert say("log", "change-key", "--as", "ada", "--home", live).code == 0
        with pytest.raises(Broken, match="no given key signed the note"):
            running.log.ledger.publish()
    assert say("log", "fsck", "--home", live).code == 0


def test_a_release_across_the_change_is_proved_with_both_keys(live: Path, say: Callable, tmp_path: Path) -> None:
    assert say("log", "change-key", "--as", "ada", "--home", live).code == 0
    assert say("turn", "run", "--early", "--home", live).code == 0
    release, old = live / "public" / "releases" / "Historical-2026-12", tmp_path / "old.vkey"
    assert say("audit", release, "--key", live / "public" / "log.vkey").code == 0
    old.write_text(keys(live)[0])
    refused = say("audit", release, "--key", old)
    assert refused.code == 1
    name = "+".join(keys(live)[1].split("+")[:2])
    assert f"it is signed by {name}. A log that changed its key has several" in refused.out
    assert audit(release, keys(live)).ok
    log, key = live / "public" / "log", live / "public" / "log.vkey"
    followed = say("log", "monitor", log, "--key", key, "--state", tmp_path / "kept")
    assert "the log was handed over at leaf" in followed.out
    assert say("backup", tmp_path / "copy", "--home", live).code == 0
    head = live / "head" / "signed"
    assert say("restore", tmp_path / "copy", "--home", tmp_path / "again", "--head", head).code == 0


def test_a_backup_of_before_the_change_is_restored_with_the_newest_keys_and_signs_nothing(
    live: Path, say: Callable, tmp_path: Path
) -> None:
    assert say("backup", tmp_path / "copy", "--home", live).code == 0
    assert say("log", "change-key", "--as", "ada", "--home", live).code == 0
    again, head = tmp_path / "again", live / "head" / "signed"
    words = ("restore", tmp_path / "copy", "--home", again, "--head", head)
    say(*words).refuses(1, "--key", str(head))
    assert not again.exists()
    said = say(*words, "--key", live / "public" / "log.vkey", "--json")
    assert (said.code, said.data["signs"]) == (0, False)
    assert keys(again) == keys(live)
    shutil.copytree(live / "keys", again / "keys", dirs_exist_ok=True)
    assert say("task", "list", "--home", again).code == 0
    for words in (("turn", "run", "--early"), ("log", "change-key", "--as", "ada")):
        say(*words, "--home", again).refuses(8, "do not reach there")
    say("restore", tmp_path / "copy", "--home", tmp_path / "third", "--head", tmp_path / "copy/manifest.json").refuses(
        2, "manifest.json is no head"
    )
