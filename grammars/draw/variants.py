"""Variants of a draft with free parameters: the samples of what submitters will be served that admission tests."""

from __future__ import annotations

from grammars.language.grammar import Draft
from vault.task.variant import Free, filled, traceable

FURTHER = 3
"""How many variants beside the base go through the gates."""


def base(draft: Draft) -> Draft:
    """Return the variant with the first choice of each parameter; a draft without any is returned as it is."""
    return _variant(draft, 0) if draft.task.get("free") else draft


def further(draft: Draft) -> list[Draft]:
    """Return variants spread evenly over the choices; none if the draft cannot be traced, so that all get the base."""
    return [_variant(draft, number) for number in range(1, FURTHER + 1)] if traceable(free_of(draft)) else []


def free_of(draft: Draft) -> Free:
    """Return the choices of each free parameter."""
    return {name: choice["from"] for name, choice in draft.task.get("free", {}).items()}


def tested_choice(number: int, choices: int) -> int:
    """Return which choices of a parameter the base (0) or a further variant (1 to FURTHER) has: thirds of its list."""
    return number * (choices - 1) // FURTHER


def _variant(draft: Draft, number: int) -> Draft:
    values = {name: choices[tested_choice(number, len(choices))] for name, choices in free_of(draft).items()}
    task = {key: part for key, part in draft.task.items() if key not in ("free", "variant_key")}
    return Draft(filled(task, values), filled(dict(draft.provenance), values))
