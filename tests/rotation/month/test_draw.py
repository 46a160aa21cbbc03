"""Tests of drawing a set's drafts by seed, stratum by stratum."""

from collections.abc import Iterator
from itertools import islice

import pytest

from grammars.errors import Exhausted
from grammars.language.grammar import Draft
from rotation.errors import NotFound
from rotation.month.draw import drafts
from rotation.month.sets import Stratum

from ...shipped import shipped

GRAMMARS = {"filesystem": shipped("filesystem")}
EASY = Stratum("filesystem", "single-tool", "easy")
MEDIUM = Stratum("filesystem", "composition", "medium")
SEED = bytes(range(32))


def test_a_seed_gives_the_same_drafts_every_time():
    first, second = ([d.task for d in islice(drafts(GRAMMARS, EASY, SEED, exclude=set), 3)] for _ in range(2))
    assert first == second


def test_another_seed_gives_others():
    mine = next(drafts(GRAMMARS, EASY, SEED, exclude=set))
    other = next(drafts(GRAMMARS, EASY, SEED[::-1], exclude=set))
    assert mine.task != other.task


def test_drawing_more_of_one_stratum_leaves_the_others_as_they_were():
    alone = next(drafts(GRAMMARS, MEDIUM, SEED, exclude=set)).task
    stream = drafts(GRAMMARS, EASY, SEED, exclude=set)
    for _ in range(3):
        next(stream)
    assert next(drafts(GRAMMARS, MEDIUM, SEED, exclude=set)).task == alone


@pytest.mark.slow
def test_skeletons_excluded_meanwhile_are_not_drawn_again():
    used: set[str] = set()
    drawn: list[str] = []
    stream = drafts(GRAMMARS, EASY, SEED, exclude=lambda: used)
    with pytest.raises(Exhausted):
        list(map(drawn.append, _marking(stream, used)))
    assert len(set(drawn)) == len(drawn) > 1


def _marking(stream: Iterator[Draft], used: set[str]) -> Iterator[str]:
    for draft in stream:
        used.add(draft.skeleton)
        yield draft.skeleton


def test_a_server_without_a_grammar_is_named():
    with pytest.raises(NotFound, match="no grammar for the server 'postgres'"):
        next(drafts(GRAMMARS, Stratum("postgres", "single-tool", "easy"), SEED, exclude=set))
