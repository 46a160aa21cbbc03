"""Tests of tracing leaked texts: whole, reworded, cut, mixed by two, invented; who is named, and who never is."""

import json
import random
from collections import Counter
from functools import cache, reduce

import pytest

from rotation.detection.tracing import Recipient, ServedTask, Trace, trace
from vault.task import variant

from ..leaking import cut, mixed

pytestmark = pytest.mark.slow

GOAL = (
    "Collect every line that starts with TODO: from the .txt files in /data/files/{{folder}} into "
    "/data/files/{{target}}/{{output}}.txt, file by file in alphabetical order of their names and each file's lines in "
    "their order. Copy whole lines, keep the folder {{folder}} as it is, and change no other file than {{output}}.txt."
)
NOUNS = ["amber", "anchor", "apron", "arrow", "atlas", "badge", "bakery", "banner", "barrel", "basin"]
DICE = random.Random(20261121)


def free(number: int) -> dict[str, list[str]]:
    """Return a task lists of its own: 3 of 128 values, 21 bits, little more than the minimum."""
    names = ("folder", "target", "output")
    return {name: [f"{name}-{a}-{number}-{n}" for n in range(13) for a in NOUNS][:128] for name in names}


FREE = free(0)
RECIPIENTS = [Recipient(f"submitter-{n}", "2026-12") for n in range(200)]


@cache
def task(number: int = 0) -> ServedTask:
    key = variant.task_key(b"test-master-key", f"t-{number:016d}")
    shown = {who: variant.assigned(key, who.submitter, who.month, free(number)) for who in RECIPIENTS}
    return ServedTask(f"t-{number:016d}", GOAL, free(number), shown)


def leaked_text(served: ServedTask, who: Recipient) -> str:
    return filled(served.shown[who])


def filled(values: dict[str, str]) -> str:
    return reduce(lambda text, name: text.replace(f"{{{{{name}}}}}", values[name]), values, GOAL)


def reworded(text: str, dice: random.Random) -> str:
    """Paraphrase lightly: one word in eight is dropped or replaced, names are kept, case and signs change."""
    words = [
        word if "-" in word or dice.random() > 0.125 else dice.choice(["", "some", "thing"]) for word in text.split()
    ]
    return "  ".join(word for word in words if word).upper().replace("-", "_")


def outcomes(found: list[tuple[Trace, set[Recipient]]]) -> Counter[str]:
    count: Counter[str] = Counter()
    for said, guilty in found:
        named = {who for who, _ in said.named}
        count[said.verdict] += 1
        count["right"] += bool(named) and named <= guilty
        count["all"] += named == guilty
        count["false"] += bool(named - guilty)
    return count


def leaks(times: int, spoil) -> Counter[str]:
    found = []
    for _ in range(times):
        served, who = task(DICE.randrange(50)), DICE.choice(RECIPIENTS)
        found.append((trace(spoil(leaked_text(served, who)), [served]), {who}))
    return outcomes(found)


def test_a_whole_text_names_its_recipient_with_certainty():
    said = leaks(100, str)
    assert said["all"] >= 99
    assert said["false"] == 0


def test_a_task_in_json_whose_values_begin_lines_names_its_recipient():
    lines = leaked_text(task(), RECIPIENTS[7]).replace("/", "\n").replace(" ", "\n")
    found = trace(json.dumps({"goal": lines}), [task()])
    assert (found.verdict, [who for who, _ in found.named]) == ("one", [RECIPIENTS[7]])


def test_a_reworded_text_names_its_recipient():
    said = leaks(100, lambda text: reworded(text, DICE))
    assert said["all"] >= 95
    assert said["false"] <= 1


def test_a_text_of_which_a_third_is_missing_mostly_names_its_recipient_and_hardly_ever_another():
    said = leaks(200, lambda text: reworded(cut(text, DICE), DICE))
    assert said["all"] >= 100
    assert said["false"] <= 6


@pytest.mark.full
def test_two_who_mix_their_texts_are_distinguished_from_one_and_no_third_is_named():
    found = []
    for _ in range(100):
        served = [task(number) for number in DICE.sample(range(50), 3)]
        one, other = DICE.sample(RECIPIENTS, 2)
        text = "\n".join(mixed(leaked_text(part, one), leaked_text(part, other), DICE) for part in served)
        found.append((trace(text, served), {one, other}))
    said = outcomes(found)
    assert said["two"] >= 90
    assert said["right"] >= 85
    assert said["false"] <= 2


def test_two_who_mix_one_task_never_lead_to_the_naming_of_a_third():
    found = []
    for _ in range(200):
        served, (one, other) = task(DICE.randrange(50)), DICE.sample(RECIPIENTS, 2)
        found.append((trace(mixed(leaked_text(served, one), leaked_text(served, other), DICE), [served]), {one, other}))
    assert outcomes(found)["false"] <= 6


@pytest.mark.parametrize(
    "text", ["", "Nothing of the sort.", GOAL, "folder target output amber anchor", "\x00\ufffd" * 9, GOAL[:80]]
)
def test_a_text_that_holds_no_value_accuses_nobody(text):
    assert trace(text, [task()]) == Trace("nothing")


def test_values_that_nobody_was_shown_together_accuse_nobody():
    served = task()
    taken = {tuple(shown.values()) for shown in served.shown.values()}
    for _ in range(200):
        values = {name: DICE.choice(listed) for name, listed in FREE.items()}
        said = trace(filled(values), [served])
        assert tuple(values.values()) in taken or said.verdict != "one"


def test_the_unvaried_task_is_distinguished_from_what_runs_were_shown():
    assert trace(filled(variant.first(FREE)), [task()]).verdict == "unvaried"


def test_the_task_is_named_and_its_siblings_are_not():
    ours, sibling = task(1), task(2)
    said = trace(leaked_text(ours, RECIPIENTS[7]), [sibling, ours])
    assert [source.task_id for source in said.sources] == [ours.task_id]
    assert said.named[0][0] == RECIPIENTS[7]
    assert said.one + said.two + said.unvaried + said.nobody == pytest.approx(1)


def test_without_recipients_nobody_is_named():
    assert trace(leaked_text(task(), RECIPIENTS[0]), [ServedTask("t-a", GOAL, FREE, {})]).named == ()


def test_the_result_for_a_text_does_not_depend_on_any_order():
    served = [task(1), task(2)]
    text = leaked_text(served[0], RECIPIENTS[3])
    assert trace(text, served) == trace(text, served[::-1])
