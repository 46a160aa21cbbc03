"""Tests of the JSON-RPC errors that answer refused requests: the id is found wherever it can be read, at a low cost."""

from __future__ import annotations

import json

import pytest

from sandbox.gateway.json_rpc import MAX_BRACKETS, MAX_ID_CHARACTERS, outline, refusal, request_id

MIB = 1024 * 1024


def request(arguments, identifier=7, *, id_first=True):
    call = {"method": "tools/call", "params": {"name": "x", "arguments": arguments}}
    named = {"jsonrpc": "2.0", "id": identifier}
    return json.dumps({**named, **call} if id_first else {**call, **named}).encode()


@pytest.mark.parametrize("id_first", [True, False])
@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "x" * 2 * MIB},
        {"text": '\\"}{][' * 99_999},
        {"text": "\ud800"},
        {"words": ["abcd"] * 99_999},
        {"numbers": [float("nan")] * 99},
        {"id": 8, "inner": [{"id": 9}, '"id": 10'] * 999},
        {},
    ],
    ids=lambda arguments: str(arguments)[:20],
)
def test_the_id_stands_before_the_arguments_or_behind_them(arguments, id_first):
    assert request_id(request(arguments, id_first=id_first)) == 7


@pytest.mark.parametrize("depth", [200, MIB // 2])
def test_the_id_is_found_around_any_depth(depth):
    nested = b'{"params": {"a": ' + b"[" * depth + b"]" * depth + b'}, "id": "one"}'
    assert request_id(nested) == "one"


def test_what_is_cut_off_may_have_named_its_id_before():
    assert request_id(request({"text": "x" * 99})[:-50]) == 7
    assert request_id(request({"text": "x" * 99}, id_first=False)[:-50]) is None


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"}", b"nul", b'{"id": 7', b'[{"id": 7}]', b'{"id": 7]', b'{"id": 7, "id": 7}',
        b'{"id": 7, "id": 8}', b'{"id": true}', b'{"id": null}', b'{"id": 7.5}', b'{"id": 1e999}',
        b'{"id": 99999999999999999999}', b'{"id": [7]}', b'{"id": "\\ud800"}', b'{"id": "\xff"}',
        b'{"id": "' + b"a" * (MAX_ID_CHARACTERS + 1) + b'"}', b'{"a": "' + b"a" * 9999 + b'", "id": 7}',
        b'{"a": ' + b"[" * MAX_BRACKETS + b'], "id": 7}', b'{"a": [], ' + b'"b": [], ' * MIB + b'"id": 7}',
        b"[" * MIB, b'"' * MIB, b'{"' + b"\\" * MIB,
    ],
    ids=lambda body: ascii(body[:24]),
)  # fmt: skip
def test_an_id_that_nobody_can_be_sure_of_is_none(body):
    assert request_id(body) is None


def test_the_outline_is_the_outermost_object_with_nothing_in_it():
    assert outline(b' {"a": {"b": [1]}, "c": [2, {}], "d": "{"} {"e": 1}') == b' {"a": {}, "c": [], "d": "{"}'


def test_a_refusal_says_which_kind_it_is():
    assert refusal(b'{"id": 7, "a": NaN}', "why") == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "why"},
    }
    assert refusal(b'{"id": 7, "a": [NaN]}', "why")["error"]["code"] == -32600
    assert (refusal(b' [{"id": 7}]', "why")["id"], refusal(b" [", "why")["error"]["code"]) == (None, -32600)
