"""Predicates over the Redis server's keys.

A key, a field and a member are exact. Values are texts, as in Redis: `"5"`, never `5`; a score is a number. A key of
another type than the predicate asks about makes it false. What cannot be read counts against the agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from verifiers.budget import ReadingBudget
from verifiers.errors import TargetMissing
from verifiers.formats.plain_json import parse_json
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, FLAG, NOTHING, TEXT, Example, ProbeResult, names, predicate
from verifiers.predicates.values import at_pointer, json_equal
from verifiers.quoting import listed, quoted
from verifiers.states.redis.examples import redis_keys
from verifiers.states.redis.keys import RedisKey, open_keys

KEY = {"type": "string", "minLength": 1, "maxLength": 1024}
TEXTS = {"type": "array", "items": TEXT, "description": "list of texts"}
FIELDS = {"type": "object", "additionalProperties": TEXT, "description": "object: field to text"}
SCORES = {"type": "object", "additionalProperties": {"type": "number"}, "description": "object: member to score"}
SCORE = {"type": "number"}
SECONDS = {"type": "integer", "minimum": 1}
TYPES = {"enum": ["string", "list", "set", "hash", "zset", "stream"], "description": "a type, as Redis names it"}
ANYTHING = {"description": "any JSON value"}
A_MEMBER = {"list": 1, "set": 2, "hash": 2, "zset": 4, "stream": 4}  # steps
LETTERS = 256  # of a name for a step
MAX_PASSED = 900  # seconds between the agent's call and our look, where nobody wrote down how many
A_ROUNDING = 1  # second

STATE = {
    "greeting": ("string", "hello"),
    "queue": ("list", ["a", "b"]),
    "tags": ("set", ["x", "y"]),
    "user:1": ("hash", {"name": "Ann", "city": "Bern"}),
    "scores": ("zset", {"ann": "3", "bob": "1.5"}),
    "events": ("stream", [["1-0", [["kind", "start"]]]]),
    "profile": ("string", '{"tags": ["a"], "age": 5}'),
}
FULL, BARE = partial(redis_keys, STATE), partial(redis_keys, {"other": ("string", "hello")})
MIXED = partial(redis_keys, dict.fromkeys(STATE, ("string", "hello!")))


@predicate(
    "redis.keyExists",
    words="there is a key {key}",
    takes={"key": KEY},
    may_take={"type": TYPES},
    produces=NOTHING,
    example=Example({"key": "queue", "type": "list"}, FULL, MIXED),
)
def key_exists(context: Context, key: str, type: str | None = None) -> ProbeResult:  # noqa: A002 - what documents call it
    """There is a key of this name, of this type where one is given."""
    keys = open_keys(context)
    entry = keys.get(key)
    if entry is None:
        return ProbeResult(holds=False, found=f"the keys are {listed(list(keys))}")
    return ProbeResult(type in {None, entry.type}, f"{quoted(key)} is a {entry.type}")


@predicate(
    "redis.stringEquals",
    words="the key {key} holds the text {value}",
    takes={"key": KEY, "value": TEXT},
    produces=("value",),
    example=Example({"key": "greeting", "value": "hello"}, FULL, MIXED),
)
def string_equals(context: Context, key: str, value: str) -> ProbeResult:
    """The key is a string, and holds just this text."""
    actual = _value(context, key, "string")
    return ProbeResult(actual == value, f"{quoted(key)} holds {quoted(actual)}")


@predicate(
    "redis.jsonEquals",
    words="the key {key} holds a JSON document with {value} at {pointer}",
    takes={"key": KEY, "value": ANYTHING},
    may_take={"pointer": {"type": "string", "pattern": "^(/.*)?$", "description": "JSON pointer"}},
    produces=("value",),
    example=Example({"key": "profile", "pointer": "/tags/0", "value": "a"}, FULL, MIXED),
)
def json_equals(context: Context, key: str, value: Any, pointer: str = "") -> ProbeResult:
    """The key is a string that is a JSON document, and it, or what the pointer leads to, is this value."""
    text = _value(context, key, "string")
    try:
        actual = at_pointer(_json(text, context.budget), pointer)
    except LookupError:
        raise TargetMissing(f"{quoted(pointer)} leads nowhere in what {quoted(key)} holds") from None
    return ProbeResult(json_equal(actual, value), f"there is {quoted(actual)}")


@predicate(
    "redis.hashFieldEquals",
    words="the hash {key} has {value} in the field {field}",
    takes={"key": KEY, "field": TEXT, "value": TEXT},
    produces=("value",),
    example=Example({"key": "user:1", "field": "city", "value": "Bern"}, FULL, MIXED),
)
def hash_field_equals(context: Context, key: str, field: str, value: str) -> ProbeResult:
    """The key is a hash, and this field of it holds just this text."""
    fields = _value(context, key, "hash")
    if field not in fields:
        raise TargetMissing(f"{quoted(key)} has the fields {listed(list(fields))}")
    return ProbeResult(fields[field] == value, f"the field holds {quoted(fields[field])}")


@predicate(
    "redis.hashEquals",
    words="the hash {key} is {fields}",
    takes={"key": KEY, "fields": FIELDS},
    produces=("fields",),
    example=Example({"key": "user:1", "fields": {"city": "Bern", "name": "Ann"}}, FULL, MIXED),
)
def hash_equals(context: Context, key: str, fields: Mapping[str, str]) -> ProbeResult:
    """The key is a hash, and has these fields and no others."""
    actual = _value(context, key, "hash")
    return ProbeResult(actual == dict(fields), f"{quoted(key)} holds {quoted(actual)}")


@predicate(
    "redis.listEquals",
    words="the list {key} is {values}",
    takes={"key": KEY, "values": TEXTS},
    produces=("values",),
    example=Example({"key": "queue", "values": ["a", "b"]}, FULL, MIXED),
)
def list_equals(context: Context, key: str, values: Sequence[str]) -> ProbeResult:
    """The key is a list, and holds these texts, in this order."""
    actual = _value(context, key, "list")
    return ProbeResult(actual == list(values), f"{quoted(key)} holds {quoted(actual)}")


@predicate(
    "redis.setEquals",
    words="the set {key} is {members}",
    takes={"key": KEY, "members": names(TEXT)},
    produces=NOTHING,  # members are names, as in a sorted set
    example=Example({"key": "tags", "members": ["y", "x"]}, FULL, MIXED),
)
def set_equals(context: Context, key: str, members: Sequence[str]) -> ProbeResult:
    """The key is a set, and has these members and no others."""
    actual = _value(context, key, "set")
    return ProbeResult(set(actual) == set(members), f"{quoted(key)} holds {quoted(actual)}")


@predicate(
    "redis.setContains",
    words="the set {key} has the member {member}",
    takes={"key": KEY, "member": TEXT},
    produces=NOTHING,  # members are names, as in a sorted set
    example=Example({"key": "tags", "member": "x"}, FULL, MIXED),
)
def set_contains(context: Context, key: str, member: str) -> ProbeResult:
    """The key is a set, and this is one of its members."""
    actual = _value(context, key, "set")
    return ProbeResult(member in actual, f"{quoted(key)} holds {quoted(actual)}")


@predicate(
    "redis.sortedSetEquals",
    words="the sorted set {key} is {scores}",
    takes={"key": KEY, "scores": SCORES},
    produces=("scores",),
    example=Example({"key": "scores", "scores": {"bob": 1.5, "ann": 3}}, FULL, MIXED),
)
def sorted_set_equals(context: Context, key: str, scores: Mapping[str, float]) -> ProbeResult:
    """The key is a sorted set, and has these members with these scores, and no others."""
    actual = {member: float(score) for member, score in _value(context, key, "zset").items()}
    return ProbeResult(
        actual == {member: float(score) for member, score in scores.items()}, f"it holds {quoted(actual)}"
    )


@predicate(
    "redis.scoreEquals",
    words="in the sorted set {key}, {member} has the score {score}",
    takes={"key": KEY, "member": TEXT, "score": SCORE},
    produces=("score",),
    example=Example({"key": "scores", "member": "ann", "score": 3}, FULL, MIXED),
)
def score_equals(context: Context, key: str, member: str, score: float) -> ProbeResult:
    """The key is a sorted set, and this member of it has this score."""
    actual = _value(context, key, "zset")
    if member not in actual:
        raise TargetMissing(f"{quoted(key)} has the members {listed(list(actual))}")
    return ProbeResult(float(actual[member]) == float(score), f"the score is {actual[member]}")


@predicate(
    "redis.streamHasEntry",
    words="the stream {key} has an entry {fields}",
    takes={"key": KEY, "fields": FIELDS},
    produces=("fields",),
    example=Example({"key": "events", "fields": {"kind": "start"}}, FULL, MIXED),
)
def stream_has_entry(context: Context, key: str, fields: Mapping[str, str]) -> ProbeResult:
    """The key is a stream, and an entry of it has just these fields with these texts."""
    entries = _value(context, key, "stream")
    context.budget.step(sum(len(pairs) for _, pairs in entries))
    return ProbeResult(
        any(dict(pairs) == dict(fields) for _, pairs in entries), f"{quoted(key)} has {len(entries)} entries"
    )


@predicate(
    "redis.keyCount",
    words="there are {count} keys that begin with {prefix}",
    takes={"count": COUNT},
    may_take={"prefix": TEXT},
    produces=NOTHING,
    example=Example({"count": 1, "prefix": "user:"}, FULL, BARE),
)
def key_count(context: Context, count: int, prefix: str = "") -> ProbeResult:
    """There are this many keys, or this many whose names begin so."""
    keys = open_keys(context)
    context.budget.step(len(keys) * (1 + len(prefix) // LETTERS))
    matching = [name for name in keys if name.startswith(prefix)]
    return ProbeResult(len(matching) == count, f"there are {len(matching)}: {listed(matching)}")


@predicate(
    "redis.expires",
    words="the key {key} runs out: {expires}",
    takes={"key": KEY, "expires": FLAG},
    may_take={"seconds": SECONDS},
    produces=NOTHING,  # the goal says how long, in whatever unit
    example=Example({"key": "greeting", "expires": False}, FULL, partial(redis_keys, STATE, left={"greeting": 5000})),
)
def expires(context: Context, key: str, expires: bool, seconds: int | None = None) -> ProbeResult:  # noqa: FBT001 - named in documents
    """The key has a time to live, or has none.

    Where it has one, `seconds` is what it was given: no more is left, and no less than a call since the world's start
    would have left (15 minutes less, where nobody wrote down when that was).
    """
    left = _entry(context, key).left
    if left is None or not expires or seconds is None:
        return ProbeResult(
            (left is not None) == expires, f"{quoted(key)} {'does not run out' if left is None else 'runs out'}"
        )
    passed = context.state("redis").document.get("passed")
    least = seconds - (MAX_PASSED if passed is None else passed / 1000 + A_ROUNDING)
    return ProbeResult(least <= left / 1000 <= seconds, f"{quoted(key)} has {left // 1000} s left")


def _entry(context: Context, key: str) -> RedisKey:
    keys = open_keys(context)
    if key not in keys:
        raise TargetMissing(f"there is no key {quoted(key)}; the keys are {listed(list(keys))}")
    return keys[key]


def _value(context: Context, key: str, kind: str) -> Any:
    entry = _entry(context, key)
    if entry.type != kind:
        raise TargetMissing(f"{quoted(key)} is a {entry.type} and not a {kind}")
    size = len(entry.value)
    context.budget.step(1 + size // LETTERS if isinstance(entry.value, str) else A_MEMBER[kind] * size)
    return entry.value


def _json(text: str, budget: ReadingBudget) -> Any:
    budget.parse_json(text)
    try:
        return parse_json(text)
    except ValueError:
        raise TargetMissing("it holds a text that is no JSON document") from None
