"""Tests that a shipped dev set is drawn once on a machine, and drawn anew where what was kept does not fit."""

import sys

import pytest

from rotation.generation import dev_sets, shipped_dev_sets
from rotation.generation.grammars import shipped_among
from rotation.month.sets import SetSpec, Stratum

SMALL = SetSpec("small", {}, {Stratum("filesystem", "single-tool", "easy"): 2})


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder in which a machine without dev sets keeps them; every process of it is a new one."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "installed"))
    monkeypatch.setattr(shipped_dev_sets, "_DRAWN", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "installed" / shipped_dev_sets.FOLDER


def test_what_is_kept_is_what_would_be_drawn(kept, monkeypatch):
    drawn = [(draft.task, draft.provenance) for draft in dev_sets.draw(shipped_among(SMALL.dev_servers), SMALL)]
    (kept / "of-another-version.json").parent.mkdir(parents=True)
    (kept / "of-another-version.json").touch()
    assert [(draft.task, draft.provenance) for draft in shipped_dev_sets.drafts(SMALL)] == drawn
    assert [path.name for path in kept.iterdir()] == [f"{shipped_dev_sets._key(SMALL)}.json"]
    monkeypatch.setattr(shipped_dev_sets, "_DRAWN", {})
    monkeypatch.setattr(shipped_dev_sets, "_draw", lambda spec: pytest.fail(f"it drew {spec.name} again"))
    assert [(draft.task, draft.provenance) for draft in shipped_dev_sets.drafts(SMALL)] == drawn


@pytest.mark.parametrize("damage", [b"", b"[]", b'[["a"]]', b"\xff"])
def test_what_does_not_fit_is_drawn_anew(kept, monkeypatch, damage):
    name = f"{shipped_dev_sets._key(SMALL)}.json"
    kept.mkdir(parents=True)
    (kept / name).write_bytes(damage)
    monkeypatch.setattr(shipped_dev_sets, "_draw", lambda _: [shipped_dev_sets.Draft({"id": "t-1"}, {})])
    assert [draft.id for draft in shipped_dev_sets.drafts(SMALL)] == ["t-1"]
    assert (kept / name).read_bytes() == b'[[{"id": "t-1"}, {}]]'


def test_without_a_place_to_keep_it_a_dev_set_is_drawn_all_the_same(kept, tmp_path, monkeypatch):
    (tmp_path / "installed").touch()
    (tmp_path / "cache").touch()
    monkeypatch.setattr(shipped_dev_sets, "_draw", lambda _: [shipped_dev_sets.Draft({"id": "t-1"}, {})])
    assert [draft.id for draft in shipped_dev_sets.drafts(SMALL)] == ["t-1"]


def test_the_version_follows_every_grammar_and_the_code(monkeypatch, tmp_path):
    for name in shipped_dev_sets.DRAWN_BY:
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(shipped_dev_sets, "OURS", tmp_path)
    seen = {shipped_dev_sets.version.__wrapped__()}
    for name in shipped_dev_sets.DRAWN_BY:
        (tmp_path / name / "a.yaml").write_text("more")
        seen.add(shipped_dev_sets.version.__wrapped__())
    assert len(seen) == len(shipped_dev_sets.DRAWN_BY) + 1
