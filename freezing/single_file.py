"""Generator of `audit.py`: the audit as one file that anybody can read and run with Python alone.

`python -m freezing.single_file > docs/audit.py` writes it.

The file has every definition that the audit's command reaches, and no other, from the steps down to the bytes. All
names are used as they stand, so no two modules on the way may share one. Of docstrings only the first
paragraph is kept, of types those of attributes: what a function takes and gives is checked in the modules.
In place of `library.py`, which calls the package `cryptography`, stands `ed25519.py`, which asks it for
ML-DSA-44 alone.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vault.ledger.audit.verify import LIES

ROOT = Path(__file__).resolve().parents[1]
START = "vault.ledger.audit.command"
PACKAGE, LIBRARY, FALLBACK = "cryptography", "vault.ledger.signatures.library", "vault.ledger.signatures.ed25519"
COLUMNS = 120
READING = tuple(
    f"vault.ledger.{name}"
    for name in (
        *("audit.command", "audit.verify", "audit.log_steps", "audit.task_steps", "audit.result_steps"),
        *("audit.evidence_step", "audit.accusation"),
        *("audit.audit_state", "audit.report", "statements.rules", "statements.log_state", "statements.spot_check"),
        *("statements.results", "release.contents", "release.bundle_reader", "statements.statement"),
        *("statements.forms", "statements.jcs", "tree.merkle", "tree.tiles", "signatures.policy"),
        *("signatures.checkpoint", "signatures.note", "signatures.cosignature", "signatures.strict_ed25519"),
        "signatures.ed25519",
    )
)
"""The modules as an auditor reads them: the steps, what they rest on, then formats and signatures."""
UNFORMATTED, FORMATTED = "# fmt: off", "# fmt: on"  # around tables, for the formatter
_SECTION = re.compile(r"\n\s*(?:Args|Attributes|Raises|Returns|Yields):\n")
_MARKER = re.compile(r"(?<=#) (?:noqa|type): [A-Z0-9a-z\[\], -]*? -(?= )|  # (?:noqa|type): [^\n]*$", re.MULTILINE)
"""What a comment says to another program, without the reason beside it."""
_QUIET = re.compile(r" = field\(repr=False\)|field\(default=(?=None, repr=False\))|(?<=None), repr=False\)")
"""What keeps an attribute out of a text for people, which the audit never makes of an object."""
_CLASS = re.compile(r'^(class [^\n]+:\n    """(?:[^"]|"(?!""))+"""\n)\n(?!    (?:def|@))', re.MULTILINE)
"""The beginning of a class, up to the empty line after its docstring."""
HEAD = '''#!/usr/bin/env python3
"""Audit a release of a Quarterturn benchmark: `python3 audit.py Historical-YYYY-MM --key log.vkey`.

It needs Python 3.11 and nothing else; a policy with a witness of ML-DSA-44 needs cryptography too.
It trusts nobody but the keys that you give it, which must come from anywhere but the release. The
argument, and the lie that each step finds out:

{steps}

A step takes what those before it proved, and either says what it proves or shows what disagrees;
the first failure ends the argument. A doubt does not: it is what an honest operator can have a
reason for, and you accept it by its number (--accept). docs/reference/ledger-formats.md describes
the formats.

Made by freezing/single_file.py from the functions of the command `quarterturn audit`:
first the steps, then what they rest on. The types of what functions take and give stand there.
"""

from __future__ import annotations

{imports}
'''
FOOT = '\n\nif __name__ == "__main__":\n    raise SystemExit(main())\n'


@dataclass
class Definition:
    """A top-level function, class or constant of a module.

    Attributes:
        lines: its text by line number, with the comments right above it.
        uses: the names in it.
        attributes: the names after a dot in it.
        first: the names that must be defined before it.
        methods: of a class, by name; their lines are in `lines` too.
        is_constant: whether it is an assignment; no empty line sets it apart from the one before it.
    """

    lines: dict[int, str]
    uses: frozenset[str]
    attributes: frozenset[str]
    first: frozenset[str]
    methods: Mapping[str, Definition]
    is_constant: bool = False

    def source(self, attributes: Collection[str]) -> str:
        """Return its text without the methods that nobody calls."""
        idle = {n for name, method in self.methods.items() if name not in attributes for n in method.lines}
        return "\n".join(line for number, line in sorted(self.lines.items()) if number not in idle)


@dataclass
class Module:
    """What a module defines, and what it imports from elsewhere."""

    about: str
    definitions: Mapping[str, Definition]
    foreign: Mapping[str, str]


def write() -> str:
    """Return the text of the file.

    Raises:
        ValueError: two modules on the way define the same name.
    """
    modules = {name: _module(name) for name in _in_order(START, [])}
    home: dict[str, str] = {}
    needed, attributes = _needed(modules)
    for name, module in modules.items():
        for defined in module.definitions:
            if defined in needed and home.setdefault(defined, name) != name:
                raise ValueError(f"{name} and {home[defined]} both define {defined}")
    imports = _imports({line for module in modules.values() for name, line in module.foreign.items() if name in needed})
    steps = "\n".join(f"{number:3}. {name:12} {lie}" for number, (name, lie) in enumerate(LIES.items(), 1))
    body = "".join(_emitted(modules, needed, attributes))
    return _formatted(HEAD.format(steps=steps, imports=imports) + body + FOOT)


def _imports(lines: set[str]) -> str:
    """Write the imports, one line for each module."""
    plain = sorted(line for line in lines if line.startswith("import"))
    named: dict[str, list[str]] = {}
    for line in sorted(lines - set(plain)):
        _, module, _, name = line.split(" ", 3)
        named.setdefault(module, []).append(name)
    return "\n".join([*plain, *(f"from {module} import {', '.join(names)}" for module, names in named.items())])


def _emitted(modules: Mapping[str, Module], needed: set[str], attributes: set[str]) -> Iterator[str]:
    """Yield each definition that is needed, and one that must wait for another right after that."""
    waiting: list[tuple[str, Definition]] = []
    after_constant = False
    done = {name for module in modules.values() for name in module.foreign}
    for module in (modules[name] for name in dict.fromkeys([*READING, *modules])):
        wanted = {name: item for name, item in module.definitions.items() if name in needed}
        if wanted:
            title = textwrap.wrap(module.about, COLUMNS, initial_indent="# == ", subsequent_indent="# ")
            yield "\n\n" + "".join(f"{line}\n" for line in title)
            after_constant = False
        for name, definition in wanted.items():
            waiting.append((name, definition))
            while ready := next((item for item in waiting if item[1].first & needed <= done | {item[0]}), None):
                waiting.remove(ready)
                done.add(ready[0])
                if ready[1].lines:
                    source = ready[1].source(attributes)
                    yield f"{source}\n" if after_constant and ready[1].is_constant else f"\n{source}\n"
                    after_constant = ready[1].is_constant
    if waiting:
        raise ValueError(f"{waiting[0][0]} needs what is defined nowhere")


def _needed(modules: Mapping[str, Module]) -> tuple[set[str], set[str]]:
    """Return the names that `main` reaches, and the names of all attributes in what it reaches."""
    known = {name: item for module in modules.values() for name, item in module.definitions.items()}
    foreign = {name for module in modules.values() for name in module.foreign}
    special = {name for item in known.values() for name in item.methods if name.startswith("__")}
    needed, attributes, size = {"main"}, special, (0, 0)
    while size != (size := (len(needed), len(attributes))):
        for name in needed & known.keys():
            methods = [method for called, method in known[name].methods.items() if called in attributes]
            for part in (known[name], *methods):
                needed = needed | part.uses & (known.keys() | foreign)
                attributes |= part.attributes
    return needed, attributes


def _in_order(name: str, seen: list[str]) -> Iterator[str]:
    """List a module after all modules that it needs."""
    if name in seen:
        return
    seen.append(name)
    for node in _tree(name).body:
        if isinstance(node, ast.ImportFrom):
            module = FALLBACK if node.module == LIBRARY else str(node.module)
            yield from _in_order(module, seen) if _is_ours(node) else ()
    yield name


def _module(name: str) -> Module:
    text = _untyped(_path(name).read_text(encoding="utf-8"))
    tree = ast.parse(text)
    definitions: dict[str, Definition] = {}
    foreign: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            foreign |= dict(_foreign(node))
        elif names := _names(node):
            definition = _definition(text, node)
            definitions[names[0]] = definition
            for other in names[1:]:  # of one assignment
                definitions[other] = Definition({}, frozenset(names[:1]), frozenset(), frozenset(names[:1]), {})
    return Module(_sentences(ast.get_docstring(tree) or ""), definitions, foreign)


def _untyped(text: str) -> str:
    """Leave out all types but those of a data class's attributes."""
    tree, data = ast.parse(text), text.encode()
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    spans: list[tuple[int, int]] = []
    attributes = {id(item) for node in ast.walk(tree) if _is_data_class(node) for item in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation:
            spans.append((starts[node.lineno - 1] + node.col_offset + len(node.arg.encode()), _end(starts, node)))
        elif isinstance(node, ast.FunctionDef) and node.returns:
            arrow = data.rindex(b"->", 0, starts[node.returns.lineno - 1] + node.returns.col_offset)
            spans.append((arrow, _end(starts, node.returns)))
        elif isinstance(node, ast.AnnAssign) and not node.value and id(node) not in attributes:
            spans.append((starts[node.lineno - 1], starts[node.end_lineno or 0]))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and id(node) not in attributes:
            spans.append((_end(starts, node.target), _end(starts, node.annotation)))
    for begin, end in sorted(spans, reverse=True):
        data = data[:begin] + data[end:]
    return _QUIET.sub("", _MARKER.sub("", data.decode()))


def _is_data_class(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(item) for item in node.decorator_list)


def _end(starts: Sequence[int], node: ast.expr | ast.arg) -> int:
    return starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Try):  # of an import, whose handler gives the same names
        return [alias.name for item in node.body if isinstance(item, ast.ImportFrom) for alias in item.names]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)]


def _definition(text: str, node: ast.stmt) -> Definition:
    lines = text.splitlines()
    decorators = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(item.lineno for item in decorators)])
    while lines[start - 2].startswith("#") and lines[start - 2] not in {UNFORMATTED, FORMATTED}:
        start -= 1
    body = {number: lines[number - 1] for number in range(start, (node.end_lineno or 0) + 1)}
    markers = [line for line in lines[:start] if line in {UNFORMATTED, FORMATTED}]
    if markers[-1:] == [UNFORMATTED]:
        body[start], body[max(body)] = f"{UNFORMATTED}\n{body[start]}", f"{body[max(body)]}\n{FORMATTED}"
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and (documented := ast.get_docstring(inner, clean=False)):
            string = inner.body[0]
            for number in range(string.lineno, (string.end_lineno or 0) + 1):
                del body[number]
            body[string.lineno] = _docstring(_sentences(documented), " " * string.col_offset)
    members = node.body if isinstance(node, ast.ClassDef) else []
    methods = {item.name: _method(body, item) for item in members if isinstance(item, ast.FunctionDef)}
    own = [item for item in ast.iter_child_nodes(node) if not isinstance(item, ast.FunctionDef)] if methods else [node]
    uses, attributes = (frozenset().union(*(take(item) for item in own)) for take in (_used, _attributes))
    return Definition(body, uses, attributes, _first(node), methods, isinstance(node, ast.Assign))


def _method(body: Mapping[int, str], node: ast.FunctionDef) -> Definition:
    start = min([node.lineno, *(item.lineno for item in node.decorator_list)])
    lines = {number: line for number, line in body.items() if start <= number <= (node.end_lineno or 0)}
    return Definition(lines, _used(node), _attributes(node), frozenset(), {})


def _sentences(docstring: str) -> str:
    """Return the first paragraph of a docstring, on one line."""
    text = _SECTION.split(f"{docstring}\n", maxsplit=1)[0]
    return " ".join(text.strip().partition("\n\n")[0].split())


def _docstring(text: str, indent: str) -> str:
    lines = textwrap.wrap(f'"""{text}"""', COLUMNS, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines)


def _used(node: ast.AST) -> frozenset[str]:
    """Return the names that are looked up outside of a definition: not its arguments and local names."""
    names = [item for item in ast.walk(node) if isinstance(item, ast.Name)]
    local = {item.arg for item in ast.walk(node) if isinstance(item, ast.arg)}
    if isinstance(node, ast.FunctionDef):
        local |= {item.id for item in names if isinstance(item.ctx, ast.Store)}
    return frozenset(item.id for item in names if isinstance(item.ctx, ast.Load)) - local


def _attributes(node: ast.AST) -> frozenset[str]:
    """Return the names after a dot, and the texts, by which `getattr` may look."""
    named = {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    return frozenset(named | {str(item.value) for item in ast.walk(node) if isinstance(item, ast.Constant)})


def _first(node: ast.stmt) -> frozenset[str]:
    """Return the names that are looked up while a definition is made."""
    if isinstance(node, ast.FunctionDef):
        parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
    elif isinstance(node, ast.ClassDef):
        values = [item.value for item in node.body if isinstance(item, ast.Assign | ast.AnnAssign) and item.value]
        parts = [*node.decorator_list, *node.bases, *values]
    else:
        value = getattr(node, "value", None)
        parts = [value] if value else []
    return frozenset().union(*map(_used, parts))


def _foreign(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield the imports from the standard library: the name and the line."""
    if isinstance(node, ast.ImportFrom) and (
        _is_ours(node) or str(node.module).split(".")[0] in {"__future__", PACKAGE}
    ):
        return
    for alias in node.names:
        inner = ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], 0)
        yield alias.asname or alias.name, ast.unparse(inner)


def _is_ours(node: ast.ImportFrom) -> bool:
    return str(node.module).split(".")[0] == "vault"


def _tree(name: str) -> ast.Module:
    return ast.parse(_path(name).read_text(encoding="utf-8"))


def _path(name: str) -> Path:
    return ROOT.joinpath(*name.split(".")).with_suffix(".py")


def _formatted(text: str) -> str:
    options = ("--line-length", str(COLUMNS), "--config", "format.skip-magic-trailing-comma=true")
    command = (sys.executable, "-m", "ruff", "format", "--isolated", *options, "-")
    formatted = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    plain = formatted.replace(f"{UNFORMATTED}\n", "").replace(f"{FORMATTED}\n", "")
    return _CLASS.sub(r"\1", re.sub(r"\n{3,}", "\n\n", plain))


if __name__ == "__main__":
    sys.stdout.write(write())
