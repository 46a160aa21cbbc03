"""Tests of the pages of tasks and leaves: they show all that was opened, and what is no statement as it stands."""

import json
from pathlib import Path

import pytest

from quarterturn.pages import task

EXAMPLE = next(parent for parent in Path(__file__).parents if parent.name == "tests").parent / "examples" / "release"
RELEASE = EXAMPLE / "Historical-2025-12"


@pytest.fixture
def found():
    document, opening = ((RELEASE / f"{name}.jsonl").read_text().splitlines()[0] for name in ("tasks", "openings"))
    return {
        "id": json.loads(document)["id"], "set": RELEASE.name, "sha256": "ab" * 32,
        "task": json.loads(document), "opening": json.loads(opening),
    }  # fmt: skip


def test_a_released_task_shows_its_goal_its_predicate_its_solution_and_its_opening(found):
    page = task.page(found, "/release/Historical-2025-12")
    shown = ["Make the folder number-1.", "there is a folder at", "filesystem.create_directory {", "try again"]
    assert not [part for part in (*shown, found["opening"]["salt"], 'href="/leaf/0"') if part not in page]


def test_a_released_task_says_who_passed_it_and_what_its_free_names_are(found):
    found["task"] |= {"goal": "Make {{folder}}.", "free": {"folder": {"from": ["ivy", "oak", "elm"]}}}
    line = {"submitter": "lab", "display_name": None, "month": "2026-12"}
    lines = [line | {"run": run, "name": f"agent-{run}"} for run in (1, 2)]
    page = task.page(found, "/release/Historical-2025-12", {"served": 3, "passed": [2, 7]}, lines)
    assert "2 of 3 runs that were served it passed." in page
    assert 'those of <a href="/agents/lab/agent-2">lab/agent-2</a>.' in page
    assert "<code>{{folder}}</code></dt><dd>ivy, or one of 2 others" in page
    assert "Who passed it" not in task.page(found, None)


def test_a_task_of_the_dev_set_has_nothing_in_the_log(found):
    assert "nothing was committed to" in task.page(found | {"set": "dev", "opening": None}, None)


def test_a_long_starting_state_is_cut(found):
    found["task"] |= {"initial_state": {"filesystem": {"files": {"a": "<" * 2 * task.MAX_STATE_CHARACTERS}}}}
    page = task.page(found, None)
    assert page.count("&lt;") < task.MAX_STATE_CHARACTERS
    assert "The JSON has all of it" in page


@pytest.mark.parametrize("leaf", [b"\xff<b>", b"[]", b'{"subject": []}', b'{"subject": [{"digest": 1}]}'])
def test_what_is_no_statement_is_shown_as_it_stands(leaf):
    page = task.leaf_page(0, 1, leaf)
    assert 'href="/explorer"' in page
    assert "<b>" not in page


def test_a_leaf_leads_to_its_neighbours_and_to_its_proof():
    page = task.leaf_page(3, 5, json.dumps({"subject": [{"digest": {"sha256": "cd" * 32}}]}).encode())
    addresses = ("/leaf/2", "/leaf/4", "/log/proof/inclusion?index=3", f"/explorer?q={'cd' * 32}")
    assert not [address for address in addresses if f'href="{address}"' not in page]
