"""Rules, by the wording of a goal that each is about, and the tools as rules use them. The first that matches acts."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Collection
from datetime import date, timedelta
from typing import Any

from protocol import Gateway, ToolFailed

Rule = Callable[..., "str | None"]
RULES: list[tuple[re.Pattern[str], Rule]] = []  # filled by the modules that hold them

# What `<name:KIND>` in a wording stands for.
KINDS = {
    "PATH": r"/data/files/\S*\w",
    "REPO": r"/data/repos/[\w-]*\w",
    "BOOK": r"[\w/-]+\.xlsx",
    "N": r"\d+",
    "WORD": r"\w[\w-]*",
    "KEY": r"[\w:-]*\w",
    "NAME": r"(?:[A-Z][\w-]+ )+[A-Z][\w-]+",
    "TEXT": r".+?",
}


class Stuck(Exception):
    """No rule is about the goal, or it does not know how to go on."""


def compiled(wording: str) -> re.Pattern[str]:
    """Compile a wording, in which `<name:KIND>` stands for an argument."""
    pattern = re.sub(r"<(\w+):(\w+)>", lambda match: f"(?P<{match[1]}>{KINDS[match[2]]})", wording)
    return re.compile(pattern, re.DOTALL)


def rule(*wordings: str) -> Callable[[Rule], Rule]:
    """Make a function the rule for goals with one of these wordings."""

    def keep(function: Rule) -> Rule:
        for wording in wordings:
            RULES.append((compiled(wording), function))
        return function

    return keep


def find(goal: str, modules: Collection[str]) -> tuple[Rule, dict[str, str]]:
    """Find the rule for a goal among those of some modules, and its arguments.

    Raises:
        Stuck: there is none.
    """
    for pattern, function in RULES:
        if function.__module__ in modules and (match := pattern.search(goal)):
            return function, match.groupdict()
    raise Stuck("no rule is about this goal")


class Tools:
    """The task's tools, and what is read through them.

    Args:
        gateway: the connection.
        attempts: how often a tool is asked before its error is believed.
    """

    def __init__(self, gateway: Gateway, *, attempts: int) -> None:
        self._gateway, self._attempts = gateway, attempts

    def __call__(self, name: str, /, **arguments: Any) -> str:
        """Call a tool and give the text of its result."""
        for _ in range(self._attempts - 1):
            try:
                return self._gateway.call(name, arguments)
            except ToolFailed:
                continue
        return self._gateway.call(name, arguments)

    def json(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool whose result is JSON."""
        return json.loads(self(name, **arguments))

    # -- files --------------------------------------------------------------------------------------------------------

    def read(self, path: str) -> str:
        """Read a text file."""
        return self("filesystem__read_text_file", path=path)

    def write(self, path: str, lines: list[str]) -> None:
        """Write lines into a file."""
        self("filesystem__write_file", path=path, content="".join(f"{line}\n" for line in lines))

    def folder(self, path: str) -> None:
        """Make a folder."""
        self("filesystem__create_directory", path=path)

    def names(self, folder: str, ending: str = "") -> list[str]:
        """List the files in a folder, in alphabetical order."""
        lines = self("filesystem__list_directory", path=folder).splitlines()
        files = [line.removeprefix("[FILE] ") for line in lines if line.startswith("[FILE] ")]
        return sorted(name for name in files if name.endswith(ending))

    def table(self, path: str) -> list[dict[str, str]]:
        """Read a CSV file with a line of headings."""
        return list(csv.DictReader(io.StringIO(self.read(path))))

    # -- databases ----------------------------------------------------------------------------------------------------

    def rows(self, where: str, query: str) -> list[list[Any]]:
        """Query PostgreSQL where `where` is the start of that word, else SQLite."""
        if where.startswith("Postgre"):
            return list(self.json("postgres__query", sql=query)["rows"])
        return [list(row.values()) for row in ast.literal_eval(self("sqlite__read_query", query=query))]

    def change(self, where: str, query: str) -> None:
        """Change PostgreSQL or SQLite, as in `rows`."""
        if where.startswith("Postgre"):
            self("postgres__execute", sql=query)
        else:
            self("sqlite__write_query", query=query)

    # -- everything else ----------------------------------------------------------------------------------------------

    def sheet(self, book: str, sheet: str) -> tuple[list[str], list[dict[str, Any]]]:
        """Read a sheet with a row of headings; give the headings and the rows."""
        header, *rows = self.json("spreadsheet__read_range", path=book, sheet=sheet)["values"]
        return header, [dict(zip(header, row, strict=False)) for row in rows]

    def calendars(self) -> dict[str, str]:
        """Return the address of each calendar by its name."""
        listed = self.json("calendar__list-calendars")
        return {calendar["displayName"]: calendar["url"] for calendar in listed}

    def week(self, name: str, monday: str) -> list[dict[str, Any]]:
        """List a calendar's events of the week that begins at a Monday."""
        last = date.fromisoformat(monday) + timedelta(days=6)
        url = self.calendars()[name]
        return list(self.json("calendar__list-events", calendarUrl=url, start=monday, end=last.isoformat()))

    def issues(self, slug: str, state: str) -> list[dict[str, Any]]:
        """List the issues of a repository on GitHub, without its pull requests."""
        owner, repo = slug.split("/")
        listed = self.json("github__list_issues", owner=owner, repo=repo, state=state, per_page=100)
        return [issue for issue in listed if "pull_request" not in issue]

    def keys(self, pattern: str) -> list[str]:
        """List the keys of Redis that match a pattern."""
        return re.findall(r"[\w-]+(?::[\w-]+)+", self("redis__scan_all_keys", pattern=pattern))

    def scores(self, ranking: str) -> list[tuple[str, int]]:
        """List the members of a sorted set with their scores, the lowest first."""
        text = self("redis__zrange", key=ranking, start=0, end=-1, with_scores=True)
        return [(name, int(float(score))) for name, score in re.findall(r"[\[(]['\"](\w+)['\"], ([\d.]+)", text)]

    def branches(self, repo: str) -> list[str]:
        """List the feature branches of a repository."""
        listed = self("git__git_branch", repo_path=repo, branch_type="local")
        return [line[2:] for line in listed.splitlines() if line[2:].startswith("feature/")]

    def graph(self) -> tuple[dict[str, list[str]], list[tuple[str, str, str]]]:
        """Return what was observed about each entity of the memory, and the relations as (from, what, to)."""
        graph = self.json("memory__read_graph")
        entities = {entity["name"]: entity["observations"] for entity in graph["entities"]}
        return entities, [(one["from"], one["relationType"], one["to"]) for one in graph["relations"]]

    def orders(self) -> list[dict[str, Any]]:
        """Return the mails that are orders, with their lines `key: value` as keys; the lines of a note do not count."""
        listed = self.json("email__list_emails_metadata", account_name="agent", page_size=100)["emails"]
        ids = [mail["email_id"] for mail in listed]
        mails = self.json("email__get_emails_content", account_name="agent", email_ids=ids)["emails"]
        chosen = [mail for mail in mails if re.fullmatch(r"Order \S+", mail["subject"])]
        for mail in chosen:
            mail |= dict(re.findall(r"^(currency|amount|airport): (\S+)", mail["body"].replace("\r", ""), re.MULTILINE))
            mail["ref"], mail["address"] = mail["subject"].split()[1], re.sub(r".*<|>", "", mail["sender"])
        return chosen


def quoted(text: str) -> str:
    """Write a text as SQL does."""
    return "'" + text.replace("'", "''") + "'"
