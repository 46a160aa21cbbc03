"""Guard of the public log: refuses to record a leaf that an audit would refuse, before anything is promised with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from vault.errors import Broken, Disagreement, Malformed, Refused
from vault.ledger.statements.log_state import LogState

Rows = Callable[[int, int], Iterable[bytes]]
"""Gives the recorded leaves `[start, end)`, those of the caller's transaction included."""


class LogGuard:
    """The state of one log, kept in step with its rows.

    Args:
        origin: the log's origin line.
    """

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._state = LogState(origin)
        self._lock = Lock()
        self._unsettled: list[bytes] = []  # the last leaves taken, whose transaction may have been rolled back

    def require(self, leaf: bytes, size: int, rows: Rows) -> None:
        """Check that a leaf may follow the recorded ones.

        Args:
            leaf: the bytes to be recorded next.
            size: how many leaves are recorded.
            rows: gives them.

        Raises:
            Refused: it is no statement, or breaks a rule with those before it.
        """
        with self._lock:
            self._follow(size, rows)
            self._take(leaf, "cannot be recorded, because")
            self._unsettled.append(leaf)

    def withdrawal_keys(self, task: str, size: int, rows: Rows) -> list[str]:
        """Return the keys of which one must sign the withdrawal of a task after so many leaves, if there are any.

        Raises:
            Refused: a recorded leaf breaks a rule.
        """
        with self._lock:
            self._follow(size, rows)
            return self._state.withdrawal_keys(task)

    def settle(self, size: int, rows: Rows) -> None:
        """Note that so many leaves are signed, and stay; what was rolled back meanwhile is forgotten."""
        with self._lock:
            self._compare(size, rows)
            self._unsettled = []

    def _follow(self, size: int, rows: Rows) -> None:
        """Read the recorded leaves that the state has not."""
        self._compare(size, rows)
        for row in rows(self._state.size, size):
            self._take(row, "is recorded already, and")

    def _compare(self, size: int, rows: Rows) -> None:
        """Begin anew if a leaf that was taken is not the one that is recorded."""
        settled = self._state.size - len(self._unsettled)
        if self._state.size > size or list(rows(settled, self._state.size)) != self._unsettled:
            self._state, self._unsettled = LogState(self._origin), []

    def _take(self, leaf: bytes, because: str) -> None:
        index = self._state.size
        try:
            self._state.take(leaf)
        except (Broken, Malformed) as error:
            self._state, self._unsettled = LogState(self._origin), []
            evidence = error.evidence or Disagreement()
            raise Refused(
                f"leaf {index} {because} every audit would refuse it: {error}",
                where=evidence.where,
                expected=evidence.expected,
                found=evidence.found,
                rule=error.rule,
            ) from error
