"""Tests of copied programs: files of their own per class of runs, and never out of date."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.errors import Unavailable
from sandbox.isolation import program_copies
from sandbox.isolation.program_copies import Copies, Recipe, usual_folders


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "inner" / "__pycache__").mkdir(parents=True)
    (folder / "program").write_text("#!/bin/sh\necho here\n")
    (folder / "program").chmod(0o4755)
    (folder / "inner" / "data").write_text("one")
    (folder / "inner" / "same").hardlink_to(folder / "inner" / "data")
    (folder / "inner" / "link").symlink_to("data")
    return folder


@pytest.fixture
def recipe(source):
    return Recipe("agent", ("sh", "no-such-program"), {"/opt/things": source, "/opt/none": source / "none"})


def inode(path):
    status = Path(path).stat()
    return status.st_dev, status.st_ino


def test_two_classes_share_no_file_with_each_other_nor_with_the_host(tmp_path, source, recipe):
    made = {name: Copies([tmp_path / "copies"], name).get(recipe) for name in ("sealed", "open")}
    for place, original in (("/opt/things/program", source / "program"), ("/usr/bin/sh", "/bin/sh")):
        files = [made["sealed"].at(place), made["open"].at(place), original]
        if place.startswith("/opt") or files[0].exists():
            assert len({inode(file) for file in files}) == 3
            assert len({Path(file).read_bytes() for file in files}) == 1
    both = [{inode(file) for file in copy.folder.rglob("*") if not file.is_symlink()} for copy in made.values()]
    assert not both[0] & both[1]


def test_a_program_comes_with_its_loader_and_libraries_and_nothing_else_of_the_host(tmp_path, recipe):
    copy = Copies([tmp_path / "copies"], "open").get(recipe)
    places = {place for place, *_ in copy.entries}
    needed = subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout.split()
    libraries = {os.path.realpath(word) for word in needed if word.startswith("/")}
    assert libraries <= places
    named = {place for place in places if not place.startswith(("/opt/things", "/usr/local"))}
    assert len(named) < 20
    assert copy.roots[0] == "/usr"


def test_no_loader_is_asked_about_a_folder_of_foreign_programs(tmp_path, source, monkeypatch):
    """`ldd` has the loader run what an ELF file names as its auditors (DT_AUDIT), outside any box."""
    shutil.copyfile("/bin/sh", source / "inner" / "library.so")
    monkeypatch.setattr(program_copies.subprocess, "run", lambda command, **_: pytest.fail(f"it ran {command}"))
    copy = Copies([tmp_path / "copies"], "open").get(Recipe("server-x", folders={"/opt/added/x": source}))
    assert copy.at("/opt/added/x/inner/library.so").is_file()


def test_nothing_in_it_is_set_user_id_and_nobody_else_may_write(tmp_path, recipe):
    copy = Copies([tmp_path / "copies"], "open").get(recipe)
    assert oct(copy.at("/opt/things/program").stat().st_mode & 0o7777) == "0o755"
    assert all(not path.stat().st_mode & 0o6022 for path in copy.folder.rglob("*") if not path.is_symlink())
    assert copy.at("/opt/things/inner/link").readlink() == Path("data")
    assert inode(copy.at("/opt/things/inner/data")) == inode(copy.at("/opt/things/inner/same"))


def test_it_is_made_once_and_again_when_a_source_changed(tmp_path, source, recipe):
    kept = Copies([tmp_path / "copies"], "open")
    first = kept.get(recipe)
    assert kept.get(recipe).folder == first.folder
    (source / "inner" / "__pycache__" / "data.pyc").write_text("made by Python, which looks whether it fits")
    assert kept.get(recipe).folder == first.folder
    (source / "inner" / "more").write_text("two")
    second = kept.get(recipe)
    assert second.folder != first.folder
    assert second.at("/opt/things/inner/more").read_text() == "two"


@pytest.mark.parametrize(
    "change",
    [
        lambda source: (source / "program").write_text("#!/bin/sh\necho there, with other words\n"),
        lambda source: (source / "program").unlink(),
        lambda source: ((source / "inner/link").unlink(), (source / "inner/link").symlink_to("same")),
        lambda source: (source / "none").mkdir(),
    ],
    ids=["content", "gone", "link", "new folder"],
)
def test_every_kind_of_change_is_seen(tmp_path, source, recipe, change):
    kept = Copies([tmp_path / "copies"], "open")
    first = kept.get(recipe).folder
    change(source)
    assert kept.get(recipe).folder != first


def test_a_fresh_copy_is_used_without_a_look_while_it_is_there(tmp_path, source, recipe):
    first = Copies([tmp_path / "copies"], "open").get(recipe).folder
    (source / "new").touch()
    assert Copies([tmp_path / "copies"], "open").get(recipe, fresh_for=3600).folder == first
    shutil.rmtree(first)
    assert Copies([tmp_path / "copies"], "open").get(recipe, fresh_for=3600).at("/opt/things/new").exists()


def test_an_old_one_stays_while_somebody_holds_it(tmp_path, source, recipe, monkeypatch):
    kept = Copies([tmp_path / "copies"], "open")
    first = kept.get(recipe)
    (source / "new").touch()
    kept.get(recipe)
    assert first.folder.is_dir()  # this process holds it
    for descriptor in program_copies._HELD.values():
        os.close(descriptor)
    monkeypatch.setattr(program_copies, "_HELD", {})
    (source / "newer").touch()
    third = kept.get(recipe)
    assert [path.name for path in third.folder.parent.iterdir() if path.is_dir()] == [third.folder.name]


def test_a_half_made_copy_of_a_killed_process_is_never_used_and_is_removed(tmp_path, source, recipe, monkeypatch):
    kept = Copies([tmp_path / "copies"], "open")
    monkeypatch.setattr(program_copies, "_write", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        kept.get(recipe)
    monkeypatch.undo()
    folder = tmp_path / "copies" / "open" / "agent"
    assert not any(path.is_dir() for path in folder.iterdir())
    (folder / "0123.part").mkdir()
    (folder / "whole-but-not-ours").mkdir()
    assert kept.get(recipe).at("/opt/things/program").exists()
    assert not (folder / "0123.part").exists()


def test_one_whose_list_is_damaged_is_made_anew(tmp_path, recipe):
    kept = Copies([tmp_path / "copies"], "open")
    first = kept.get(recipe)
    document = json.loads((first.folder / "list.json").read_text())
    (first.folder / "list.json").write_text(json.dumps(document | {"recipe": "another"}))
    shutil.rmtree(first.at("/opt"))
    assert kept.get(recipe).at("/opt/things/program").exists()


def test_a_folder_that_others_may_write_is_not_used(tmp_path, recipe):
    open_to_all, own = tmp_path / "all", tmp_path / "own"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    assert Copies([open_to_all, own], "open").get(recipe).folder.is_relative_to(own)
    (tmp_path / "link").symlink_to(own)
    with pytest.raises(Unavailable, match=r"nowhere to keep copies .*: make one of .* writable"):
        Copies([open_to_all, tmp_path / "link"], "open").get(recipe)


def test_copies_lie_beside_the_environments_or_where_a_user_keeps_what_can_be_remade(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    first, second, third = usual_folders(tmp_path)
    assert (first, second) == (tmp_path / "copies", Path("/cache/quarterturn/copies"))
    assert third.name == f"quarterturn-copies-{os.geteuid()}"


def test_what_lies_below_a_copy_is_where_it_has_nothing_and_never_behind_a_link(tmp_path, source, recipe):
    outside, stranger = tmp_path / "outside", tmp_path / "stranger"
    outside.mkdir()
    for path in ("opt/things/program", "opt/things/inner/new", "opt/things/inner/link/x", "opt/things/inner/data/x"):
        (stranger / path).parent.mkdir(parents=True, exist_ok=True)
        (stranger / path).write_text("foreign")
    (stranger / "opt/out").symlink_to(outside)
    (tmp_path / "second/opt/out").mkdir(parents=True)
    (tmp_path / "second/opt/out/x").write_text("foreign")
    copies = Copies([tmp_path / "copies"], "open")
    base = copies.get(recipe)
    copy = copies.get(Recipe("more", base=base, below=[stranger, tmp_path / "second"]))
    assert copy.at("/opt/things/program").read_text() == "#!/bin/sh\necho here\n"
    assert inode(copy.at("/opt/things/program")) == inode(base.at("/opt/things/program"))
    assert copy.at("/opt/things/inner/new").read_text() == "foreign"
    assert copy.at("/opt/things/inner/data").read_text() == "one"
    assert copy.at("/opt/out").readlink() == outside
    assert list(outside.iterdir()) == []
    assert copies.get(Recipe("more", base=base, below=[stranger, tmp_path / "second"])) is not None
    (stranger / "opt/things/inner/new").write_text("changed")
    again = copies.get(Recipe("more", base=base, below=[stranger, tmp_path / "second"]))
    assert again.at("/opt/things/inner/new").read_text() == "changed"
