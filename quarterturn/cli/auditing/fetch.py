"""Verb `fetch`: downloads releases from a service, checks their digests, unpacks them, and audits them with a key."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.auditing.auditor import PolicyFile, Previous, auditor, status_lines
from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed

if TYPE_CHECKING:
    from quarterturn.client import ReleaseArchive, ReleaseClient

verbs = typer.Typer()


@verbs.command("fetch")
def fetch(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the service, https://NAME.")],
    releases: Annotated[
        list[str] | None, typer.Argument(metavar="RELEASE", help="Historical-YYYY-MM (default: the newest).")
    ] = None,
    to: Annotated[
        Path, typer.Option("--to", metavar="FOLDER", help="Where the releases go; made if missing.")
    ] = Path(),
    everything: Annotated[bool, typer.Option("--all", help="Fetch every release.")] = False,
    key: Annotated[
        list[Path] | None,
        typer.Option("--key", metavar="FILE", help="Audit with the log's verifier keys in this file; may repeat."),
    ] = None,
    policy: PolicyFile = None,
    previous: Previous = None,
    as_json: Json = False,
) -> None:
    """Download releases, check and unpack them.

    A download that was interrupted goes on where it broke off. With --key each release is audited.
    """
    from quarterturn.audit import release_download

    _require_consistent_options(releases, key, policy, previous, everything=everything)
    log = f"{url.rstrip('/')}/log"
    audit = auditor(key, policy, previous, log=log) if key else None  # files that cannot be read are found first
    out, results, lines = Output(as_json=as_json), [], []
    with _service(url) as client:
        chosen = release_download.choose(client.releases(), releases or (), everything=everything)
        with release_download.download_folder(to):
            for release in chosen:
                result, line = _fetched(client, release, to, out)
                report = audit(to / release.release) if audit else None
                results.append(result | {"audit": report.as_json() if report else None})
                lines += [line, *(status_lines(report) if report else ())]
    if audit is None:
        lines += [f"Next: quarterturn audit {shlex.quote(result['folder'])} --key log.vkey" for result in results]
        lines.append("Take log.vkey, the log's public key, from a source other than this service.")
    out.result(results, *lines, ok=all(result["audit"] is None or result["audit"]["ok"] for result in results))


def _require_consistent_options(
    releases: list[str] | None, key: list[Path] | None, policy: Path | None, previous: Path | None, *, everything: bool
) -> None:
    if everything and releases:
        raise Malformed("name releases or give --all, not both")
    from rotation.calendar import is_release

    for name in releases or ():
        if not is_release(name):
            raise Malformed(f"{name!r} is no release: its name is Historical-YYYY-MM")
    if (policy or previous) and not key:
        raise Malformed("--policy and --previous are for the audit: give --key, too")


def _service(url: str) -> ReleaseClient:
    from quarterturn.client import ReleaseClient

    try:
        return ReleaseClient(url)
    except ValueError as error:
        raise Malformed(str(error)) from None


def _fetched(client: ReleaseClient, release: ReleaseArchive, to: Path, out: Output) -> tuple[dict[str, Any], str]:
    """Download one release with a bar; give the result for programs and its line."""
    from quarterturn.audit.release_download import download

    with out.progress(f"{release.release}, bytes", release.bytes, transient=True) as advance:
        shown = 0

        def show(size: int) -> None:
            nonlocal shown
            advance(size - shown)
            shown = size

        fetched = download(client, release, to, show)
    target = to / release.release
    line = f"{target}: {'fetched' if fetched else 'there already'}, {release.bytes} bytes, SHA-256 {release.sha256}"
    return asdict(release) | {"folder": str(target), "fetched": fetched}, line
