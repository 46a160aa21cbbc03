"""Top-level `--help` whose verbs are listed in groups; typer shows its panels only with rich, which prints boxes."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class GroupedVerbs(TyperGroup):
    """Command group that lists its verbs under the `rich_help_panel` of each, in the order of registration."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group of verbs, one line a verb."""
        widest = max(map(len, self.commands))
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.commands[name]
            rows = sections.setdefault(group_of(command), [])
            rows.append((name.ljust(widest), command.get_short_help_str(formatter.width - 6 - widest)))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def group_of(command: Any) -> str:
    """Give the title of the group that a verb belongs to."""
    return str(command.rich_help_panel)
