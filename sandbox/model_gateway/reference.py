"""Generator of the reference page of the model gateway, `docs/reference/model-gateway.md`."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.model_gateway import session, upstream
from sandbox.model_gateway.agent_endpoints import MAX_BODY, SWITCHES
from sandbox.model_gateway.budget import BYTES_A_TOKEN, DEFAULT_ANSWER
from sandbox.model_gateway.formats.registry import WIRES
from sandbox.model_gateway.formats.shape import MAX_MEDIA, MEDIA, Shape
from sandbox.model_gateway.formats.wire_format import Wire

_SWITCHES = ", ".join(f"`{name}`" for name in SWITCHES)

HEAD = f"""# The model gateway

This page is written from the tables that requests and answers are rebuilt from; a test fails where the two differ.

An agent that may ask a language model finds it where its tools are: base URL `http://127.0.0.1:8700/v1` for OpenAI's
clients, `http://127.0.0.1:8700` for Anthropic's. Official clients work unchanged, streaming included; any key will do.
`GET /task` says `"model": {{"wire": "openai", "models": ["…"]}}` where there is a model.

A request is not filtered but built anew: what the table of its format does not name is refused with status 400 and the
name of the field. The same holds for the head: a query string, and the headers {_SWITCHES}
are refused, every other header is read by nobody. Media must be in the request itself, as `data:` (or base64) of
{", ".join(MEDIA)}, at most {MAX_MEDIA // 1024} KiB; a request has at most {MAX_BODY // 1024} KiB.

An answer is built anew too, and what its table does not name is left out: no header, request id, time, fingerprint,
service tier, rate limit or count of cached tokens comes back, nor an upstream's own words about an error.

| status | meaning |
|---|---|
| 400 | refused here; the message names the field. Or the upstream refused this request |
| 403 | the session has ended, or the task's tokens, requests or log are used up |
| 404 | no such path in this run |
| 502 | the upstream did not answer, also after {len(upstream.PAUSES)} more tries |

## What a task may cost

The settings give each task a number of tokens, read and written together, and of requests. A request reserves what it
may cost before it is sent: one token for {BYTES_A_TOKEN} bytes, and the limit of its answer, clamped to what is
left ({DEFAULT_ANSWER} where the request names none). When it ends, the upstream's own count is what is charged. Where a
stream broke before that came, the estimate is: {BYTES_A_TOKEN} bytes a token of what was sent and of what was received.
At most {session.MAX_TOGETHER} requests of a task are under way at a time; others wait.

## What is kept

Everything that is sent is first written to the run's sealed transcript (`model_calls`), without the beginning of the
conversation that is the same as in the request before it; what comes back follows, with the count of tokens and an
outcome:

| outcome | meaning |
|---|---|
| ok | answered in full |
| refused | the upstream failed this request, but answered a fixed one of ours (`Say OK.`) |
| broke | the answer broke off, and the same request made again did not; or the fixed one was too many, or had to wait |
| down | the upstream failed the fixed request too; the task in play [is a fail](failures.md) unless it is done |
| cut | the agent, or its session, was gone before the end |
"""


def page() -> str:
    """Write the page."""
    return HEAD + "".join(line for wire in WIRES.values() for line in _format(wire))


def _format(wire: Wire) -> Iterator[str]:
    speaks = {"openai": "OpenAI", "anthropic": "Anthropic"}[wire.style]
    yield f"\n## `POST {wire.path}` ({speaks})\n\n"
    yield "Fields of a request:\n\n"
    yield from (f"- {rule}: {', '.join(places)}.\n" for rule, places in _by_rule(wire.request).items())
    yield "\nOf an answer these come back: "
    yield ", ".join(f"`{place}`" for place, _ in wire.answer.places("") if "<" not in place.rpartition(".")[2]) + ".\n"
    if wire.named_events:
        yield f"\nOf a stream these events: {', '.join(f'`{kind}`' for kind in wire.events)}.\n"


def _by_rule(shape: Shape) -> dict[str, list[str]]:
    """Group the fields by what becomes of them and why."""
    groups: dict[str, list[str]] = {}
    for place, known in shape.places(""):
        if not place.endswith(">"):
            rule = f"*{known.rule}*" + (f" ({known.why})" if known.why else "")
            groups.setdefault(rule, []).append(f"`{place}`")
    return groups
