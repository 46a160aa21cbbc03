"""Tests of the form that submits an agent: it makes one submission, and each mistake is told at its field."""

import re

import pytest

from .conftest import with_dev_set

pytestmark = pytest.mark.slow

HERE = {"sec-fetch-site": "same-origin"}
IMAGE = "registry.example/agent@sha256:" + "a" * 64


@pytest.fixture
def limited(live, templates, serve):
    """A home where images need a digest or the account's name, and two submissions may wait."""
    limits = {"images": ("{account}/",), "waiting": 2, "callbacks_url": "https://bench.example.org"}
    with serve(with_dev_set(live, templates), limits=limits) as site:
        site.account("ada")
        yield site


def send(site, who="ada", headers=HERE, **fields):
    given = {"key": "one", "agent": IMAGE, "set": "dev"} | fields
    return site.ask("POST", "/mine", who, data=given, headers=headers, follow_redirects=False)


def told(answer):
    """Return the field at which the form says that something is wrong, and what it says."""
    assert answer.status_code == 422
    (wrong,) = re.findall(r'id="(\w+)-wrong" role="alert">(.*?)<', answer.text)
    return wrong


@pytest.mark.parametrize(
    ("fields", "made"),
    [
        ({}, {"set": "dev", "kind": "image", "agent": IMAGE}),
        ({"agent": " ada/mine:1 ", "set": "check"}, {"set": "check", "agent": "ada/mine:1"}),
        ({"set": "private", "counts": "yes"}, {"set": "private", "counts": True}),
        ({"agent": "https://agent.example/play"}, {"kind": "endpoint", "agent": "https://agent.example/play"}),
    ],
)
def test_a_form_makes_the_submission_and_leads_to_its_page(limited, fields, made):
    said = send(limited, **fields)
    assert said.status_code == 303
    page = said.headers["location"]
    assert limited.get(page, "ada").status_code == 200
    document = limited.get(page.replace("/submission/", "/submissions/"), "ada").json()
    assert {name: document[name] for name in made} == made


def test_a_form_that_is_sent_twice_makes_one_submission(limited):
    assert send(limited).headers["location"] == send(limited).headers["location"]
    assert len(limited.get("/submissions", "ada").json()["submissions"]) == 1
    assert told(send(limited, set="check"))[0] == "agent", "the key was used for something else"


MISTAKES = [
    ({"agent": ""}, "agent", "Name an image"),
    ({"agent": "two words"}, "agent", "neither"),
    ({"agent": "http://plain.example"}, "agent", "neither"),
    ({"agent": "https://a.example:22/"}, "agent", "neither"),
    ({"agent": "bob/his:1"}, "agent", "begins with ada/"),
    ({"set": "all"}, "set", "Choose one"),
    ({"model": "none"}, "model", "no such language model"),
    ({"counts": "yes"}, "counts", "Only a private run"),
]


def test_a_mistake_is_told_at_its_field_and_submits_nothing(limited):
    for fields, field, says in MISTAKES:
        at, words = told(send(limited, **fields))
        assert (at, says in words) == (field, True), words
    assert limited.get("/submissions", "ada").json()["submissions"] == []


def test_a_quota_that_is_used_up_says_which(limited):
    for key in ("first", "second"):
        assert send(limited, key=key).status_code == 303
    words = "2 of your party wait or run already: cancel one, or wait until one has ended."
    assert told(send(limited)) == ("set", words)


def test_a_second_private_run_cannot_be_named_to_count(limited, played):
    played(limited.house, 3, "ada")
    assert told(send(limited, set="private", counts="yes"))[0] == "counts"


def test_a_private_run_waits_for_a_set_to_be_live(home, templates, serve):
    with serve(with_dev_set(home, templates)) as site:
        site.account("ada")
        assert told(send(site, agent="ada/a:1", set="private"))[0] == "set"


def test_no_other_page_sends_the_form_and_nobody_without_the_scope(limited):
    assert send(limited, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert send(limited, headers={}).status_code == 403
    assert send(limited, "auditor").status_code == 403
    assert send(limited, None).status_code == 401


def test_each_form_has_a_key_of_its_own_and_names_this_service(limited):
    pages = [limited.get("/mine", "ada").text for _ in range(2)]
    assert len({re.findall('name="key" value="([^"]+)"', page)[0] for page in pages}) == 2
    assert "http://testserver/submissions" in pages[0]
