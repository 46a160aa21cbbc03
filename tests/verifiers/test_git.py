"""Tests of the git predicates on repositories that real git leaves: history, tags, index, work tree."""

import shutil
import subprocess

import pytest

from .builders import Asked

ask = Asked("git", repository="site")


@pytest.mark.slow
def test_history_is_read_before_and_after_it_is_packed(real):
    real.commit("One", a="1\n")
    real.commit("Two\n\nwith a body", a="2\n", b="B")
    real.git("tag", "-a", "v1", "-m", "annotated", "HEAD~1")
    real.git("checkout", "-q", "-b", "side")
    real.commit("Three", c="3\n")
    for pack in (False, True):
        if pack:
            real.git("gc", "-q", "--aggressive", "--prune=now")
            assert not (real.folder / ".git/refs/heads/main").exists()
        views = real.views()
        assert ask(views, "commitCount", branch="side", count=3)
        assert ask(views, "headMessage", branch="main", equals="Two\n\nwith a body")
        assert ask(views, "headMessage", branch="main", contains="body")
        assert ask(views, "fileAtRef", ref="v1", path="a", text="1\n")
        assert ask(views, "fileAtRef", ref="side~2", path="a", text="1", trim=True)
        assert ask(views, "fileAbsentAtRef", ref="main", path="c")
        assert not ask(views, "fileAbsentAtRef", ref="side~3", path="c")
        assert ask(views, "tagExists", tag="v1", same_as="main~1")
        assert ask(views, "isAncestor", ancestor="v1", of="side")
        assert not ask(views, "isAncestor", ancestor="side", of="main")
        assert ask(views, "commitChanges", ref="main", paths=["a", "b"])
        assert ask(views, "currentBranch", branch="side")
        assert ask(views, "worktreeClean")


def test_staged_changed_deleted_and_untracked_files_are_told_apart(real):
    real.commit("One", a="1", b="1", c="1")
    real.write("a", "2")
    real.git("rm", "-q", "b")
    real.git("add", "a")
    real.write("deep/new", "x")
    assert ask(real.views(), "stagedPaths", paths=["a", "b"])
    assert not ask(real.views(), "worktreeClean", untracked=True)
    real.git("commit", "-q", "-m", "Two")
    assert ask(real.views(), "stagedPaths", paths=[])
    assert not ask(real.views(), "worktreeClean")
    assert ask(real.views(), "worktreeClean", untracked=True)
    (real.folder / "c").chmod(0o755)
    assert not ask(real.views(), "worktreeClean", untracked=True)
    (real.folder / "c").unlink()
    assert ask.evidence(real.views(), "worktreeClean", untracked=True).found == 'changed: "c"; untracked: none'


def test_links_and_programs_in_the_work_tree_are_hashed_as_git_does(real):
    real.write("run", "#!/bin/sh\n")
    (real.folder / "run").chmod(0o755)
    (real.folder / "link").symlink_to("/nowhere/at all")
    real.commit("One")
    assert real.git("status", "--porcelain") == ""
    assert ask(real.views(), "worktreeClean")
    assert not ask(real.views(), "fileAtRef", ref="main", path="link", text="/nowhere/at all")


def test_a_repository_without_a_commit_has_nothing_but_what_is_staged(real):
    real.write("a", "1")
    real.git("add", "a")
    views = real.views()
    assert ask(views, "stagedPaths", paths=["a"])
    assert not ask(views, "currentBranch", branch="main")
    assert not ask(views, "branchExists", branch="main")
    assert not ask(views, "fileAbsentAtRef", ref="HEAD", path="a")


def test_a_detached_head_is_on_no_branch_but_has_a_commit(real):
    real.commit("One", a="1")
    real.commit("Two", a="2")
    real.git("checkout", "-q", "--detach", "HEAD~1")
    views = real.views()
    assert not ask(views, "currentBranch", branch="main")
    assert ask(views, "fileAtRef", ref="HEAD", path="a", text="1")
    assert not ask(views, "branchAt", branch="main", same_as="HEAD")


def test_a_bare_repository_is_a_repository(real):
    real.commit("One", a="1")
    real.git("clone", "-q", "--bare", ".", "../bare.git")
    shutil.rmtree(real.folder)
    (real.folder.parent / "bare.git").rename(real.folder)
    assert ask(real.views(), "fileAtRef", ref="main", path="a", text="1")


def test_a_merge_contains_what_was_merged_and_an_unfinished_one_is_wreckage(real):
    real.commit("One", a="1")
    real.git("checkout", "-q", "-b", "side")
    real.commit("Two", a="2")
    real.git("checkout", "-q", "main")
    real.commit("Three", b="3")
    assert not ask(real.views(), "isAncestor", ancestor="side", of="main")
    real.git("merge", "-q", "--no-edit", "side")
    assert ask(real.views(), "isAncestor", ancestor="side", of="main")
    assert ask(real.views(), "commitCount", branch="main", count=4)
    real.git("checkout", "-q", "-b", "other", "main~1")
    real.commit("Four", a="4")
    with pytest.raises(subprocess.CalledProcessError):
        real.git("merge", "-q", "main")
    assert "unfinished merge" in ask.evidence(real.views(), "stagedPaths", paths=[]).found


@pytest.mark.parametrize("sparse_index", ["true", "false"])
def test_what_a_sparse_checkout_leaves_out_is_clean_and_in_the_index(real, sparse_index):
    real.commit("One", **{"kept/a": "1", "left/b": "2", "left/deep/c": "3"})
    real.git("config", "index.sparse", sparse_index)
    real.git("sparse-checkout", "set", "--cone", *(["--sparse-index"] if sparse_index == "true" else []), "kept")
    assert not (real.folder / "left").exists()
    assert ask(real.views(), "worktreeClean")
    assert ask(real.views(), "stagedPaths", paths=[])
    (real.folder / "kept/a").unlink()
    assert not ask(real.views(), "worktreeClean", untracked=True)


def test_a_submodule_is_clean_and_a_file_in_its_place_is_not(real, tmp_path):
    real.commit("One", a="1")
    real.git("clone", "-q", str(real.folder), str(tmp_path / "other"))
    real.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "other"), "inner")
    real.git("commit", "-q", "-m", "Two")
    assert ask(real.views(), "worktreeClean")
    real.write("inner2/x", "y")
    assert not ask(real.views(), "worktreeClean")


def test_a_repository_whose_objects_have_longer_names_says_so(real):
    real.git("init", "-q", "--object-format=sha256", "../longer")
    views = real.views()
    evidence = Asked("git", repository="longer").evidence(views, "branchExists", branch="main")
    assert "SHA-256" in evidence.found


LAYOUTS = {
    "version 2": ["update-index --index-version 2"],
    "version 4": ["update-index --index-version 4"],
    "split": ["update-index --split-index"],
    "split, of version 4": ["update-index --index-version 4", "update-index --split-index"],
    "untracked cache": ["update-index --force-untracked-cache", "status"],
    "monitored": ["config core.fsmonitor .git/none", "update-index --fsmonitor"],
    "many threads": ["-c index.threads=2 update-index --force-write-index"],
    "packed refs": ["pack-refs --all --prune"],
    "packed objects": ["repack -adfq"],
    "multi-pack index": ["repack -dq", "multi-pack-index write"],
    "commit graph": ["commit-graph write --reachable"],
}


@pytest.mark.slow
@pytest.mark.parametrize("commands", LAYOUTS.values(), ids=LAYOUTS)
def test_what_is_staged_is_read_in_each_layout_of_git(real, commands):
    real.commit("One", **{f"f{number:03}": str(number) for number in range(130)}, **{"deep/a": "1", "deep/b": "2"})
    for command in commands:
        real.git(*command.split())
    assert ask(real.views(), "worktreeClean")
    real.write("f007", "changed")
    real.write("f129", "changed too")
    real.write("deep/aa", "new")
    real.git("add", "-A")
    real.git("rm", "-q", "f064", "deep/b")
    views = real.views()
    assert ask(views, "stagedPaths", paths=["deep/aa", "deep/b", "f007", "f064", "f129"])
    assert ask(views, "fileAtRef", ref="main", path="f064", text="64")
    real.git("commit", "-q", "-m", "Two")
    assert ask(real.views(), "worktreeClean")
    assert ask(real.views(), "commitCount", branch="main", count=2)


def test_a_split_index_without_its_shared_part_is_named(real):
    real.commit("One", a="1")
    real.git("update-index", "--split-index")
    (shared,) = (real.folder / ".git").glob("sharedindex.*")
    shared.chmod(0o644)
    shared.write_bytes(shared.read_bytes()[:-1] + b"x")
    assert "shared index" in ask.evidence(real.views(), "worktreeClean").found
    ask.wins_nothing(real.views(), "stagedPaths", paths=[])


def test_a_shallow_clone_ends_where_git_ends_it(real):
    for number in "123":
        real.commit(number, a=number)
    real.git("clone", "-q", "--depth", "2", f"file://{real.folder}", "../short")
    short = Asked("git", repository="short")
    assert short(real.views(), "commitCount", branch="main", count=2)
    assert short(real.views(), "worktreeClean")


def test_what_is_not_read_of_a_repository_is_named(real):
    real.commit("One", a="1")
    real.git("worktree", "add", "-q", "-b", "side", "../linked")
    real.git("clone", "-q", "--shared", ".", "../borrower")
    for name, config in (("table", "[extensions]\n\trefStorage = reftable\n"),):
        real.git("init", "-q", f"../{name}")
        (real.folder.parent / name / ".git/config").write_text(config)
    views = real.views()
    for name, sentence in (("linked", "a work tree of another"), ("borrower", "alternates"), ("table", "reftable")):
        of = Asked("git", repository=name)
        assert sentence in of.evidence(views, "branchExists", branch="main").found
        of.wins_nothing(views, "branchExists", branch="main")
    assert ask(views, "branchExists", branch="side")
