"""Set files: the composition of a benchmark's private set and dev set as TOML, strictly validated.

    name = "notes"              # what the home and the public view call the set
    size = 40                   # live private tasks
    servers = ["filesystem", "git"]

    [cohorts]
    live = 4                    # cohorts that are live at once
    lifetime = "P4M"            # how long each is live; one retires each lifetime / live

    [[mix]]                     # one table a category and difficulty
    category = "composition"
    difficulty = "medium"
    cohort = 5                  # tasks of each server in each cohort
    dev = 2                     # tasks of each server in the public dev set
    reserve = 1                 # spare tasks of each server, for refills
    several_servers = 1         # for how many of the servers these are tasks of several servers
    conditional = 1             # for how many of them they are conditional
    languages = {de = 1}        # for how many of them their goals are in German

`parse` refuses unknown keys, wrong types and numbers that do not add up, each with a sentence that names the key.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grammars.language.labels import CATEGORIES, DIFFICULTIES, ENGLISH, LANGUAGE_TAG
from rotation.errors import Malformed

COHORTS = 4
"""How many cohorts are live at once where a set file says nothing else: one enters and one retires with each turn."""

TRACKS = ("docker", "docker-model-gateway", "docker-judged", "endpoint")
"""The tracks of official runs."""

MOST_COHORTS = 12
MOST_PERIOD = 12
"""How many months may pass between two retirements, at most."""

MAX_NUMBER = 10_000
"""Of any key of a set file."""

KEYS: Mapping[str, Mapping[str, str]] = {
    "": {
        "name": "Name of the set: small letters, digits and hyphens, at most 32. Required.",
        "size": "How many private tasks are live at once. Required: it must be what cohorts and mix come to.",
        "servers": "The servers that the set has tasks of. Required.",
        "tracks": f"The tracks in which private runs may be made: {', '.join(TRACKS)}. Default: all.",
        "cohorts": "Table: how many cohorts, and for how long.",
        "mix": "List of tables, one a category and difficulty: what each cohort, the dev set and the reserve hold.",
        "quotas": "Table: what `init` writes into the home's settings, under `[service]`.",
    },
    "cohorts": {
        "live": f"How many cohorts are live at once, 2 to {MOST_COHORTS}. Default: {COHORTS}.",
        "lifetime": "How long each is live: ISO 8601 duration of months, a multiple of `live`. Default: `live` months.",
    },
    "mix": {
        "category": f"One of {', '.join(CATEGORIES)}. Required.",
        "difficulty": f"One of {', '.join(DIFFICULTIES)}. Required.",
        "servers": "The servers that this table is about. Default: all of the set.",
        "cohort": "Tasks of each of these servers in each cohort, 1 or more. Required.",
        "dev": "Tasks of each of these servers in the public dev set. Default: 0; a set with none has the demo's.",
        "reserve": "Spare tasks of each of these servers, committed beside the private set for refills. Default: 0.",
        "several_servers": "For how many of these servers, at least and by lot, the tasks need two servers or more. "
        "Default: as it comes.",
        "conditional": "For how many of these servers, at least and by lot, the goal has a condition. Default: as it "
        "comes.",
        "languages": "For how many of these servers, by lot, the goals are in a language: a table from BCP 47 tags to "
        "numbers. Default: all goals are in English.",
    },
    "quotas": {
        "private_per_month": "Private runs per party and benchmark month.",
        "private_in_all": "Private runs of all parties together per benchmark month.",
        "dev_per_day": "Dev-set runs per party and day (UTC).",
        "checks_per_day": "Checks (one dev task each) per party and day (UTC).",
    },
}
"""Every key by its table, with what it means."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}", re.ASCII)
_DURATION = re.compile(r"P([1-9]\d{0,3})([MY])", re.ASCII)
_WEEKS = re.compile(r"P\d+[WD]", re.ASCII)


@dataclass(frozen=True, slots=True)
class MixRow:
    """A `[[mix]]` table: what there is of one category and difficulty, for each of some servers."""

    category: str
    difficulty: str
    servers: tuple[str, ...]
    cohort: int
    dev: int = 0
    reserve: int = 0
    several_servers: int | None = None
    conditional: int | None = None
    languages: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetFile:
    """The contents of a set file; `parse` makes only such as add up.

    Attributes:
        live: how many cohorts are live at once.
        months: how many months each of them is live.
        tracks: in which private runs may be made.
        quotas: what `init` writes into a new home's settings.
    """

    name: str
    size: int
    servers: tuple[str, ...]
    mix: tuple[MixRow, ...] = field(repr=False)
    live: int = COHORTS
    months: int = COHORTS
    tracks: tuple[str, ...] = TRACKS
    quotas: Mapping[str, int] = field(default_factory=dict)


def parse(text: str, what: str) -> SetFile:
    """Read a set file.

    Args:
        text: its text.
        what: where it comes from, for messages.

    Raises:
        Malformed: it is not TOML, a key is unknown, missing or of the wrong type, or the numbers do not add up.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Malformed(f"{what} is not TOML: {error}") from None
    try:
        return _read(document)
    except Malformed as error:
        raise Malformed(f"{what}: {error}") from None


def _read(document: Mapping[str, Any]) -> SetFile:
    top = _Table(document, "", "")
    servers = top.names("servers")
    cohorts = _Table(top.table("cohorts"), "cohorts", "cohorts.")
    live = cohorts.number("live", least=2, most=MOST_COHORTS, default=COHORTS)
    months = _months(cohorts, live)
    rows = tuple(_rows(top, servers))
    quotas = _Table(top.table("quotas"), "quotas", "quotas.")
    parsed = SetFile(
        name=_name(top),
        size=top.number("size", least=1),
        servers=servers,
        mix=rows,
        live=live,
        months=months,
        tracks=_tracks(top),
        quotas={key: quotas.number(key) for key in KEYS["quotas"] if quotas.has(key)},
    )
    _require_sum(parsed)
    return parsed


def _name(top: _Table) -> str:
    name = top.text("name")
    if not _NAME.fullmatch(name):
        raise Malformed(f"name: '{name}' is no name of a set: write small letters, digits and hyphens, at most 32")
    return name


def _tracks(top: _Table) -> tuple[str, ...]:
    tracks = top.names("tracks", default=TRACKS)
    for track in tracks:
        if track not in TRACKS:
            raise Malformed(f"tracks: there is no track '{track}'; the tracks are: {', '.join(TRACKS)}")
    return tracks


def _months(cohorts: _Table, live: int) -> int:
    """Read `cohorts.lifetime`, in months."""
    text = cohorts.text("lifetime", default=f"P{live}M")
    if _WEEKS.fullmatch(text):
        raise Malformed(
            f"cohorts.lifetime: '{text}' is not in months: sets, runs and releases are named by months, so a cohort "
            f"is live for whole months; write P{live}M for one a month"
        )
    if not (match := _DURATION.fullmatch(text)):
        raise Malformed(f"cohorts.lifetime: '{text}' is no lifetime: write whole months as an ISO 8601 duration, P4M")
    months = int(match[1]) * (12 if match[2] == "Y" else 1)
    period, rest = divmod(months, live)
    if rest or not period:
        raise Malformed(
            f"cohorts.lifetime: {live} cohorts that are live for {months} months cannot retire at equal distances of "
            f"whole months: write a multiple of {live} months, such as P{live}M for one a month"
        )
    if period > MOST_PERIOD:
        raise Malformed(
            f"cohorts.lifetime: {live} cohorts that are live for {months} months retire every {period} months, and "
            f"the most is {MOST_PERIOD}: write P{live * MOST_PERIOD}M for one a year"
        )
    return months


def _rows(top: _Table, servers: tuple[str, ...]) -> Iterator[MixRow]:
    """Read the `[[mix]]` tables; each server has each category and difficulty at most once."""
    seen: dict[tuple[str, str, str], str] = {}
    for number, values in enumerate(top.tables("mix"), start=1):
        table = _Table(values, "mix", f"mix[{number}].")
        row = MixRow(
            category=table.choice("category", CATEGORIES),
            difficulty=table.choice("difficulty", DIFFICULTIES),
            servers=table.names("servers", default=servers),
            cohort=table.number("cohort", least=1),
            dev=table.number("dev", default=0),
            reserve=table.number("reserve", default=0),
            several_servers=table.number("several_servers") if "several_servers" in values else None,
            conditional=table.number("conditional") if "conditional" in values else None,
            languages=_languages(table, f"mix[{number}].languages"),
        )
        _require_quotas(row, f"mix[{number}].")
        for server in row.servers:
            if server not in servers:
                raise Malformed(f"mix[{number}].servers: '{server}' is not among the servers of the set: add it there")
            first = seen.setdefault((server, row.category, row.difficulty), f"mix[{number}]")
            if first != f"mix[{number}]":
                raise Malformed(
                    f"mix[{number}]: {server}/{row.category}/{row.difficulty} is in {first} already: name it once"
                )
        yield row
    for server in servers:
        if not any(server == key[0] for key in seen):
            raise Malformed(f"servers: no table of mix has tasks of '{server}': add one, or leave the server out")


def _require_quotas(row: MixRow, where: str) -> None:
    for key, least in (("several_servers", row.several_servers), ("conditional", row.conditional)):
        if least and row.category == "single-tool":
            raise Malformed(f"{where}{key}: single-tool tasks are of one server and have no condition: leave it out")
        if least and least > len(row.servers):
            raise Malformed(f"{where}{key}: {least} of {len(row.servers)} servers: write {len(row.servers)} or fewer")
    if (translated := sum(row.languages.values())) > len(row.servers):
        raise Malformed(
            f"{where}languages: {translated} of {len(row.servers)} servers: write {len(row.servers)} or fewer"
        )


def _languages(table: _Table, where: str) -> Mapping[str, int]:
    languages = table.table("languages")
    for tag, servers in languages.items():
        if not re.fullmatch(LANGUAGE_TAG, tag) or tag == ENGLISH:
            raise Malformed(f"{where}: '{tag}' is no BCP 47 tag of a language other than {ENGLISH}: write de or pt-BR")
        if type(servers) is not int or servers < 1:
            raise Malformed(f"{where}.{tag}: write a number of servers, 1 or more, not {servers!r}")
    return languages


def _require_sum(parsed: SetFile) -> None:
    cohort = sum(row.cohort * len(row.servers) for row in parsed.mix)
    if parsed.live * cohort != parsed.size:
        raise Malformed(
            f"size: {parsed.live} cohorts of {cohort} tasks make {parsed.live * cohort}, but size says {parsed.size}"
        )


class _Table:
    """Typed access to one table; refuses keys that `KEYS` does not have.

    Args:
        values: its plain values.
        name: of the table in `KEYS`.
        prefix: of its keys in messages.
    """

    def __init__(self, values: Mapping[str, Any], name: str, prefix: str) -> None:
        self._values, self._prefix = values, prefix
        for key in values:
            if key not in KEYS[name]:
                close = difflib.get_close_matches(key, KEYS[name], n=1)
                known = f"did you mean '{close[0]}'?" if close else f"known keys: {', '.join(KEYS[name])}"
                raise Malformed(f"'{prefix}{key}' is unknown; {known}")

    def has(self, key: str) -> bool:
        return key in self._values

    def number(self, key: str, *, least: int = 0, most: int = MAX_NUMBER, default: int | None = None) -> int:
        value = self._value(key, default)
        if type(value) is not int or not least <= value <= most:
            raise Malformed(f"{self._prefix}{key}: write a whole number from {least} to {most}, not {value!r}")
        return value

    def text(self, key: str, *, default: str | None = None) -> str:
        value = self._value(key, default)
        if not isinstance(value, str):
            raise Malformed(f"{self._prefix}{key}: write a text in quotes, not {value!r}")
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.text(key)
        if value not in choices:
            raise Malformed(f"{self._prefix}{key}: '{value}' is none of {', '.join(choices)}")
        return value

    def names(self, key: str, *, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Read a list of names, each once."""
        value = self._value(key, list(default) if default is not None else None)
        if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
            raise Malformed(f"{self._prefix}{key}: write a list of names in quotes, not {value!r}")
        for name, times in Counter(value).items():
            if times > 1:
                raise Malformed(f"{self._prefix}{key}: '{name}' is there {times} times: name it once")
        return tuple(value)

    def table(self, key: str) -> Mapping[str, Any]:
        value = self._value(key, {})
        if not isinstance(value, dict):
            raise Malformed(f"{self._prefix}{key}: write a table, [{key}], not {value!r}")
        return value

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        value = self._value(key, None)
        if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
            raise Malformed(f"{self._prefix}{key}: write one table or more, [[{key}]], not {value!r}")
        return value

    def _value(self, key: str, default: object) -> Any:
        if key not in self._values and default is None:
            raise Malformed(f"'{self._prefix}{key}' is missing")
        return self._values.get(key, default)
