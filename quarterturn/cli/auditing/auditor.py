"""The audit with the files that a verb was given: options that verbs share, and the lines of a report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quarterturn.cli.terminal.colour import StatusLine

if TYPE_CHECKING:
    from vault.ledger.audit.audit_state import AuditState
    from vault.ledger.audit.report import AuditReport

Auditor: TypeAlias = "Callable[[Path], tuple[AuditReport, AuditState]]"
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
Previous = Annotated[Path | None, typer.Option("--previous", help="A file with an older checkpoint that you kept.")]


def auditor(
    keys: Sequence[Path], policy: Path | None, previous: Path | None, accepted: Collection[int] = ()
) -> Auditor:
    """Read the files that an audit needs, and give what audits the folder of a release with them.

    It gives the report, and the state of the audit: what its steps read of the release.

    Args:
        keys: files with the log's keys.
        policy: a file with a policy, or None.
        previous: a file with an older checkpoint, or None.
        accepted: the numbers of the doubts that the caller accepts.

    Raises:
        NotFound: one of the files is not there.
        Malformed: one of them holds something else.
    """
    from vault.ledger.audit.audit_state import AuditState
    from vault.ledger.audit.command import read_checkpoint, read_keys, read_policy
    from vault.ledger.audit.verify import audit_case
    from vault.ledger.signatures.policy import Policy

    vkeys = [vkey for path in keys for vkey in read_keys(path)]
    checkpoint = read_checkpoint(previous) if previous else None
    witnesses = read_policy(policy) if policy else Policy()

    def audit(bundle: Path) -> tuple[AuditReport, AuditState]:
        case = AuditState(bundle, vkeys, checkpoint, witnesses)
        return audit_case(case, accepted), case

    return audit


def status_lines(report: AuditReport) -> Sequence[str]:
    """Write a report for people."""
    return [StatusLine(line, line.rpartition(": ")[2]) for line in report.lines()]
