"""Yield of task generation: drafts drawn and admitted, gates that rejected, and each template's mutation score."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from grammars.admission.gates import Admission, Gate
from grammars.language.grammar import Draft


@dataclass
class TemplateYield:
    """The results of one template's draws.

    Attributes:
        drawn: how many stood before the gates.
        stayed_out: how many of them a gate rejected.
        mutants: how many mutated final states were made from the admitted ones and their predicates.
        survived: how many of those got anything but *false*.
        why: the gate and reason of the last rejection, if there was one.
    """

    drawn: int = 0
    stayed_out: int = 0
    mutants: int = 0
    survived: int = 0
    why: str = ""

    @property
    def broken(self) -> bool:
        """Whether more than one draw in twenty was rejected."""
        return self.stayed_out * 20 > self.drawn

    @property
    def mutation_score(self) -> float | None:
        """The share of mutated final states that got *false*."""
        return 1 - self.survived / self.mutants if self.mutants else None


@dataclass
class YieldStats:
    """The yield of one draw.

    Attributes:
        admitted: ids of the admitted tasks.
        shut: how often each gate was the first to reject a draft.
        templates: the results of each template's draws, by `server/template`.
    """

    admitted: list[str] = field(default_factory=list)
    shut: Counter[str] = field(default_factory=Counter)
    templates: defaultdict[str, TemplateYield] = field(default_factory=lambda: defaultdict(TemplateYield))

    @property
    def drawn(self) -> int:
        """Count the drafts that stood before the gates."""
        return sum(template.drawn for template in self.templates.values())

    @property
    def mutation_score(self) -> float | None:
        """The share of mutated final states that got *false*, over all templates."""
        every = self.templates.values()
        return TemplateYield(
            mutants=sum(y.mutants for y in every), survived=sum(y.survived for y in every)
        ).mutation_score

    def as_json(self) -> dict[str, Any]:
        """Return the tally as plain JSON values."""
        return {
            "drawn": self.drawn,
            "admitted": len(self.admitted),
            "shut_gates": dict(self.shut),
            "mutation_score": self.mutation_score,
            "templates": {
                name: asdict(template) | {"mutation_score": template.mutation_score, "broken": template.broken}
                for name, template in sorted(self.templates.items())
            },
        }

    def count(self, draft: Draft, admission: Admission, file: str = "") -> None:
        """Count the result of one draft; `file` is where its template stands."""
        template = self.templates[draft.template]
        template.drawn += 1
        if admission.ok:
            self.admitted.append(draft.id)
            template.mutants += admission.evidence["mutation"]["made"]
            template.survived += len(admission.evidence["mutation"]["survived"])
        else:
            template.stayed_out += 1
            gate = admission.failed[0]
            self.shut[f"{gate.number} {gate.name}"] += 1
            template.why = kept_out(draft, gate, file)


def kept_out(draft: Draft, gate: Gate, file: str = "") -> str:
    """Say which gate rejected a draft and why, naming file, template and field and no value of the task."""
    place = f"{file}: {draft.template}" if file else draft.template
    return f"gate {gate.number} ({gate.name}): {place}: {gate.detail}"
