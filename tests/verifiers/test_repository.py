"""Tests of hostile repositories: nothing in them runs, nothing is believed, nothing is unknown."""

import hashlib
import shutil
import zlib

import pytest

from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.states.git import history
from verifiers.states.git.examples import repository
from verifiers.tree import FileTree, JudgeInput, Node, tree_of

from . import hostile
from .builders import Asked

ask = Asked("git", repository="site")

ONE = ("main", "Start the site", {"index.html": "hi\n", "docs/a.md": "A\n"})
TWO = ("main", "Change it", {"index.html": "ho\n"})


def changed(views, **nodes):
    """Return the views with some files of the repository replaced; a name's `__` stands for a slash."""
    tree = dict(views.states["git"])
    for path, node in nodes.items():
        tree["site/" + path.replace("__", "/")] = node if isinstance(node, Node) else Node("file", node)
    return JudgeInput({"git": FileTree(tree)})


def test_nothing_that_the_repository_says_is_run(real, tmp_path):
    real.commit("One", a="1")
    trap = tmp_path / "sprung"
    script = real.folder / ".git/hooks/anything"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    for name in ("post-index-change", "reference-transaction", "pre-auto-gc"):
        shutil.copy(script, script.with_name(name))
    with (real.folder / ".git/config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {script}\n\tpager = {script}\n\tsshCommand = {script}\n\tgitProxy = {script}\n"
            f'[filter "x"]\n\tclean = {script}\n\tsmudge = {script}\n[diff]\n\texternal = {script}\n'
            f"[extensions]\n\tpartialClone = origin\n[alias]\n\trev-list = !{script}\n\tls-files = !{script}\n"
            f'[remote "origin"]\n\turl = ext::{script}\n\tpromisor = true\n'
        )
    (real.folder / ".gitattributes").write_text("* filter=x diff=x\n")
    views = real.views()
    for name, arguments in [
        ("branchExists", {"branch": "main"}),
        ("commitCount", {"branch": "main", "count": 1}),
        ("fileAtRef", {"ref": "main", "path": "a", "text": "1"}),
        ("stagedPaths", {"paths": []}),
        ("worktreeClean", {"untracked": True}),
    ]:
        assert ask(views, name, **arguments)
    assert not trap.exists()


def test_objects_of_another_repository_are_out_of_reach(real, tmp_path):
    real.commit("One", a="1")
    shutil.copytree(real.folder / ".git/objects", tmp_path / "elsewhere")
    for part in (real.folder / ".git/objects").glob("??"):
        shutil.rmtree(part)
    info = real.folder / ".git/objects/info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{tmp_path / 'elsewhere'}\n")
    assert real.git("rev-list", "--count", "main") == "1"  # git itself is led there
    assert not ask(real.views(), "commitCount", branch="main", count=1)


def test_replaced_and_grafted_history_is_not_believed(real):
    real.commit("One", a="1")
    real.commit("Two", a="2")
    real.git("replace", "HEAD", "HEAD~1")
    assert real.git("log", "-1", "--format=%s") == "One"
    assert ask(real.views(), "headMessage", branch="main", equals="Two")
    assert ask(real.views(), "commitCount", branch="main", count=2)


def test_a_tag_with_a_branchs_name_is_not_the_branch(real):
    real.commit("One", a="1")
    real.git("tag", "main")
    real.commit("Two", a="2")
    assert ask(real.views(), "fileAtRef", ref="main", path="a", text="2")
    assert ask(real.views(), "headMessage", branch="main", equals="Two")
    assert not ask(real.views(), "branchExists", branch="v1")


def test_a_link_among_the_refs_leads_nowhere(tmp_path):
    views = repository([ONE])
    tip = views.states["git"]["site/.git/refs/heads/main"].data
    (tmp_path / "tip").write_bytes(tip)
    linked = changed(views, **{".git__refs__heads__sly": Node("symlink", target=str(tmp_path / "tip"))})
    assert not ask(linked, "branchExists", branch="sly")
    assert ask(linked, "branchExists", branch="main")


def test_an_object_that_is_not_what_it_is_called_deceives_nobody():
    views = repository([ONE])
    wanted, lie = b"hi\n", b"no\n"
    name = hashlib.sha1(b"blob 3\0" + wanted).hexdigest()
    path = f".git__objects__{name[:2]}__{name[2:]}"
    assert ask(views, "fileAtRef", ref="main", path="index.html", text="hi\n")
    lying = changed(views, **{path: zlib.compress(b"blob 3\0" + lie)})
    assert "is broken" in ask.evidence(lying, "fileAtRef", ref="main", path="index.html", text="no\n").found
    assert not ask(lying, "fileAtRef", ref="main", path="index.html", text="no\n")


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (".git__HEAD", b"\xff\xfe"),
        (".git__HEAD", b"ref: refs/heads/../../../etc/passwd\n"),
        (".git__index", b"DIRC\0\0\0\2\xff\xff\xff\xff"),
        (".git__refs__heads__main", b"0" * 40),
        (".git__refs__heads__main", b"ref: refs/heads/main\n"),
        (".git__packed-refs", b"\0" * 100),
        (".git__refs__heads__main__below", b"x"),
    ],
)
def test_a_broken_repository_is_false_and_never_unknown(path, data):
    views = changed(repository([ONE]), **{path: data})
    tree = judge(
        parse(
            {
                "all": [
                    {"git.worktreeClean": {"repository": "site"}},
                    {"git.commitCount": {"repository": "site", "branch": "main", "count": 1}},
                    {"git.currentBranch": {"repository": "site", "branch": "main"}},
                    {"git.stagedPaths": {"repository": "site", "paths": []}},
                ]
            }
        ),
        views,
    )
    assert tree.verdict is Verdict.FALSE
    assert all(child.verdict is not Verdict.UNKNOWN for child in tree.children)


@pytest.mark.parametrize("content", [{"elsewhere/a": "x"}, {"site/.git": "gitdir: /etc\n"}, {"site/.git/config": ""}])
def test_a_missing_repository_is_wreckage_on_either_side_of_a_not(content):
    views = JudgeInput({"git": tree_of(content)})
    ask.wins_nothing(views, "branchExists", branch="b")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("object-that-unpacks-into-34-mebibytes.tar", "is not what its name says"),
        ("folder-in-folders-without-end.tar", "steps, which counts against the state"),
    ],
)
def test_a_bomb_ends_at_the_cap_and_counts_against_who_wrote_it(name, sentence):
    tree = hostile.state("git", name, (hostile.FOLDER / "git" / name).read_bytes())
    found = ask.evidence(JudgeInput({"git": tree}), "fileAtRef", ref="main", path="a", text="x")
    assert (found.verdict, sentence in found.found) == (Verdict.FALSE, True), found.found


# --- our own side ----------------------------------------------------------------------------------------------------


def test_many_predicates_cost_one_reading(monkeypatch):
    made = []
    make = history.repository_in
    monkeypatch.setattr(history, "repository_in", lambda *rest: made.append(rest[1]) or make(*rest))
    probes = [{"git.branchExists": {"repository": "site", "branch": f"b{i}"}} for i in range(9)]
    probes += [{"git.fileAbsentAtRef": {"repository": "site", "ref": "main", "path": f"p{i}"}} for i in range(9)]
    judge(parse({"all": probes}), repository([ONE]))
    assert made == ["site"]
