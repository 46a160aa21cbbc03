"""Verbs for authors of grammars and predicates."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from grammars.language.labels import ENGLISH
from quarterturn.choices import Category, Difficulty
from quarterturn.cli.terminal.home_servers import register_servers_of
from quarterturn.cli.terminal.options import HOME, Box, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app

Source = Annotated[str, typer.Argument(help="A shipped grammar's name, a folder or a file.")]


grammar_verbs = typer.Typer(name="grammar", help="Grammars: where tasks come from.")
predicate_verbs = typer.Typer(name="predicate", help="Predicates: what success means.")


@grammar_verbs.command("list")
def grammar_list(as_json: Json = False) -> None:
    """List the shipped grammars, which are public."""
    from grammars.language.load import library, load

    loaded = [load(name) for name in library()]
    data = [
        {"server": g.server, "version": g.version, "templates": len(g.templates), "digest": g.digest} for g in loaded
    ]
    lines = [f"{g.server:<12} version {g.version}  {len(g.templates):>3} templates  {g.digest[:16]}" for g in loaded]
    Output(as_json=as_json).result(data, *lines)


@grammar_verbs.command("import")
def grammar_import(
    source: Annotated[Path, typer.Argument(help="A folder or a file.")],
    who: Who,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Import a grammar of your own, sealed in the vault; from now on its server's tasks are drawn from it."""
    from grammars.language.imported import GrammarSource
    from grammars.language.load import library, texts
    from quarterturn.errors import NotFound

    if str(source) in library() and not source.exists():
        raise NotFound(
            f"the shipped grammar {source} needs no import: its server's tasks are drawn from it until you import your "
            f"own, and here is no file or folder {source}"
        )
    read = GrammarSource(*texts(source))
    with open_app(home) as app:
        grammar = app.tasks.grammars.keep(read, who=who)
    data = {"server": grammar.server, "version": grammar.version, "templates": len(grammar.templates)}
    Output(as_json=as_json).result(
        data,
        f"{grammar.server}: {len(grammar.templates)} templates, version {grammar.version}, sealed",
        f"The home holds no plain copy of it; keep {source} where only you can read it, or remove it.",
    )


@grammar_verbs.command("check")
def grammar_check(
    source: Source,
    home: Annotated[
        Path | None, typer.Option("--home", help="Count what this home has used, and how many months the rest lasts.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Check again whenever a file changes.")] = False,
    as_json: Json = False,
) -> None:
    """Validate a grammar, draw from every skeleton, and show how many tasks are left in it."""
    from contextlib import ExitStack

    from grammars.errors import GrammarError
    from quarterturn.cli.daily import grammar_text
    from quarterturn.tasks import grammar_report
    from rotation.generation.grammars import read
    from verifiers.errors import VerifierError

    out, chosen = Output(as_json=as_json), _source(source)
    with ExitStack() as stack:
        app = stack.enter_context(open_app(home)) if home else None

        def made() -> grammar_report.GrammarReport:
            grammar = read(chosen)
            if app is None:
                return grammar_report.report(grammar)
            monthly = grammar_report.monthly(app.benchmark.spec, grammar.server)
            return grammar_report.report(
                grammar, app.tasks.known_tasks.used(grammar), monthly, app.benchmark.spec.lifetime
            )

        for _ in grammar_report.changes(Path(chosen)) if watch else ():
            try:
                report = made()
                out.again(report.as_json(), *grammar_text.lines(report), ok=report.ok)
            except (GrammarError, VerifierError) as error:
                out.again({"error": str(error)}, str(error), ok=False)
        report = made()
    out.result(report.as_json(), *grammar_text.lines(report), ok=report.ok)


@grammar_verbs.command("sample")
def grammar_sample(
    source: Source,
    seed: Annotated[int, typer.Option(help="The same seed gives the same draft.")] = 0,
    category: Annotated[Category | None, typer.Option(help="Draw only from templates of this category.")] = None,
    difficulty: Annotated[Difficulty | None, typer.Option(help="Draw only tasks of this difficulty.")] = None,
    language: Annotated[str, typer.Option(help="Draw a goal in this language (BCP 47).")] = ENGLISH,
    home: Annotated[Path | None, typer.Option("--home", help="Know the servers that this home has added too.")] = None,
    as_json: Json = False,
) -> None:
    """Draw one draft and show it, each free value at its first choice; nothing is kept."""
    import json
    from random import Random

    from grammars.draw.sample import sample
    from grammars.draw.variants import base
    from rotation.generation.grammars import read

    register_servers_of(home)
    dice = Random(seed)  # noqa: S311 - a look, not a draw
    draft = sample(read(_source(source)), dice, category=category, difficulty=difficulty, language=language)
    data = {"task": dict(draft.task), "provenance": dict(draft.provenance)}
    draft = base(draft)
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


@grammar_verbs.command("translate")
def grammar_translate(
    source: Source,
    file: Annotated[Path, typer.Argument(help="A translation file that somebody, or a language model, proposes.")],
    approved_by: Annotated[
        str | None,
        typer.Option("--approved-by", metavar="NAME", help="You read both languages: copy the file into the grammar."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check proposed wordings by drawing, and show each beside the English goal of the same draw.

    Without --approved-by nothing is written, and no task is drawn in these wordings.
    """
    from quarterturn.errors import Refused, require_file
    from quarterturn.tasks import translation_proposal

    require_file(file)
    folder = _source(source)
    if approved_by and not (isinstance(folder, Path) and folder.is_dir()):
        raise Refused(f"{source} is no folder of yours: approved wordings are copied into the folder of a grammar")
    examples = translation_proposal.examples(folder, file)
    lines = [line for example in examples for line in example.lines()]
    if approved_by and isinstance(folder, Path):
        lines.append(f"written to {translation_proposal.accept(file, folder, approved_by)}, approved by {approved_by}")
    else:
        lines.append("Read them, and approve them with --approved-by NAME. Nothing was written.")
    Output(as_json=as_json).result([example.as_json() for example in examples], *lines)


@predicate_verbs.command("list")
def predicate_list(
    home: Annotated[
        Path | None, typer.Option("--home", help="List the predicates of the servers that this home has added too.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List every predicate with its arguments and an example."""
    import json

    from verifiers.language.catalogue import CATALOGUE

    register_servers_of(home)
    entries = sorted(CATALOGUE.items())
    data = {
        name: {"doc": e.doc, "schema": dict(e.schema), "example": {name: dict(e.example.arguments)}}
        for name, e in entries
    }
    lines = [f"{name:<32} {entry.doc.splitlines()[0]}" for name, entry in entries]
    Output(as_json=as_json).result(json.loads(json.dumps(data, default=dict)), *lines)


@predicate_verbs.command("check")
def predicate_check(
    state: Annotated[
        Path,
        typer.Option(
            help="A folder with one state per namespace (NAME/, sqlite.db, redis.json, postgres.sql), or a file with a "
            "`state` of a release's broken.jsonl."
        ),
    ],
    predicate: Annotated[Path, typer.Option(help="A file with the predicate, or with a whole task.")],
    answer: Annotated[str | None, typer.Option(help="The agent's answer.")] = None,
    replies: Annotated[
        Path | None,
        typer.Option(help="A claim judge's replies as JSON: the id of each claim and the text of its reply."),
    ] = None,
    box: Box = None,
    as_json: Json = False,
) -> None:
    """Evaluate a predicate against a state given as files, to check a retired task."""
    import json

    from quarterturn.boxes import choose_box
    from quarterturn.errors import NotFound, require_file
    from quarterturn.tasks import given_states
    from sandbox.judge import JUDGING
    from vault.canonical import parse
    from verifiers.language.verdict import Verdict

    require_file(predicate)
    if not state.exists():
        raise NotFound(f"there is no folder and no file {state}")
    asked = given_states.asked_of(parse(predicate.read_bytes(), str(predicate)), str(predicate))
    make_box = partial(choose_box, box or "auto")
    given = given_states.read(state, make_box)
    question = given_states.question(asked.predicate, given)
    if replies is not None:
        question = replace(question, replies=given_states.read_replies(replies))
    before = partial(given_states.baseline, asked, question, make_box)
    evidence = JUDGING.verdict(question, given.state, answer, before).evidence
    data = evidence.as_json()
    Output(as_json=as_json).result(
        data,
        evidence.verdict.value,
        json.dumps(data, indent=2, ensure_ascii=False),
        ok=evidence.verdict is Verdict.TRUE,
    )


def _source(name: str) -> str | Path:
    from grammars.language.load import library

    return name if name in library() else Path(name)
