"""Groups of verbs, each made when it is used; the top-level `--help` lists verbs under titles.

Typer makes all verbs with their options at once, which takes longer than most of them do. Typer shows its panels only
with rich, which prints boxes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandInfo, TyperInfo


class LazyCommandInfo(CommandInfo):
    """Registers a verb, or a group of verbs, whose module is imported when it is used.

    Attributes:
        load: returns the verb, or raises an error that says how to get it.
        is_installed: returns whether it is there.
    """

    def __init__(self, name: str, about: str, load: Callable[[], Any], is_installed: Callable[[], bool]) -> None:
        super().__init__(name, help=about)
        self.load, self.is_installed = load, is_installed


class LazyCommand(TyperCommand):
    """Stands for a verb until it is used: its name, its help and its title; `load` and `is_installed` as above."""

    def __init__(
        self,
        name: str,
        about: str,
        title: str | None,
        load: Callable[[], Any],
        is_installed: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(name, help=about, rich_help_panel=title, rich_markup_mode=None)
        self.load, self.is_installed = load, is_installed


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
        """Return a verb, or None; it is loaded, unless a shell completes what is not installed."""
        command: Any = super().get_command(ctx, cmd_name)
        if isinstance(command, LazyCommand) and not (ctx.resilient_parsing and self._is_missing(cmd_name)):
            title, command = command.rich_help_panel, command.load()
            command.rich_help_panel, self.commands[cmd_name] = title, command
        return command

    def get_help_option(self, ctx: Any) -> Any:
        """Return the flag `--help`."""
        if flag := super().get_help_option(ctx):
            _spare_check(flag)
        return flag

    def _is_missing(self, name: str) -> bool:
        command = self.commands[name]
        return isinstance(command, LazyCommand) and not command.is_installed()


def make_root(app: typer.Typer) -> Any:
    """Return the command of a Typer application whose verbs are loaded when they are used."""
    root = typer.main.get_command(_without_verbs(app))
    for option in root.params:
        _spare_check(option)
    return _with_verbs(root, app)


def load_verb(app: typer.Typer, name: str) -> Any:
    """Return a verb, or a group of verbs, that a Typer application registers."""
    return _verbs(app)[name].load()


def load_all(group: Any) -> Any:
    """Load all verbs below a group, and return the group."""
    for name in group.commands:
        command = group.get_command(typer.Context(group), name)
        if isinstance(command, GroupedVerbs):
            load_all(command)
    return group


def group_of(command: Any) -> str:
    """Return the title under which a verb is listed."""
    return str(command.rich_help_panel or "Commands")


def _spare_check(flag: Any) -> None:
    """Let a flag that is not given be False: Typer checks None by Pydantic, which takes longer to import than Typer."""
    flag.default = False


def _without_verbs(app: typer.Typer) -> typer.Typer:
    bare = copy(app)
    bare.registered_commands, bare.registered_groups = [], []
    return bare


def _with_verbs(group: Any, app: typer.Typer) -> Any:
    group.commands = _verbs(app)
    return group


def _verbs(app: typer.Typer) -> dict[str, LazyCommand]:
    return {str(verb.name): verb for verb in _iterate(app)}


def _iterate(app: typer.Typer, title: str | None = None) -> Iterator[LazyCommand]:
    for command in app.registered_commands:
        yield _verb(command, title)
    for group in app.registered_groups:
        info: Any = typer.main.solve_typer_info_defaults(group)
        if info.name:
            yield LazyCommand(info.name, info.help, info.rich_help_panel, partial(_make_group, group))
        else:  # as in Typer, the verbs of a part without a name belong to the whole
            yield from _iterate(info.typer_instance, info.rich_help_panel)


def _verb(info: CommandInfo, title: str | None) -> LazyCommand:
    if isinstance(info, LazyCommandInfo):
        return LazyCommand(str(info.name), str(info.help), title, info.load, info.is_installed)
    callback: Any = info.callback
    name = info.name or typer.main.get_command_name(callback.__name__)
    about = info.help or inspect.getdoc(callback) or ""
    make = partial(typer.main.get_command_from_info, info, pretty_exceptions_short=False, rich_markup_mode=None)
    return LazyCommand(name, about, title, make)


def _make_group(info: TyperInfo) -> Any:
    app: Any = info.typer_instance
    bare = copy(info)
    bare.typer_instance, bare.cls = _without_verbs(app), GroupedVerbs
    group = typer.main.get_group_from_info(
        bare, pretty_exceptions_short=False, suggest_commands=True, rich_markup_mode=None
    )
    return _with_verbs(group, app)
