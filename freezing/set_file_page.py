"""Reference page of set files, made of the table of their keys: `python -m freezing.set_file_page`."""

from __future__ import annotations

import sys

from rotation.month.set_file import KEYS

COMMAND = "python -m freezing.set_file_page > docs/reference/set-file.md"

_HEAD = f"""# Set files

A set file is TOML. `quarterturn init --set FILE` makes a home of it, and the home keeps a copy, `set.toml`;
`quarterturn set check FILE` says what it comes to. [Design a set](../how-to/design-a-set.md) goes through one. Any
other key is an error, and so are numbers that do not add up.

This page is made by `{COMMAND}`.
"""
_TITLES = {"": "Top level", "cohorts": "`[cohorts]`", "mix": "`[[mix]]`", "quotas": "`[quotas]`"}


def reference() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD]
    for table, keys in KEYS.items():
        rows = [f"| `{key}` | {meaning} |" for key, meaning in keys.items()]
        parts.append("\n".join([f"## {_TITLES[table]}", "", "| key | meaning |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(reference())
