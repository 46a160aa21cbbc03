"""Check of the access log: its hash chain, and the heads of it that the public log commits to."""

from __future__ import annotations

from quarterturn.app import Application
from quarterturn.approvals.approvals import account
from quarterturn.report import Report
from rotation.turn import access_log_head


def verify(house: Application) -> Report:
    """Check every entry, and every head that the public log commits to; report what no head covers yet.

    Raises:
        Broken: an entry was changed, left out, moved or cut off, or the log was made anew.
    """
    heads = access_log_head.committed(house.vault, house.ledger, who=account())
    count = house.vault.verify_access_log(heads=heads)
    covered = heads[-1].entries if heads else 0
    last = heads[-1].where if heads else None
    lines = [f"{count} entries, the chain holds"]
    if heads:
        lines.append(f"committed to in the public log: {len(heads)} times, up to entry {covered} by {last}")
    lines.append(f"newer than that: {count - covered} entries, which the next turn commits to")
    return Report({"entries": count, "heads": len(heads), "covered": covered, "last": last}, lines)
