"""Groups of verbs, some of them of extras; the top-level `--help` lists verbs under titles.

Typer shows its panels only with rich, which prints boxes.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from quarterturn.cli.terminal.extra_verbs import VERBS, NotLoaded


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

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs that are installed."""
        return [name for name in super().list_commands(ctx) if not self._is_missing(name)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb, or None; one of an extra is loaded, unless a shell completes what is not installed."""
        command: Any = super().get_command(ctx, cmd_name)
        if isinstance(command, NotLoaded) and not (ctx.resilient_parsing and self._is_missing(cmd_name)):
            panel, command = command.rich_help_panel, VERBS[cmd_name].load()
            command.rich_help_panel, self.commands[cmd_name] = panel, command
        return command

    def _is_missing(self, name: str) -> bool:
        return isinstance(self.commands[name], NotLoaded) and not VERBS[name].entry_point()


def group_of(command: Any) -> str:
    """Return the title under which a verb is listed."""
    return str(command.rich_help_panel or "Commands")
