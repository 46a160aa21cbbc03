"""Report on structure for `./run check`: packages with many modules, and class names that occur more than once.

It informs and fails nothing: a large folder may belong together, and errors of one name in each room are a pattern.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("vault", "verifiers", "grammars", "sandbox", "rotation", "quarterturn")
MOST_MODULES = 15


def report(root: Path) -> list[str]:
    """Return the report as lines, empty where there is nothing to say."""
    places = [*(root / room for room in ROOMS), *sorted(root.glob("extras/*/quarterturn_*"))]
    modules = [path for place in places for path in sorted(place.rglob("*.py")) if path.stem != "__init__"]
    return [*_large(root, modules), *_repeated(root, modules)]


def _large(root: Path, modules: list[Path]) -> Iterator[str]:
    sizes = Counter(str(path.parent.relative_to(root)) for path in modules)
    for folder, size in sizes.most_common():
        if size > MOST_MODULES:
            yield f"{folder} has {size} modules"


def _repeated(root: Path, modules: list[Path]) -> Iterator[str]:
    places = defaultdict(list)
    for path in modules:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and path.name != "errors.py":
                places[node.name].append(str(path.relative_to(root)))
    for name, where in sorted(places.items()):
        if len(where) > 1:
            yield f"{len(where)} classes are named {name}: {', '.join(where)}"
