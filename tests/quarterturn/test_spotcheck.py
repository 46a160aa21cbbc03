"""End-to-end test of the spot check: runs in a real box, whose sealed states the turn judges again."""

from dataclasses import replace
from pathlib import Path

import pytest

from rotation.runs.run_tasks import RunTasks
from verifiers.language.verdict import Verdict

NULL = Path(__file__).parents[2] / "examples" / "agents" / "null" / "agent.py"

pytestmark = [pytest.mark.box, pytest.mark.slow]


@pytest.mark.full
def test_a_worker_that_lies_is_found_at_the_turn_and_named_to_maintainers_alone(playable, say, monkeypatch, opened):
    monkeypatch.setattr("vault.ledger.statements.spot_check.ONE_IN", 1)
    real, lied = RunTasks.record, []

    def lies(self, run, outcome):
        if not lied:
            lied.append(f"{run.record.number}/{outcome.task_id}")
            outcome = replace(outcome, verdict=Verdict.TRUE)
        real(self, run, outcome)

    monkeypatch.setattr(RunTasks, "record", lies)
    words = ("--as", "ada", "--set", "private", "--box", "bwrap", "--agent", f"python3 {NULL}", "--home", playable)
    assert (said := say("run", *words)).code == 0, said.text
    assert (said := say("turn", "run", "--early", "--home", playable)).code == 0, said.text
    assert "8 of 8 chosen results judged again (8 of them by the process that judged at first), 1 came" in said.out
    assert f"  otherwise: {lied[0]}: " in said.out
    assert f"  otherwise: {lied[0]}: " in say("turn", "status", "--home", playable).out
    findings = say("watch", "list", "--home", playable, "--json").data["findings"]
    (finding,) = [one for one in findings if one["p_adj"] is None]
    assert (finding["kind"], finding["subject"], finding["state"]) == ("verdict", lied[0], "open")
    release, key = playable / "public" / "releases" / "Historical-2026-12", playable / "public" / "log.vkey"
    audited = say("audit", release, "--key", key)
    assert audited.code == 1, audited.text
    assert "yes with doubts\nDoubt 1: no result that was judged again came out otherwise" in audited.out
    assert say("audit", release, "--key", key, "--accept", "1").code == 0
    task = lied[0].partition("/")[2]
    public = [path for path in (playable / "public" / "view").rglob("*") if path.is_file()]
    assert public
    assert not any(lied[0].encode() in path.read_bytes() for path in public)
    house = opened(playable)
    assert house.home.vault.blob_names("left/") == [f"left/{lied[0]}/1"]
    assert task in house.runs.store.left(1)
