"""Report on wording for `./run check`: names, constants and sentences in changed lines that a reader would stop at.

A change is what `./run test --changed` takes for one: the working tree against the place where this branch left `main`.
On `main` that is what is not committed yet. Lines that the change leaves alone are not looked at. Nothing fails.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from .git import git, merge_base

MAX_NOTES = 20
MAX_SENTENCE_WORDS = 35

# Irregular ones are listed: many verbs end in -en (open, listen). "read", "put" and "set" may be either.
PARTICIPLE = re.compile(
    "_*(?:been|begun|bent|bound|bought|broken|brought|built|caught|chosen|dealt|done|drawn|driven|fallen|forbidden"
    "|forgotten|found|frozen|given|gone|grown|heard|held|hidden|kept|known|laid|left|lent|lost|made|meant|met"
    "|overridden|overwritten|paid|proven|rewritten|said|seen|sent|shaken|shown|sold|spent|spoken|stolen|sworn|taken"
    "|taught|thrown|told|torn|understood|unseen|won|written|agreed|freed|guaranteed"
    "|(?!embed$|hundred$|shed$|shred$)[a-z]+[^e_]ed)"
)
PROPERTY = re.compile(r"property$|\.(?:setter|deleter)$")
# A plural says what is counted; the others stand in the singular, or for a number without a unit.
UNIT = re.compile(
    r"(?:^|_)(?:(?:MAX|MIN)_\w|(?:[A-Z]+[^SU_]S|[KMG]IB|MS|NS|US|CODE|COUNT|FACTOR|PERCENT|PORT|PROBABILITY|RATE|RATIO"
    r"|SEED|SHARE|STATUS|VERSION|WEIGHT)(?:_|$))"
)
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)]|[\w.*]+:)(?:\s|$)")  # of a list, or a docstring's "Raises:" and what follows
SENTENCE = re.compile(r"""(?s)\S.*?(?:[.!?]["')\]*_]*(?=\s)|\Z)""")

Line = tuple[int, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function
Arithmetic = ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop


def report(root: Path) -> list[str]:
    """Return the notes as lines; none where nothing is changed, or where git does not know the checkout."""
    notes: list[str] = []
    for path, touched in sorted(changed_lines(root).items()):
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        notes += [f"{path}:{number}: {note}" for number, note in notes_on(path, text, touched)]
    rest = len(notes) - MAX_NOTES
    return [*notes[:MAX_NOTES], f"({rest} more)"] if rest > 0 else notes


def changed_lines(root: Path) -> dict[str, Container[int]]:
    """Return the numbers of changed lines by file, for Python and Markdown; of a file new to git, all of them."""
    base = merge_base(root)
    shape = ("-U0", "--diff-filter=d", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/")
    lines: dict[str, Container[int]] = {**lines_of(git(root, "diff", *shape, base, "--", "*.py", "*.md"))}
    untracked = git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", "*.py", "*.md")
    lines |= {path: range(1 << 30) for path in untracked.split("\0") if path}
    return {path: touched for path, touched in lines.items() if (root / path).is_file()}


def lines_of(diff: str) -> dict[str, set[int]]:
    """Return the numbers of added lines by file, from a diff without context."""
    lines: dict[str, set[int]] = {}
    path = ""
    for name, start, size in re.findall(r"(?m)^--- .*\n\+\+\+ b/(.*?)\t?$|^@@ \S+ \+(\d+)(?:,(\d+))? @@", diff):
        path = name or path
        if start:
            lines.setdefault(path, set()).update(range(int(start), int(start) + int(size or 1)))
    return lines


def notes_on(path: str, text: str, touched: Container[int]) -> list[Line]:
    """Return what a reader would stop at in the touched lines of a file; a file that does not parse is the linter's."""
    lines = list(enumerate(text.split("\n"), 1))
    try:
        return sorted(_in_python(text, lines, touched) if path.endswith(".py") else _long(lines, touched))
    except (SyntaxError, ValueError, tokenize.TokenError):
        return []


def _in_python(text: str, lines: list[Line], touched: Container[int]) -> Iterator[Line]:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.lineno in touched and _is_participle(node):
            yield node.lineno, f"{node.name}() is named by a participle; name it by a verb"
        if isinstance(node, Documented) and (docstring := ast.get_docstring(node)):
            start, end = node.body[0].lineno, node.body[0].end_lineno
            if start in touched and re.match(r"Gives?\b", docstring):
                yield start, 'a docstring begins with "Give"; write "Return"'
            yield from _long([(n, re.sub(r'\s*[rR]?"""', "", line)) for n, line in lines[start - 1 : end]], touched)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno in touched and _is_number(node.value, text):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and target.id.isupper() and not UNIT.search(target.id):
                    yield node.lineno, f"{target.id} names no unit, nor what it counts (…_SECONDS, MAX_…_BYTES)"
    yield from _long(_comments(text), touched)


def _is_participle(function: Function) -> bool:
    is_property = any(PROPERTY.search(ast.unparse(decorator)) for decorator in function.decorator_list)
    return bool(PARTICIPLE.fullmatch(function.name)) and not is_property


def _is_number(value: ast.expr | None, text: str) -> bool:
    """Tell whether a value is arithmetic of literals; what is written in hexadecimal is a code or a mask."""
    if value is None or "0x" in (ast.get_source_segment(text, value) or ""):
        return False
    leaves = [part for part in ast.walk(value) if not isinstance(part, Arithmetic)]
    return all(isinstance(leaf, ast.Constant) and type(leaf.value) in {int, float} for leaf in leaves)


def _comments(text: str) -> Iterator[Line]:
    """Yield comments, with an empty line between those that do not follow each other."""
    previous = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            number, column = token.start
            if number != previous + 1 or token.line[:column].strip():
                yield 0, ""
            yield number, token.string.lstrip("#! ")
            previous = number


def _long(lines: Iterable[Line], touched: Container[int]) -> Iterator[Line]:
    """Yield sentences with too many words; fences, headings and tables have none, and code counts as one word."""
    block: list[Line] = []
    fenced = False
    for number, line in [*lines, (0, "")]:
        start = line.lstrip(" >")
        fence = start.startswith(("```", "~~~"))
        fenced ^= fence
        is_prose = bool(start) and not fence and not fenced and start[0] not in "|#"
        item = ITEM.match(line)
        if block and (item or not is_prose):
            yield from _long_in(block[0][0], "\n".join(text for _, text in block), touched)
            block = []
        if is_prose:
            block.append((number, line[item.end() :] if item else line))


def _long_in(first: int, block: str, touched: Container[int]) -> Iterator[Line]:
    for match in SENTENCE.finditer(block):
        start, end = (first + block.count("\n", 0, place) for place in match.span())
        words = re.findall(r"\w+", re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", match[0])))
        if len(words) > MAX_SENTENCE_WORDS and any(number in touched for number in range(start, end + 1)):
            yield start, f"a sentence has {len(words)} words (at most {MAX_SENTENCE_WORDS} are easy to read)"
