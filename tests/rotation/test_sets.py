import pytest

from rotation.errors import NotFound
from rotation.sets import DEMO, named


def test_the_demo_has_twenty_four_tasks_in_four_cohorts_of_six() -> None:
    assert (DEMO.cohort_size, DEMO.size) == (6, 24)


def test_an_unknown_set_is_named_with_the_known_ones() -> None:
    with pytest.raises(NotFound, match="no set 'mcpbenhc'; the sets are: demo"):
        named("mcpbenhc")
