"""The audit with the files that a verb was given: options that verbs share, and the lines of a report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quarterturn.cli.terminal.colour import StatusLine
from quarterturn.cli.terminal.output import Output

if TYPE_CHECKING:
    from vault.ledger.audit.report import AuditReport

Auditor: TypeAlias = "Callable[[Path], AuditReport]"
Keys = Annotated[
    list[Path], typer.Option("--key", metavar="FILE", help="A file with the log's verifier keys; may repeat.")
]
PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", help="A tlog-policy: which witnesses have to have cosigned the log's heads."),
]
Accept = Annotated[
    list[int] | None,
    typer.Option("--accept", metavar="NUMBER", help="The number of a doubt that you accept; may repeat."),
]
Previous = Annotated[Path | None, typer.Option("--previous", help="A file with a checkpoint that you kept.")]
Consistency = Annotated[
    Path | None,
    typer.Option(
        "--consistency",
        metavar="FILE",
        help="A consistency proof from the release to a newer --previous, as the service gives it.",
    ),
]


def auditor(
    keys: Sequence[Path],
    policy: Path | None,
    previous: Path | None,
    accepted: Collection[int] = (),
    *,
    evidence: Sequence[Path] = (),
    consistency: Path | None = None,
    log: str | None = None,
) -> Auditor:
    """Read the files that an audit needs; return a function that audits the folder of a release with them.

    A terminal shows how many steps of the audit are done.

    Args:
        keys: files with the log's keys.
        policy: a file with a policy, or None.
        previous: a file with a checkpoint that was kept, or None.
        accepted: the numbers of the doubts that the caller accepts.
        evidence: files of evidence to check.
        consistency: a file with a consistency proof to a newer `previous`, or None.
        log: the log's folder or address; without a file, the proof is made from its tiles. None: it is not asked.

    Raises:
        NotFound: one of the files is not there.
        Malformed: one of them holds something else. From the function: no doubt has an accepted number.
    """
    from quarterturn.audit.log_monitor import fetch_consistency
    from vault.ledger.audit.command import read_inputs
    from vault.ledger.audit.verify import STEPS, audit

    inputs = dict(read_inputs(keys, policy, previous, consistency, evidence))

    def audit_release(bundle: Path) -> AuditReport:
        proof = inputs["consistency"]
        if log and previous and proof is None:
            proof = fetch_consistency(log, bundle, inputs["previous"])
        with Output(as_json=False).show_on_terminal(f"auditing {bundle.name}", len(STEPS)) as advance:
            report = audit(bundle, accepted=accepted, **(inputs | {"consistency": proof}), on_step=advance)
        report.require_doubts()
        return report

    return audit_release


def status_lines(report: AuditReport) -> Sequence[str]:
    """Write a report for people."""
    return [StatusLine(line, line.rpartition(": ")[2]) for line in report.lines()]
