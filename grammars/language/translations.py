"""Parser of translation files: the goals of a grammar's templates in one language other than English.

    grammar: filesystem
    language: de                    # BCP 47
    templates:
      stock-note:                   # a template of the grammar
        phrasings: [...]            # at least three, which say each production as the English ones do
        phrases: {total: "…", largest: "…"}    # for each production that has a phrase

Only wordings are in such a file. State, solutions and predicate are the template's, whatever language its goal is in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grammars.errors import Malformed
from grammars.language.forms import compile_text
from grammars.language.grammar import Template, Translation
from grammars.language.labels import ENGLISH, LANGUAGE_TAG
from grammars.language.templates import as_map, only_known, parse_phrasings

_FILE = {"grammar", "language", "templates"}
_TRANSLATION = {"phrasings", "phrases"}


def add_translations(templates: Mapping[str, Template], documents: Mapping[str, dict[str, Any]]) -> dict[str, Template]:
    """Return the templates with the wordings of these translation files.

    Raises:
        Malformed: a file is no translation of these templates, or two files translate one into the same language.
    """
    translated = dict(templates)
    for file, document in documents.items():
        only_known(document, _FILE, f"{file}: language: a translation file holds wordings alone:")
        language = document["language"]
        if not isinstance(language, str) or not re.fullmatch(LANGUAGE_TAG, language) or language == ENGLISH:
            raise Malformed(
                f"{file}: language: a BCP 47 tag other than {ENGLISH} is expected here, such as de or pt-BR"
            )
        for name, spec in as_map(document.get("templates"), f"{file}: templates").items():
            if name not in translated:
                raise Malformed(f"{file}: template {name}: the grammar has no template of that name to translate")
            template = translated[name]
            if language in template.translations:
                raise Malformed(
                    f"{file}: template {name}: {template.translations[language].file} has it in {language} already"
                )
            translation = _translation(spec, file, template)
            translated[name] = replace(template, translations={**template.translations, language: translation})
    return translated


def _translation(spec: Any, file: str, template: Template) -> Translation:
    where = f"{file}: template {template.name}"
    spec = as_map(spec, where)
    only_known(spec, _TRANSLATION, f"{where}:")
    phrases = as_map(spec.get("phrases"), f"{where}: phrases")
    productions = {name for options in template.nonterminals.values() for name in options}
    only_known(phrases, productions, f"{where}: phrases:")
    if wrong := [name for name, phrase in phrases.items() if not isinstance(phrase, str)]:
        raise Malformed(f"{where}: phrases.{wrong[0]}: text is expected here")
    return Translation(
        file=file,
        phrasings=parse_phrasings(spec, where),
        phrases={name: compile_text(phrase, f"{where}: phrases.{name}") for name, phrase in phrases.items()},
    )
