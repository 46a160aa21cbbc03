"""Tests of the forge's references, trees, commits and files: accepted pushes are in git, refused ones are not."""

import base64

import pytest

pytestmark = pytest.mark.slow

R = "/repos/acme/site"


def tip(forge, branch="main"):
    return forge("GET", f"{R}/git/refs/heads/{branch}")["object"]["sha"]


def text(data):
    return base64.b64encode(data.encode()).decode()


def put(forge, path="new.txt", *, status=201, message="Add it", **body):
    return forge("PUT", f"{R}/contents/{path}", {"message": message, "content": text("new\n"), **body}, status=status)


# -- references ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_branch_is_made_where_it_is_asked_for(forge):
    made = forge("POST", f"{R}/git/refs", {"ref": "refs/heads/fix/menu", "sha": tip(forge, "draft")}, status=201)
    assert made["object"]["sha"] == forge.git("rev-parse", "fix/menu") == forge.git("rev-parse", "draft")
    assert forge("GET", f"{R}/branches/fix/menu")["commit"]["commit"]["message"] == "Add a footer"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"ref": "refs/heads/draft"}, "Reference already exists"),
        ({"ref": "refs/heads/a..b"}, "refs/heads/a..b is not a valid ref name."),
        ({"ref": "heads/x"}, "Reference name must start with 'refs/' and contain at least three slashes."),
        ({"ref": "refs/heads/draft/x"}, "Reference update failed"),
        ({"ref": "refs/heads/x", "sha": "0" * 40}, "Object does not exist"),
        ({"ref": "refs/heads/x", "sha": None}, 'Invalid request.\n\n"sha" wasn\'t supplied.'),
        ({"ref": 3}, "Invalid request.\n\nFor 'properties/ref', 3 is not a string."),
    ],
)
def test_a_branch_that_cannot_be_is_refused(forge, body, message):
    assert forge("POST", f"{R}/git/refs", {"sha": tip(forge)} | body, status=422)["message"] == message


def test_a_branch_moves_forward_and_back_only_by_force(forge):
    first = forge.git("rev-parse", "main~1")
    assert forge("PATCH", f"{R}/git/refs/heads/spare", {"sha": first}, status=422)["message"] == (
        "Update is not a fast forward"
    )
    forge("PATCH", f"{R}/git/refs/heads/spare", {"sha": first, "force": True})
    forge("PATCH", f"{R}/git/refs/heads/spare", {"sha": tip(forge)})
    assert forge.git("rev-parse", "spare") == forge.git("rev-parse", "main")
    assert forge("PATCH", f"{R}/git/refs/heads/no", {"sha": first}, status=422)["message"] == "Reference does not exist"


def test_a_branch_that_is_not_there_is_not_found(forge):
    forge("GET", f"{R}/git/refs/heads/gone", status=404)
    assert forge("GET", f"{R}/branches/gone", status=404)["message"] == "Branch not found"


# -- trees and commits -----------------------------------------------------------------------------------------------


def push(forge, files, branch="spare", parent=None):
    parent = parent or tip(forge, branch)
    tree = forge("POST", f"{R}/git/trees", {"base_tree": parent, "tree": files}, status=201)
    body = {"message": "Push", "tree": tree["sha"], "parents": [parent]}
    commit = forge("POST", f"{R}/git/commits", body, status=201)
    return forge("PATCH", f"{R}/git/refs/heads/{branch}", {"sha": commit["sha"], "force": True})


def blob(path, content="x\n", mode="100644"):
    return {"path": path, "mode": mode, "type": "blob", "content": content}


def test_a_pushed_tree_is_the_old_one_with_the_new_files(forge):
    push(forge, [blob("deep/down/x.txt"), blob("README.md", "# Ours\n"), {"path": "docs/a.md", "sha": None}])
    assert forge.git("ls-tree", "-r", "--name-only", "spare").split() == ["README.md", "deep/down/x.txt", "src/app.py"]
    assert forge.git("show", "spare:README.md") == "# Ours"
    assert forge.git("log", "-1", "--format=%an %ae %ad", "--date=unix", "spare").startswith("Ada L ada@example.org 17")
    assert forge.git("fsck", "--strict") == ""


@pytest.mark.parametrize("path", ["/x", "a//b", "../x", ".git/config", "a/.GIT/x", "a\nb", ""])
def test_no_tree_reaches_where_git_would_not_go(forge, path):
    body = {"base_tree": tip(forge), "tree": [blob(path)]}
    message = "tree.path contains a malformed path component"
    assert forge("POST", f"{R}/git/trees", body, status=422)["message"] == message


def test_a_tree_of_what_is_not_there_is_refused(forge):
    forge("POST", f"{R}/git/trees", {"base_tree": "f" * 40, "tree": [blob("x")]}, status=404)
    forge("POST", f"{R}/git/trees", {"tree": [{"path": "x", "mode": "100644", "sha": "f" * 40}]}, status=422)
    forge("POST", f"{R}/git/trees", {"tree": [blob("x", mode="777")]}, status=422)
    body = {"message": "m", "tree": "f" * 40, "parents": []}
    assert forge("POST", f"{R}/git/commits", body, status=422)["message"] == "Tree SHA does not exist"


def test_a_commit_may_say_who_made_it_and_when(forge):
    body = {
        "message": "By hand",
        "tree": forge.git("rev-parse", "main^{tree}"),
        "parents": [tip(forge)],
        "author": {"name": "Eve", "email": "eve@example.org", "date": "2024-05-01T10:00:00Z"},
    }
    made = forge("POST", f"{R}/git/commits", body, status=201)
    assert made["author"] == made["committer"] == {**body["author"]}
    assert forge.git("log", "-1", "--format=%an", made["sha"]) == "Eve"


# -- commits ---------------------------------------------------------------------------------------------------------


def test_commits_are_listed_newest_first_and_in_pages(forge):
    assert [one["commit"]["message"] for one in forge("GET", f"{R}/commits?sha=draft")] == [
        "Add a footer",
        "Change two",
        "Say more",
        "Begin",
    ]
    page = forge("GET", f"{R}/commits?sha=draft&per_page=2&page=2")
    assert [one["commit"]["message"] for one in page] == ["Say more", "Begin"]
    assert 'page=1>; rel="prev"' in forge.answer.headers["Link"]
    assert 'rel="next"' not in forge.answer.headers["Link"]
    forge("GET", f"{R}/commits?sha=nothing", status=404)


def test_commits_are_filtered_by_path_author_and_time(forge):
    def messages(query):
        return [one["commit"]["message"] for one in forge("GET", f"{R}/commits?{query}")]

    assert messages("path=docs") == ["Say more"]
    assert messages("author=bob") == ["Say more"]
    assert messages("until=2024-01-01T09:30:00Z") == ["Begin"]
    assert forge("GET", f"{R}/commits?author=bob")[0]["author"]["login"] == "bob"


def test_the_status_of_a_commit_is_that_of_its_checks(forge):
    assert forge("GET", f"{R}/commits/draft/status")["state"] == "success"
    empty = forge("GET", f"{R}/commits/{tip(forge)}/status")
    assert (empty["state"], empty["total_count"]) == ("pending", 0)


# -- contents --------------------------------------------------------------------------------------------------------


def test_files_and_folders_are_read_on_any_branch(forge):
    shown = forge("GET", f"{R}/contents/docs/a.md?ref=draft")
    assert base64.b64decode(shown["content"]) == b"one\n2\nthree\n"
    assert [(entry["name"], entry["type"]) for entry in forge("GET", f"{R}/contents/")] == [
        ("README.md", "file"),
        ("docs", "dir"),
        ("src", "dir"),
    ]
    assert [entry["path"] for entry in forge("GET", f"{R}/contents/src")] == ["src/app.py"]
    assert forge("GET", f"{R}/contents/x?ref=gone", status=404)["message"] == "No commit found for the ref gone"
    forge("GET", f"{R}/contents/src/none.py", status=404)


def test_a_file_is_written_only_by_who_knows_what_is_there(forge):
    made = put(forge, branch="spare")
    assert forge.git("show", "spare:new.txt") == "new"
    assert put(forge, branch="spare", status=422)["message"] == 'Invalid request.\n\n"sha" wasn\'t supplied.'
    wrong = "f" * 40
    assert put(forge, branch="spare", sha=wrong, status=409)["message"] == f"new.txt does not match {wrong}"
    put(forge, branch="spare", sha=made["content"]["sha"], content=text("newer\n"), status=200)
    assert forge.git("show", "spare:new.txt") == "newer"


def test_a_file_cannot_be_written_everywhere(forge):
    assert put(forge, branch="gone", status=404)["message"] == "Branch gone not found"
    assert put(forge, content="%%%", status=422)["message"] == "content is not valid Base64"
    assert "malformed path" in put(forge, path="a/../b", status=422)["message"]
    put(forge, path="docs", status=422)


def test_the_first_file_makes_the_branch_of_an_empty_repository(forge):
    body = {"message": "First", "content": text("hi\n")}
    forge("PUT", "/repos/ada/empty/contents/a.txt", body, status=201)
    assert forge.git("log", "--format=%s", "main", name="ada/empty") == "First"


def test_words_in_a_commit_on_the_default_branch_close_an_issue(forge):
    put(forge, branch="spare", message="Fixes #1")
    assert forge("GET", f"{R}/issues/1")["state"] == "open", "not on another branch"
    put(forge, path="other.txt", message="Mend the menu\n\nResolves #1, closes bob/tool#3")
    shown = forge("GET", f"{R}/issues/1")
    assert (shown["state"], shown["closed_by"]["login"]) == ("closed", "ada")
    assert forge("GET", f"{R}/issues/3")["state"] == "open"


def test_nobody_pushes_to_what_is_not_theirs(forge):
    body = {"message": "m", "content": text("x")}
    shown = forge("PUT", "/repos/bob/tool/contents/x", body, status=403)
    assert shown["message"] == "Resource not accessible by personal access token"
    forge("POST", "/repos/bob/tool/git/trees", {"tree": [blob("x")]}, status=403)
