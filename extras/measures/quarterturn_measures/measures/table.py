"""Table of measures: name, definition, range, direction, unit of n, interval, source, and what computes it. Pure.

Each figure has its n and a 95 % interval whose clusters are skeletons (`sandbox.results.interval`); where nothing can
be measured it is null with n = 0, and never 0. The four axes decide a score; everything else here explains one.
`MEASURES` are of one run; `COMPARISONS` are of trials, of raters, of thresholds and of a judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from quarterturn_measures.measures.figures import (
    Tasks,
    axis,
    claim_coverage_quartile,
    grounding,
    mean_of,
    token_share,
    tool_call_success,
    tool_recall_at,
    wrong_tool_calls,
)
from quarterturn_measures.measures.tool_choice import RECALL_AT
from sandbox.results.interval import Figure

Direction = Literal["higher", "lower", "neither"]
OURS = "the four axes"
TOOLBENCH = "MCPToolBench++ (arXiv 2508.07575)"
ATLAS = "MCP-Atlas (arXiv 2602.00933)"
PROJECT = "Quarterturn"
RETRIEVAL = "C. D. Manning et al. (Introduction to Information Retrieval, 2008, chapter 8)"
TOOLING = "How do you benchmark an MCP server you built?"
SHARE, CORRELATION = "0 to 1", "-1 to 1"
CLUSTERED = "skeletons"


@dataclass(frozen=True, slots=True)
class Definition:
    """What a measure is.

    Attributes:
        name: its name in JSON.
        title: its name for people.
        definition: what it is, as a sentence's end.
        better: which direction is better.
        counts: what n counts.
        source: where the definition is from.
        span: the lowest and the highest value.
        clusters: the interval's clusters; empty for a measure that has no interval.
        judged: whether it needs a judge.
        needs_shortlist: whether it needs an agent that tells its shortlist of tools.
        before_retirement: whether a private run may show it, rounded, before its tasks retire.
    """

    name: str
    title: str
    definition: str
    source: str
    better: Direction = field(default="higher", kw_only=True)
    counts: str = field(default="tasks", kw_only=True)
    span: str = field(default=SHARE, kw_only=True)
    clusters: str = field(default=CLUSTERED, kw_only=True)
    judged: bool = field(default=False, kw_only=True)
    needs_shortlist: bool = field(default=False, kw_only=True)
    before_retirement: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Measure(Definition):
    """A measure of one run, with what computes it."""

    figure: Callable[[Tasks], Figure] = field(repr=False, compare=False)


MEASURES = (
    Measure(
        "success_rate",
        "success",
        "tasks passed, of all tasks of the set",
        OURS,
        axis("success_rate"),
        before_retirement=True,
    ),
    Measure(
        "efficiency",
        "calls used",
        "mean of tool calls / calls allowed over passed tasks",
        OURS,
        axis("efficiency"),
        better="lower",
        counts="passed tasks",
        before_retirement=True,
    ),
    Measure(
        "hallucinated_tool_rate",
        "unlisted calls",
        "calls to tools that the agent was not offered, of all calls",
        OURS,
        axis("hallucinated_tool_rate"),
        better="lower",
        counts="calls",
        before_retirement=True,
    ),
    Measure(
        "recovery_rate",
        "recovery",
        "recovery tasks passed, of those in which the agent saw an error",
        OURS,
        axis("recovery_rate"),
        counts="recovery tasks",
        before_retirement=True,
    ),
    Measure(
        "wrong_tool_calls",
        "calls to wrong tools",
        "calls to offered tools that no reference solution calls, of all calls",
        PROJECT,
        wrong_tool_calls,
        better="lower",
        counts="calls",
    ),
    *(
        Measure(
            f"tool_recall_at_{k}",
            f"recall of needed tools at {k}",
            f"tools of the best reference solution among the first {k} of the agent's shortlist, mean over tasks",
            RETRIEVAL,
            tool_recall_at(k),
            counts="tasks with a shortlist",
            needs_shortlist=True,
        )
        for k in RECALL_AT
    ),
    Measure(
        "tool_call_success",
        "tool-call success",
        "calls that a server answered without an error, of those passed on to one; scheduled errors do not count",
        TOOLBENCH,
        tool_call_success,
        counts="calls",
    ),
    Measure(
        "call_accuracy",
        "call accuracy (AST)",
        "calls of the best reference solution that were made with equal tool and arguments, mean over tasks",
        TOOLBENCH,
        mean_of("call_accuracy"),
    ),
    Measure(
        "graph_accuracy",
        "call-graph accuracy (DAG)",
        "tasks whose calls end in the same leaves as a reference solution's graph",
        TOOLBENCH,
        mean_of("graph_accuracy"),
    ),
    Measure(
        "node_f1",
        "call-graph nodes, F1",
        "F1 of the calls made against those of the best reference solution, mean over tasks",
        TOOLBENCH,
        mean_of("node_f1"),
    ),
    Measure(
        "edge_f1",
        "call-graph edges, F1",
        "F1 of the values handed from call to call against those of the best reference solution, mean over tasks",
        TOOLBENCH,
        mean_of("edge_f1"),
    ),
    Measure(
        "keyword_coverage",
        "keywords in the answer",
        "words of a reference answer that the goal does not have, and that the answer or a reply to the user has, mean "
        "over tasks",
        TOOLING,
        mean_of("keyword_coverage"),
    ),
    Measure(
        "grounding",
        "citations that are there",
        "citations (path:line or path:line:symbol) in answers that stand in the task's initial state, of those that "
        "could be looked up",
        TOOLING,
        grounding,
        counts="citations",
    ),
    Measure(
        "claims_reached",
        "claims reached",
        "tasks whose answers support enough of their claims, of tasks with claims",
        ATLAS,
        mean_of("claims_reached"),
        counts="tasks with claims",
        judged=True,
    ),
    Measure(
        "claim_coverage",
        "claim coverage",
        "share of claims that the answer supports (a partially correct one counts 1/2, an unknown one 0), mean over "
        "tasks with claims, failed ones included",
        ATLAS,
        mean_of("claim_coverage"),
        counts="tasks with claims",
        judged=True,
    ),
    *(
        Measure(
            f"claim_coverage_{name}",
            f"claim coverage, {title}",
            f"{title} of the claim coverage of tasks with claims, failed ones included",
            ATLAS,
            claim_coverage_quartile(quarter),
            counts="tasks with claims",
            judged=True,
        )
        for quarter, name, title in (
            (1, "q1", "lower quartile"),
            (2, "median", "median"),
            (3, "q3", "upper quartile"),
        )
    ),
    Measure(
        "fairness",
        "fairness",
        ".10 keywords + .55 claims + .15 citations + .20 calls saved (1 - calls / calls allowed; 0 of a failed task), "
        "mean over tasks that have all four",
        TOOLING,
        mean_of("fairness"),
        judged=True,
    ),
    Measure(
        "fairness_by_verdict",
        "fairness by the verdict",
        ".80 passed + .20 calls saved (as in fairness), mean over tasks with a verdict",
        TOOLING,
        mean_of("fairness_by_verdict"),
    ),
    Measure(
        "adoption",
        "adoption",
        ".60 calls that succeeded of all that were made + .40 tools called of those that every solution needs, mean "
        "over tasks; 0 of a task without a call; never added to fairness",
        TOOLING,
        mean_of("adoption"),
    ),
    *(
        Measure(
            f"{kind}_tokens",
            f"tokens for {title}",
            f"tokens that the model wrote {what}, of those whose reply is in the record, mean over tasks",
            TOOLING,
            token_share(kind),
            better="neither",
        )
        for kind, title, what in (
            ("reasoning", "reasoning", "as text or as reasoning"),
            ("tool", "tools", "as calls of tools"),
            ("verification", "verification", "as calls that only look at what an earlier call changed"),
        )
    ),
)
COMPARISONS = (
    Definition(
        "pass_at_k",
        "Pass@K",
        "the chance that at least one of K trials of a task passes, mean over tasks",
        "M. Chen et al. (arXiv 2107.03374)",
    ),
    Definition(
        "trial_spread",
        "spread between trials",
        "sample standard deviation of the success rate between trials",
        "sample standard deviation",
        better="lower",
        counts="trials",
        span="0 to 0.71",
        clusters="",
    ),
    Definition(
        "pass_rate_at",
        "pass rate at a threshold",
        "tasks whose coverage of claims reaches the threshold, of all; what an unknown claim leaves open is not "
        "passed, and counted apart",
        ATLAS,
        judged=True,
    ),
    Definition(
        "kendall_tau_b",
        "rank agreement of thresholds",
        "Kendall's tau-b of the ranking at a threshold with that at 0.75",
        "M. G. Kendall (Biometrika 33, 1945)",
        counts="submissions",
        span=CORRELATION,
        clusters="",
        judged=True,
    ),
    Definition(
        "cohen_kappa",
        "Cohen's kappa",
        "agreement of two raters beyond chance; null where only one category occurs",
        "J. Cohen (Educ. Psychol. Meas. 20, 1960)",
        counts="subjects",
        span=CORRELATION,
    ),
    Definition(
        "fleiss_kappa",
        "Fleiss' kappa",
        "agreement of three and more raters beyond chance, over subjects that all have rated; null where only one "
        "category occurs",
        "J. L. Fleiss (Psychol. Bull. 76, 1971)",
        counts="subjects",
        span=CORRELATION,
    ),
    Definition(
        "krippendorff_alpha",
        "Krippendorff's alpha",
        "1 - observed / expected disagreement, over subjects with two ratings and more; by rank where the ratings have "
        "an order; null where only one category occurs",
        "K. Krippendorff (Content Analysis, 2nd ed., 2004, chapter 11)",
        counts="subjects",
        span=CORRELATION,
    ),
    Definition(
        "judge_spread",
        "spread of a judge",
        "population standard deviation between passes of a judge, mean over claims, steps or tasks; null for fewer "
        "than two passes",
        TOOLING,
        better="lower",
        counts="claims, steps or tasks",
        span="0 to 0.5",
        clusters="",
        judged=True,
    ),
    Definition(
        "judge_correlation",
        "agreement of a judge with gold",
        "Spearman's rank correlation of a judge's scores with gold scores; refused below 0.85",
        TOOLING,
        counts="scores",
        span=CORRELATION,
        clusters="",
        judged=True,
    ),
)


def shown(counts: Mapping[str, int]) -> list[Measure]:
    """Choose the measures that people are shown, by the n of each: of claims and shortlists only where a task has some.

    Figures that were kept before a measure was added have none of it.
    """
    return [
        measure
        for measure in MEASURES
        if measure.name in counts and (counts[measure.name] or not (measure.judged or measure.needs_shortlist))
    ]


def measured(tasks: Tasks) -> dict[str, Figure]:
    """Compute every measure of one run."""
    return {measure.name: measure.figure(tasks) for measure in MEASURES}
