"""Tests of the tables of permitted fields: they let through what they name, and nothing else, in both directions."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.model_gateway.formats.registry import BY_NAME, WIRES
from sandbox.model_gateway.formats.shape import Field, Object, Unfit
from sandbox.model_gateway.formats.wire_format import Grant

CHAT, RESPONSES, MESSAGES = (BY_NAME[name] for name in ("chat", "responses", "messages"))
PNG = "data:image/png;base64,iVBORw0KGgo="
LEAST = {
    "chat": {"model": "small", "messages": [{"role": "user", "content": "hi"}]},
    "responses": {"model": "small", "input": "hi"},
    "messages": {"model": "small", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
}


def rebuilt(wire, **more):
    return wire.rebuild(LEAST[wire.name] | more, ["small"])


def saying(**part):
    """Return a conversation of one message with one part."""
    return [{"role": "user", "content": [part]}]


def pictured(url):
    return saying(type="image_url", image_url={"url": url})


def function(**parameters):
    return [{"type": "function", "function": {"name": "f", "parameters": parameters}}]


INLINE = {"type": "base64", "media_type": "image/png", "data": "aGk="}
ELSEWHERE = {"type": "url", "url": "https://a.example"}


REFUSED_FIELDS = [
    (CHAT, {"metadata": {"a": "b"}, "user": "ada", "safety_identifier": "ada", "store": True, "n": 2, "model": "huge"}),
    (CHAT, {"web_search_options": {}, "service_tier": "auto", "extra_body": {}, "max_tokens": 0}),
    (CHAT, {"model": "small/../huge", "max_tokens": True}),
    (RESPONSES, {"previous_response_id": "resp_1", "conversation": "conv_1", "prompt": {"id": "p"}}),
    (RESPONSES, {"store": True, "background": True}),
    (MESSAGES, {"metadata": {"user_id": "ada"}, "mcp_servers": [{"url": "https://a.example"}], "container": "c"}),
    (MESSAGES, {"cache_control": {"type": "ephemeral"}, "context_management": {}}),
]
"""Fields that are refused by their own names."""

REFUSED = [
    *((wire, {name: value}, f"$.{name}") for wire, fields in REFUSED_FIELDS for name, value in fields.items()),
    (CHAT, {"tools": [{"type": "web_search"}]}, "$.tools[0].type"),
    (CHAT, {"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "$.tools[0].type"),
    (CHAT, {"tools": [{"type": "function", "function": {"name": "a b"}}]}, "$.tools[0].function.name"),
    (CHAT, {"messages": []} | {"messages": [{"role": "function", "content": "x", "name": "f"}]}, "$.messages[0].role"),
    *(
        (CHAT, {"messages": pictured(url)}, "$.messages[0].content[0].image_url.url")
        for url in ("https://a.example/?q=secret", "data:text/html;base64,aGk=", f"{PNG}\nhttps://a.example")
    ),
    (CHAT, {"messages": saying(type="file", file={"file_id": "f"})}, "$.messages[0].content[0].type"),
    (CHAT, {"messages": saying(type="input_audio", input_audio={})}, "$.messages[0].content[0].type"),
    (CHAT, {"messages": [{"role": "user", "content": "hi", "cache": 1}]}, "$.messages[0].cache"),
    (
        CHAT,
        {"tools": function(a=[{"$ref": "https://a.example/x"}])},
        '$.tools[0].function.parameters.a[0]["$ref"]',
    ),
    (RESPONSES, {"include": ["file_search_call.results"]}, "$.include[0]"),
    *(
        (RESPONSES, {"tools": [{"type": kind}]}, "$.tools[0].type")
        for kind in ("web_search", "file_search", "code_interpreter", "computer_use_preview", "mcp", "image_generation")
    ),
    (RESPONSES, {"tools": [{"type": "mcp", "server_url": "https://a.example"}]}, "$.tools[0].type"),
    (RESPONSES, {"input": [{"type": "item_reference", "id": "msg_1"}]}, "$.input[0].type"),
    (RESPONSES, {"input": saying(type="input_file", file_url="https://a.example")}, "$.input[0].content[0]"),
    (
        RESPONSES,
        {"input": saying(type="input_image", image_url="https://a.example/x.png")},
        "$.input[0].content[0].image_url",
    ),
    (MESSAGES, {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}, "$.system[0]"),
    *(
        (MESSAGES, {"tools": [{"type": kind, "name": "x"}]}, "$.tools[0].type")
        for kind in ("web_search_20250305", "web_fetch_20250910", "code_execution_20250825", "computer_20250124")
    ),
    (MESSAGES, {"messages": saying(type="image", source=ELSEWHERE)}, "$.messages[0].content[0].source.type"),
    (MESSAGES, {"messages": saying(type="document", source=ELSEWHERE)}, "$.messages[0].content[0].type"),
    (MESSAGES, {"messages": [{"role": "system", "content": "x"}]}, "$.messages[0].role"),
    *(
        (MESSAGES, {"tools": [{"name": "f", "input_schema": {ref: "//x"}}]}, f'$.tools[0].input_schema["{ref}"]')
        for ref in ("$ref", "$dynamicRef", "$recursiveRef")
    ),
]


@pytest.mark.parametrize(("wire", "more", "place"), REFUSED)
def test_unsupported_fields_are_refused_by_name(wire, more, place):
    with pytest.raises(Unfit) as refusal:
        rebuilt(wire, **more)
    assert str(refusal.value).startswith(place)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("wire", "more"),
    [
        (CHAT, {"messages": saying(type="image_url", image_url={"url": PNG, "detail": "low"})}),
        (CHAT, {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"$ref": "#/a"}}}}),
        (CHAT, {"tool_choice": {"type": "function", "function": {"name": "f"}}, "temperature": 0.5, "stop": ["x"]}),
        (RESPONSES, {"input": saying(type="input_image", image_url=PNG)}),
        (RESPONSES, {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"}}),
        (MESSAGES, {"thinking": {"type": "enabled", "budget_tokens": 1024}, "system": [{"type": "text", "text": "x"}]}),
        (MESSAGES, {"messages": saying(type="image", source=INLINE)}),
    ],
)
def test_listed_fields_are_passed_on_unchanged(wire, more):
    assert rebuilt(wire, **more) == LEAST[wire.name] | more


def test_null_is_a_missing_field_and_what_clients_send_back_is_left_out():
    said = {"role": "assistant", "content": None, "refusal": None, "annotations": [], "audio": None}
    calls = [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    kept = rebuilt(CHAT, messages=[said | {"tool_calls": calls, "function_call": None}], metadata=None)
    assert kept["messages"] == [{"role": "assistant", "tool_calls": calls}]
    assert "metadata" not in kept
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    assert rebuilt(RESPONSES, input=[item | {"id": "fc_1", "status": "completed"}])["input"] == [item]


@pytest.mark.parametrize("wire", [CHAT, RESPONSES, MESSAGES])
def test_requests_are_sent_with_our_own_settings(wire):
    sent = wire.prepared(rebuilt(wire, stream=True), Grant(33, "key-of-this-run"))
    limits = [sent[name] for name in wire.limits if name in sent]
    assert limits == [33]
    if wire.style == "openai":
        assert sent["store"] is False
        assert sent["prompt_cache_key"] == "key-of-this-run"
    mine = rebuilt(wire, **({"prompt_cache_key": "mine", "store": False} if wire.style == "openai" else {}))
    assert "mine" not in json.dumps(mine)


def test_both_limits_are_clamped():
    asked = rebuilt(CHAT, max_tokens=500, max_completion_tokens=400)
    assert CHAT.asked(asked) == 400
    sent = CHAT.prepared(asked, Grant(7, "k"))
    assert (sent["max_tokens"], sent["max_completion_tokens"]) == (7, 7)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(string.printable, max_size=6),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(string.ascii_lowercase, max_size=4), inside),
    max_leaves=8,
)


@given(wire=st.sampled_from(list(WIRES.values())), junk=ANYTHING, data=st.data())
def test_no_answer_can_break_the_rebuilding_or_smuggle_a_field(wire, junk, data):
    """Whatever an upstream sends in any position, what is passed on has only the table's fields."""
    name = data.draw(st.sampled_from(sorted(wire.answer.fields)))
    built = wire.answered({name: junk, "system_fingerprint": "x", "x-request": junk}, "small", 3)
    assert built.keys() <= wire.answer.fields.keys()
    assert built["model"] == "small"
    for kind, shape in wire.events.items():
        inner = data.draw(st.sampled_from([*sorted(shape.fields), "zz"]))
        passed_on = wire.event({"type": kind, inner: junk, "service_tier": "x"}, "small", 3)
        assert passed_on is None or passed_on[1].keys() <= shape.fields.keys() | {"type", "id", "created", "model"}
        wire.usage({"type": kind, inner: junk})
        wire.pieces(passed_on[1] if passed_on else {})


@given(wire=st.sampled_from(list(WIRES.values())), junk=ANYTHING, data=st.data())
def test_no_request_gets_a_field_past_the_table(wire, junk, data):
    name = data.draw(st.sampled_from([*sorted(wire.request.fields), "zzz", "metadata2"]))
    try:
        built = rebuilt(wire, **{name: junk})
    except Unfit:
        return
    passed = {key for key, known in wire.request.fields.items() if known.rule in ("needed", "passed")}
    assert built.keys() <= passed | {"stream_options"}
    assert wire.rebuild(built, ["small"]) == built  # the model process does it again


def test_the_tables_name_every_way_out_that_is_known():
    """A field that reaches beyond the model is refused by name, not as unknown: the refusal gives the reason."""
    for wire, names in (
        (CHAT, {"user", "metadata", "web_search_options", "safety_identifier", "service_tier"}),
        (RESPONSES, {"previous_response_id", "conversation", "prompt", "user", "metadata"}),
        (MESSAGES, {"mcp_servers", "container", "metadata", "cache_control", "context_management"}),
    ):
        assert {name for name, known in wire.request.fields.items() if known.rule == "refused"} >= names


def test_every_field_of_the_tables_can_be_listed():
    for wire in WIRES.values():
        places = dict(Object({"": Field("passed", wire.request)}).places(""))
        assert any(place.endswith("model") for place in places)
        assert all(known.why for known in places.values() if known.rule in ("refused", "ours", "left out"))
