"""Tests of the forge's repositories: shown, created, forked, and who may."""

import pytest

pytestmark = pytest.mark.slow

R = "/repos/acme/site"


def test_a_repository_is_found_whatever_the_case_of_its_name(forge):
    assert forge("GET", "/repos/ACME/Site")["full_name"] == "acme/site"


def test_its_figures_are_counted(forge):
    shown = forge("GET", R)
    assert (shown["open_issues_count"], shown["forks_count"], shown["default_branch"]) == (4, 0, "main")
    assert shown["permissions"]["push"] is True
    assert forge("GET", "/repos/bob/tool")["permissions"]["push"] is False


@pytest.mark.parametrize("path", ["/repos/acme/nothing", "/repos/nobody/site", "/repos/bob/secret"])
def test_a_missing_repository_and_a_private_one_look_the_same(forge, path):
    shown = forge("GET", path, status=404)
    assert shown == {
        "message": "Not Found",
        "documentation_url": "https://docs.github.com/rest/repos/repos#get-a-repository",
        "status": "404",
    }


def test_a_new_repository_is_empty_and_says_so(forge):
    made = forge("POST", "/user/repos", {"name": "my notes", "description": "d", "autoInit": True}, status=201)
    assert (made["full_name"], made["description"], made["private"]) == ("ada/my-notes", "d", False)
    assert forge("GET", "/repos/ada/my-notes/contents/", status=404)["message"] == "This repository is empty."
    assert forge("GET", "/repos/ada/my-notes/commits", status=409)["message"] == "Git Repository is empty."
    assert forge("GET", "/repos/ada/my-notes/git/refs/heads/main", status=409)["message"] == "Git Repository is empty."


def test_a_new_repository_can_begin_with_a_readme(forge):
    forge("POST", "/user/repos", {"name": "notes", "description": "Mine", "auto_init": True}, status=201)
    (commit,) = forge("GET", "/repos/ada/notes/commits")
    assert commit["commit"]["message"] == "Initial commit"
    assert commit["author"]["login"] == "ada"
    assert [entry["path"] for entry in forge("GET", "/repos/ada/notes/contents/")] == ["README.md"]


def test_a_name_can_be_taken_once(forge):
    forge("POST", "/user/repos", {"name": "Empty"}, status=422)
    assert forge.answer.body["message"] == "Repository creation failed."
    assert forge.answer.body["errors"] == [
        {"resource": "Repository", "code": "custom", "field": "name", "message": "name already exists on this account"}
    ]


def test_a_fork_has_all_branches_and_knows_where_it_comes_from(forge):
    made = forge("POST", f"{R}/forks", status=202)
    assert (made["full_name"], made["parent"]["full_name"], made["source"]["full_name"]) == (
        "ada/site",
        "acme/site",
        "acme/site",
    )
    tip = forge("GET", f"{R}/git/ref/heads/draft")["object"]["sha"]
    assert forge("GET", "/repos/ada/site/git/ref/heads/draft")["object"]["sha"] == tip
    assert forge("GET", R)["forks_count"] == 1


def test_forking_twice_gives_the_same_fork(forge):
    first = forge("POST", f"{R}/forks", status=202)
    assert forge("POST", f"{R}/forks", status=202)["id"] == first["id"]


def test_a_fork_can_go_to_an_organisation_of_ones_own_and_to_no_other(forge):
    assert forge("POST", "/repos/bob/tool/forks?organization=acme", status=202)["full_name"] == "acme/tool"
    assert forge("POST", "/repos/acme/site/forks?organization=bob", status=403)["message"].startswith("Resource not")
    assert forge("POST", "/repos/acme/site/forks?organization=none", status=422)["errors"][0]["field"] == "organization"


def test_a_fork_that_finds_its_name_taken_gets_another(forge):
    forge("POST", "/user/repos", {"name": "tool"}, status=201)
    assert forge("POST", "/repos/bob/tool/forks", status=202)["full_name"] == "ada/tool-1"


def test_no_name_leads_out_of_the_forge(forge):
    forge("POST", "/user/repos", {"name": ".."}, status=422)
    forge("POST", "/repos/bob/tool/forks", {"name": ".."}, status=422)
    assert forge("POST", "/repos/bob/tool/forks", {"name": "../../x"}, status=202)["full_name"] == "ada/..-..-x"


def test_an_empty_repository_is_not_forked(forge):
    assert "Empty repositories cannot be forked" in forge("POST", "/repos/ada/empty/forks", status=403)["message"]


def test_users_are_shown(forge):
    shown = forge("GET", "/users/ADA")
    assert (shown["login"], shown["name"], shown["public_repos"]) == ("ada", "Ada L", 1)
    forge("GET", "/users/nobody", status=404)
