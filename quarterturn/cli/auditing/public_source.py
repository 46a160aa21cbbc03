"""Public source that a verb is given: a release, a dev set, or the file of a dev run. Options that verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed

if TYPE_CHECKING:
    from quarterturn.public_records.records import PublicRecords

Keys = Annotated[
    list[Path] | None,
    typer.Option("--key", metavar="FILE", help="A file with the log's verifier keys, to audit a release; may repeat."),
]
DevOf = Annotated[
    str | None,
    typer.Option("--dev-of", help="The dev set of a shipped set or a set file (default: the home's, else demo)."),
]


def read(
    source: str,
    keys: list[Path] | None,
    policy: Path | None,
    accept: list[int] | None,
    dev_of: str | None,
    home: Path,
) -> PublicRecords:
    """Read the public tasks and runs of a source; a release is audited first.

    Raises:
        NotFound: there is no such source.
        Malformed: it is none, or a release was named without its log's key.
        Refused: it may hold private tasks, or does not verify.
    """
    from quarterturn.cli.auditing.auditor import auditor
    from quarterturn.cli.daily.run import dev_set
    from quarterturn.public_records import sources
    from rotation.generation import shipped_dev_sets
    from vault.ledger.audit.command import require_release

    show = Output(as_json=False).show_on_terminal
    kind, path = sources.kind_of(source), Path(source)
    if kind == "release":
        require_release(path)
        if not keys:
            raise Malformed(f"a release is audited before it is used: add --key FILE with the key of {path}'s log")
        return sources.release(path, auditor(keys, policy, None, accept or ())(path))
    if kind == "run":
        with show("recognising the run's tasks"):
            return sources.dev_run(path, shipped_dev_sets.public(dev_set(home, dev_of)))
    spec = dev_set(home, dev_of)
    with show(f"drawing the dev set of {spec.name}"):
        return sources.dev_set(spec.name, shipped_dev_sets.drafts(spec))
