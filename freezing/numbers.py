"""Rounds estimated figures: processors differ in the last digits of an exponential or of a long sum."""

from __future__ import annotations

from typing import Any

DIGITS = 3


def rounded(value: Any) -> Any:
    """Return a JSON value with every fraction rounded to three significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list) else value
