"""Tests of hostile states: read within the budget, confined, and judged; never unknown, never an exception."""

import json
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freezing import hostile_states
from verifiers.budget import MAX_BYTES, MAX_JUDGED, MAX_STEPS, ReadingBudget
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.evaluate import evaluate
from verifiers.language.predicate import CLAIMS, parse
from verifiers.language.verdict import Verdict
from verifiers.normal_form import MAX_DOCUMENT, MAX_SENTENCE, NormalState, decode, encode
from verifiers.predicates.namespaces import known
from verifiers.predicates.values import exact_sum
from verifiers.states import READERS, readers
from verifiers.states.postgres.examples import postgres_database
from verifiers.states.readers import read, read_all
from verifiers.tree import FileTree, Node

from . import hostile

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in hostile.FOLDER.rglob("*") if path.is_file())
TEXTS = {".eml", ".ics", ".json", ".jsonl"}
STEPS_A_BYTE, STEPS_AT_ALL = 12, 20_000


def asked(kind):
    """Yield all predicates of the catalogue's examples in a namespace, and their opposites."""
    for name in CATALOGUE:
        if name.startswith(f"{kind}."):
            document = {name: dict(CATALOGUE[name].example.arguments)}
            yield parse({"any": [document, {"not": document}]})


def judged(kind, tree):
    """Read and judge a state, and give the cost of reading."""
    state = read(kind, tree)
    assert not state.missing
    there = decode(encode({kind: state}))
    assert there[kind] == state
    for predicate in asked(kind):
        found = evaluate(predicate, there, "an answer", there)
        children = found.children
        assert all(one.verdict is not Verdict.UNKNOWN for one in (*children, *children[1].children)), found.as_json()
        json.dumps(found.as_json(), allow_nan=False).encode()
    return state


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.name}" for path in FILES])
def test_a_hostile_state_is_read_within_its_budget_and_judged(path):
    kind = path.parent.name
    state = judged(kind, hostile.state(kind, path.name, path.read_bytes()))
    assert state.steps <= MAX_STEPS
    assert state.bytes <= MAX_BYTES


def test_each_kind_has_its_share_and_what_is_no_text_is_what_the_script_can_write():
    shares = Counter(path.parent.name for path in FILES)
    assert set(known()) == set(shares)
    assert min(shares.values()) >= 3
    binary = {(path.parent.name, path.name) for path in FILES if path.suffix not in TEXTS}
    assert binary == {(kind, name) for kind, cases in hostile_states.CASES.items() for name in cases}
    assert all(make() for cases in hostile_states.CASES.values() for make in cases.values())


# --- mutated states --------------------------------------------------------------------------------------------------


def examples(kind):
    """Return a few of the states of the catalogue's examples."""
    names = [name for name in CATALOGUE if name.startswith(f"{kind}.")]
    views = [make() for name in names[::3] for make in (CATALOGUE[name].example.holds, CATALOGUE[name].example.fails)]
    return [one.states[kind] for one in views]


STATES = {kind: examples(kind) for kind in known()}


@st.composite
def mutated(draw, kind):
    """Damage a file or two of an example: flipped bits, cuts, parts of other files, other bytes, no file."""
    tree = dict(draw(st.sampled_from(STATES[kind])))
    paths = [path for path, node in tree.items() if node.kind == "file" and path != "snapshot.json"]
    paths = paths or [path for path in tree if tree[path].kind == "file"]
    for path in draw(st.lists(st.sampled_from(paths), min_size=1, max_size=2)) if paths else []:
        data = bytearray(tree[path].data) or bytearray(1)
        at = draw(st.integers(0, len(data) - 1))
        match draw(st.sampled_from(["bit", "cut", "splice", "bytes", "repeat", "link"])):
            case "bit":
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[at:]
            case "splice":
                other = draw(st.sampled_from(STATES[kind])).get(path, Node("file")).data
                data[at:] = other[draw(st.integers(0, len(other))) :]
            case "bytes":
                data[:] = draw(st.binary(max_size=300))
            case "repeat":
                data[at:at] = data[at : at + 40] * draw(st.integers(1, 50))
            case "link":
                if path != "snapshot.json":
                    tree[path] = Node("symlink", target="/etc/passwd")
                    continue
        tree[path] = Node("file", bytes(data), mode=tree[path].mode)
    return FileTree(tree)


def holds_for_any(kind, data):
    tree = data.draw(mutated(kind))
    state = judged(kind, tree)
    size = sum(len(path) + len(node.data) for path, node in tree.items())
    assert state.steps <= STEPS_A_BYTE * size + STEPS_AT_ALL


@pytest.mark.parametrize("kind", known())
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_damage_is_a_verdict_at_a_cost_that_grows_with_the_state(kind, data):
    holds_for_any(kind, data)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", known())
@settings(max_examples=2000, deadline=None)
@given(data=st.data())
def test_a_great_deal_of_damage_is_a_verdict(kind, data):
    holds_for_any(kind, data)


# --- the two processes -----------------------------------------------------------------------------------------------

SEALED = """
import sys
from pathlib import Path
from tests.verifiers import hostile
from tests.verifiers.test_hostile import FILES, STATES, judged
from verifiers.states.readers import read

states = [(kind, tree) for kind, trees in STATES.items() for tree in trees]
states += [(path.parent.name, hostile.state(path.parent.name, path.name, path.read_bytes())) for path in FILES]
astray = set()
FORBIDDEN = ("open", "socket", "subprocess", "os.exec", "os.fork", "os.posix", "os.mkdir", "os.listdir", "tempfile")
sys.addaudithook(lambda event, arguments: event.startswith(FORBIDDEN) and astray.add(f"{event} {arguments[:1]}"))
for kind, tree in states:
    judged(kind, tree)
sys.stdout.write("; ".join(sorted(astray)))
"""


def test_reading_and_judging_open_no_file_and_start_nothing():
    done = subprocess.run([sys.executable, "-c", SEALED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


JUDGE = """
import sys
import verifiers.language.evaluate, verifiers.language.predicate, verifiers.normal_form, verifiers.tree
sys.stdout.write(" ".join(sys.modules))
"""


def test_a_judge_loads_no_reader():
    done = subprocess.run([sys.executable, "-c", JUDGE], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {*READERS, "xml.etree.ElementTree", "zoneinfo"}
    assert {"verifiers.states.git.history", "verifiers.states.workbook.book"} <= loaded


# --- what judging costs ----------------------------------------------------------------------------------------------

ROWS = {"postgres.rowExists": {"table": "stock", "where": {"price": 1.5}}}


def stock(*prices, base="numeric"):
    columns = {"stock": [["id", "integer primary key"], ["price", base]]}
    tree = postgres_database(columns, {"stock": [[str(n), price] for n, price in enumerate(prices)]}).states["postgres"]
    return {"postgres": read("postgres", tree)}


def cost(document, states, answer=None):
    """Judge a predicate, and give the number of steps."""
    spent = []
    with mock.patch.object(ReadingBudget, "step", autospec=True, side_effect=lambda _, number=1: spent.append(number)):
        found = evaluate(parse(document), states, answer)
    assert found.verdict is not Verdict.UNKNOWN, found.found
    return sum(spent)


@given(st.lists(st.tuples(st.integers(1, 4000), st.integers(0, 4000), st.sampled_from(["", "e999", "e-999"]))))
@settings(max_examples=30, deadline=None)
def test_numbers_of_a_capped_text_cost_steps_that_grow_with_their_digits(shapes):
    texts = ["9" * before + ("." + "3" * after if after else "") + end for before, after, end in shapes]
    spent = cost({"postgres.sumEquals": {"table": "stock", "column": "price", "value": 1}}, stock(*texts))
    assert spent >= sum(map(len, texts)) // 10
    assert exact_sum(map(Decimal, texts)) == sum(map(Fraction, texts), Fraction(0))


def test_a_probes_parse_of_a_state_is_reused_by_the_next():
    states = stock(*["9" * 400] * 50)
    single = cost(ROWS, states)
    assert cost({"all": [ROWS] * 30}, states) < 8 * single


def test_the_end_of_the_budget_counts_against_the_state_and_the_verdict_is_known():
    states = stock(*["1.5"] * 3000)
    for document in ({"all": [ROWS] * 400}, {"all": [{"not": ROWS}] * 400}):
        assert evaluate(parse(document), states).verdict is Verdict.FALSE
    assert evaluate(parse({"all": [ROWS] * 10}), states).verdict is Verdict.TRUE


@pytest.mark.parametrize(
    "text",
    [
        *("1e999999999", "1e1000000", "-1e-999999999", "\u0661", "9" * 5000, "[1e999]", "[" * 60_000, "\ud800", "NaN"),
        *("\u00bd", "1," * 30_000, "\u2212" * 60_000, '{"a": ' * 300, "1e999 " * 10_000, "1." * 30_000),
    ],
)
def test_an_answer_of_any_kind_is_judged(text):
    for name in (name for name in CATALOGUE if name.startswith("answer.") and name != CLAIMS):  # which reads no answer
        document = {name: dict(CATALOGUE[name].example.arguments)}
        assert 0 < cost({"all": [document] * 30}, {}, text) < MAX_JUDGED


def test_states_share_a_budget():
    left = {"redis": STATES["redis"][0], "postgres": STATES["postgres"][0]}
    alone = sum(read(kind, tree).steps for kind, tree in left.items())
    assert sum(state.steps for state in read_all(left).values()) == alone
    with mock.patch.object(readers, "ReadingBudget", return_value=ReadingBudget(alone - 1)):
        assert [bool(state.unreadable) for state in read_all(left).values()] == [False, True]


LETTERS = 'x\x7f\u00e9\U00010000"\udcff'
"""Letters that take from one to six bytes in the text of a normal form."""


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        *((text, 1_900_000) for text in LETTERS),
        *(pytest.param(text, 2_500_000, marks=pytest.mark.full) for text in LETTERS),
        ("x", 26_000_000),
    ],
)
def test_the_normal_form_fits_into_its_text(text, letters):
    document = {"keys": {"a": {"type": "string", "value": text * letters, "left": None}}}
    data = json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")
    state = read("redis", FileTree({"snapshot.json": Node("file", data)}))
    assert len(encode({"redis": state})) <= MAX_DOCUMENT + MAX_SENTENCE
    assert state.unreadable or letters < 26_000_000


def test_states_that_do_not_fit_together_are_unreadable_and_the_others_are_not():
    one = NormalState(["x" * (MAX_DOCUMENT - 100)])
    there = decode(encode(dict.fromkeys("abcd", one)))
    assert [there[name].unreadable == "" for name in "abcd"] == [True, True, False, False]
