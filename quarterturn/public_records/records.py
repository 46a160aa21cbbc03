"""Records of what is public: tasks, and the runs on them. Exports, measures and pages see nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sandbox.results.outcome import TaskRun
from vault.task.document import Task
from vault.task.variant import filled

Status = Literal["dev", "retired", "withdrawn"]


@dataclass(frozen=True, slots=True)
class PublicTask:
    """A task that everybody may read.

    Attributes:
        task: the task; of one with variants all of them.
        status: why it is public: it belongs to a dev set, its cohort retired, or it was withdrawn from that cohort.
        provenance: where it comes from, with its reference solutions; None where it was not opened.
        commitment: the commitment (hex) that a release opens, or None.
        salt: the salt (hex) that opens it, or None.
        variant_key: the key (hex) that each submitter's variant was drawn with, or None.
    """

    task: Task
    status: Status
    provenance: Mapping[str, Any] | None = field(default=None, repr=False)
    commitment: str | None = None
    salt: str | None = None
    variant_key: str | None = field(default=None, repr=False)

    @property
    def solutions(self) -> Sequence[Mapping[str, Any]]:
        """The reference solutions for the task's base variant: `calls`, and an `answer` or None."""
        return self.solutions_in(None)

    def solutions_in(self, values: Mapping[str, str] | None) -> Sequence[Mapping[str, Any]]:
        """Return the reference solutions for the variant of these values; None is the base variant."""
        given: Sequence[Mapping[str, Any]] = (self.provenance or {}).get("solutions", ())
        if values is None:
            return [self.task.in_base(dict(solution)) for solution in given]
        return [filled(dict(solution), values) for solution in given]


@dataclass(frozen=True, slots=True)
class PublicResult:
    """Result of one task in one run.

    Attributes:
        task: the task's id.
        verdict: `true`, `false` or `unknown`.
        passed: whether it counts as passed.
        calls: how many tool calls were made.
        max_steps: how many the task allows.
        unlisted: how many of them were to tools that the task does not list.
        saw_error: whether the agent was shown a scheduled error.
        transcript: the commitment (hex) to the transcript, or None; a release opens no transcripts.
        played: the whole outcome, of a run on a dev set or of one whose trace was published; None elsewhere.
        values: the values of the task's free parameters in the variant that was served; None for the base variant.
    """

    task: str
    verdict: str
    passed: bool
    calls: int
    max_steps: int
    unlisted: int
    saw_error: bool
    transcript: str | None = None
    played: TaskRun | None = field(default=None, repr=False)
    values: Mapping[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class PublicRun:
    """A run, with its results on the public tasks.

    Attributes:
        number: its number, from 1.
        submitter: whose run it was, as the release says it; `agent` for a run on a dev set.
        attempt: the submitter's how many-th run it was in its month.
        figures: axis -> value from 0 to 1, or None where nothing was measured.
        results: one for each task that counts.
        ended: whether it was played to its end and has a score.
    """

    number: int
    submitter: str
    attempt: int
    figures: Mapping[str, float | None]
    results: Sequence[PublicResult]
    ended: bool = True


@dataclass(frozen=True, slots=True)
class PublicRecords:
    """Public tasks, and the runs on them.

    Attributes:
        name: what it is called, in letters, digits and hyphens.
        title: the same for people.
        about: one paragraph that says what it is.
        split: the split that its rows belong to: `test` or `dev`.
        tasks: its tasks.
        runs: its runs.
        month: the month of a release, or None.
        origin: the log that the tasks were committed to in, or None.
        canary: the release's canary GUID, or None.
        license: the SPDX identifier of the licence in lower case; `other` where nobody named one.
        offered_tools: what the runs' agents were offered, where that is more than each task lists.
    """

    name: str
    title: str
    about: str
    split: str
    tasks: Sequence[PublicTask]
    runs: Sequence[PublicRun] = ()
    month: str | None = None
    origin: str | None = None
    canary: str | None = None
    license: str = "other"
    offered_tools: Sequence[str] = ()
