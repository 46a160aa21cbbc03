"""Verbs of those who write grammars and predicates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.choices import Category, Difficulty
from quarterturn.cli.options import Json
from quarterturn.cli.output import Output

Source = Annotated[str, typer.Argument(help="A shipped grammar's name, a folder or a file.")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    grammar = typer.Typer(help="Grammars: where tasks come from.")
    grammar.command("list")(grammar_list)
    grammar.command("check")(grammar_check)
    grammar.command("sample")(grammar_sample)
    app.add_typer(grammar, name="grammar")
    predicate = typer.Typer(help="Predicates: what success means.")
    predicate.command("list")(predicate_list)
    predicate.command("check")(predicate_check)
    app.add_typer(predicate, name="predicate")


def grammar_list(as_json: Json = False) -> None:
    """List the shipped grammars, which are public."""
    from grammars.load import library, load

    loaded = [load(name) for name in library()]
    data = [
        {"server": g.server, "version": g.version, "templates": len(g.templates), "digest": g.digest} for g in loaded
    ]
    lines = [f"{g.server:<12} version {g.version}  {len(g.templates):>3} templates  {g.digest[:16]}" for g in loaded]
    Output(as_json=as_json).result(data, *lines)


def grammar_check(source: Source, as_json: Json = False) -> None:
    """Read a grammar strictly, draw from every skeleton, and say how much there is in it."""
    from dataclasses import asdict

    from grammars.coverage import check
    from grammars.load import load
    from sandbox.servers import tool_table
    from verifiers.catalogue import CATALOGUE

    coverage = check(load(_source(source), tools=tool_table(), predicates=CATALOGUE))
    lines = [f"{'template':<40} {'skeletons':>9} {'bits':>6} {'phrasings':>9} {'solutions':>9} {'mutants':>7}"]
    lines += [
        f"{c.template:<40} {c.unseen:>9} {c.bits:>6.1f} {c.phrasings:>9} {c.solutions:>9} {c.mutants:>7}"
        for c in coverage
    ]
    Output(as_json=as_json).result([asdict(c) for c in coverage], *lines)


def grammar_sample(
    source: Source,
    seed: Annotated[int, typer.Option(help="The same seed gives the same draft.")] = 0,
    category: Annotated[Category | None, typer.Option(help="Draw from its templates only.")] = None,
    difficulty: Annotated[Difficulty | None, typer.Option(help="Draw at this one only.")] = None,
    as_json: Json = False,
) -> None:
    """Draw one draft and show it; nothing is kept."""
    import json
    from random import Random

    from grammars.load import load
    from grammars.sample import sample

    dice = Random(seed)  # noqa: S311 - a look, not a draw
    draft = sample(load(_source(source)), dice, category=category, difficulty=difficulty)
    data = {"task": dict(draft.task), "provenance": dict(draft.provenance)}
    Output(as_json=as_json).result(
        data,
        f"{draft.skeleton}",
        "",
        str(draft.task["goal"]),
        "",
        json.dumps(draft.task["success_predicate"], indent=2, ensure_ascii=False),
        "",
        *(f"{call['tool']} {json.dumps(call['arguments'])}" for call in draft.provenance["solutions"][0]["calls"]),
    )


def predicate_list(as_json: Json = False) -> None:
    """List every predicate with its arguments and an example."""
    import json

    from verifiers.catalogue import CATALOGUE

    entries = sorted(CATALOGUE.items())
    data = {
        name: {"doc": e.doc, "schema": dict(e.schema), "example": {name: dict(e.example.arguments)}}
        for name, e in entries
    }
    lines = [f"{name:<32} {entry.doc.splitlines()[0]}" for name, entry in entries]
    Output(as_json=as_json).result(json.loads(json.dumps(data, default=dict)), *lines)


def predicate_check(
    state: Annotated[Path, typer.Option(help="A folder with one folder a namespace: filesystem, git, sqlite.")],
    predicate: Annotated[Path, typer.Option(help="A file with the predicate, or with a whole task.")],
    answer: Annotated[str | None, typer.Option(help="What the agent said at the end.")] = None,
    as_json: Json = False,
) -> None:
    """Evaluate a predicate against a state given as files: anybody can check a retired task."""
    import json

    from quarterturn.errors import NotFound
    from vault.canonical import parse
    from verifiers import predicate as predicates
    from verifiers.evaluate import evaluate
    from verifiers.verdict import Verdict
    from verifiers.views import Tree, Views

    if not predicate.is_file():
        raise NotFound(f"there is no file {predicate}")
    if not state.is_dir():
        raise NotFound(f"there is no folder {state}")
    document = parse(predicate.read_bytes(), str(predicate))
    parsed = predicates.parse(document.get("success_predicate", document) if isinstance(document, dict) else document)
    states = {path.name: Tree.from_directory(path) for path in sorted(state.glob("*")) if path.is_dir()}
    evidence = evaluate(parsed, Views(states, answer))
    data = evidence.as_json()
    Output(as_json=as_json).result(
        data,
        evidence.verdict.value,
        json.dumps(data, indent=2, ensure_ascii=False),
        ok=evidence.verdict is Verdict.TRUE,
    )


def _source(name: str) -> str | Path:
    from grammars.load import library

    return name if name in library() else Path(name)
