"""Generator of `audit.py`: the audit as one file that anybody can read and run.

`python -m vault.ledger.audit.single_file > docs/audit.py` writes it.

Every module that `command.py` needs becomes a function, word for word as it stands in the repository, so that each can
be compared with its original; its imports from other modules are read from the functions of those. Nothing is renamed
and nothing is left out. Where the package `cryptography` is missing, `ed25519.py` verifies in its place, slower.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
START, FALLBACK = "vault.ledger.audit.command", "vault.ledger.signatures.ed25519"
PACKAGE = "cryptography"
HEAD = '''#!/usr/bin/env python3
"""Audit a release of a Quarterturn benchmark: `python3 audit.py Historical-YYYY-MM --key log.vkey`.

One file, made from the modules of vault/ledger by vault/ledger/audit/single_file.py; each function below is one module.
It needs Python 3.11 and uses the package `cryptography` where it is installed.
"""

from __future__ import annotations

from types import SimpleNamespace

{imports}

'''
FOOT = """
if __name__ == "__main__":
    raise SystemExit({start}.main())
"""


def write() -> str:
    """Give the text of the file."""
    names = list(_in_order(START, []))
    foreign = {name: list(_foreign(_tree(name))) for name in names}
    plain = sorted({line for lines in foreign.values() for line in lines if PACKAGE not in line})
    parts = [HEAD.format(imports="\n".join(plain))]
    parts += [_section(name) for name in names]
    return "".join([*parts, FOOT.format(start=_namespace(START))])


def _in_order(name: str, seen: list[str]) -> Iterator[str]:
    """List a module after all modules that it needs."""
    if name in seen:
        return
    seen.append(name)
    for needed in _needed(_tree(name)):
        yield from _in_order(needed, seen)
    yield name


def _needed(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and _is_ours(node):
            for alias in node.names:
                yield _module(node, alias) or str(node.module)
    if any(PACKAGE in line for line in _foreign(tree)):
        yield FALLBACK


def _foreign(tree: ast.Module) -> Iterator[str]:
    """List the imports of modules that are not ours, one name a line."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (ast.unparse(ast.Import([alias])) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not _is_ours(node) and node.module != "__future__":
            yield from (ast.unparse(ast.ImportFrom(node.module, [alias], 0)) for alias in node.names)


def _section(name: str) -> str:
    source, tree = _path(name).read_text(encoding="utf-8"), _tree(name)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    import_lines = {line for node in imports for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    first = min(import_lines)
    text_lines = _inside_texts(source)
    lines = []
    for number, line in enumerate(source.splitlines(), 1):
        if number == first:
            lines += [f"    {import_line}" for node in imports for import_line in _taken(node)]
        if number not in import_lines:
            lines.append(line if number in text_lines or not line else f"    {line}")
    body = "\n".join(lines).rstrip()
    space = _namespace(name)
    return f"\n\ndef {space}():\n{body}\n\n    return SimpleNamespace(**locals())\n\n\n{space} = {space}()\n"


def _taken(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Rewrite an import as assignments from another module's function."""
    if isinstance(node, ast.ImportFrom) and _is_ours(node):
        for alias in node.names:
            module = _module(node, alias)
            value = _namespace(module) if module else f"{_namespace(str(node.module))}.{alias.name}"
            yield f"{alias.asname or alias.name} = {value}"
    elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == PACKAGE:
        for alias in node.names:
            name = alias.asname or alias.name
            yield "try:"
            yield f"    {ast.unparse(ast.ImportFrom(node.module, [alias], 0))}"
            yield "except ImportError:"
            yield f"    {name} = getattr({_namespace(FALLBACK)}, {alias.name!r}, None)"


def _is_ours(node: ast.ImportFrom) -> bool:
    return str(node.module).split(".")[0] == "vault"


def _module(node: ast.ImportFrom, alias: ast.alias) -> str | None:
    """Give the module that an imported name is, or None if it is a name inside of a module."""
    name = f"{node.module}.{alias.name}"
    return name if _path(name).is_file() else None


def _inside_texts(source: str) -> set[int]:
    """Give the lines inside of multi-line strings, which indenting would change."""
    kinds = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}  # the second from Python 3.12 on
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts = [token for token in tokens if token.type in kinds]
    return {line for token in texts for line in range(token.start[0] + 1, token.end[0] + 1)}


def _tree(name: str) -> ast.Module:
    return ast.parse(_path(name).read_text(encoding="utf-8"))


def _path(name: str) -> Path:
    return ROOT.joinpath(*name.split(".")).with_suffix(".py")


def _namespace(name: str) -> str:
    return name.replace(".", "_")


if __name__ == "__main__":
    sys.stdout.write(write())
