"""Tests of the rules of review: a second person, a complete checklist, and no self-approval."""

from datetime import UTC, datetime

import pytest

from grammars.admission.review import CHECKLIST, TaskReview, require_sound
from grammars.errors import Malformed, NotAllowed

YES = dict.fromkeys(CHECKLIST, True)


def review(reviewer="Bea", decision="approve", checklist=YES, note=""):
    return TaskReview("t-aaaaaaaaaaaaaaaa", reviewer, decision, checklist, datetime(2026, 12, 1, tzinfo=UTC), note)


def test_a_second_person_may_approve_and_reject():
    require_sound(review(), author="Ada")
    require_sound(review(decision="reject", checklist={**YES, "paths-covered": False}, note="edit_file?"), author="Ada")


@pytest.mark.parametrize("name", ["Ada", "ada", " ADA "])
def test_nobody_reviews_what_they_wrote_under_any_spelling(name):
    with pytest.raises(NotAllowed, match="somebody else must review it"):
        require_sound(review(reviewer=name), author="Ada")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (review(checklist={**YES, "goal-unambiguous": False}), "while goal-unambiguous is answered with no"),
        (review(checklist={"predicate-correct": True}), "answers each of predicate-correct"),
        (review(decision="reject"), "without a reason"),
        (review(reviewer="  "), "the reviewer's name"),
    ],
)
def test_an_incomplete_review_is_refused(wrong, says):
    with pytest.raises(Malformed, match=says):
        require_sound(wrong, author="Ada")


def test_a_remark_is_not_shown():
    assert "tulip" not in repr(review(note="the answer is tulip"))
