"""Tests of the forge's search: the query language, and who finds what."""

import pytest

from sandbox.kinds.forge.backend.handlers.query import contains, parse, within

pytestmark = pytest.mark.slow


def names(shown, key="full_name"):
    return [one[key] for one in shown["items"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("site", ["acme/site"]),
        ("in:description the", ["acme/site"]),
        ("in:readme site", ["acme/site"]),
        ("user:bob", ["bob/tool"]),
        ("org:acme topic:web language:html", ["acme/site"]),
        ("-user:bob stars:0", ["ada/empty", "acme/site"]),
        ("is:private", []),
        ("created:>2024-01-02", []),
    ],
)
def test_repositories(forge, query, expected):
    assert sorted(names(forge("GET", f"/search/repositories?q={query.replace(' ', '+')}"))) == sorted(expected)


def test_forks_are_found_only_where_they_are_asked_for(forge):
    forge("POST", "/repos/acme/site/forks", status=202)
    assert names(forge("GET", "/search/repositories?q=site")) == ["acme/site"]
    assert names(forge("GET", "/search/repositories?q=site+fork:true")) == ["acme/site", "ada/site"]
    assert names(forge("GET", "/search/repositories?q=site+fork:only")) == ["ada/site"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("run repo:acme/site", ["src/app.py"]),
        ("SITE", ["README.md", "tool.sh"]),
        ("echo language:shell", ["tool.sh"]),
        ("one extension:md path:docs", ["docs/a.md"]),
        ("filename:app.py", ["src/app.py"]),
        ('"return 1"', ["src/app.py"]),
        ("return 2", []),
        ("app in:path", ["src/app.py"]),
        ("site -repo:bob/tool", ["README.md"]),
        ("bye", []),
    ],
)
def test_code_on_default_branches(forge, query, expected):
    shown = forge("GET", f"/search/code?q={query.replace(' ', '+').replace(chr(34), '%22')}")
    assert sorted(names(shown, "path")) == sorted(expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("menu", [1]),
        ("repo:acme/site is:issue is:open", [1, 3]),
        ("is:pr draft:false", [4]),
        ("type:pr author:@me", [5]),
        ("is:issue label:bug", [1, 3]),
        ("label:bug label:later", [3]),
        ("label:later,nothing", [3]),
        ("is:issue no:label", [2]),
        ("assignee:ada", [1]),
        ("milestone:v1", [3]),
        ("commenter:bob", [2]),
        ("mentions:ada", [2]),
        ("involves:bob is:issue", [2, 1]),
        ("please in:comments", [2]),
        ("please in:title", []),
        ("-label:bug is:issue", [2]),
        ("head:draft base:main", [4]),
        ("created:<2024-02-15", [3]),
        ("created:2024-02-01", [3]),
        ("created:2024-03-01..2024-03-02 is:issue", [2, 1]),
        ("comments:>0", [2]),
        ("is:closed reason:completed", [2]),
        ("review:none is:open draft:true", [5]),
        ("is:issue sort:created-asc state:open", [3, 1]),
        ("user:bob", []),
    ],
)
def test_issues(forge, query, expected):
    shown = forge("GET", f"/search/issues?q={query.replace(' ', '+')}")
    assert [one["number"] for one in shown["items"]] == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ada", ["ada"]),
        ("type:org", ["acme"]),
        ("location:london", ["ada"]),
        ("bob in:login", ["bob"]),
        ("repos:>0", ["acme", "ada", "bob"]),
    ],
)
def test_users(forge, query, expected):
    assert names(forge("GET", f"/search/users?q={query.replace(' ', '+')}"), "login") == expected


def test_private_items_are_not_found(forge):
    assert names(forge("GET", "/search/code?q=site+user:bob"), "path") == ["tool.sh"]
    shown = forge("GET", "/search/code?q=site+repo:bob/secret", status=422)
    assert shown["errors"][0]["message"].startswith("The listed users and repositories cannot be searched")


def test_a_search_for_nothing_is_refused(forge):
    assert forge("GET", "/search/issues", status=422)["errors"][0]["code"] == "missing"
    forge("GET", "/search/code?q=repo:acme/site", status=422)


def test_results_come_in_pages(forge):
    shown = forge("GET", "/search/issues?q=repo:acme/site&per_page=2&page=2&sort=created&order=asc")
    assert (shown["total_count"], [one["number"] for one in shown["items"]]) == (5, [2, 4])
    assert 'rel="next"' in forge.answer.headers["Link"]
    forge("GET", "/search/issues?q=repo:acme/site&per_page=100&page=11", status=422)


def test_a_query_is_taken_apart():
    query = parse('-label:"help wanted" fix "two words" other:thing -gone', {"label"})
    assert query.qualifiers == (("label", "help wanted", True),)
    assert query.terms == (("fix", False), ("two words", False), ("other:thing", False), ("gone", True))


@pytest.mark.parametrize(
    ("text", "term", "expected"),
    [("Fix the menu", "MENU", True), ("menus", "menu", False), ("a_b", "a", False), ("two  words", "two words", True)],
)
def test_words_are_whole(text, term, expected):
    assert contains(text, term) is expected


@pytest.mark.parametrize(
    ("value", "asked", "expected"),
    [
        ("2024-03-01T10:00:00Z", "2024-03-01", True),
        ("2024-03-01T10:00:00Z", ">2024-03-01", False),
        ("2024-03-01T10:00:00Z", ">=2024-03-01", True),
        ("2024-03-01T10:00:00Z", "2024-02-01..2024-03-01", True),
        ("2024-03-01T10:00:00Z", "*..2024-02-28", False),
        ("10", ">9", True),
        ("10", "5..*", True),
        ("10", "10", True),
    ],
)
def test_dates_and_numbers_are_within(value, asked, expected):
    assert within(value, asked) is expected
