"""Tests of reading leaderboards: one clear sentence for each mistake, and results of other tools as they write them."""

import json
import zipfile
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from rotation.detection.leaderboards import cutoff_scans, leaderboard, plain_table, result_sets
from rotation.detection.leaderboards.leaderboard import ScannedLeaderboard, gather
from rotation.errors import Malformed

MARCH = date(2024, 3, 31)
HEAD = "agent,task,day,passed\n"
GOOD = HEAD + "ada,t1,2024-03-01,true\nada,t2,2024-04-01,0\nbob,t1,2024-03-01,yes\n"


def read(path: Path, until: date | None = MARCH, days: dict[str, date] | None = None) -> ScannedLeaderboard:
    return gather(plain_table.read(path, with_days=days is None), days or {}, until)


def table(folder: Path, text: str | bytes) -> Path:
    path = folder / "results.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def results(board: ScannedLeaderboard) -> list[tuple[Any, ...]]:
    return [(result.agent, result.task, result.share, result.calls) for result in board.results]


def test_a_table_is_read_by_the_names_of_its_columns_with_a_byte_order_mark_or_without(tmp_path):
    text = (
        "note;x, Calls,cutoff,rate,group,server,day,task,agent\n\na,3,2024-02,0.25,base,git,2024-03-01T10:00,t1,ada\n"
    )
    board = read(table(tmp_path, b"\xef\xbb\xbf" + text.encode().replace(b"\n", b"\r\n")))
    assert results(board) == [("ada", "t1", 0.25, 3)]
    assert (board.group, board.server, board.cutoff) == ({"ada": "base"}, {"t1": "git"}, {"ada": date(2024, 2, 29)})
    assert board.day == {"t1": date(2024, 3, 1)}


def test_parquet_is_read_as_csv_is(tmp_path):
    path = tmp_path / "results.parquet"
    rows = [
        {"agent": "ada", "task": 7, "day": date(2024, 3, 1), "passed": True, "calls": 3.0, "group": None},
        {"agent": "ada", "task": 8, "day": date(2024, 4, 1), "passed": False, "calls": 0.0, "group": None},
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert results(read(path)) == [("ada", "7", 1.0, 3), ("ada", "8", 0.0, 0)]
    parquet.write_table(pyarrow.Table.from_pylist([*rows, {**rows[0], "day": None}]), path)
    with pytest.raises(Malformed, match=r"results\.parquet, row 3, column 'day': '' is no day; write YYYY-MM-DD"):
        read(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(Malformed, match="no Parquet file that pyarrow reads"):
        read(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ": the file is empty; its first line has to name the columns: agent, task, passed, day"),
        (HEAD, ": there is no result below the names of the columns"),
        ("agent,day,passed\n", ", line 1: there is no column 'task' among 'agent', 'day', 'passed'; rename or add one"),
        ("agent,task,day\n", ", line 1: there is no column 'passed' or 'rate' among"),
        ("agent,task,passed\n", ", line 1: there is no column 'day' among"),
        ("agent,task,day,passed,day\n", ", line 1: there are two columns 'day'"),
        (HEAD.replace(",", ";"), ", line 1: the columns are separated by semicolons; save the table with commas"),
        (HEAD.replace(",", "\t"), ", line 1: the columns are separated by tabs"),
        (GOOD + "bob,t2,01/04/2024,true\n", ", line 5, column 'day': '01/04/2024' is no day; write YYYY-MM-DD"),
        (GOOD + "bob,t2,2024-02-30,true\n", ", line 5, column 'day': '2024-02-30' is no day"),
        (GOOD + "bob,t2,,true\n", ", line 5, column 'day': '' is no day"),
        (GOOD + "bob,t2,2024-04-01,60\n", ", line 5, column 'passed': '60' is neither true nor false; write a share"),
        (GOOD + "bob,t2,2024-04-01,", ", line 5, column 'passed': '' is no result; leave out the lines"),
        (GOOD + ",t2,2024-04-01,true\n", ", line 5, column 'agent': '' is no name"),
        (GOOD + "bob,a,b,2024-04-01,true\n", ", line 5: there are 5 fields for 4 columns; quote a text with a comma"),
        (GOOD + 'bob,"t2"x,2024-04-01,true\n', ", line 5: it is no CSV"),
        (GOOD + "ada,t2,2024-04-01,true\n", ", line 5: 'ada' has a result of 't2' already, in {path}, line 3;"),
        (GOOD + "bob,t2,2024-04-02,true\n", ", line 5, column 'day': 't2' has 2024-04-02 here and 2024-04-01"),
        (GOOD.replace("passed", "rate").replace("true", "60"), ", line 2, column 'rate': '60' is a percentage; write"),
        (GOOD.replace("passed", "rate").replace("true", "1%"), ", line 2, column 'rate': '1%' is a percentage"),
        (GOOD.replace("passed", "rate").replace("true", "nan"), ", line 2, column 'rate': 'nan' is no share"),
        ("calls," + HEAD + "9999,ada,t1,2024-03-01,1\n", ", line 2, column 'calls': '9999' is no number of calls"),
        ("cutoff," + HEAD + "spring,ada,t1,2024-03-01,1\n", ", line 2, column 'cutoff': 'spring' is no day; write"),
        (b"\xff", ": it is not UTF-8; save it as CSV in UTF-8"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_table_is_one_sentence_with_its_place_and_the_next_step(text, sentence, tmp_path):
    path = table(tmp_path, text)
    with pytest.raises(Malformed) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path}{sentence.format(path=path)}")


def test_what_is_missing_to_decide_exposure_is_named(tmp_path):
    path = table(tmp_path, GOOD)
    with pytest.raises(Malformed, match=r"results\.csv: nothing says which tasks agents could have known; name a day"):
        read(path, until=None)
    path = table(tmp_path, "agent,task,passed\nada,t1,true\n")
    with pytest.raises(Malformed, match=r"line 2: nothing says when 't1' was published; name a CSV .* with --days"):
        read(path, days={"t2": MARCH})
    assert read(path, days={"t1": MARCH}).day == {"t1": MARCH}
    with pytest.raises(Malformed, match=r"gone\.csv: it cannot be read \(No such file or directory\)"):
        read(tmp_path / "gone.csv")


def test_days_of_tasks_are_a_table_of_their_own(tmp_path):
    path = table(tmp_path, "task,day\nt1,2024-03-01\nt2,2024-04-01\nt1,2024-03-01\n")
    assert plain_table.read_days(path) == {"t1": date(2024, 3, 1), "t2": date(2024, 4, 1)}
    with pytest.raises(Malformed, match="line 4, column 'day': '2024-03-02' is not the day of this task further up"):
        plain_table.read_days(table(tmp_path, "task,day\nt1,2024-03-01\nt2,2024-04-01\nt1,2024-03-02\n"))


def test_a_task_up_to_the_day_is_exposed_and_shares_and_groups_stand_at_their_agents(tmp_path):
    text = (
        "agent,task,day,rate,calls,group\nbob,t2,2024-04-01,0.7,4,\nada,t1,2024-03-31,0,9,x\nada,t2,2024-04-01,1,2,x\n"
    )
    made = read(table(tmp_path, text)).table(MARCH)
    assert (made.submitters, made.tasks, made.groups) == (("ada", "bob"), ("t1", "t2"), ("x", ""))
    assert made.taken.tolist() == [[True, True], [False, True]]
    assert made.share.tolist() == [[0, 1], [0, 0.7]]
    assert made.exposed.tolist() == [[True, False], [False, False]]
    assert (made.first.tolist(), made.cap.tolist()) == ([1, 2], [9, 4])
    assert read(table(tmp_path, GOOD)).table(MARCH).rates is None


def attempts(agents: int, **known: Any) -> list[leaderboard.TaskResult]:
    """Return results of agents on six tasks of six months, the first agent's on the first alone."""
    return [
        leaderboard.TaskResult(
            f"{agent}{task}", f"a{agent}", f"t{task}", float((agent + task) % 2), date(2024, 1 + task, 1), **known
        )
        for agent in range(agents)
        for task in range(6 if agent else 1)
    ]


def test_each_agent_is_tested_at_its_own_cutoff_and_the_others_are_its_peers():
    cutoffs = {"a1": date(2024, 2, 9), "a2": date(2024, 2, 28), "a3": None}
    given = [replace(result, cutoff=cutoffs.get(result.agent, MARCH)) for result in attempts(7)]
    seen = cutoff_scans.scan_at_cutoffs(gather(given, {}, None))
    assert [(at_cutoff.until, [test.tested.subject for test in at_cutoff.tests]) for at_cutoff in seen] == [
        (date(2024, 2, 9), ["a1", "a2"]),
        (MARCH, ["a4", "a5", "a6"]),
    ]
    assert all(set(at_cutoff.table.submitters) == {f"a{number}" for number in range(7)} for at_cutoff in seen)
    assert [line for line in cutoff_scans.tell_untested(gather(given, {}, None)) if "leaks of a" in line] == [
        "leaks of a0: no result on a task after their cutoff",
        "leaks of a3: no cutoff; name a day with --exposed-until",
    ]


def test_what_is_not_tested_is_told_with_its_reason():
    told = list(cutoff_scans.tell_untested(gather(attempts(3), {}, MARCH)))
    assert "leaks: 3 agents; a test needs 5" in told
    assert any(line.startswith("near-duplicate runs: ") for line in told)
    assert any(line.startswith("leaks of groups: nothing says") for line in told)
    told = list(cutoff_scans.tell_untested(gather(attempts(6, calls=1, group="one"), {}, MARCH)))
    assert "small leaks: with fewer than 10 agents, leaks are found late or never" in told
    assert "leaks of groups: a group needs 2 members, and 10 agents beside it" in told
    assert not any(line.startswith("near-duplicate runs: ") for line in told)


def eval_log(path: Path, model: str, *scores: tuple[str, Any, dict[str, Any]]) -> None:
    summaries = [
        {
            "id": task,
            "epoch": number,
            "metadata": {"server": "git"},
            "scores": {"main": {"value": value, "metadata": about}},
        }
        for number, (task, value, about) in enumerate(scores, 1)
    ]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": model}}))
        archive.writestr("summaries.json", json.dumps([*summaries, {"id": "unscored"}]))


def test_logs_of_inspect_become_shares_of_their_epochs(tmp_path):
    known = {"verdict": "unknown"}
    eval_log(
        tmp_path / "1.eval", "m/a", ("t1", "C", {"calls": 3}), ("t2", "C", {}), ("t2", "I", {}), ("t3", "N", known)
    )
    eval_log(tmp_path / "2.eval", "m/b", ("t1", 1.0, {}), ("t2", 0, {}), ("t3", {"of": "parts"}, {}))
    read_set = result_sets.read(tmp_path)
    assert read_set is not None
    shares = {(result.agent, result.task): (result.share, result.calls, result.server) for result in read_set}
    assert shares == {
        ("m/a", "t1"): (1.0, 3, "git"),
        ("m/a", "t2"): (0.5, None, "git"),
        ("m/b", "t1"): (1.0, None, "git"),
        ("m/b", "t2"): (0.0, None, "git"),
        ("m/b", "t3"): (0.0, None, "git"),
    }
    assert result_sets.read(tmp_path / "nothing.jsonl") is None


def test_trials_of_harbor_pass_with_a_reward_of_one_and_the_job_itself_is_no_trial(tmp_path):
    trials: list[dict[str, Any]] = [
        {"task_name": "t1", "verifier_result": {"rewards": {"reward": 1.0}}},
        {"task_name": "t1", "verifier_result": {"rewards": {"reward": 0.5}}},
        {"task_name": "t2", "verifier_result": None, "exception_info": {}},
        {"n_total_trials": 3},
    ]
    for number, trial in enumerate(trials):
        (tmp_path / f"job/{number}").mkdir(parents=True)
        agent = {"agent_info": {"name": "scaffold", "model_info": {"name": "model-1"}}}
        (tmp_path / f"job/{number}/result.json").write_text(json.dumps(trial | agent))
    read_set = result_sets.read(tmp_path)
    assert read_set is not None
    assert [(result.agent, result.task, result.share) for result in read_set] == [("scaffold, model-1", "t1", 0.5)]


@pytest.mark.parametrize(
    "data",
    [
        b"no archive",
        {"header.json": "{}"},
        {"header.json": "{", "summaries.json": "[]"},
        {"header.json": "{}", "summaries.json": "[]"},
    ],
)
def test_a_broken_log_is_named_with_the_next_step(data, tmp_path):
    path = tmp_path / "broken.eval"
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in data.items():
                archive.writestr(name, text)
    with pytest.raises(Malformed, match=r"broken\.eval: .*; write it again, or give the results as CSV$"):
        list(result_sets.read(path) or ())
