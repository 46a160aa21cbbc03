"""The variants of a draft with free parameters: what submitters will be served, made before anybody is."""

from __future__ import annotations

from grammars.language.grammar import Draft
from vault.task.document import filled
from vault.task.variant import Free, traceable

FURTHER = 3
"""How many variants beside the base stand before the gates."""


def base(draft: Draft) -> Draft:
    """Give the variant of first choices; a draft without free parameters is its own."""
    return _variant(draft, 0) if draft.task.get("free") else draft


def further(draft: Draft) -> list[Draft]:
    """Give variants that lie as far apart as the choices allow; none where everybody is served the base."""
    return [_variant(draft, number) for number in range(1, FURTHER + 1)] if traceable(free_of(draft)) else []


def free_of(draft: Draft) -> Free:
    """Give the choices of each free parameter."""
    return {name: choice["from"] for name, choice in draft.task.get("free", {}).items()}


def _variant(draft: Draft, number: int) -> Draft:
    """Fill a draft in: of each parameter the choice `number` thirds of the way down its list."""
    values = {name: choices[number * (len(choices) - 1) // FURTHER] for name, choices in free_of(draft).items()}
    task = {key: part for key, part in draft.task.items() if key != "free"}
    return Draft(filled(task, values), filled(dict(draft.provenance), values))
