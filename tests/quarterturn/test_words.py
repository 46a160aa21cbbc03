"""Tests that one thing has one name: in the API, on pages, in the guides, and in the glossary.

`WORDS` says which form is permitted, and which is not, where it stands as a name. `EXCEPTIONS` lists the places that
still have, or have to have, the other form; each is there for a reason, and one that is no longer needed fails too.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
OPENAPI = ROOT / "docs" / "reference" / "openapi.yaml"
TEMPLATES = sorted((ROOT / "quarterturn" / "pages").rglob("*.jinja"))
MOST_TERMS = 20
NAME = r"(?<![A-Za-z])(?:{})(?![A-Za-z])"  # `board` in board_months and in "the board", and not in "boarded"

WORDS = {
    "leaderboard": "boards?",
    "private set": "live[ _-]sets?",
    "waiting": "queued",
    "findings": "watch(?:es)?",
    "calls used": "efficiency",
    "idempotency key": "once[ _-]keys?",
    "submitter": "contestants?|entrants?",
}
"""The permitted form, and a pattern of the forms that are not."""

_STATE = "the value that the rows, the API and its clients have for the state; pages call it waiting"
EXCEPTIONS = {
    ("docs/reference/openapi.yaml", "queued"): _STATE,
    ("docs/reference/openapi.yaml", "watch"): "watch_submission follows a submission's events, not findings",
    ("docs/reference/openapi.yaml", "efficiency"): "the name of an axis in the specification, which the log has too",
    ("docs/reference/ledger-formats.md", "efficiency"): "the name of a figure in `aggregate.json`",
}
"""Where a form that is not permitted stands as a name, the word as it stands there in lower case, and why."""

_GENERATED = ("attacks", "cli", "failures", "ledger-rules", "model-gateway", "predicates", "worked-example")
GENERATED = {f"{name}.md" for name in _GENERATED}
"""Reference pages that are written by programs: their words are those of the programs."""
GUIDES = [
    ROOT / "README.md",
    ROOT / "docs" / "threat-model.md",
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    *sorted((ROOT / "docs" / "tour").glob("*.md")),
    *sorted(page for page in (ROOT / "docs" / "reference").glob("*.md") if page.name not in GENERATED),
    *sorted((ROOT / "examples").rglob("README.md")),
]


class Named(NamedTuple):
    file: str
    text: str


def of_api() -> Iterator[Named]:
    """Yield the names of the API: paths, tags, operations, parameters, schemas, properties, and values of a list."""
    document: dict[str, Any] = yaml.safe_load(OPENAPI.read_text(encoding="utf-8"))
    for path, methods in document["paths"].items():
        yield Named(_file(OPENAPI), path)
        for one in methods.values():
            yield from (Named(_file(OPENAPI), name) for name in (*one.get("tags", ()), one.get("operationId", "")))
    for name in document["components"]["schemas"]:
        yield Named(_file(OPENAPI), name)
    yield from (Named(_file(OPENAPI), name) for name in _properties(document))


def _properties(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        properties, values = part.get("properties"), part.get("enum")
        yield from properties if isinstance(properties, dict) else ()
        yield from map(str, values) if isinstance(values, list) else ()
        if isinstance(part.get("in"), str) and isinstance(part.get("name"), str):
            yield part["name"]
        for inner in part.values():
            yield from _properties(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _properties(inner)


def of_templates() -> Iterator[Named]:
    """Yield the names of the templates, the addresses in them, and the words that people read."""
    for path in TEMPLATES:
        text = path.read_text(encoding="utf-8")
        yield Named(_file(path), path.name.partition(".")[0])
        yield from (Named(_file(path), address) for address in re.findall(r'(?:href|action)="(/[^"]*)"', text))
        yield from (Named(_file(path), label) for label in re.findall(r'(?:aria-label|placeholder)="([^"]*)"', text))
        for expression in re.findall(r"\{[{%].*?[}%]\}", text, re.DOTALL):
            for words in re.findall(r'"([^"]*)"', expression):
                if ".html.jinja" not in words:
                    yield Named(_file(path), words)
        read = re.sub(r"\{[{%#].*?[}%#]\}|<(style|code).*?</\1>|<!--.*?-->", " ", text, flags=re.DOTALL)
        yield Named(_file(path), re.sub(r"<[^>]*>", " ", read))


def of_glossary() -> Iterator[Named]:
    """Yield the glossary's terms and their standard words."""
    yield from (Named(_file(GLOSSARY), text) for term in terms() for text in term[:2])


def of_guides() -> Iterator[Named]:
    """Yield the words of the guides: no command, no code, no address of a link."""
    for path in GUIDES:
        text = re.sub(r"```.*?```|`[^`]*`", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = re.sub(r"^ {4,}.*$", " ", text, flags=re.MULTILINE)
        yield Named(_file(path), re.sub(r"\]\([^)]*\)", "] ", text))


def _file(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def terms() -> list[tuple[str, str, str]]:
    row = re.compile(r"^\| \*\*(.+?)\*\*(.*?) \| (.*?) \| (.+?) \|$", re.MULTILINE)
    rows = row.findall(GLOSSARY.read_text(encoding="utf-8"))
    return [(f"{term}{rest}", standard, here) for term, rest, standard, here in rows]


def forbidden(names: Iterator[Named]) -> Iterator[tuple[str, str, str]]:
    """Yield the file, the word as it stands there, and the permitted form, wherever a name has another one."""
    for name in names:
        for permitted, pattern in WORDS.items():
            for found in re.findall(NAME.format(pattern), name.text, re.IGNORECASE):
                yield name.file, found.lower(), permitted


def everything() -> Iterator[Named]:
    for source in (of_api, of_templates, of_glossary, of_guides):
        yield from source()


@pytest.mark.parametrize("source", [of_api, of_templates, of_glossary, of_guides], ids=lambda one: one.__name__)
def test_each_thing_has_its_one_name(source):
    stray = {(file, word, permitted) for file, word, permitted in forbidden(source()) if (file, word) not in EXCEPTIONS}
    assert not stray, "each is a file, a word in it, and what it has to be called"


def test_no_exception_is_left_over():
    there = {(file, word) for file, word, _ in forbidden(everything())}
    assert not EXCEPTIONS.keys() - there, "these say what is permitted now: take them off the list"


def test_something_is_compared():
    assert all(len(list(source())) > 10 for source in (of_api, of_templates, of_glossary, of_guides))


def test_a_forbidden_name_is_found_with_its_file_and_word():
    said = [Named("a.yaml", "board_months"), Named("b.jinja", "The live set"), Named("c.md", "overboarded, swatches")]
    assert list(forbidden(iter(said))) == [("a.yaml", "board", "leaderboard"), ("b.jinja", "live set", "private set")]


def test_the_glossary_has_at_most_twenty_terms_and_the_standard_word_of_each():
    listed = [line for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line.startswith("| **")]
    assert 0 < len(listed) <= MOST_TERMS
    assert len(terms()) == len(listed), "a row is `| **term** | standard word | what it is here |`"
    assert all(len(standard.strip()) > 2 and here.strip() for _, standard, here in terms())
    names = [term.casefold() for term, _, _ in terms()]
    assert names == sorted(names)
