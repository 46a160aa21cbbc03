"""Parser of templates and productions: turns the plain values of grammar files into `Template` objects.

Unknown keys and values of the wrong type are refused, and every expression is compiled. An error is one sentence: file,
template (or production), field, and what was expected there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from grammars.errors import Malformed
from grammars.language.expressions import Expression
from grammars.language.forms import Node, compile_text, compile_value
from grammars.language.free import parse_named
from grammars.language.grammar import FEWEST_PHRASINGS, Production, Steps, Template
from grammars.language.labels import CATEGORIES, DIFFICULTIES, Category, Difficulty
from grammars.language.ranges import Dictionaries, Leveled
from verifiers.twins import NAMES

_STEPS = {
    "parameters", "let", "constraints", "state", "solution", "solutions", "predicate", "changes", "mutants", "faults",
    "answer", "given", "exact",
}  # fmt: skip
_PRODUCTION = _STEPS | {"phrase", "difficulty"}
_TEMPLATE = _STEPS | {
    "category", "difficulty", "max_steps", "phrasings", "nonterminals", "productions", "distract",
}  # fmt: skip


def read_templates(documents: Mapping[str, dict[str, Any]], lists: Dictionaries) -> dict[str, Template]:
    """Read the templates of all files of one grammar.

    Raises:
        Malformed: something in them is not valid.
    """
    return _Reader(documents, lists).templates()


def as_map(value: Any, where: str) -> dict[str, Any]:
    """Require a map; None counts as an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Malformed(f"{where}: a map is expected here")
    return dict(value)


def as_texts(value: Any, where: str) -> list[str]:
    """Require a non-empty list of texts."""
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise Malformed(f"{where}: a list of texts that is not empty is expected here")
    return value


def only_known(value: Mapping[str, Any], keys: set[str], where: str) -> None:
    """Refuse a map with an unknown key."""
    if extra := set(value) - keys:
        raise Malformed(f"{where} unknown key {min(extra)!r}; known are {', '.join(sorted(keys))}")


def parse_phrasings(spec: Mapping[str, Any], where: str) -> tuple[Node, ...]:
    """Compile the wordings of a goal; there are at least FEWEST_PHRASINGS different ones."""
    phrasings = as_texts(spec.get("phrasings"), f"{where}: phrasings")
    if len(set(phrasings)) < FEWEST_PHRASINGS:
        raise Malformed(f"{where}: phrasings: at least {FEWEST_PHRASINGS} different ones are needed")
    return tuple(compile_text(text, f"{where}: phrasings") for text in phrasings)


def _is_level(value: Any) -> TypeGuard[Difficulty]:
    return value in DIFFICULTIES


def _levels(value: Any, where: str) -> tuple[Difficulty, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values:
        raise Malformed(f"{where}: one of {', '.join(DIFFICULTIES)}, or a list of them, is expected here")
    levels = tuple(level for level in values if _is_level(level))
    if len(levels) != len(values) or len(set(levels)) != len(levels):
        raise Malformed(f"{where}: one of {', '.join(DIFFICULTIES)}, or a list of them, is expected here")
    return levels


class _Reader:
    """Parses the templates of all files.

    A nonterminal's production is looked up in the template, then in its file, then in the file with the version.
    """

    def __init__(self, documents: Mapping[str, dict[str, Any]], lists: Dictionaries) -> None:
        self.documents = documents
        self.lists = lists
        self.productions = {
            file: {
                name: (f"{file}: production {name}", spec)
                for name, spec in as_map(document.get("productions"), f"{file}: productions").items()
            }
            for file, document in documents.items()
        }
        self.shared = next(self.productions[file] for file, document in documents.items() if "version" in document)
        self._compiled: dict[tuple[str, tuple[Difficulty, ...]], Production] = {}

    def templates(self) -> dict[str, Template]:
        out: dict[str, Template] = {}
        for file, document in self.documents.items():
            for name, spec in as_map(document.get("templates"), f"{file}: templates").items():
                if name in out:
                    raise Malformed(f"{file}: template {name}: another file has one of that name already")
                out[name] = self._template(name, spec, file, self.shared | self.productions[file])
        if not out:
            raise Malformed(f"{', '.join(self.documents)}: there is no template in it")
        return out

    def _template(self, name: str, spec: Any, file: str, around: Mapping[str, tuple[str, Any]]) -> Template:
        where = f"{file}: template {name}"
        spec = as_map(spec, where)
        only_known(spec, _TEMPLATE, f"{where}:")
        if spec.get("category") not in CATEGORIES:
            raise Malformed(f"{where}: category: one of {', '.join(CATEGORIES)} is expected here")
        category: Category = spec["category"]
        levels = _levels(spec.get("difficulty"), f"{where}: difficulty")
        if "max_steps" not in spec:
            raise Malformed(f"{where}: max_steps: it is missing; say how many calls an agent may make")
        own = as_map(spec.get("productions"), f"{where}: productions")
        known = {**around, **{key: (f"{where}: productions.{key}", value) for key, value in own.items()}}
        return Template(
            name=name,
            file=file,
            category=category,
            difficulties=levels,
            max_steps=Leveled.parse(spec.get("max_steps"), f"{where}: max_steps", levels),
            phrasings=parse_phrasings(spec, where),
            nonterminals={
                slot: {
                    option: self._production(option, known, f"{where}: nonterminals.{slot}", levels)
                    for option in as_texts(options, f"{where}: nonterminals.{slot}")
                }
                for slot, options in as_map(spec.get("nonterminals"), f"{where}: nonterminals").items()
            },
            distract=_distract(spec.get("distract"), f"{where}: distract"),
            steps=self._steps(spec, where, levels),
        )

    def _production(
        self, name: str, known: Mapping[str, tuple[str, Any]], field: str, levels: Sequence[Difficulty]
    ) -> Production:
        if name not in known:
            raise Malformed(f"{field}: there is no production {name!r}")
        where, spec = known[name]
        if (shared := self._compiled.get((where, tuple(levels)))) is not None:
            return shared
        spec = as_map(spec, where)
        only_known(spec, _PRODUCTION, f"{where}:")
        if not isinstance(spec.get("phrase", ""), str):
            raise Malformed(f"{where}: phrase: text is expected here")
        own = _levels(spec["difficulty"], f"{where}: difficulty") if "difficulty" in spec else DIFFICULTIES
        reach = [level for level in levels if level in own]
        production = Production(
            name, compile_text(spec.get("phrase", ""), f"{where}: phrase"), own, self._steps(spec, where, reach)
        )
        self._compiled[where, tuple(levels)] = production
        return production

    def _steps(self, spec: Mapping[str, Any], where: str, levels: Sequence[Difficulty]) -> Steps:
        return Steps(
            parameters={
                name: parse_named(name, value, f"{where}: parameters.{name}", self.lists, levels)
                for name, value in as_map(spec.get("parameters"), f"{where}: parameters").items()
            },
            let={
                name: compile_value(value, f"{where}: let.{name}")
                for name, value in as_map(spec.get("let"), f"{where}: let").items()
            },
            constraints=tuple(
                Expression.parse(source, f"{where}: constraints[{index}]")
                for index, source in enumerate(_list(spec.get("constraints"), f"{where}: constraints"))
            ),
            state=_members(spec, "state", where),
            solutions=_solutions(spec, where),
            predicate=_members(spec, "predicate", where),
            changes=_members(spec, "changes", where) if "changes" in spec else None,
            mutants=_members(spec, "mutants", where),
            faults=_members(spec, "faults", where),
            answer=compile_value(spec["answer"], f"{where}: answer") if "answer" in spec else None,
            given=_members(spec, "given", where),
            exact=_exact(spec.get("exact"), f"{where}: exact"),
        )


def _list(value: Any, where: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"{where}: a list is expected here")
    return value


def _members(spec: Mapping[str, Any], key: str, where: str) -> Node:
    value = spec.get(key)
    if isinstance(value, dict):
        value = [value]
    return compile_value(_list(value, f"{where}: {key}"), f"{where}: {key}")


def _solutions(spec: Mapping[str, Any], where: str) -> dict[str, Node]:
    if "solution" in spec and "solutions" in spec:
        raise Malformed(f"{where}: solutions: give either `solution` or `solutions`")
    if "solution" in spec:
        return {"reference": _members(spec, "solution", where)}
    named = as_map(spec.get("solutions"), f"{where}: solutions")
    return {name: compile_value(_list(calls, where), f"{where}: solutions.{name}") for name, calls in named.items()}


def _exact(value: Any, where: str) -> dict[str, str]:
    """Require names of twins, each with a reason."""
    reasons = as_map(value, where)
    only_known(reasons, set(NAMES), f"{where}:")
    if not all(isinstance(reason, str) and reason.strip() for reason in reasons.values()):
        raise Malformed(f"{where}: each twin has a reason: how the goal rules it out, in words")
    return reasons


def _distract(value: Any, where: str) -> dict[str, int | None]:
    out: dict[str, int | None] = {}
    for server, count in as_map(value, where).items():
        if count != "all" and (type(count) is not int or count < 0):
            raise Malformed(f"{where}.{server}: a number of tools or `all` is expected here")
        out[server] = None if count == "all" else count
    return out
