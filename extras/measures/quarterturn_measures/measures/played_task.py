"""What measures say of one task of one run: computed once, for figures, failure profile and trace page alike. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from quarterturn_measures.measures.call_accuracy import Schemas, call_accuracy
from quarterturn_measures.measures.call_graph import GraphDifference, graph_difference
from quarterturn_measures.measures.cited_files import Versions
from quarterturn_measures.measures.claims import claim_coverage, claims_reached
from quarterturn_measures.measures.failure_class import FailureDiagnosis, diagnose
from quarterturn_measures.measures.fairness import adoption, efficiency, fairness, fairness_by_verdict
from quarterturn_measures.measures.grounding import Grounding, ground
from quarterturn_measures.measures.partition import answer_text, keyword_coverage
from quarterturn_measures.measures.root_causes import root_cause
from quarterturn_measures.measures.token_kinds import TokenKinds, token_kinds
from quarterturn_measures.measures.tool_choice import RECALL_AT, tool_recall, wrong_tool_calls
from quarterturn_measures.measures.tool_success import ToolCount, tool_success
from sandbox.results.outcome import TaskRun
from sandbox.results.score import Result
from sandbox.transcript import ToolCall
from verifiers.language.verdict import Verdict

NUMBERS = (
    *("call_accuracy", "graph_accuracy", "node_f1", "edge_f1"),
    *("keyword_coverage", "claim_coverage", "fairness", "fairness_by_verdict", "adoption"),
)
"""Attributes of a task's measures that are numbers from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What a task is compared with.

    Attributes:
        solutions: the calls of each reference solution.
        answers: the answer of each, or None.
        files: the files that an answer can cite.
        schemas: the tools' input schemas.
    """

    solutions: Sequence[Sequence[ToolCall]] = field(repr=False)
    answers: Sequence[str | None] = field(default=(), repr=False)
    files: Versions = field(default_factory=dict, repr=False)
    schemas: Schemas = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call that failed or came back with nothing: its number, counted from 1, its tool, and its root cause."""

    call: int
    tool: str
    cause: str


@dataclass(frozen=True, slots=True)
class TaskMeasures:
    """Measures of one task of one run.

    Attributes:
        result: what counts of it.
        call_accuracy: from 0 to 1, or None where no solution has a call, or nobody may see the calls.
        graph: how its graph differs from the nearest solution's; None likewise.
        tools: calls by tool that reached a server, and how many of them succeeded.
        failed_calls: the calls that failed or came back with nothing.
        failure: why it failed, or None.
        grounding: the citations of its answer; None where nobody may see it.
        keyword_coverage: from 0 to 1, or None where no reference solution answers anything.
        claim_coverage: share of its claims that its answer supports, or None where it has none or no judge was asked.
        claims_reached: whether that is enough, 1 or 0, or None likewise.
        fairness: from 0 to 1, or None where a part of it is None.
        fairness_by_verdict: from 0 to 1, or None where the verdict is unknown.
        adoption: likewise.
        tokens: what a model wrote, by kind; None where no model was asked.
        tool_recall_at: share of the needed tools among the first K of the agent's shortlist; None for each K where it
            told none, or nobody may see it.
        wrong_tool_calls: calls to offered tools that no reference solution calls; None where nobody may see them.
    """

    result: Result
    call_accuracy: Fraction | None = None
    graph: GraphDifference | None = field(default=None, repr=False)
    tools: Mapping[str, ToolCount] = field(default_factory=dict, repr=False)
    failed_calls: Sequence[FailedCall] = field(default=(), repr=False)
    failure: FailureDiagnosis | None = field(default=None, repr=False)
    grounding: Grounding | None = field(default=None, repr=False)
    keyword_coverage: Fraction | None = None
    claim_coverage: Fraction | None = None
    claims_reached: int | None = None
    fairness: Fraction | None = None
    fairness_by_verdict: Fraction | None = None
    adoption: Fraction | None = None
    tokens: TokenKinds | None = field(default=None, repr=False)
    tool_recall_at: Mapping[int, Fraction | None] = field(default_factory=lambda: dict.fromkeys(RECALL_AT))
    wrong_tool_calls: int | None = None

    @property
    def graph_accuracy(self) -> int | None:
        """1 where the leaves are the same, else 0; None without a graph."""
        return None if self.graph is None else int(self.graph.label)

    @property
    def node_f1(self) -> Fraction | None:
        """F1 of the calls."""
        return None if self.graph is None else self.graph.node_f1

    @property
    def edge_f1(self) -> Fraction | None:
        """F1 of the edges."""
        return None if self.graph is None else self.graph.edge_f1

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values, numbers as floats."""
        numbers = {name: getattr(self, name) for name in NUMBERS}
        numbers |= {f"tool_recall_at_{k}": recall for k, recall in self.tool_recall_at.items()}
        return {
            "task": self.result.task,
            "passed": self.result.passed,
            **{name: None if value is None else float(value) for name, value in numbers.items()},
            "graph": _graph(self.graph),
            "tools": {tool: {"ok": count.ok, "passed_on": count.passed_on} for tool, count in self.tools.items()},
            "failed_calls": [asdict(call) for call in self.failed_calls],
            "failure": self.failure.as_json() if self.failure else None,
            "citations": asdict(self.grounding) if self.grounding else None,
            "tokens": asdict(self.tokens) if self.tokens else None,
            "wrong_tool_calls": self.wrong_tool_calls,
        }


def measure_task(result: Result, run: TaskRun, reference: Reference, coverage: Fraction | None = None) -> TaskMeasures:
    """Measure one task of one run.

    Args:
        result: what counts of it.
        run: what was played.
        reference: what it is compared with.
        coverage: the share of the task's claims that another judge found in the answer; that of the run's own judge
            where None is given.
    """
    calls, solutions, schemas = run.transcript.calls, reference.solutions, reference.schemas
    graph = graph_difference(calls, solutions, schemas, run.goal)
    causes = ((number, call.tool, root_cause(call)) for number, call in enumerate(calls, 1))
    cited = ground(run.transcript.answer, reference.files, calls)
    keywords = keyword_coverage(answer_text(run.transcript), reference.answers, run.goal)
    coverage = claim_coverage(run) if coverage is None else coverage
    saved = efficiency(result.calls, result.max_steps, passed=result.passed)
    return TaskMeasures(
        result=result,
        call_accuracy=call_accuracy(calls, solutions, schemas),
        graph=graph,
        tools=tool_success(calls),
        failed_calls=[FailedCall(number, tool, cause) for number, tool, cause in causes if cause is not None],
        failure=diagnose(run, solutions, schemas, graph),
        grounding=cited,
        keyword_coverage=keywords,
        claim_coverage=coverage,
        claims_reached=claims_reached(run),
        fairness=fairness(keywords, coverage, cited.share, saved),
        fairness_by_verdict=None
        if result.verdict is Verdict.UNKNOWN
        else fairness_by_verdict(saved, passed=result.passed),
        adoption=None if run.failure == "ours" else adoption(calls, solutions),
        tokens=token_kinds(run.transcript.model_calls),
        tool_recall_at={k: tool_recall(run.transcript.shortlist, solutions, k) for k in RECALL_AT},
        wrong_tool_calls=wrong_tool_calls(calls, solutions),
    )


def _graph(graph: GraphDifference | None) -> dict[str, Any] | None:
    """Write a graph's difference with calls counted from 1."""
    if graph is None:
        return None
    return {
        "solution": graph.solution + 1,
        "calls": [{"tool": call.tool, "arguments": dict(call.arguments)} for call in graph.calls],
        "made_as": [None if place is None else place + 1 for place in graph.made_as],
        "extra": [place + 1 for place in graph.extra],
        "edges": [[source + 1, target + 1] for source, target in graph.edges],
        "missing_edges": [[source + 1, target + 1] for source, target in graph.missing_edges],
    }
