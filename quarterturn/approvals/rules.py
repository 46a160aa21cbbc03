"""Approval rules: which acts need two maintainers, who these are, and the log's witness policy.

1. The rules in force are in the database, one row a change, each under a tag that needs the key ring; the access log
   notes each (`quarterturn.approvals.store`). The settings only propose.
2. The first rules are adopted as they are found. From then on the rules in force decide, whatever the settings say.
3. The witnesses' policy is part of the rules, by the SHA-256 of its file.

How a change comes into force is `quarterturn.approvals.approvals`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quarterturn import settings
from quarterturn.settings import public_key
from vault.canonical import digest


@dataclass(frozen=True)
class ApprovalRules:
    """Approval rules.

    Attributes:
        actions: the acts that need two maintainers.
        maintainers: the line of each one's public key, by name.
        witnesses: sha256 (hex) of the witnesses' policy, or None where nobody has to cosign.
        withdrawal_keys: the line of the key of each second person who may sign withdrawals in the log, by name.
        number: counts the rules that were in force, from 1; 0 for what is only proposed.
    """

    actions: tuple[str, ...]
    maintainers: Mapping[str, str]
    witnesses: str | None
    withdrawal_keys: Mapping[str, str] = field(default_factory=dict)
    number: int = 0

    def key(self, name: str) -> bytes:
        """Return a maintainer's public key, 32 bytes."""
        return public_key(self.maintainers[name])

    def document(self) -> dict[str, Any]:
        """Return them as JSON values."""
        document = {
            "actions": sorted(set(self.actions)),
            "maintainers": _lines(self.maintainers),
            "witnesses": self.witnesses,
        }
        return document | ({"withdrawal_keys": _lines(self.withdrawal_keys)} if self.withdrawal_keys else {})

    def digest(self) -> str:
        """Return the SHA-256 of their canonical form, in hex."""
        return digest(self.document())


def proposed(home: Path) -> ApprovalRules:
    """Return the rules as a home's settings have them now, also for a service that read them when it was started."""
    chosen = settings.load(home / settings.FILE)
    approvals, path = chosen.approvals, home / chosen.ledger.policy
    witnesses = hashlib.sha256(path.read_bytes()).hexdigest() if chosen.ledger.policy and path.is_file() else None
    return ApprovalRules(approvals.actions, approvals.maintainers, witnesses, approvals.withdrawal_keys)


def _lines(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the lines of public keys without their comments."""
    return {name: " ".join(line.split()[:2]) for name, line in keys.items()}
