"""Trace of a run on public tasks as one HTML file: a pure function of its figures (`measures.trace_figures`).

Goal, calls with arguments and results beside those of the nearest reference solution, evidence, failure class with what
decided it, and tokens. The same figures give the same bytes, and the file asks nothing of anybody: no script, no font,
no picture from outside, and a content policy that would forbid them. Texts of agents and servers are hostile: all are
escaped, and characters that hide or move others are written out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn import trace_text
from quarterturn.pages.drawing import svg
from quarterturn.pages.drawing.charts import Row, scale, whisker
from quarterturn.pages.drawing.formatting import NONE, decimal, percent
from quarterturn.pages.templates import inline_style, inline_style_hash, render

MAX_SHOWN_CHARACTERS = 20_000
"""Of a result or of arguments, of which the run's file has all."""
SIGNS = {"same": "✓", "extra": "+", "missing": "○", "failed": "✗", "scheduled": "↯", "unlisted": "⊘"}
MARKS = {
    "same": "as in the reference solution",
    "extra": "not in the solution",
    "missing": "in the solution, never made",
    "failed": "answered with an error",
    "scheduled": "got a scheduled error",
    "unlisted": "to a tool that the task does not list",
}
VERDICTS = {"true": "✓", "false": "✗", "unknown": "?"}
HEIGHT, MIDDLE = 16, 8.0
STYLES = ("page.css", "trace.css")

Item = Mapping[str, Any]


def page(figures: Item) -> str:
    """Draw the trace of a run."""
    tasks = [_task(task) for task in figures["tasks"]]
    return render(
        "trace.html.jinja",
        policy=f"default-src 'none'; style-src {style_hash()}; base-uri 'none'; form-action 'none'",
        style=inline_style(*STYLES),
        title=figures["title"],
        counts=[
            ("Tasks", str(len(figures["tasks"]))),
            ("Passed", str(sum(task["measures"]["passed"] for task in figures["tasks"]))),
            ("Failures with a class", str(figures["diagnosed"])),
        ],
        measures=[
            (row["title"], percent(row["value"], 1), _between(row), f"{row['n']} {row['counts']}", row["definition"])
            for row in figures["measures"]
        ],
        profile=_profile(figures["profile"]) if figures["profile"] else None,
        ring=any(row["median"] is not None for row in figures["profile"]),
        diagnosed=figures["diagnosed"],
        causes=[(row["cause"], str(row["calls"]), _tools(row["tools"])) for row in figures["root_causes"]],
        tasks=tasks,
        signs=SIGNS,
        marks=MARKS,
    )


def style_hash() -> str:
    """Return the hash by which a content policy allows the page's style sheet."""
    return inline_style_hash(*STYLES)


def _task(task: Item) -> dict[str, Any]:
    run, measures, graph = task["run"], task["measures"], task["measures"]["graph"]
    transcript = run["transcript"]
    return {
        "id": run["task_id"],
        "outcome": "passed" if run["passed"] else "failed",
        "sign": VERDICTS["true"] if run["passed"] else VERDICTS["unknown" if run["verdict"] == "unknown" else "false"],
        "headline": trace_text.headline(task["task"], run).split(None, 1)[1],
        "goal": run["goal"] or task["task"]["goal"],
        "failure": _failure(measures["failure"]),
        "calls": _calls(transcript["calls"], graph),
        "answer": "none" if transcript["answer"] is None else transcript["answer"],
        "ended": [" ".join(line.split()) for line in trace_text.ended(run)],
        "reference": _reference(graph, measures["reference_answer"]) if graph else None,
        "evidence": _evidence(run["evidence"]),
        "tokens": _tokens(transcript.get("model_calls", ()), measures.get("tokens")),
        "citations": _citations(measures.get("citations")),
    }


def _calls(calls: Sequence[Item], graph: Item | None) -> list[dict[str, Any]]:
    made_as = graph["made_as"] if graph else ()
    return [_call(call, number, made_as) for number, call in enumerate(calls, 1)]


def _call(call: Item, number: int, made_as: Sequence[int | None]) -> dict[str, Any]:
    if call["injected"]:
        kind = "scheduled"
    elif not call["listed"]:
        kind = "unlisted"
    elif call["error"]:
        kind = "failed"
    else:
        kind = "same" if number in made_as else "extra"
    same = f"call {made_as.index(number) + 1} of the solution" if number in made_as else ""
    return {
        "kind": kind,
        "sign": SIGNS[kind],
        "tool": call["tool"],
        "note": same or _brief(call["arguments"]),
        "arguments": _lines(json.dumps(call["arguments"], ensure_ascii=False, indent=1)),
        "result": _lines(call["result"]),
    }


def _reference(graph: Item, answer: str | None) -> dict[str, Any]:
    calls = []
    for call, made in zip(graph["calls"], graph["made_as"], strict=True):
        kind = "missing" if made is None else "same"
        note = _brief(call["arguments"]) if made is None else f"call {made} of the agent"
        written = _lines(json.dumps(call["arguments"], ensure_ascii=False, indent=1))
        plain = {"kind": kind, "sign": SIGNS[kind], "tool": call["tool"], "note": note}
        calls.append(plain | {"arguments": written, "result": None})
    edges = [
        f"{source} → {target}" + (f" {SIGNS['missing']}" if [source, target] in graph["missing_edges"] else "")
        for source, target in graph["edges"]
    ]
    return {"title": f"Reference solution {graph['solution']}", "calls": calls, "answer": answer, "edges": edges}


def _failure(failure: Item | None) -> dict[str, str] | None:
    if failure is None:
        return None
    evidence = failure["evidence"]
    also = ", ".join(name.replace("_", " ") for name in evidence if name != failure["class"])
    title = failure["class"].replace("_", " ").capitalize()
    return {"title": title, "evidence": evidence[failure["class"]], "also": also}


def _evidence(node: Item) -> dict[str, Any]:
    written = json.dumps(node["looked_at"], ensure_ascii=False, sort_keys=True) if node.get("looked_at") else ""
    return {
        "sign": VERDICTS[node["verdict"]],
        "words": f"{node['op']} {written}".strip()[:MAX_SHOWN_CHARACTERS],
        "found": node.get("found", "")[:MAX_SHOWN_CHARACTERS],
        "children": [_evidence(child) for child in node.get("children", ())],
    }


def _citations(counts: Mapping[str, int] | None) -> str:
    """Say what of the answer's citations is there; nothing of an answer without one."""
    words = [f"{count} {name.replace('_', ' ')}" for name, count in (counts or {}).items() if count]
    return f"Citations: {', '.join(words)}." if words else ""


def _tokens(model_calls: Sequence[Item], kinds: Item | None) -> str:
    if not model_calls:
        return ""
    read, written = (sum(call[name] for call in model_calls) for name in ("read", "written"))
    guessed = ", partly as we estimate them" if any(call["estimated"] for call in model_calls) else ""
    words = (
        [f"{name} {kinds[name]:,}" for name in ("reasoning", "tool", "verification") if kinds[name]] if kinds else []
    )
    by_kind = f" ({', '.join(words)})" if words else ""
    return (
        f"{len(model_calls)} requests to a language model: {read:,} tokens read, {written:,} written{by_kind}{guessed}."
    )


def _profile(rows: Sequence[Item]) -> list[Row]:
    at = scale(0, 1)
    ticks = (0, 0.25, 0.5, 0.75, 1)
    chart_rows = []
    for row in rows:
        parts = [svg.line((svg.pct(at(tick)), 0), (svg.pct(at(tick)), "100%"), "grid") for tick in ticks]
        if row["value"]:
            parts.append(svg.bar(at(0), at(row["value"]), MIDDLE - 4, 8, "bar ability"))
            parts += whisker(at(row["low"]), at(row["high"]), MIDDLE, "thin")
        if row["median"] is not None:
            parts.append(svg.dot(svg.pct(at(row["median"])), MIDDLE, 4, "ring"))
        told = (percent(row["value"]), _between(row)) if row["value"] else (percent(row["value"]),)
        chart_rows.append(Row(row["title"], svg.picture(parts, HEIGHT), told))
    return chart_rows


def _between(row: Item) -> str:
    if row["low"] is None or row["high"] is None:
        return NONE
    return f"{decimal(100 * row['low'])} to {decimal(100 * row['high'])}"


def _tools(tools: Mapping[str, int]) -> str:
    return ", ".join(f"{tool} {count}" for tool, count in tools.items())


def _brief(arguments: Item) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"  # noqa: PLR2004 - one line


def _lines(text: str) -> list[str]:
    cut = text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}… ({len(text):,} characters)"
    return cut.splitlines() or [""]
