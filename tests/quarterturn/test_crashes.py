"""Tests of every verb killed, and its disk failing, before each lasting change: finished or undone, never half."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from grammars.admission.gates import Admission, admit
from quarterturn.app import Application
from quarterturn.cli.terminal.exits import EXITS
from rotation.generation import import_tasks
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.runs.prover import BoxProver

from . import faults
from .children import ChildResult
from .conftest import copy_of, draft_lines
from .crashes import TABLE, Blow, play, start, state, verb
from .scenes import OVER, Scene, clear, sound, with_keys


@pytest.fixture(scope="session")
def drafts(memory: Path) -> Path:
    path = memory / "drafts.jsonl"
    path.write_text(draft_lines(50, 51))
    return path


@pytest.fixture(scope="session")
def proven(drafts: Path, templates: Path, memory: Path) -> dict[str, Admission]:
    """Return the box's results for them, made once: only what follows is struck."""
    prover, read = BoxProver(BwrapBox()), import_tasks.read_drafts(drafts.read_bytes(), "drafts")
    with closing(Application(copy_of(templates, "empty", memory / "proven"), None)) as house:
        others = house.tasks.known_tasks.index(who="ada")
        return {draft.id: admit(draft, prover, others) for draft in read}


@pytest.fixture
def scene(tmp_path: Path, templates: Path) -> Scene:
    return Scene(tmp_path, templates)


@pytest.fixture(scope="session")
def unharmed(memory: Path, templates: Path) -> Callable[[str], dict]:
    """Return the state after a verb that nothing struck."""
    known = {}

    def give(name: str) -> dict:
        if name not in known:
            with tempfile.TemporaryDirectory(dir=memory) as folder:
                said = start(Scene(Path(folder), templates).set(name))()
                assert said.code == 0, said.text
                known[name] = state(Path(folder))
        return known[name]

    return give


CHEAP = ("task review", "release path", "backup")
"""Verbs of few changes: with these the small size plays a disk that fails."""
DEAR = ("turn run",)
"""Verbs that the small size does not kill: `rotation/turn` kills a turn in process."""
VERBS = [
    *(pytest.param(name, "kill", marks=[pytest.mark.full] * (name in DEAR)) for name in TABLE if name != "task import"),
    *((name, "fail") for name in CHEAP),
    *(
        pytest.param(name, "fail", marks=pytest.mark.exhaustive)  # `test_faults.py` lets calls fail behind each change
        for name in TABLE
        if name not in (*CHEAP, "task import")
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), VERBS)
def test_a_verb_that_is_struck_at_every_change_is_finished_once(name, way, scene, unharmed):
    work = scene.set(name)
    *blows, last = play(work, way, scene.base)
    assert last.said.code == 0 or OVER in last.said.text, last.said.text
    assert state(scene.base) == unharmed(name), "nothing is lost, and nothing is there twice"
    sound(scene.home if name != "restore" else with_keys(scene))
    require_the_table(name, way, blows)


def test_the_page_has_a_table_for_every_verb_that_is_prepared():
    prepared = {name for name in vars(Scene) if not name.startswith("_")} - {"clear", "set", "wait_for_a_review"}
    assert {name.replace(" ", "_") for name in TABLE} == prepared


def require_the_table(name: str, way: str, blows: list[Blow]) -> None:
    found = [(struck, blow.left) for blow in blows for struck in blow.said.struck]
    killed = [row for row in TABLE[name] if row[0] != "after: the view"]
    assert found == TABLE[name] or (way == "kill" and found == killed)
    for blow in blows:
        if way == "kill":
            assert blow.said.code == -9
        elif blow.said.code != 0:  # what a verb can do without
            clear(blow.said)


@pytest.mark.full
@pytest.mark.box
@pytest.mark.slow
@pytest.mark.parametrize("way", ["kill", pytest.param("fail", marks=pytest.mark.exhaustive)])
def test_an_import_that_is_struck_at_every_change_keeps_each_task_once(way, scene, drafts, proven):
    copy_of(scene.templates, "empty", scene.home)
    *blows, last = play(scene.task_import(drafts, proven), way, scene.base)
    assert last.said.code == 0, last.said.text
    require_the_table("task import", way, blows)
    with closing(Application(scene.home, None)) as house:
        assert [record.state for record in house.home.vault.records()] == ["admitted"] * 2
    sound(scene.home)


@pytest.mark.box
@pytest.mark.needs("strace")
def test_an_import_reports_a_failing_disk_and_the_next_one_stores_each_task_once(scene, drafts, proven):
    def prepare() -> Callable[[], int]:
        copy_of(scene.templates, "empty", scene.home)
        return scene.task_import(drafts, proven)

    said = start(prepare())()
    assert said.code == 0, said.text
    unharmed = state(scene.base)
    scene.clear()
    found = faults.play(scene, "task import", (("sync", 1), ("database", 1)), unharmed, prepare)
    assert found.wrong == []
    assert {"fdatasync home/quarterturn.db-wal", "pwrite64 home/quarterturn.db-wal"} <= found.calls.keys()


# -- a disk that is full, and one that cannot be written to -----------------------------------------------------------


@contextmanager
def disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


ON_DISK = ["init", "task review", "turn run", "release path", "backup", "restore"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_DISK)
@pytest.mark.needs("root")
def test_on_a_full_disk_a_verb_reports_it_and_is_finished_when_there_is_space(name, tmp_path, templates, unharmed):
    with disk(tmp_path / "disk", "48m") as base:
        scene, said = Scene(base, templates), None
        work = scene.set(name)
        ballast = base / ".ballast"
        for room in (0, 24, 96, 384):  # KiB
            free = os.statvfs(base)
            size = max(0, free.f_bavail * free.f_frsize - room * 1024)
            with ballast.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)
            said = start(work)()
            ballast.unlink()
            if said.code == 0 or OVER in said.text:
                break
            clear(said)
        if said.code != 0:
            said = start(work)()
        assert said.code == 0 or OVER in said.text, said.text
        assert state(base) == unharmed(name)
        sound(scene.home if name != "restore" else with_keys(scene))


@pytest.mark.slow
@pytest.mark.needs("root")
def test_on_a_read_only_disk_every_verb_says_so_and_changes_nothing(tmp_path, templates, drafts):
    with disk(tmp_path / "disk", "48m") as base:
        scene = Scene(base, templates)
        works = {"turn run": scene.set("turn run")} | {
            "init": verb("init", "--month", "2026-12", "--home", base / "other"),
            "backup": scene.backup(),
            "task review": scene.task_review(),
            "task list": verb("task", "list", "--home", scene.home),
        }
        before = state(base)
        subprocess.run(["mount", "-o", "remount,ro", base], check=True)
        for name, work in works.items():
            said = start(work)()
            assert "internal error" not in said.text, (name, said.text)
            clear(said)
        subprocess.run(["mount", "-o", "remount,rw", base], check=True)
        assert state(base) == before
        assert start(works["turn run"])().code == 0


# -- two at once ------------------------------------------------------------------------------------------------------


def both(one, other) -> list[ChildResult]:
    return [ended() for ended in [start(one), start(other)]]


def codes(said: list[ChildResult]) -> list[int]:
    for one in said:
        assert one.code in {0, *EXITS.values()}, one.text
        assert "Traceback" not in one.text
    return sorted(one.code for one in said)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["backup", "release path", "keys rotate"])
def test_of_two_equal_verbs_at_once_one_acts_or_both_agree(name, scene, unharmed):
    work = scene.set(name)
    assert codes(both(work, work))[0] == 0
    assert state(scene.base) == unharmed(name)
    sound(scene.home)


@pytest.mark.slow
def test_two_homes_are_not_made_in_one_folder(scene, unharmed):
    said = both(scene.init(), scene.init())
    assert codes(said).count(0) <= 1
    start(scene.init())()
    assert state(scene.base) == unharmed("init")
    sound(scene.home)


@pytest.mark.slow
def test_two_reviewers_decide_each_task_once(scene):
    work = scene.set("task review")
    assert codes(both(work, scene.task_review("hedy")))[0] == 0
    with closing(Application(scene.home, None)) as house:
        assert [record.state for record in house.home.vault.records()] == ["reviewed"] * 6
        assert [len(house.tasks.drafts.reviews(record.id)) for record in house.home.vault.records()] == [1] * 6
    sound(scene.home)


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.full
def test_two_imports_of_one_file_keep_each_task_once_also_during_a_turn(scene, drafts, proven):
    turn = scene.set("turn run")
    work = scene.task_import(drafts, proven)
    ended = [start(turn), start(work), start(work)]
    said = [one() for one in ended]
    codes(said)
    assert said[0].code == 0, said[0].text
    assert sorted(one.code for one in said[1:]) == [0, EXITS["refused"]], [one.text for one in said]
    with closing(Application(scene.home, None)) as house:
        assert [record.state.value for record in house.home.vault.records()].count("admitted") == 2
    sound(scene.home)
