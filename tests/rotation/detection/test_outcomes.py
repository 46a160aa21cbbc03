"""Tests of building a result table from single outcomes."""

from dataclasses import replace

from rotation.detection.statistics.outcomes import TaskOutcome, table_of

OUTCOME = TaskOutcome(
    rotation=1, submitter="ada", run="1", task="b", family="rename", first=1, cap=9, passed=True, calls=3, tools=(),
    exposed=False, server="git",
)  # fmt: skip


def test_tasks_of_one_server_have_one_code():
    others = [("a", "redis", "list"), ("c", "git", "commit")]
    table = table_of([OUTCOME, *(replace(OUTCOME, task=task, server=s, family=f) for task, s, f in others)])
    assert table.tasks == ("a", "b", "c")
    assert table.server.tolist() == [1, 0, 0]
    assert table.families == ("commit", "list", "rename")
    assert table.family.tolist() == [1, 2, 0]
