"""Freezes verdicts with their evidence, over a corpus of states that is kept.

The corpus is an input: states as an earlier version wrote them, byte for byte, with the predicates to evaluate on them.
It is made once, from the examples in the catalogue and from the damaged states below, and from then on only read: other
versions of zlib or SQLite would write other bytes, and the test is whether readers still read the old ones. A state
file that is removed is made anew.

Every predicate of a namespace is evaluated on its own two states, on a few others, on no state at all, and under
`not`.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from verifiers.language.catalogue import CATALOGUE, NAMESPACES
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Evidence
from verifiers.tree import FileTree, JudgeInput, Node

OTHERS = 2  # so many other states each predicate is asked of
Plain = dict[str, Any]


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the corpus, as it lies in `folder` or made anew, and the verdicts over it."""
    for space in NAMESPACES:
        path = folder / "states" / f"{space}.json"
        written = path.read_bytes() if path.is_file() else _lines(_corpus(space))
        yield f"states/{space}.json", written
        yield f"{space}.jsonl", b"".join(_judged(json.loads(written)))


def _judged(corpus: Plain) -> Iterator[bytes]:
    """Evaluate a namespace's predicates, a line for each pair of a predicate and a state."""
    contents = [_data(one) for one in corpus["contents"]]
    states = [_views(state, contents) for state in corpus["states"]]
    for number, document in enumerate(corpus["predicates"]):
        own = {2 * number, 2 * number + 1}
        more = {(2 * number + 5 * step) % len(states) for step in range(1, OTHERS + 1)}
        for place in sorted(own | more | set(range(2 * len(corpus["predicates"]), len(states)))):
            if place < len(states):
                yield _line(document, place, judge(parse(document), states[place]))
        yield _line({"not": document}, None, judge(parse({"not": document}), JudgeInput()))
    yield from _composed(corpus["predicates"], states)


def _composed(predicates: list[Plain], states: list[JudgeInput]) -> Iterator[bytes]:
    """Evaluate composed predicates: true, false and unknown under each connective."""
    first, second = predicates[0], predicates[1]
    for document in (
        {"all": [first, {"any": [second, {"not": first}]}]},
        {"any": [{"all": [first, second]}, {"not": {"not": first}}]},
        {"not": {"all": [first, {"not": second}]}},
    ):
        for place, views in ((0, states[0]), (1, states[1]), (None, JudgeInput())):
            yield _line(document, place, judge(parse(document), views))


def _line(document: Plain, state: int | None, evidence: Evidence) -> bytes:
    """Write a predicate's name, its state and the evidence; arguments stand in the question already."""
    return json.dumps({"asked": document, "state": state, **_bare(evidence)}, ensure_ascii=False).encode() + b"\n"


def _bare(evidence: Evidence) -> Plain:
    made: Plain = {"verdict": evidence.verdict.value}
    if evidence.found:
        made["found"] = evidence.found
    if evidence.children:
        made[evidence.op] = [_bare(child) for child in evidence.children]
    return made


# -- the corpus -------------------------------------------------------------------------------------------------------


def _corpus(space: str) -> Plain:
    """Make a namespace's corpus: the predicates, the states, and the contents of their files, each once."""
    contents: dict[bytes, int] = {}
    states = [_plain(views, contents) for views in _states(space)]
    asked = [{name: dict(CATALOGUE[name].example.arguments)} for name in _names(space)]
    return {"predicates": asked, "states": states, "contents": [_content(data) for data in contents]}


def _states(space: str) -> list[JudgeInput]:
    """Make two states of each predicate, where its example holds and where it does not, and damaged ones."""
    examples = [CATALOGUE[name].example for name in _names(space)]
    made = [views() for example in examples for views in (example.holds, example.fails)]
    if space not in made[0].states:  # what is looked at is the answer
        return [*made, JudgeInput(answer=""), JudgeInput(answer="\u00a0 \u200b\n")]
    torn = {path: _torn(node) for path, node in made[0].states[space].items()}
    return [*made, JudgeInput({space: FileTree({})}), JudgeInput({space: FileTree(torn)})]


def _names(space: str) -> list[str]:
    return [name for name in CATALOGUE if name.startswith(f"{space}.")]


def _torn(node: Node) -> Node:
    """Cut a file in half and flip a bit of what is left."""
    half = bytearray(node.data[: len(node.data) // 2])
    if half:
        half[-1] ^= 1
    return replace(node, data=bytes(half))


def _plain(views: JudgeInput, contents: dict[bytes, int]) -> Plain:
    def node(one: Node) -> list[Any]:
        more: list[Any] = [contents.setdefault(one.data, len(contents))] if one.kind == "file" else []
        return [one.kind, one.mode, *more, *([one.target] if one.kind == "symlink" else [])]

    states = {name: {path: node(one) for path, one in tree.items()} for name, tree in views.states.items()}
    replies = {} if views.replies is None else {"replies": dict(views.replies)}
    return {"states": states, "answer": views.answer, **replies}


def _views(state: Plain, contents: list[bytes]) -> JudgeInput:
    def node(kind: Any, mode: int, more: Any = None) -> Node:
        if kind == "file":
            return Node("file", data=contents[more], mode=mode)
        return Node(kind, target=more or "", mode=mode)

    trees = {
        name: FileTree({path: node(*parts) for path, parts in tree.items()}) for name, tree in state["states"].items()
    }
    return JudgeInput(trees, state["answer"], state.get("replies"))


def _content(data: bytes) -> Plain:
    """Write a file's bytes: as text where they are, else in base64, and packed where that is much shorter."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        packed = zlib.compress(data, 9)
        small = len(packed) < len(data) // 2
        return {"zlib" if small else "base64": base64.b64encode(packed if small else data).decode()}


def _data(content: Plain) -> bytes:
    if "text" in content:
        return content["text"].encode()
    return (
        zlib.decompress(base64.b64decode(content["zlib"])) if "zlib" in content else base64.b64decode(content["base64"])
    )


def _lines(corpus: Plain) -> bytes:
    """Write the corpus with one state, predicate or content a line, so that a change is seen where it is."""
    parts = [
        f'"{name}": [\n' + ",\n".join(json.dumps(one, ensure_ascii=False) for one in rows) + "\n]"
        for name, rows in corpus.items()
    ]
    return ("{" + ",\n".join(parts) + "}\n").encode()
