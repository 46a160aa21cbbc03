"""`CheckResult`: the result of one check of `doctor`, how bad it is, and what mends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from quarterturn.cli.terminal.colour import StatusLine

Level = Literal["ok", "advice", "wrong"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    Attributes:
        level: `ok`; `advice` where all works and something better is to be had; `wrong` where something does not work.
        detail: what was found, as a sentence.
        mend: the command or setting that mends it; None where nothing is to be done.
    """

    level: Level
    detail: str
    mend: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is to be done."""
        return self.level == "ok"

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"ok": self.ok, "level": self.level, "detail": self.detail, "mend": self.mend}

    def line(self, name: str) -> str:
        """Return the result of the check of this name as a line."""
        text = self.detail
        if self.mend and self.mend not in text:
            text = f"{text.rstrip('.')}. To mend it: {self.mend}"
        return StatusLine(f"{self.level:<7} {name:<11} {text}", self.level)


def ok(detail: str) -> CheckResult:
    """Return a result with which nothing is to be done."""
    return CheckResult("ok", detail)


def advice(detail: str, mend: str) -> CheckResult:
    """Return a result that somebody may want to mend."""
    return CheckResult("advice", detail, mend)


def wrong(detail: str, mend: str) -> CheckResult:
    """Return a result that somebody has to mend."""
    return CheckResult("wrong", detail, mend)
