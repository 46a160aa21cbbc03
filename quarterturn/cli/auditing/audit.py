"""Verb `audit`: audits a release offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.cli.auditing.auditor import Accept, Consistency, Keys, PolicyFile, Previous, auditor, status_lines
from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output

EvidenceFiles = Annotated[
    list[Path] | None,
    typer.Option("--evidence", metavar="FILE", help="A file of evidence to compare with the release; may repeat."),
]
LogSource = Annotated[
    str | None,
    typer.Option(
        "--log",
        metavar="SOURCE",
        help="The log's folder or address: proves from its tiles that a newer --previous extends the release.",
    ),
]


verbs = typer.Typer()


@verbs.command("audit")
def audit(
    bundle: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release folder, Historical-YYYY-MM.")],
    key: Keys,
    policy: PolicyFile = None,
    previous: Previous = None,
    accept: Accept = None,
    evidence: EvidenceFiles = None,
    consistency: Consistency = None,
    log: LogSource = None,
    as_json: Json = False,
) -> None:
    """Audit a release offline, without trusting anybody.

    Each step says what it proved. The answer is yes, yes with doubts, or no. A doubt is what an honest operator can
    have a reason for; accept it by its number. A --previous that is newer than the release is one until a consistency
    proof joins them: give it (--consistency), or the log to make it from (--log).
    """
    from vault.ledger.audit.command import require_release

    require_release(bundle)
    files = key, policy, previous, accept or ()
    report = auditor(*files, evidence=evidence or (), consistency=consistency, log=log)(bundle)
    Output(as_json=as_json).result(report.as_json(), *status_lines(report), ok=report.ok)
