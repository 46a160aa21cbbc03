"""Tests of validation against a schema: what is refused, and that a refusal quotes no value."""

import pytest

from sandbox.errors import Malformed
from sandbox.kinds.common.check import PATH_SCHEMA, check
from sandbox.mutations.mutators import mutate
from sandbox.servers.registry import SERVERS, document_name, tool_table, wire_name


@pytest.mark.parametrize("path", ["a", "a/b.txt", ".hidden", "a..b/c", "ünï/x y", "..."])
def test_a_plain_relative_path_is_taken(path):
    check(PATH_SCHEMA, path, "the path")


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/.", "a\\b", "a\nb", "a\n", "a\x00"]
)
def test_a_path_that_could_lead_elsewhere_is_refused(path):
    with pytest.raises(Malformed):
        check(PATH_SCHEMA, path, "the path")


def test_a_refusal_names_the_place_and_not_the_value():
    schema = SERVERS["filesystem"].state_schema
    with pytest.raises(Malformed) as refused:
        check(schema, {"files": {"a b.txt": 4711}}, "the initial state of filesystem")
    assert '$.files["a b.txt"]' in str(refused.value)
    assert "4711" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (7, r"at \$: it must be of type string or object\.$"),
        ({}, r"at \$: it has not exactly one of the allowed forms\.$"),
        ({"a": "secret"}, r"at \$\.a: it must be of type integer\.$"),
        ("secret", r"at \$: the text does not match its pattern\.$"),
    ],
)
def test_of_several_allowed_forms_the_nearest_is_named(value, sentence):
    forms = [{"required": ["a"], "properties": {"a": {"type": "integer"}}}, {"required": ["b", "c"]}]
    types = {"type": ["string", "object"], "pattern": f"^{'x' * 90}$"}
    with pytest.raises(Malformed, match=sentence) as refused:
        check(types | ({"oneOf": forms} if isinstance(value, dict) else {}), value, "the change")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", SERVERS)
def test_a_change_of_no_known_form_is_refused_by_its_place(name):
    server = SERVERS[name]
    with pytest.raises(Malformed, match=f"the {name} change"):
        mutate(name, server.seed({}), {"explode": "secret-value"})


def test_both_names_of_a_tool_lead_to_each_other():
    for tool in tool_table():
        assert document_name(wire_name(tool)) == tool
        assert len(wire_name(tool)) <= 64
        assert wire_name(tool).replace("_", "").replace("-", "").isalnum()
