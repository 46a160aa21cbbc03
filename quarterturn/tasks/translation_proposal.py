"""Proposed translation files: checked like accepted ones, shown beside English goals, and accepted by a person.

Who wrote a proposal does not matter: a language model's is a draft like any other, until somebody who reads both
languages has it copied into the grammar's folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

from grammars.admission.coverage import check
from grammars.draw.sample import draw
from grammars.language.derivation import of_template
from grammars.language.labels import ENGLISH
from grammars.language.load import load, parse, texts
from quarterturn.errors import Malformed, Refused
from vault.files import write_atomically


@dataclass(frozen=True, slots=True)
class Example:
    """One draw of a skeleton: its goal in English and in the proposed wordings, by language."""

    skeleton: str
    goals: dict[str, list[str]]

    def lines(self) -> Iterator[str]:
        """Yield it as text."""
        yield self.skeleton
        for language, goals in self.goals.items():
            yield from (f"  {language:<6} {goal}" for goal in goals)

    def as_json(self) -> dict[str, object]:
        """Return it as plain JSON values."""
        return asdict(self)


def examples(source: Path | str, file: Path) -> list[Example]:
    """Check a proposed translation file on a grammar, and draw a goal of each skeleton that it translates.

    Raises:
        Malformed: it does not fit the grammar, or loses a value of an English goal.
    """
    files, dictionaries = texts(source)
    if file.name in files:
        raise Refused(f"the grammar has a file {file.name} already: give the proposal another name")
    before = load(source).templates
    grammar = parse({**files, file.name: file.read_text(encoding="utf-8")}, dictionaries)
    proposed = {
        name: added
        for name, template in grammar.templates.items()
        if (added := template.translations.keys() - before[name].translations.keys())
    }
    if not proposed:
        raise Malformed(f"{file}: it translates no template: write `language` and `templates`")
    grammar = replace(grammar, templates={name: grammar.templates[name] for name in proposed})
    check(grammar)
    drawn = []
    for name, languages in proposed.items():
        for skeleton in of_template(grammar.server, grammar.templates[name]):
            goals = draw(grammar, skeleton, skeleton.difficulties[0], Random(skeleton.id)).goals  # noqa: S311 - a look
            shown = {tag: list(goals[tag]) for tag in (ENGLISH, *sorted(languages))}
            drawn.append(Example(skeleton.id, shown))
    return drawn


def accept(file: Path, folder: Path, approved_by: str) -> Path:
    """Copy a proposal into a grammar's folder, with the name of the person who approved it."""
    target = folder / file.name
    text = f"# Approved by {approved_by}.\n{file.read_text(encoding='utf-8')}"
    write_atomically(target, text.encode(), folder / f".{file.name}.part")
    return target
