"""Which cases of an exhaustive set every run plays, and which only `--exhaustive`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sample(cases: Iterable[Any], *, keep: Collection[Any] = (), every: int = 0) -> list[Any]:
    """Return all cases as parameters; those outside the sample carry the mark `exhaustive`.

    Args:
        cases: what `pytest.mark.parametrize` takes; a case that is a `pytest.param` keeps its id and marks.
        keep: the cases that are in the sample.
        every: the first of each so many cases is in the sample too.
    """
    listed = list(cases)
    if unknown := [case for case in keep if case not in listed]:
        raise ValueError(f"the sample keeps {unknown[0]!r}, which is none of the cases")
    return [
        case if case in keep or (every and number % every == 0) else _only_exhaustive(case)
        for number, case in enumerate(listed)
    ]


def _only_exhaustive(case: Any) -> Any:
    parameter_set = type(pytest.param())
    if isinstance(case, parameter_set):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.exhaustive))
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.exhaustive)
