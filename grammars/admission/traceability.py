"""What the free parameters of a task lack, for a leak of it to be traced, and for what an agent says to be traced.

A leaked text is traced with 2^20 variants (`vault.task.variant.LEAST_BITS`) if all of the text was found. With more, a
part of it is enough; and values that an agent repeats from somebody else's variant are told from guesses only while
most of the choices were served to nobody (`rotation.detection.detectors.echoes`). Hence three rules:

    1. PARAMETERS free parameters, each with enough choices; with CHOICES each that is 2^27 variants
    2. enough is CHOICES, and EACH times the recipients that a task meets in its life: a recipient is one submitter in
       one month
    3. no choice contains another one of its parameter (`grammars.language.containment`)
"""

from __future__ import annotations

from grammars.language.containment import contained
from vault.task.variant import Free

PARAMETERS, CHOICES, EACH = 3, 512, 8
SUBMITTERS, MONTHS = 20, 4
"""Recipients are counted for so many submitters, and so many months where no set says for how many a task is live."""


def enough(months: int = MONTHS) -> int:
    """Return the number of choices that a free parameter needs if a task is live for so many months."""
    return max(CHOICES, EACH * SUBMITTERS * months)


def lacks(free: Free, months: int = MONTHS) -> list[str]:
    """Say in a clause each what the free parameters of a task lack."""
    least = enough(months)
    rich = sum(len(choices) >= least for choices in free.values())
    clauses = (
        [f"free parameters with {least} choices: {rich}, and {PARAMETERS} are needed"] if rich < PARAMETERS else []
    )
    for name, choices in free.items():
        if parts := contained(choices):
            clauses.append(f"choices of {name} that stand in another one: {len(parts)}")
    return clauses
