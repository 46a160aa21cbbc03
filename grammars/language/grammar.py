"""Data classes of a loaded grammar: immutable, checked, with every expression compiled.

A template and a production contribute the same things (`Steps`): names and how they are drawn, the initial state, the
reference calls, the predicate, the mutants. A *skeleton* is a template with one production for each of its
nonterminals; the steps of both are merged into a task, so that goal, state and predicate always agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from grammars.errors import Malformed
from grammars.language.expressions import Expression
from grammars.language.forms import Node, names_in
from grammars.language.labels import ENGLISH, Category, Difficulty
from grammars.language.ranges import Leveled, Range

FEWEST_TOOLS, MOST_TOOLS = 12, 18
FEWEST_MUTANTS, FEWEST_PHRASINGS = 2, 3


@dataclass(frozen=True)
class Steps:
    """What a template or a production contributes to a task.

    Attributes:
        parameters: names that are drawn, each from a bounded range.
        let: names that are computed in CEL from other names, in any order.
        constraints: conditions on the names; a draw that breaks one is rejected and drawn again.
        state: pieces of `initial_state`, merged in order.
        solutions: for each path, the calls in order; in a template `{step: NONTERMINAL}` stands for a production's.
        predicate: the conjuncts of the success predicate.
        changes: for each server what a solution changes, as selections of its frame (`verifiers.states.frame`); nothing
            else may. None of a template: its tasks have no frame.
        mutants: final states with one thing changed, and wrong answers; the predicate must reject them.
        faults: the errors that the gateway injects.
        answer: the correct final answer of an agent, or None.
        given: values that a correct result holds although they may appear in the goal or the state.
        exact: twins (`verifiers.twins`) that the goal rules out, each with the words that say so.
    """

    parameters: Mapping[str, Range] = field(default_factory=dict)
    let: Mapping[str, Node] = field(default_factory=dict)
    constraints: tuple[Expression, ...] = ()
    state: Node = ()
    solutions: Mapping[str, Node] = field(default_factory=dict)
    predicate: Node = ()
    changes: Node | None = None
    mutants: Node = ()
    faults: Node = ()
    answer: Node | None = None
    given: Node = ()
    exact: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def names_of_own(self) -> dict[str, frozenset[str]]:
        """For each parameter and each `let`, the names that its value depends on."""
        own = {**self.parameters, **self.let}
        return {name: how.names if isinstance(how, Range) else names_in(how) for name, how in own.items()}

    @cached_property
    def names_of_fields(self) -> dict[str, frozenset[str]]:
        """For each other field, the names that it takes from the scope."""
        return {name: names_in(getattr(self, name)) for name in FIELDS}


FIELDS = ("constraints", "state", "solutions", "predicate", "changes", "mutants", "faults", "answer", "given")
"""Of `Steps`, without its names."""


@dataclass(frozen=True)
class Production:
    """One alternative of a nonterminal.

    Attributes:
        name: its name, a part of the skeleton's id.
        phrase: what it adds to the goal; a phrasing says `{nonterminal.phrase}`.
        difficulties: the difficulties at which it may be chosen.
        steps: what it contributes.
    """

    name: str
    phrase: Node
    difficulties: tuple[Difficulty, ...]
    steps: Steps


@dataclass(frozen=True)
class Translation:
    """Wordings of a template's goal in one language other than English.

    Attributes:
        file: the file that defines it, for messages.
        phrasings: at least three wordings of the goal.
        phrases: by production, for each that has a phrase in English.
    """

    file: str
    phrasings: tuple[Node, ...]
    phrases: Mapping[str, Node]


@dataclass(frozen=True)
class Template:
    """A task template: phrasings of a goal, nonterminals to expand, and the steps that make the task.

    Attributes:
        name: unique in the grammar.
        file: the file that defines it, for messages.
        category: of every task it makes.
        difficulties: those it can be drawn at.
        max_steps: the most calls that an agent may make.
        phrasings: at least three wordings of the goal.
        nonterminals: for each, its productions by name, in the order in which they contribute.
        distract: how many tools of each server are listed beside those that the solutions use; None means all.
        steps: what the template itself contributes.
        translations: by language (BCP 47).
    """

    name: str
    file: str
    category: Category
    difficulties: tuple[Difficulty, ...]
    max_steps: Leveled
    phrasings: tuple[Node, ...]
    nonterminals: Mapping[str, Mapping[str, Production]]
    distract: Mapping[str, int | None]
    steps: Steps
    translations: Mapping[str, Translation] = field(default_factory=dict)

    def wordings(self, language: str) -> tuple[Node, ...]:
        """Return the phrasings in a language that it has.

        Raises:
            Malformed: it has none in that language.
        """
        if language == ENGLISH:
            return self.phrasings
        if language not in self.translations:
            raise Malformed(f"{self.file}: template {self.name}: it has no wordings in {language}")
        return self.translations[language].phrasings

    def phrase(self, production: Production, language: str) -> Node:
        """Return the phrase of one of its productions in a language that it has."""
        return (
            production.phrase if language == ENGLISH else self.translations[language].phrases.get(production.name, "")
        )

    @property
    def is_exact(self) -> bool:
        """Whether the goal of some of its tasks rules twins out."""
        productions = (production for options in self.nonterminals.values() for production in options.values())
        return bool(self.steps.exact) or any(production.steps.exact for production in productions)


@dataclass(frozen=True, eq=False)  # compared by identity, so that it can be the key of a cache
class Grammar:
    """The templates of one server.

    Attributes:
        server: the namespace whose tasks it makes.
        version: the author's number.
        digest: SHA-256 over the canonical form of everything that it was made from, in lower-case hex.
        templates: by name.
        tools: for each server, the tools that may be listed.
        public: whether it is shipped with the software, so that anybody can draw from it.
    """

    server: str
    version: int
    digest: str
    templates: Mapping[str, Template] = field(repr=False)
    tools: Mapping[str, tuple[str, ...]] = field(repr=False)
    public: bool = False


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A template with one production for each nonterminal.

    Attributes:
        id: stable, such as `filesystem/tidy-up:by-word/move/nothing`.
        template: the template's name.
        choices: (nonterminal, production) in order.
        category: of every task it makes.
        difficulties: those it can be drawn at.
    """

    id: str
    template: str
    choices: tuple[tuple[str, str], ...]
    category: Category
    difficulties: tuple[Difficulty, ...]


@dataclass(frozen=True)
class Draft:
    """A task that was drawn from a grammar and has not passed the admission gates yet.

    Attributes:
        task: the task document.
        provenance: `grammar`, `grammar_digest`, `template`, `skeleton`, `parameters`, `bits` (log2 of the number
            of values that they could have had), `solutions` (each with `name`, `calls` and `answer`), `mutants` (each
            with `name` and either `server` and `change` or `answer`), `given`, `exact` where the goal rules out
            twins (name to reason), and `goal_in_english` where the goal is in another language.
    """

    task: Mapping[str, Any] = field(repr=False)
    provenance: Mapping[str, Any] = field(repr=False)

    @property
    def id(self) -> str:
        """Return the task's id."""
        return str(self.task["id"])

    @property
    def skeleton(self) -> str:
        """Return the skeleton's id, `server/template:choice/choice`."""
        return str(self.provenance["skeleton"])

    @property
    def template(self) -> str:
        """Return the template's name with its grammar, `server/template`."""
        return str(self.provenance["template"])
