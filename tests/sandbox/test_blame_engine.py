"""Ours or theirs, where the engine itself is killed in the middle of a run: one of this test's own."""

from __future__ import annotations

import pytest

from .sabotage import WAIT, Saboteur
from .test_blame import ADD, LOOK, SQLITE, told
from .test_run import an_agent, run
from .test_surroundings import a_box, patient, whole

__all__ = ["whole"]


@pytest.mark.engine
@pytest.mark.slow
def test_an_engine_that_is_killed_in_the_middle_of_a_run_is_ours(whole, tmp_path, monkeypatch):
    patient(monkeypatch)
    made = a_box(whole, monkeypatch)

    def deed() -> bool:
        whole.crash()
        whole.start()
        return True

    with Saboteur(deed):
        outcome = run(SQLITE, an_agent(tmp_path / "ada", LOOK + WAIT + ADD), made)
    codes, passed = told(outcome)
    assert passed, codes
    assert len(codes) > 1
    assert all(code.startswith("ours: ") for code in codes[:-1]), codes  # lost, killed with it, or not up again yet
