"""Twins of answers: the dressings that people put around one, other ways to write a number, a list or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from sandbox.kinds.common.texts import other_layout
from verifiers.language.predicate import CLAIMS, Predicate, probes

_MARKS = {"code-marks": "`", "emphasis": "**", "quotes": '"'}
_LISTS = {"answer.set", "answer.list"}


def answer_twins(predicate: Predicate, answer: str) -> Iterator[tuple[str, str]]:
    """List the twins of an answer, by name; those that fit what the predicate asks for.

    None of an answer whose claims a language model judges: it was asked about the answer itself.
    """
    asked = {probe.name: probe.arguments for probe in probes(predicate) if probe.name.startswith("answer.")}
    if not asked or CLAIMS in asked or not answer.strip():
        return
    yield "fence", f"```\n{answer}\n```"
    if lists := _LISTS & asked.keys():
        items = [item.strip() for item in re.split("[,;\n]", answer)]
        if any(set(items) == set(asked[name]["items"]) for name in lists):
            yield from _of_list(items, is_set="answer.set" in lists)
    elif "answer.json" in asked:
        yield "code-marks", f"`{answer}`"
        yield "json-layout", other_layout(answer) or answer
    elif "\n" not in answer:
        yield from ((name, f"{mark}{answer}{mark}") for name, mark in _MARKS.items() if mark not in answer)
        yield "full-stop", answer if answer.endswith(".") else f"{answer}."
        if "answer.number" in asked:
            yield from _of_number(answer)


def _of_list(items: list[str], *, is_set: bool) -> Iterator[tuple[str, str]]:
    for name, mark in _MARKS.items():
        yield name, ", ".join(f"{mark}{item}{mark}" for item in items)
    yield "full-stop", f"{', '.join(items)}."
    yield "lines", "\n".join(items)
    yield "bullets", "\n".join(f"- {item}" for item in items)
    yield "json-array", json.dumps(items, ensure_ascii=False)
    if len(items) > 1 and " and " not in items[-1]:
        yield "and", f"{', '.join(items[:-1])} and {items[-1]}"
    if is_set:
        yield "order", ", ".join(reversed(items))


def _of_number(answer: str) -> Iterator[tuple[str, str]]:
    if re.fullmatch("-?[0-9]+", answer):
        yield "thousands", f"{int(answer):,}"
        yield "number-format", f"{answer}.0"
    elif re.fullmatch(r"-?[0-9]+\.[0-9]+", answer):
        whole, _, fraction = answer.partition(".")
        yield "thousands", f"{int(whole):,}.{fraction}"
        yield "number-format", f"{answer}0"
