"""Tests of the forge's issues: opened, listed, changed, commented on."""

import pytest

pytestmark = pytest.mark.slow

R = "/repos/acme/site"


def titles(forge, query=""):
    return [one["title"] for one in forge("GET", f"{R}/issues{query}")]


def test_open_ones_are_listed_newest_first_with_pull_requests_among_them(forge):
    assert titles(forge) == ["Shout", "A footer", "Menu is broken", "Old wish"]
    assert titles(forge, "?state=closed") == ["Write a guide"]
    assert titles(forge, "?state=all&direction=asc")[:2] == ["Old wish", "Menu is broken"]
    assert ["pull_request" in one for one in forge("GET", f"{R}/issues")] == [True, True, False, False]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?labels=bug", ["Menu is broken", "Old wish"]),
        ("?labels=bug,later", ["Old wish"]),
        ("?assignee=ada", ["Menu is broken"]),
        ("?assignee=none&labels=bug", ["Old wish"]),
        ("?creator=bob", ["A footer", "Menu is broken"]),
        ("?milestone=1", ["Old wish"]),
        ("?since=2024-03-01T13:30:00Z", ["Shout"]),
        ("?sort=comments&state=all&direction=desc&per_page=1", ["Write a guide"]),
    ],
)
def test_lists_are_filtered_and_sorted(forge, query, expected):
    assert titles(forge, query) == expected


def test_pages_lead_to_one_another(forge):
    assert titles(forge, "?per_page=3") == ["Shout", "A footer", "Menu is broken"]
    link = forge.answer.headers["Link"]
    assert link == (
        '<https://api.github.com/repos/acme/site/issues?per_page=3&page=2>; rel="next", '
        '<https://api.github.com/repos/acme/site/issues?per_page=3&page=2>; rel="last"'
    )
    assert titles(forge, "?per_page=3&page=2") == ["Old wish"]
    assert titles(forge, "?per_page=3&page=7") == []
    assert len(titles(forge, "?per_page=-1&page=zero")) == 4


def test_an_issue_gets_the_next_number_and_makes_the_labels_that_it_names(forge):
    body = {"title": " New ", "body": "b", "labels": ["BUG", "fresh"], "assignees": ["Ada"], "milestone": 1}
    made = forge("POST", f"{R}/issues", body, status=201)
    assert (made["number"], made["title"], made["state"]) == (6, "New", "open")
    assert [label["name"] for label in made["labels"]] == ["bug", "fresh"]
    assert made["labels"][1]["color"] == "ededed"
    assert (made["assignees"][0]["login"], made["milestone"]["title"]) == ("ada", "v1")
    assert made["created_at"] == "2024-07-01T09:00:01Z", "the first write"
    assert forge("GET", f"{R}/issues/6") == made


def test_labels_are_ignored_without_push_access(forge):
    made = forge("POST", "/repos/bob/tool/issues", {"title": "T", "labels": ["x"], "assignees": ["ada"]}, status=201)
    assert (made["labels"], made["assignees"], made["author_association"]) == ([], [], "NONE")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"title": " "}, {"resource": "Issue", "field": "title", "code": "missing_field"}),
        (
            {"title": "t", "assignees": ["x"]},
            {"value": "x", "resource": "Issue", "field": "assignees", "code": "invalid"},
        ),
        ({"title": "t", "milestone": 9}, {"value": 9, "resource": "Issue", "field": "milestone", "code": "invalid"}),
    ],
)
def test_an_issue_that_cannot_be_is_refused_and_leaves_nothing(forge, body, error):
    before = forge.state()
    shown = forge("POST", f"{R}/issues", body, status=422)
    assert (shown["message"], shown["errors"]) == ("Validation Failed", [error])
    assert forge.state() == before
    assert titles(forge)[0] == "Shout"


def test_an_issue_is_changed_in_what_is_given_and_nothing_else(forge):
    before = forge("GET", f"{R}/issues/1")
    after = forge("PATCH", f"{R}/issues/1", {"title": "Menu opens", "labels": ["later"], "assignees": []})
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {"title", "labels", "assignee", "assignees", "updated_at"}


def test_an_issue_is_closed_and_reopened(forge):
    closed = forge("PATCH", f"{R}/issues/1", {"state": "closed", "state_reason": "not_planned"})
    assert (closed["state_reason"], closed["closed_by"]["login"], closed["closed_at"]) == (
        "not_planned",
        "ada",
        "2024-07-01T09:00:01Z",
    )
    opened = forge("PATCH", f"{R}/issues/1", {"state": "open"})
    assert (opened["state"], opened["state_reason"], opened["closed_at"]) == ("open", "reopened", None)
    forge("PATCH", f"{R}/issues/1", {"state": "ajar"}, status=422)


def test_only_who_wrote_it_or_may_push_changes_an_issue(forge):
    forge("POST", "/repos/bob/tool/issues", {"title": "Mine"}, status=201)
    assert forge("PATCH", "/repos/bob/tool/issues/1", {"title": "Still mine"})["title"] == "Still mine"
    forge.forge._state.data["repositories"]["bob/tool"]["issues"]["1"]["user"] = "bob"
    assert forge("PATCH", "/repos/bob/tool/issues/1", {"title": "x"}, status=403)["message"].startswith("Must have")


def test_a_pull_request_is_closed_as_an_issue(forge):
    forge("PATCH", f"{R}/issues/4", {"state": "closed"})
    assert forge("GET", f"{R}/pulls/4")["state"] == "closed"


def test_comments_are_kept_in_order(forge):
    made = forge("POST", f"{R}/issues/2/comments", {"body": "Done."}, status=201)
    assert made["html_url"].endswith(f"/issues/2#issuecomment-{made['id']}")
    assert [one["body"] for one in forge("GET", f"{R}/issues/2/comments")] == ["Please, @ada", "Done."]
    assert forge("GET", f"{R}/issues/2")["comments"] == 2
    forge("POST", f"{R}/issues/2/comments", {"body": ""}, status=422)
    forge("POST", f"{R}/issues/99/comments", {"body": "x"}, status=404)
