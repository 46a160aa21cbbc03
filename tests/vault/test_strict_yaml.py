"""Tests of strict YAML: plain booleans and texts, and one sentence for each trap."""

import pytest

from vault.errors import Malformed
from vault.strict_yaml import read


def test_only_true_and_false_are_booleans_and_a_day_stays_text():
    text = "land: NO\nwhen: 2024-05-01\nyes: on\nflag: true\nnumber: 12\nshare: 0.5\nnothing: null\nzip: 01234\n"
    assert read(text, "g.yaml") == {
        "land": "NO", "when": "2024-05-01", "yes": "on", "flag": True, "number": 12, "share": 0.5, "nothing": None,
        "zip": "01234",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb:\n  c: 2\n  c: 3\n", r"g\.yaml: the key 'c' stands twice \(line 4, column 3\)"),
        ("a: &x [1]\nb: *x\n", r"anchors, aliases and tags are refused \(line 1"),
        ("a: !!python/name:os.system\n", "anchors, aliases and tags are refused"),
        ("a: [1, 2\n", r"g\.yaml: .*line 2"),
        ("1: x\n", "the key 1 is not text"),
        ("[a]: x\n", r"g\.yaml: "),
        ("a: \x00\n", r"g\.yaml: "),
        ("a" * 600_000, "split it"),
        ("[" * 5000, r"nested deeper than 64 \(line 1, column 65\)"),
        ("[" * 65 + "]" * 65, "nested deeper than 64"),
        ("- " * 65 + "a", "nested deeper than 64"),
        ("{a: " * 65 + "1" + "}" * 65, "nested deeper than 64"),
    ],
)
def test_a_trap_is_one_sentence_with_its_place(text, says):
    with pytest.raises(Malformed, match=says):
        read(text, "g.yaml")


def test_a_wide_document_is_not_deep():
    assert len(read("\n".join(f"- [{{a: {number}}}]" for number in range(500)), "g.yaml")) == 500
