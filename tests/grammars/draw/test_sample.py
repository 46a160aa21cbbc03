"""Tests of drawing a task from a grammar: repeatable bytes, constraints, skeletons and refusals."""

import gc
import json
from collections import Counter
from random import Random

import cel
import pytest
from cel.stdlib import STDLIB_FUNCTIONS

from grammars.draw.sample import draw, sample, skeletons
from grammars.errors import Exhausted, Malformed
from grammars.language.expressions import Expression, Scope
from grammars.language.forms import compile_value, fill
from grammars.language.load import parse
from vault.task.document import Task


def test_the_same_seed_gives_the_same_bytes(grammar):
    def drawn(seed):
        made = sample(grammar, Random(seed))
        return json.dumps([made.task, made.provenance], sort_keys=True)

    assert drawn(3) == drawn(3)
    assert len({drawn(seed) for seed in range(20)}) == 20


def test_a_draft_is_a_task_and_its_provenance_says_where_it_came_from(grammar):
    made = sample(grammar, Random(1))
    task = Task.parse(made.task)
    assert task.id == made.id
    assert made.provenance["grammar_digest"] == grammar.digest
    assert made.skeleton.startswith("filesystem/note:")
    assert made.template == "filesystem/note"
    assert set(made.provenance["parameters"]) == {"name", "lines", "secret"}
    assert made.id not in repr(made)


def test_skeletons_have_stable_ids_and_the_difficulties_that_all_their_parts_allow(grammar):
    assert [(one.id, one.difficulties) for one in skeletons(grammar)] == [
        ("filesystem/note:high", ("hard",)),
        ("filesystem/note:low", ("easy", "hard")),
    ]


def test_only_what_is_wanted_is_drawn_and_an_empty_stratum_says_so(grammar):
    ids = {sample(grammar, Random(seed)).skeleton for seed in range(30)}
    assert ids == {"filesystem/note:low", "filesystem/note:high"}
    assert sample(grammar, Random(1), exclude={"filesystem/note:low"}).task["difficulty"] == "hard"
    assert sample(grammar, Random(1), only={"filesystem/note:low"}).skeleton == "filesystem/note:low"
    assert {sample(grammar, Random(seed), difficulty="easy").skeleton for seed in range(9)} == {"filesystem/note:low"}
    with pytest.raises(Exhausted, match="no unseen skeleton left for easy single-tool"):
        sample(grammar, Random(1), category="single-tool", difficulty="easy", exclude={"filesystem/note:low"})
    with pytest.raises(Exhausted, match="for composition"):
        sample(grammar, Random(1), category="composition")


def test_a_constraint_is_kept_and_leaves_the_rest_equally_likely(grammar):
    low = skeletons(grammar)[1]
    counts = Counter(
        draw(grammar, low, "easy", Random(seed)).draft.provenance["parameters"]["lines"] for seed in range(400)
    )
    assert set(counts) == {1, 3}
    assert 150 < counts[1] < 250


def test_an_unsatisfiable_constraint_is_reported_and_not_tried_forever(small):
    grammar = parse({"small.yaml": small.replace("lines != 2", "lines > 20")}, {})
    with pytest.raises(
        Malformed,
        match=r"^small\.yaml: filesystem/note:low: easy: 200 draws were thrown away, 200 of them because "
        r"small\.yaml: template note: constraints\[0\]: 'lines > 20' did not hold$",
    ):
        draw(grammar, skeletons(grammar)[1], "easy", Random(1))


def test_a_draw_whose_result_lies_in_its_own_state_is_thrown_away(small):
    leaking = small.replace('"in/{name}.txt": "old\\n"', '"in/{name}.txt": "see {text}."')
    grammar = parse({"small.yaml": leaking}, {})
    with pytest.raises(Malformed, match=r"because what the predicate wants produced lies in initial_state\.filesystem"):
        draw(grammar, skeletons(grammar)[1], "easy", Random(1))


def test_scheduled_errors_put_the_retries_into_every_solution(small):
    busy = small.replace("category: single-tool", "category: recovery").replace(
        "solution: [{tool",
        "faults: [{tool: filesystem.write_file, call: 1, error: busy}, "
        "{tool: filesystem.write_file, call: 2, error: busy}]\n"
        "    solution: [{tool: filesystem.read_text_file}, {tool: filesystem.move_file}, {tool",
    )
    grammar = parse({"small.yaml": busy.replace("max_steps: 3", "max_steps: 5")}, {})
    made = sample(grammar, Random(1))
    tools = [call["tool"].partition(".")[2] for call in made.provenance["solutions"][0]["calls"]]
    assert tools == ["read_text_file", "move_file", "write_file", "write_file", "write_file"]
    assert [fault["call"] for fault in made.task["faults"]] == [1, 2]


def test_two_pieces_of_state_that_contradict_each_other_are_refused(small):
    doubled = small.replace(
        "directories: [out]}}]", 'directories: [out]}}, {filesystem: {files: {"in/{name}.txt": "b"}}}]'
    )
    with pytest.raises(Malformed, match=r"state: two pieces give 'in/\w+\.txt'"):
        sample(parse({"small.yaml": doubled}, {}), Random(1))


@pytest.mark.slow
def test_a_draw_leaves_nothing_behind(grammar):
    def scopes():
        gc.collect()
        return sum(isinstance(one, Scope) for one in gc.get_objects())

    before = scopes()
    sample(grammar, Random(1))
    assert scopes() == before


@pytest.mark.parametrize(
    "source",
    [
        r"'it\'s row.name: ' + row.name",
        r'"say \"row.name\": " + row.name',
    ],
)
def test_a_path_in_a_text_stays_text(source):
    expression, scope = Expression.parse(source, "here"), Scope({"row": {"name": "x"}})
    assert expression.evaluate(scope) == cel.evaluate(source, {"row": {"name": "x"}})


ROWS = [{"id": 2, "name": "é", "tags": ["b"]}, {"id": 1, "name": "a, (b", "tags": []}]


@pytest.mark.parametrize(
    "source",
    [
        "size(rows) + size(rows[0].tags) + size(rows[at].name)",
        "rows.slice(1, size(rows))",
        "rows.slice(at, 2).map(r, r.id)",
        "rows[at].name + rows[0].name",
        "rows.map(r, r.id) + rows.map(r, size(r.tags))",
        "rows.map(r, rows[at].id + r.id)",
        "rows.map(r, r.id > 1, r.name)",
        "rows.map(r, {'z': r.name, 'a': [r.id, at]})",
        "rows.filter(r, r.id == at || r.name == 'a, (b').map(r, r.name)",
        "rows.filter(r, rows.exists(s, s.id > r.id) && !(r.id in [at + 1]))",
        "rows.filter(at, at.id == 2)",
        "rows[0].tags.map(t, t + string(at))",
    ],
)
def test_values_made_without_cel_are_those_of_cel(source):
    names = {"rows": ROWS, "at": 1}
    context = cel.Context(names, STDLIB_FUNCTIONS)
    assert Expression.parse(source, "here").evaluate(Scope(names)) == cel.evaluate(source, context)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("sort_by(rows, 'size')", r"sort_by\(\) cannot take"),
        ("stem(at)", r"stem\(\) cannot take"),
        ("rows.slice(0, 3)", r"slice\(\) cannot take"),
        ("rows.filter(r, r.size > 1)", "there is no field|types do not fit"),
        ("rows.filter(r, r.id)", "cannot be evaluated"),
        ("rows[below].id", "shorter than that"),
        ("at.map(r, r.id)", "cannot be evaluated"),
    ],
)
def test_errors_without_cel_are_those_of_cel(source, says):
    with pytest.raises(Malformed, match=says):
        Expression.parse(source, "here").evaluate(Scope({"rows": ROWS, "at": 1, "below": -1}))


def test_a_name_that_gets_another_value_takes_what_hung_on_it_along():
    scope = Scope({"xs": [1, 2], "n": 1})
    node = compile_value(["=size(xs) + n", "=xs + [n]", "=xs[0]", "=n + 1"], "here")
    assert fill(node, scope) == [3, [1, 2, 1], 1, 2]
    scope.bind("xs", [5])
    assert fill(node, scope) == [2, [5, 1], 5, 2]
    scope.bind("n", 2)
    assert fill(node, scope) == [3, [5, 2], 5, 3]
