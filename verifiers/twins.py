"""Names of twins: changes of what a solution made that a fair person accepts, so a verdict must stay true.

What each one does is in `sandbox.kinds.<kind>.twins` and, for answers, in `sandbox.mutations.answer_twins`. A template
names one in `exact` where its goal rules it out in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TWINS: Mapping[str, Sequence[str]] = {
    "answer": (
        *("code-marks", "emphasis", "quotes", "fence", "full-stop", "thousands", "number-format"),
        *("lines", "bullets", "and", "json-array", "order", "json-layout"),
    ),
    "calendar": ("other-zone", "until"),
    "files": ("final-newline", "line-endings", "json-layout", "csv-quoting"),
    "forge": ("final-newline", "order", "message-newline", "file-newline"),
    "git": ("message-newline",),
    "graph": ("order",),
    "json_document": ("json-layout",),
    "mailbox": ("final-newline", "transfer-encoding"),
    "postgres": ("row-order", "column-order"),
    "redis": ("json-layout", "order"),
    "sqlite": ("row-order", "column-order", "column-types"),
    "workbook": ("formula", "absolute", "whole-columns", "other-function"),
}
"""State kind, or `answer`, to the names of its twins; in full a name is `files/final-newline`."""

NAMES = frozenset(f"{kind}/{name}" for kind, names in TWINS.items() for name in names)
