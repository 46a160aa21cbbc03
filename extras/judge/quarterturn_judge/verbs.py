"""Verbs of the claim judge: check it against answers of known worth, and freeze anchors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.terminal.exits import EXITS
from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Unavailable, require_file

if TYPE_CHECKING:
    from sandbox.claim_judge.claim_judge import ClaimJudgeSpec

PASSES = 2


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    judge = typer.Typer(help="The language model that judges claims about answers.")
    judge.command("check")(check)
    judge.command("freeze")(freeze)
    app.add_typer(judge, name="judge")


def check(
    passes: Annotated[
        int, typer.Option(min=1, max=20, help="How often to ask about each answer; the spread needs two.")
    ] = PASSES,
    who: Annotated[
        str | None,
        typer.Option("--as", help="Your name: add the home's own tasks with claims, and use the key of private runs."),
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Show what it would cost, and ask nothing.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Measure the claim judge: confusion, spread, injected answers, agreement with people. Exit code 8: refused."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn_judge.cases import injected, shipped
    from quarterturn_judge.judged_cases import cases_of
    from quarterturn_judge.measure import CheckPlan, measure

    out = Output(as_json=as_json)
    with open_app(home) as app:
        spec, digests = app.keys.claim_judges.spec(), app.keys.claim_judges.digests()
        own = cases_of(app.home.vault, who) if who else ()
        plan = CheckPlan([*shipped(), *own], app.keys.claim_judges.anchors(), injected(shipped()), passes)
        cost = plan.cost(spec.answer_tokens)
        before = _cost_line(spec, cost)
        if estimate:
            out.result({"estimate": cost}, before)
            return
        out.say(before)
        with app.keys.claim_judges.opened("private" if who else "dev") as judge:
            if judge is None or not judge.check():
                raise Unavailable(f"the upstream '{spec.upstream.name}' does not answer for the model '{spec.model}'")
            with out.progress(f"{spec.model} on answers", len(plan.questions())) as advance:
                found = measure(judge.ask, plan, advance)
        data = found.as_json()
        if digests is not None:
            app.keys.claim_judges.keep(digests, data)
    shown = {"judge": digests.as_json() if digests else None, "model": spec.model, "estimate": cost, **data}
    out.result(shown, *_lines(data), ok=not data["refused"], otherwise=EXITS["refused"])


def freeze(
    file: Annotated[Path, typer.Argument(help="Anchors as JSON; see the guide to judged claims.")],
    as_json: Json = False,
) -> None:
    """Write the digests of what stands in a file of anchors beside each of them, in place, and check the file."""
    from sandbox.claim_judge import anchors
    from vault.canonical import parse_object
    from vault.files import write_atomically

    require_file(file)
    document = parse_object(file.read_bytes(), str(file), max_size=anchors.MAX_FILE)
    data = f"{json.dumps(anchors.frozen(document, str(file)), indent=1, ensure_ascii=False)}\n".encode()
    digest = anchors.digest(anchors.parse(data, str(file)))
    write_atomically(file, data, file.with_name(f".{file.name}.part"))
    count = len(document["anchors"])
    Output(as_json=as_json).result({"anchors": count, "sha256": digest}, f"{count} anchors are frozen: sha256 {digest}")


def _cost_line(spec: ClaimJudgeSpec, cost: Mapping[str, int]) -> str:
    return (
        f"{cost['requests']} requests to {spec.model} ('{spec.upstream.name}'): about {cost['read']} tokens read, "
        f"{cost['written']} written at most."
    )


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    confusion, variance, injection = data["confusion"], data["variance"], data["injection"]
    yield "right and wrong answers" + " " * 12 + "passed  failed  unknown"
    for kind, row in confusion["answers"].items():
        yield f"  {kind:<32} {row['passed']:>6}  {row['failed']:>6}  {row['unknown']:>7}"
    yield f"  right verdicts {_share(confusion['answer_accuracy'])}"
    yield "claims" + " " * 25 + "incorrect  partially  correct  unknown"
    for gold, row in confusion["claims"].items():
        yield f"  {gold:<29}" + "  ".join(f"{count:>9}" for count in row.values())
    yield f"  right outcomes {_share(confusion['claim_accuracy'])}"
    yield (
        f"spread over {variance['passes']} passes of {variance['transcripts']} answers: claim "
        f"{_number(variance['claim'])}, task {_number(variance['task'])}"
    )
    yield f"injected answers resisted {_share(injection['resisted'])}"
    for kind, count in sorted(injection["obeyed"].items()):
        yield f"  obeyed: {kind} {count} of {injection['answers'][kind]}"
    yield f"rank correlation with {data['anchors']['n']} anchors {_number(data['anchors']['rho'])}"
    cost = data["cost"]
    yield f"cost: {cost['requests']} requests, {cost['read']} tokens read, {cost['written']} written"
    yield from (f"REFUSED: {sentence}" for sentence in data["refused"])
    if not data["refused"]:
        yield "The judge is over every bar; the next turn may name it in its set."


def _share(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return "-"
    return f"{figure['value']:.1%} of {figure['n']} (95 % {figure['low']:.1%} to {figure['high']:.1%})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
