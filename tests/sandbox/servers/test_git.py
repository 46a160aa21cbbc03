"""Tests of the git server's state: written without git, and every byte of it checked by git."""

import subprocess

import pytest

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.git.apply_mutation import mutate
from sandbox.kinds.git.objects import InMemoryRepository
from sandbox.kinds.git.schema import STATE
from sandbox.kinds.git.seed import seed
from sandbox.servers.registry import SERVERS
from verifiers.language.verdict import Verdict
from verifiers.tree import FileTree

from ..builders import unpack

SITE = {
    "commits": [
        {"branch": "main", "message": "Begin", "files": {"a.txt": "1\n", "d/e.txt": "2\n", "d.txt": "3\n", "old": "x"}},
        {"branch": "main", "message": "Drop old\n\nIt was old.", "files": {"old": None, "d/e.txt": "22\n"}},
        {
            "branch": "dev/x",
            "from": "main",
            "message": "Try",
            "files": {"dev.txt": "d"},
            "author": "Ann <ann@example.org>",
        },
    ],
    "branches": {"spare": "main"},
    "tags": {"v1": "main"},
    "checkout": "main",
    "worktree": {"a.txt": "edited\n", "new.txt": "new\n", "d.txt": None},
    "staged": ["new.txt"],
}


@pytest.fixture
def git(tmp_path):
    """Unpack a state and run the git program on it."""

    def ask(tree, *words, check=True):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        unpack(tree.to_tar(), folder)
        environment = {
            "PATH": "/usr/bin:/bin",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": "/",
        }
        done = subprocess.run(
            ["git", "-C", folder / "site", *words], capture_output=True, text=True, env=environment, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    return ask


def built(**changes):
    return seed({"repositories": {"site": {**SITE, **changes}}})


def test_git_finds_nothing_wrong(git):
    check(STATE, {"repositories": {"site": SITE}}, "the state")
    assert git(built(), "fsck", "--strict", "--full") == ""
    assert git(built(), "status", "--porcelain") == " M a.txt\n D d.txt\nA  new.txt\n"


def test_history_is_as_the_state_tells_it(git):
    tree = built()
    assert git(tree, "log", "--format=%s|%an|%ad", "--date=iso", "dev/x").splitlines() == [
        "Try|Ann|2024-01-01 11:00:00 +0000",
        "Drop old|Quarterturn|2024-01-01 10:00:00 +0000",
        "Begin|Quarterturn|2024-01-01 09:00:00 +0000",
    ]
    assert git(tree, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/dev/x",
        "refs/heads/main",
        "refs/heads/spare",
        "refs/tags/v1",
    ]
    assert git(tree, "show", "main:d/e.txt") == "22\n"
    assert git(tree, "ls-tree", "-r", "--name-only", "main").split() == ["a.txt", "d.txt", "d/e.txt"]


def test_the_same_state_gives_the_same_bytes():
    assert built().to_tar() == built().to_tar()


def test_an_empty_repository_waits_for_its_first_commit(git):
    tree = seed({"repositories": {"site": {}}})
    assert git(tree, "symbolic-ref", "HEAD") == "refs/heads/main\n"
    assert git(tree, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"checkout": "nowhere"}, "checkout names the branch 'nowhere'"),
        ({"tags": {"v1": "nowhere"}}, "'v1' names the branch 'nowhere'"),
        ({"staged": ["zzz"]}, "stages 'zzz'"),
        ({"commits": [*SITE["commits"], {"branch": "stray", "message": "m"}]}, "commit 3 starts the branch 'stray'"),
        ({"commits": [*SITE["commits"], {"branch": "main", "from": "main", "message": "m"}]}, "commit 3 says from"),
        ({"commits": [{"branch": "main", "message": "m", "files": {"x": None}}]}, "'x' is deleted"),
        ({"commits": [{"branch": "main", "message": "m", "files": {"x": "", "x/y": ""}}]}, "'x'"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused_with_the_place(changes, sentence):
    with pytest.raises(Malformed, match=sentence):
        built(**{"worktree": {}, "staged": [], "tags": {}, "branches": {}, **changes})


@pytest.mark.parametrize("path", [".git/config", "a/.GIT/hooks/x", "../x", "/x"])
def test_no_file_of_a_state_reaches_gits_own_folder(path):
    with pytest.raises(Malformed):
        check(STATE, {"repositories": {"site": {"worktree": {path: ""}}}}, "the state")


@pytest.mark.parametrize("name", ["-x", "a..b", "a.lock", "a/", ".a", "a b", "a~1", "HEAD^", "a\n"])
def test_a_branch_name_that_git_would_refuse_is_refused(name):
    with pytest.raises(Malformed):
        check(STATE, {"repositories": {"site": {"checkout": name}}}, "the state")


def mutated(**change):
    return mutate(built(), {"repository": "site", **change})


def test_changes_of_branches_and_tags(git):
    assert "dev/x" not in git(mutated(delete_branch="dev/x"), "branch")
    assert git(mutated(move_branch={"branch": "spare", "to": "main~1"}), "log", "--format=%s", "spare") == "Begin\n"
    assert git(mutated(delete_tag="v1"), "tag") == ""
    assert git(mutated(tag={"name": "v2", "to": "dev/x"}), "log", "-1", "--format=%s", "v2") == "Try\n"


def test_changes_of_commits(git):
    reworded = mutated(reword={"branch": "main", "message": "Other words"})
    assert git(reworded, "log", "-1", "--format=%s", "main") == "Other words\n"
    assert git(reworded, "diff", "spare", "main") == ""
    added = mutated(commit={"branch": "main", "files": {"q/r": "s", "old2": "o"}, "message": "More"})
    assert git(added, "log", "--format=%s", "main").splitlines()[0] == "More"
    assert git(added, "status", "--porcelain") == " M a.txt\n D d.txt\nA  new.txt\n"
    assert git(added, "fsck", "--strict") == ""


def test_changes_of_checkout_index_and_worktree(git):
    switched = mutated(checkout="dev/x")
    assert git(switched, "rev-parse", "--abbrev-ref", "HEAD") == "dev/x\n"
    assert git(switched, "status", "--porcelain") == ""
    assert git(mutated(unstage=["new.txt"]), "diff", "--cached", "--name-only") == ""
    assert git(mutated(stage={"a.txt": "staged\n"}), "diff", "--cached", "--name-only").split() == ["a.txt", "new.txt"]
    assert "?? zz" in git(mutated(worktree={"zz": "1"}), "status", "--porcelain")


@pytest.mark.parametrize(
    "change",
    [
        {"delete_branch": "gone"}, {"move_branch": {"branch": "main", "to": "main~9"}}, {"checkout": "gone"},
        {"delete_tag": "no"},
    ],
)  # fmt: skip
def test_a_change_of_what_is_not_there_is_refused(change):
    with pytest.raises(Malformed):
        mutated(**change)


def test_a_repository_that_is_not_there_is_refused():
    with pytest.raises(Malformed, match="'other'"):
        mutate(built(), {"repository": "other", "checkout": "main"})


def test_what_git_itself_wrote_is_read_back(tmp_path):
    """The index and objects are of a real repository that the program made."""
    folder = tmp_path / "site"
    commands = ["init -q -b main", "add -A", "-c user.name=A -c user.email=a@b commit -qm One", "add -N later"]
    folder.mkdir()
    for number, command in enumerate(commands):
        (folder / "deep").mkdir(exist_ok=True)
        (folder / "deep" / "file").write_text("x")
        if number == 3:
            (folder / "later").write_text("y")
        subprocess.run(["git", "-C", folder, *command.split()], check=True, capture_output=True)
    repository = InMemoryRepository(FileTree.from_directory(folder))
    tip = repository.commit(repository.resolve("main"))
    assert tip.message == "One\n"
    assert list(repository.files_of(tip.tree)) == ["deep/file"]
    assert list(repository.index) == ["deep/file", "later"], "an index of version 3, because of the intent to add"


@pytest.mark.box
def test_what_each_tool_writes_is_read(played):
    """The tools make no split index, no reftable, no clone: nothing that the reader names instead of reading it."""
    at = {"repo_path": "/data/repos/site"}
    calls = [
        ("git_add", {**at, "files": ["a.txt", "new.txt"]}),
        ("git_commit", {**at, "message": "Edit"}),
        ("git_create_branch", {**at, "branch_name": "next", "base_branch": "main"}),
        ("git_checkout", {**at, "branch_name": "next"}),
        ("git_reset", at),
    ]
    site = {"repository": "site"}
    holds = [
        {"git.headMessage": {**site, "branch": "next", "equals": "Edit"}},
        {"git.fileAtRef": {**site, "ref": "next", "path": "new.txt", "text": "new\n"}},
        {"git.currentBranch": {**site, "branch": "next"}},
        {"git.stagedPaths": {**site, "paths": []}},
        {"git.worktreeClean": {**site}},
    ]
    state = {"repositories": {"site": {**SITE, "worktree": {"a.txt": "edited\n", "new.txt": "new\n"}}}}
    proved = played("git", state, calls, {"all": holds})
    reading = {"status", "diff_unstaged", "diff_staged", "diff", "log", "show", "branch"}
    assert {tool for tool, _ in calls} == SERVERS["git"].tools.keys() - {f"git_{name}" for name in reading}
    assert not [call["result"] for call in proved.log if call["error"]]
    assert proved.verdict is Verdict.TRUE, proved.evidence.as_json()
