"""Generator of the reference page of measures: `python -m quarterturn_measures.measures.reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from quarterturn_measures.measures.failure_class import BY_JUDGEMENT, TITLES
from quarterturn_measures.measures.grounding import NEAR
from quarterturn_measures.measures.root_causes import CAUSES
from quarterturn_measures.measures.table import COMPARISONS, MEASURES, SHARE, TOOLING, Definition

HEAD = f"""# Measures

This page is written by `python -m quarterturn_measures.measures.reference`; a test fails where the two differ.

`quarterturn measure FILE`, an [extra](../tour/extras.md), shows them for a run on a dev set (`quarterturn run --out
FILE.json`), `--html` with every call beside the reference solution's. Each figure has its n and a 95 % interval whose
clusters are skeletons; where nothing can be measured it is empty (null), never 0. Only the four axes of a private run
are shown before its tasks retire, rounded; everything else is computed from public tasks alone. A release has the four
axes of each run; `--trace FILE` adds the calls of a run that its owner has published (`GET /runs/ID`), once they are
found to be what the release's log bound. [Why so](../adr/archive.md#adr-0078).

## Of one run

Unless a note says otherwise, a measure lies between 0 and 1, a higher value is better, it has an interval, it needs no
judge, and a private run shows it once its tasks have retired. *The article* is "{TOOLING}".

| name | what it is | n counts | from | notes |
|---|---|---|---|---|
"""
COMPARISON_HEAD = """
## Of trials, raters, thresholds and judges

| name | what it is | n counts | from | notes |
|---|---|---|---|---|
"""
RATERS = """
[`quarterturn ratings`](cli.md), an [extra](../tour/extras.md), compares raters: of tasks under a blind second review,
of failures, of claims. Its files are CSV with the columns `subject`, `rater`, `rating` and, where tasks share one,
`skeleton`; an empty rating is missing. Ratings that are numbers, or that `--order` puts in order, are compared by
rank. The interval is that of the jackknife over skeletons.

`quarterturn ratings thresholds FILE` reads CSV with the columns `submission`, `task`, `claim`, `score` (0 to 1; empty
where no judge decided) and, where known, `skeleton`. A task passes where the mean of its claims' scores reaches the
threshold. Where unknown claims leave that open it counts as not passed and is shown apart, so pass rates never rise
with the threshold. A rank is 1 + the number of submissions with a higher pass rate.
"""
CITATIONS = f"""
## Citations, fairness and adoption

A citation is `path:line` or `path:line:symbol` in an answer. It is *unresolved* where the path is not there,
*hallucinated* where the line is less than 1 or beyond the file's end, or where the symbol does not stand within {NEAR}
lines of it as a whole word, and else *grounded*. Compared are the files of the task's initial state, of folders and of
each commit of its repositories: the state that a run left is sealed and in no public record. So a citation of
something that one of the run's own calls may have changed is left out, and counted apart.

Keywords count in the answer and in the text of the model's replies; what stands only in arguments or results of tools
does not. Fairness says what the answer is worth and adoption how the tools were used: they are two scores and never
added. Fairness is null for a task without keywords, without a citation, or without a judge's coverage of its claims,
which `--claim-scores FILE` gives. No shipped task has all three, so fairness is null on every shipped set. Run
`quarterturn measure FILE` for fairness by the verdict: in place of what the three estimate it has whether the task
passed. `quarterturn server compare` [compares servers by it](../../examples/comparison/README.md).
[Why so](../adr/archive.md#adr-0086).

`quarterturn run --all-tools` offers the tools of all servers of the set. An agent that chooses among them tells its
choice, the best tool first, by `POST $QUARTERTURN_URL/shortlist`.
[Recall](../../examples/agents/dispatcher/README.md) is measured of it.

A reply's tokens are divided by the length of its parts. What a model read is shown as a sum, because each request
repeats all that was said before it.
"""
TRIALS = """
## Trials

`quarterturn run --trials N` plays each task of the dev set N times. **Pass@K** is the chance that at least one of
K trials passes, 1 - C(n - c, K) / C(n, K) for c passes in n trials (M. Chen et al., arXiv 2107.03374), for each K
up to N, as the mean over tasks, with Wilson's interval. The spread between trials is the sample standard deviation of
their success rates.
Private tasks are never played several times for this: each time would be an exposure.

## Failure classes

The classes are those of MCP-Atlas; the rules and their order are ours. A task that definitely failed by its
agent's doing has the first class whose rule matches, and keeps the others that match. What decided is one sentence
with the call or the predicate. The two that are a matter of judgement are decided without a judge: the first by
the answer's words, the last because nothing else matches. On 22 failures made by hand from these definitions alone,
two of each class, the rules gave 20 the class that a reader gives.

| class | evidence |
|---|---|
"""
EVIDENCE = {
    "no_tools_called": "no call at all",
    "capability_discovery_missing": "no tool tried that every solution needs, and the answer says that it cannot",
    "wrong_tool_selection": "a call to an unlisted tool, or none to a tool of a solution",
    "incorrect_tool_parameters": "a call to a solution's tool in place of the right one, refused for its arguments or "
    "with an argument that differs from the right one",
    "environment_constraint_violation": "more calls or time than allowed, a call that reached outside, or something "
    "changed that had to stay",
    "missing_tool_calls": "a tool that every solution needs was never called",
    "insufficient_exploration": "fewer different looks than in every solution",
    "skipped_steps": "a call of the nearest solution left out, though one that comes after it was made",
    "partial_task_completion": "it ended early: some of the results are there, some are not",
    "incorrect_conclusion": "only predicates about the answer are false",
    "misunderstood_task": "no other class matches",
}
CAUSE_HEAD = """
## Root causes of failed calls

A call that reached a server and failed, or came back with nothing, has the first cause whose words its result has
(MCPToolBench++, arXiv 2508.07575, Table 4): """


def page() -> str:
    """Return the page."""
    classes = [
        f"| {title}{' (by judgement)' if name in BY_JUDGEMENT else ''} | {EVIDENCE[name]} |"
        for name, title in TITLES.items()
    ]
    causes = CAUSE_HEAD + ", ".join(CAUSES) + "."
    parts = (
        HEAD,
        _table([_row(measure) for measure in MEASURES]),
        COMPARISON_HEAD,
        _table([_row(measure) for measure in COMPARISONS]),
        RATERS,
        CITATIONS,
        TRIALS,
        _table(classes),
        causes,
    )
    return "".join(parts) + "\n"


def _table(rows: Sequence[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _row(measure: Definition) -> str:
    source = measure.source.replace(TOOLING, "the article")
    cells = (f"`{measure.name}`", measure.definition, measure.counts, source, "; ".join(_notes(measure)))
    return f"| {' | '.join(cells)} |"


def _notes(measure: Definition) -> Iterator[str]:
    if measure.span != SHARE:
        yield measure.span
    if measure.better != "higher":
        yield "lower is better" if measure.better == "lower" else "neither direction is better"
    if not measure.clusters:
        yield "no interval"
    if measure.judged:
        yield "needs a judge"
    if measure.needs_shortlist:
        yield "needs a shortlist"
    if measure.before_retirement:
        yield "shown before, rounded"


if __name__ == "__main__":
    sys.stdout.write(page())
