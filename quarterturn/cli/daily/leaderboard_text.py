"""Leaderboard as text for a terminal: lines, caveats and linked scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from rotation.leaderboard.caveats import Untraceable
from rotation.leaderboard.figures import SECONDARY, half_point
from rotation.leaderboard.standings import LeaderboardLine
from sandbox.results.score import Figure

if TYPE_CHECKING:
    from rotation.detection.linked_scores import Scores


Names = Mapping[tuple[str, str], str]
"""Display names, by submitter and agent."""
NO_NAMES: Names = MappingProxyType({})


def table(leaderboard: Sequence[LeaderboardLine], names: Names = NO_NAMES) -> list[str]:
    """Draw the leaderboard as text; every figure has its interval."""
    if not leaderboard:
        return ["no run of this month is finished"]
    width = _width(leaderboard, names)
    figures = f"{'success, ranked':<24} {'calls used':<22} {'unlisted calls':<22} {'recovery':<22}"
    rows = (_row(line, _agent(line, names), width) for line in leaderboard)
    return [f"{'rank':>5}  {'submitter/agent':<{width}} {figures}", *rows]


def _row(line: LeaderboardLine, agent: str, width: int) -> str:
    cells = [_cell(line.ranked.success_rate), *(_cell(getattr(line.whole, name)) for name in SECONDARY)]
    parts = [line.note] if line.track in line.note else [line.track, line.note]
    note = f"  {', '.join(part for part in parts if part)}"
    figures = f"{cells[0]:<24} {cells[1]:<22} {cells[2]:<22} {cells[3]:<22}"
    return f"{_rank(line):>5}  {agent:<{width}} {figures}{note}".rstrip()


def _rank(line: LeaderboardLine) -> str:
    """Write the ranks that a line may have, as one number or a range."""
    if line.rank_range is None:
        return "-"
    best, worst = line.rank_range
    return str(best) if best == worst else f"{best}-{worst}"


def _agent(line: LeaderboardLine, names: Names) -> str:
    """Name an agent with its submitter, as two may give theirs the same name, and with its display name."""
    agent = f"{line.submitter}/{line.name}" if line.submitter else line.name
    display_name = names.get((line.submitter, line.name))
    return f'{agent} "{display_name}"' if display_name else agent


def _width(leaderboard: Sequence[LeaderboardLine], names: Names) -> int:
    return max(len("submitter/agent"), *(len(_agent(line, names)) for line in leaderboard))


def _cell(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    value, low, high = (100 * (half_point(part) or 0.0) for part in (figure.value, figure.low, figure.high))
    return f"{value:5.1f} % [{low:.1f}, {high:.1f}]"


def public_grammar(cohorts: Sequence[str]) -> list[str]:
    """Write the caveat about public grammars as a line; nothing where no cohort has one."""
    return [f"public grammar: anybody can draw tasks like those of {', '.join(cohorts)}"] if cohorts else []


def untraceable(count: Untraceable) -> list[str]:
    """Write the caveat about tasks whose leak cannot be traced as a line; nothing where there is none."""
    line = (
        f"not traceable: {count.tasks} of {count.among} private tasks; a leak of these tasks cannot be traced to a run"
    )
    return [line] if count.tasks else []


def linked_lines(leaderboard: Sequence[LeaderboardLine], linked: Scores, names: Names = NO_NAMES) -> list[str]:
    """Draw the scores as text, the best linked one first."""
    rows = [(line, linked[line.run]) for line in leaderboard if line.run is not None and line.run in linked]
    if not rows:
        return ["no run of this month can be linked"]
    ordered = sorted(rows, key=lambda pair: (-(pair[1]["linked"]["value"] or 0), pair[0].name))
    width = _width([line for line, _ in ordered], names)
    head = f"{'submitter/agent':<{width}} {'linked':<24} raw"
    return [
        head,
        *(
            f"{agent:<{width}} {_linked_cell(figures['linked']):<24} {_linked_cell(figures['raw'])}".rstrip()
            for agent, figures in ((_agent(line, names), figures) for line, figures in ordered)
        ),
    ]


def _linked_cell(figure: Mapping[str, float | None]) -> str:
    value, low, high = (figure[name] for name in ("value", "low", "high"))
    if value is None:
        return "-"
    between = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:5.1f} %{between}"
