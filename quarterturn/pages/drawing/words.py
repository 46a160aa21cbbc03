"""Plain sentences of a finding: what was seen, how surprising it is, what else would explain it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from quarterturn.pages.drawing.formatting import chance, legible, percent, points

Item = Mapping[str, Any]


class Terms(NamedTuple):
    """What a page calls those who are tested, and the tasks."""

    subject: str
    exposed: str
    fresh: str
    calls: str = ""


MONTH, LEADERBOARD = Terms("submitter", "exposed", "fresh"), Terms("agent", "old", "new")
LEADERBOARD_WITH_CALLS = LEADERBOARD._replace(calls=", or with fewer calls,")

SIGNS = {"review": "▲", "watching": "●", "clean": "○"}
KINDS = {
    "leak": "leaked tasks",
    "copy": "near-duplicate runs",
    "family": "leaked template",
    "task": "anomalous task",
    "echo": "values never shown",
    "group": "leaked tasks of a group",
    "exposure": "task over a limit",
    "unknown": "unknown verdicts",
    "unclear": "failures of unclear cause",
    "verdict": "verdict changed when judged again",
    "replay": "state changed when replayed",
}
SENTENCES = {
    "leak": "{0} passed more of the tasks that they could have known, or with fewer calls, than their fresh tasks and "
    "their peers predict. Knowing some of these tasks has this effect; so may tuning an agent on published ones.",
    "copy": "A run of {0} and one of {1} needed equally many calls on more tasks than two independent runs would. One "
    "was copied from the other, or both are one model under two names.",
    "family": "Tasks of the template {0} suddenly pass for several submitters, fresh ones too. The template is known, "
    "or its verifier became lenient.",
    "task": "Task {0} suddenly passes for nearly everybody. Its verifier may be broken, or its text known.",
    "task that nobody passes": "Task {0} suddenly passes for nobody. The task, its world or a server may be broken.",
    "echo": "{0} named values that they were not shown, and that others, or they themselves in an earlier month, were "
    "served. Having learned a text of these tasks has this effect; p says how often chance has it.",
    "group": "All that stands on {0} passed more of the tasks that could have been known than fresh tasks and other "
    "submitters predict. A base that was trained on some of these tasks has this effect.",
    "echo of a model": "Models of {0} named values that they were not told in words, and that others were served. "
    "Having learned a text of these tasks has this effect, or what other submitters sent; so may an agent that tells "
    "values in a picture.",
    "exposure": "Task {0} was shown more often than the settings allow.",
    "unknown": "Runs of {0} have verdicts that could not be settled.",
    "unclear": "Runs of {0} have failures of unclear cause: the agent's, or ours.",
    "verdict": "The final state of run and task {0} was judged again, with another verdict than the one that counts. A "
    "worker was broken or dishonest, or a predicate is not deterministic.",
    "replay": "The calls of run and task {0}, played again without the agent, leave another state than its runner "
    "handed in. The runner was broken or dishonest, or a call depends on the date.",
}
LEADERBOARD_SENTENCES = {
    "leak": "{0} passed more of the tasks that it could have known{calls} than its new tasks and its peers predict. "
    "Knowing some of these tasks has this effect; so may tuning an agent on published ones.",
    "group": "Agents that stand on {0} passed more of the tasks that they could have known than new tasks and other "
    "agents predict. A base that was trained on some of these tasks has this effect.",
}
UNITS = {
    "leak": "share of the exposed tasks known",
    "copy": "equal calls above what was expected",
    "family": "passes above what was expected",
    "task": "passes above what was expected",
    "echo": "values of others above what was expected by chance",
}


def sentence(finding: Item, terms: Terms = MONTH) -> str:
    """Say what a finding is about."""
    kind = finding["kind"]
    if kind == "task" and (finding["effect"] or 0) < 0:
        kind = "task that nobody passes"
    if kind == "echo" and finding["subject"].startswith("upstream:"):
        kind = "echo of a model"
    first, _, second = legible(finding["subject"]).partition("|")
    sentences = SENTENCES if terms == MONTH else SENTENCES | LEADERBOARD_SENTENCES
    return sentences.get(kind, SENTENCES["unclear"]).format(first, second, calls=terms.calls)


def headline(finding: Item) -> str:
    """Say what kind of finding it is, about whom, and its number."""
    subject = (
        " and ".join(legible(finding["subject"]).split("|"))
        if finding["kind"] == "copy"
        else legible(finding["subject"])
    )
    return f"{KINDS[finding['kind']]}: {subject}"


def standing(finding: Item) -> str:
    """Say its status, and how far its review is."""
    return f"{SIGNS[finding['status']]} {finding['status']}" + (f", {finding['state']}" if finding["state"] else "")


def counted(count: int, what: str) -> str:
    """Write how many there are of something."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def effect(finding: Item) -> str:
    """Say how much of it there is, with its interval where there is one."""
    if finding["effect"] is None:
        return ""
    if finding["kind"] == "leak":
        return (
            f"{UNITS['leak']}: {percent(finding['effect'])} ({percent(finding['low'])} to {percent(finding['high'])})"
        )
    if finding["kind"] == "echo":
        return f"{UNITS['echo']}: {finding['effect']:.1f}"
    return f"{UNITS.get(finding['kind'], 'effect')}: {points(finding['effect'])} points"


def beyond_peers(row: Item) -> str:
    """Say what an agent passed of its old tasks, or a group in the mean, and how many points that is beyond peers."""
    low, high = (points(row["excess"][end]) for end in ("low", "high"))
    passed = f"passed {percent(row['observed'])} of {row['exposed']} old tasks"
    mean = f", in the mean of {row['members']} members" if "members" in row else ""
    return f"{passed}{mean}: {points(row['excess']['value'])} points beyond peers ({low} to {high})"


def surprise(finding: Item) -> str:
    """Say how surprising it is, before and after correction."""
    if finding["p_value"] is None:
        return "counted, not tested"
    return f"p {chance(finding['p_value'])}; Holm {chance(finding['p_adj'])}; Benjamini-Hochberg {chance(finding['q'])}"


def power(report: Item) -> str:
    """Say how small a leak could have been seen at all."""
    shares = report["smallest"]
    seen = sorted(share for share in shares.values() if share is not None)
    if not shares:
        return ""
    if not seen:
        return "Even a submitter who knew every exposed task would not be detected half of the time."
    blind = len(shares) - len(seen)
    half = f", {percent(seen[len(seen) // 2])} for the middle one," if len(seen) > 1 else ""
    range_ = percent(seen[0]) if len(seen) == 1 else f"{percent(seen[0])}{half} to {percent(seen[-1])}"
    rest = f" For {blind} of them not even knowing all tasks would be detected." if blind else ""
    peers = counted(report["submitters"], "submitter")
    return (
        f"With {peers} and {report['exposed']} exposed tasks, a leak is detected half of the time "
        f"from {range_} of the exposed tasks on{', depending on the submitter' if len(seen) > 1 else ''}.{rest}"
    )
