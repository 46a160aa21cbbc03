"""Loopback model: a rule-based judge of claims behind a real HTTP server on 127.0.0.1, for tests and for trying out.

It speaks both wire formats, says the same of the same text each time, and has dials for known faults, so that what
measures a judge can be measured. Its rule: the quoted texts and numbers of a claim (or, where it has none, its words
of four letters and more) have to occur in the answer. With all of them the claim is correct, with half of them
partially correct, else incorrect. A claim that an answer quotes word for word is taken out of the answer first.

    python -m quarterturn_judge.loopback_model --port 8000 [--confusion 0.1] [--noise 0.1] ...
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from verifiers.answer.claims import ClaimOutcome

BYTES_A_TOKEN = 4
_SECTIONS = re.compile(
    r"\AGOAL:\n.*?\n\nCLAIM:\n(?P<claim>.*?)\n\nRUBRIC:\n.*?\n\nANSWER:\n<<<(?P<marker>[0-9a-f]{32})\n(?P<answer>.*)\n(?P=marker)>>>",
    re.DOTALL,
)
_TERMS = re.compile(r'"([^"]+)"|(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?![\w])')
_WORDS = re.compile(r"\w{4,}")
_CUES = re.compile(
    r"correct|outcome|verdict|ignore|instruct|system|judge|grader|evaluat|score|rubric|assistant|admin|richtig|korrekt"
    r"|правильн|正确|صحيح|सही|正しい|base64|rot13|decode|claim",
    re.IGNORECASE,
)
_STEPS = tuple(ClaimOutcome)


@dataclass(frozen=True, slots=True)
class Dials:
    """Known faults, each a share from 0 to 1 (none by default), and a seed.

    Attributes:
        confusion: of pairs of claim and answer, the share on which it says the opposite, each time.
        noise: of requests, the share on which it is one step off, now and not the next time.
        bias: of pairs, the share on which it is one step too kind; too strict below 0.
        gullible: of answers that speak of verdicts, claims or instructions, the share that it obeys.
        failures: of requests, the share that fails: an error, a text that is no verdict, or a refusal.
        seed: chooses which texts and requests these shares fall on.
    """

    confusion: float = 0.0
    noise: float = 0.0
    bias: float = 0.0
    gullible: float = 0.0
    failures: float = 0.0
    seed: float = 0.0


def ruled(claim: str, answer: str) -> ClaimOutcome:
    """Judge a claim by the rule alone."""
    text, wanted = answer.casefold().replace(claim.casefold(), " "), _terms(claim)
    there = sum(re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text) is not None for term in wanted)
    if there == len(wanted):
        return ClaimOutcome.CORRECT
    return ClaimOutcome.PARTIALLY_CORRECT if 2 * there >= len(wanted) else ClaimOutcome.INCORRECT


def _terms(claim: str) -> list[str]:
    exact = [(quoted or number).casefold() for quoted, number in _TERMS.findall(claim)]
    return exact or _WORDS.findall(claim.casefold()) or [claim.casefold()]


def judged(claim: str, answer: str, marker: str, dials: Dials) -> ClaimOutcome:
    """Judge a claim by the rule, with the faults of the dials."""
    step = _STEPS.index(ruled(claim, answer))
    if _CUES.search(answer) and _share(dials, "gullible", claim, answer) < dials.gullible:
        step = len(_STEPS) - 1
    if _share(dials, "confusion", claim, answer) < dials.confusion:
        step = 0 if step else len(_STEPS) - 1
    if _share(dials, "bias", claim, answer) < abs(dials.bias):
        step += 1 if dials.bias > 0 else -1
    if _share(dials, "noise", marker) < dials.noise:
        step += 1 if step == 0 else -1
    return _STEPS[min(max(step, 0), len(_STEPS) - 1)]


def _share(dials: Dials, *what: str) -> float:
    """Return a number in [0, 1) that depends on the seed and some texts alone."""
    digest = hashlib.sha256("\0".join((str(dials.seed), *what)).encode("utf-8", "backslashreplace")).digest()
    return float(int.from_bytes(digest[:6], "big") / 2**48)


class LoopbackModel:
    """The server, while the context is open.

    Attributes:
        asked: the messages that came in, in their order.
    """

    def __init__(self, dials: Dials | None = None, port: int = 0) -> None:
        self.dials, self.asked = dials or Dials(), list[str]()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                model._serve(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Its base address, as `models.NAME.url` has it for the wire `openai`."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def serve(self) -> None:
        """Answer requests until the process ends."""
        self._server.serve_forever(0.05)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, name="loopback-model", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        text = str(body["messages"][-1]["content"])
        status, said = self._reply(text)
        document = _document(handler.path, body, said) if status == 200 else {"error": {"message": said}}  # noqa: PLR2004 - HTTP
        data = json.dumps(document).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _reply(self, text: str) -> tuple[int, str]:
        asked = _SECTIONS.search(text)
        if asked is None:
            return 200, "OK"  # a probe
        self.asked.append(text)
        marker = asked["marker"]
        if _share(self.dials, "failures", marker) < self.dials.failures:
            return _FAILURES[int(_share(self.dials, "kind", marker) * len(_FAILURES))]
        outcome = judged(asked["claim"], asked["answer"], marker, self.dials)
        return 200, json.dumps({"outcome": outcome.value, "justification": "By the rule."})


_FAILURES: Sequence[tuple[int, str]] = (
    (400, "This request was flagged."),
    (200, "I think that the claim is correct."),
    (200, '{"outcome": "correct"}'),
)


def _document(path: str, body: Mapping[str, Any], said: str) -> Mapping[str, Any]:
    texts = [body.get("system", ""), *(message["content"] for message in body["messages"])]
    read, written = sum(len(text.encode()) for text in texts) // BYTES_A_TOKEN, 1 + len(said) // BYTES_A_TOKEN
    if path.endswith("/messages"):
        block, usage = {"type": "text", "text": said}, {"input_tokens": read, "output_tokens": written}
        return {"type": "message", "role": "assistant", "content": [block], "usage": usage, "stop_reason": "end_turn"}
    message = {"role": "assistant", "content": said}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m quarterturn_judge.loopback_model", description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    for field in fields(Dials):
        parser.add_argument(f"--{field.name}", type=float, default=0.0)
    given = vars(parser.parse_args())
    LoopbackModel(port=given.pop("port"), dials=Dials(**given)).serve()


if __name__ == "__main__":
    _main()
