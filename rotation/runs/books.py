"""Collaborators of the rotation package (database, vault, ledger, stores, clock), bundled in one object."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from rotation.errors import NotFound
from rotation.exposure.store import Exposures
from rotation.findings.store import Findings
from rotation.month.store import MonthStore
from sandbox.runs.store import Runs
from vault.ledger.write.append import LogWriter
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault


@dataclass(frozen=True)
class Books:
    """The stores and services of one home that the steps of a month use.

    Attributes:
        engine: the database; steps open their transactions on it.
        vault: the sealed tasks and blobs.
        ledger: the rows of the public log.
        log: its writer, which knows the origin and the public folder.
        months: the store of cohorts and turns.
        runs: the store of runs and their sealed results.
        exposures: the store of which run was served which task.
        findings: the store of detection results and their reviews.
        clock: gives the current time, with its time zone.
        entropy: gives random bytes.
    """

    engine: Engine
    vault: Vault
    ledger: PublicLog
    log: LogWriter
    months: MonthStore
    runs: Runs
    exposures: Exposures
    findings: Findings
    clock: Callable[[], datetime]
    entropy: Callable[[int], bytes] = os.urandom

    def leaf_index(self, key: str) -> int:
        """Give the index of the ledger leaf that was recorded under `key`.

        Raises:
            NotFound: nothing was recorded under `key`.
        """
        index = self.ledger.find(key)
        if index is None:
            raise NotFound(f"the ledger has no leaf '{key}'; the step that records it was never run")
        return index
