"""Loader of grammars: reads YAML files and dictionaries and gives a checked `Grammar`.

A grammar is a folder of YAML files that all say `grammar: SERVER`, with its dictionaries in `dictionaries/`. Nothing
that is read is executed; anything invalid is refused in one sentence that names file, template and field. Checks of
whole skeletons are in `grammars.language.checks`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from grammars.errors import Malformed, NotFound
from grammars.language.checks import check_skeletons
from grammars.language.derivation import skeletons
from grammars.language.grammar import Grammar
from grammars.language.templates import as_map, as_texts, only_known, read_templates
from grammars.language.translations import add_translations
from vault import strict_yaml
from vault.canonical import digest
from vault.errors import Malformed as NotYaml

LIBRARY = Path(__file__).parents[1] / "library"
DICTIONARIES = "dictionaries"

_FILE = {"grammar", "language", "version", "tools", "dictionaries", "productions", "templates"}


def library() -> list[str]:
    """List the servers whose grammars are shipped with the software."""
    return sorted(folder.name for folder in LIBRARY.iterdir() if folder.is_dir() and folder.name != DICTIONARIES)


def load(
    source: Path | str, *, tools: Collection[str] | None = None, predicates: Collection[str] | None = None
) -> Grammar:
    """Load a grammar from a folder, a file, or by the name of a shipped one.

    Args:
        source: a folder, a file, or a server's name.
        tools: the tools (`server.tool`) that exist, if the caller knows them.
        predicates: the predicates (`server.name`) that exist, if the caller knows them.

    Raises:
        NotFound: there is nothing at that place.
        Malformed: a file cannot be understood; the message names file, template and field.
    """
    files, dictionaries = texts(source)
    return parse(files, dictionaries, tools=tools, predicates=predicates, public=source in library())


def texts(source: Path | str) -> tuple[dict[str, str], dict[str, str]]:
    """Read the files of a grammar and the dictionaries that it may use, the shipped ones and its own, by name.

    Raises:
        NotFound: there is nothing at that place.
        Malformed: a file cannot be read, or is not UTF-8.
    """
    path = LIBRARY / source if isinstance(source, str) and source in library() else Path(source)
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        empty = ": a folder with no *.yaml in it" if path.is_dir() else ""
        raise NotFound(f"there is no grammar at {path}{empty}; the shipped ones are {', '.join(library())}")
    own = path if path.is_dir() else path.parent
    dictionaries = [*(LIBRARY / DICTIONARIES).glob("*.yaml"), *(own / DICTIONARIES).glob("*.yaml")]  # its own win
    return _read_all(files, suffix=True), _read_all(dictionaries)


def _read(text: str, name: str) -> Any:
    try:
        return strict_yaml.read(text, name)
    except NotYaml as error:
        raise Malformed(str(error)) from None


def _read_all(files: Sequence[Path], *, suffix: bool = False) -> dict[str, str]:
    texts = {}
    for file in files:
        try:
            texts[file.name if suffix else file.stem] = file.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8"
            raise Malformed(f"the grammar file {file} cannot be read: {why}") from None
    return texts


def parse(
    files: Mapping[str, str],
    dictionaries: Mapping[str, str],
    *,
    tools: Collection[str] | None = None,
    predicates: Collection[str] | None = None,
    public: bool = False,
) -> Grammar:
    """Parse a grammar from the texts of its files and dictionaries, by name; `public` marks a shipped one.

    Raises:
        Malformed: a file cannot be understood; the message names file, template and field.
    """
    documents = {name: _file(_read(text, name), name) for name, text in files.items()}
    lists = _Lists({name: _dictionary_of(text, name) for name, text in dictionaries.items()})
    for name, document in documents.items():
        for key, entries in as_map(document.get("dictionaries"), f"{name}: dictionaries").items():
            lists[key] = _dictionary(entries, f"{name}: dictionaries.{key}")
    if tools is not None:
        for name, document in documents.items():
            _check_tools(document, name, tools)
    grammar = _grammar(documents, lists, public=public)
    check_skeletons(grammar, skeletons(grammar), predicates=predicates)
    return grammar


def _grammar(documents: Mapping[str, dict[str, Any]], lists: _Lists, *, public: bool) -> Grammar:
    names = {document["grammar"] for document in documents.values()}
    if len(names) != 1:
        raise Malformed(f"{', '.join(documents)}: one folder holds one grammar, and these name {sorted(names)}")
    head = [name for name, document in documents.items() if "version" in document]
    if len(head) != 1 or type(documents[head[0]]["version"]) is not int:
        raise Malformed(f"{', '.join(documents)}: exactly one file must give the grammar's version, an integer")
    translations = {name: document for name, document in documents.items() if "language" in document}
    english = {name: document for name, document in documents.items() if name not in translations}
    templates = add_translations(read_templates(english, lists), translations)
    return Grammar(
        server=names.pop(),
        version=documents[head[0]]["version"],
        digest=_digest(documents, lists),
        templates=templates,
        tools=_tools(documents),
        public=public,
    )


class _Lists(dict[str, Sequence[Any]]):
    """Dictionaries that record which of them were used."""

    def __init__(self, lists: Mapping[str, Sequence[Any]]) -> None:
        super().__init__(lists)
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> Sequence[Any]:
        self.used.add(name)
        return super().__getitem__(name)


def _digest(documents: Mapping[str, Any], lists: _Lists) -> str:
    """Hash the grammar's sources: every file, and the dictionaries that it uses."""
    parts = {f"files/{name}": document for name, document in documents.items()}
    parts |= {f"dictionaries/{name}": list(lists[name]) for name in sorted(lists.used)}
    return digest({name: digest(part, name) for name, part in parts.items()})


def _file(document: Any, name: str) -> dict[str, Any]:
    fields = as_map(document, name)
    only_known(fields, _FILE, f"{name}:")
    if not isinstance(fields.get("grammar"), str):
        raise Malformed(f"{name}: a grammar file starts with `grammar: SERVER`")
    return fields


@lru_cache(maxsize=256)
def _dictionary_of(text: str, name: str) -> Sequence[Any]:
    """Read the text of one dictionary; every grammar takes the same shipped ones."""
    return _dictionary(_read(text, name), f"dictionaries/{name}.yaml")


def _dictionary(entries: Any, where: str) -> Sequence[Any]:
    if not isinstance(entries, list) or not entries:
        raise Malformed(f"{where}: a dictionary is a list of entries that is not empty")
    shapes = {tuple(sorted(entry)) if isinstance(entry, Mapping) else type(entry).__name__ for entry in entries}
    if len(shapes) != 1:
        raise Malformed(f"{where}: all entries of a dictionary must have the same keys")
    return entries


def _tools(documents: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    out: dict[str, tuple[str, ...]] = {}
    for name, document in documents.items():
        for server, names in as_map(document.get("tools"), f"{name}: tools").items():
            out[server] = tuple(as_texts(names, f"{name}: tools.{server}"))
    return out


def _check_tools(document: Mapping[str, Any], name: str, known: Collection[str]) -> None:
    for server, names in _tools({name: document}).items():
        if not any(tool.startswith(f"{server}.") for tool in known):
            raise Malformed(
                f"{name}: tools.{server}: there is no server {server}; if a home has added it, name that home (--home)"
            )
        if strange := [tool for tool in names if f"{server}.{tool}" not in known]:
            raise Malformed(f"{name}: tools.{server}: no server has a tool '{server}.{strange[0]}'")
