"""Tests of set files: what is read, and the sentence for each mistake."""

import re
from pathlib import Path

import pytest

from freezing.set_file_page import COMMAND, reference
from rotation.errors import Malformed, NotFound
from rotation.exposure.tracks import TRACKS as RUN_TRACKS
from rotation.month import set_file
from rotation.month.sets import DEMO, SETS, SetSpec, Stratum, chosen, read

OWN = """
name = "notes"
size = 60
servers = ["git", "notes"]
tracks = ["docker"]

[cohorts]
live = 6
lifetime = "P1Y"

[[mix]]
category = "composition"
difficulty = "hard"
cohort = 3
dev = 2
reserve = 1
servers = ["git"]

[[mix]]
category = "recovery"
difficulty = "easy"
cohort = 7
servers = ["notes"]

[quotas]
private_per_month = 3
"""
GIT, NOTES = Stratum("git", "composition", "hard"), Stratum("notes", "recovery", "easy")


def of(text):
    return SetSpec.of(set_file.parse(text, "own.toml"))


def test_a_set_file_says_all_of_a_set():
    assert of(OWN) == SetSpec(
        "notes",
        per_cohort={GIT: 3, NOTES: 7},
        dev={GIT: 2},
        reserve={GIT: 1},
        cohorts=6,
        period=2,
        tracks=("docker",),
        quotas={"private_per_month": 3},
    )
    assert (of(OWN).size, of(OWN).plan) == (60, {"cohorts": 6, "lifetime": "P12M"})


MISTAKES = [
    ("size = 60", "size = 50", "size: 6 cohorts of 10 tasks make 60, but size says 50"),
    ("size = 60", "size = true", "size: write a whole number from 1 to 10000, not True"),
    ("size = 60", "", "'size' is missing"),
    ("size = 60", "sise = 60", "'sise' is unknown; did you mean 'size'?"),
    ("size = 60", "size = ", "is not TOML: Invalid value"),
    ("dev = 2", "dve = 2", "'mix[1].dve' is unknown; did you mean 'dev'?"),
    ("dev = 2", "dev = -1", "mix[1].dev: write a whole number from 0"),
    ("reserve = 1", 'reserve = "1"', "mix[1].reserve: write a whole number from 0 to 10000, not '1'"),
    ('name = "notes"', 'name = "Notes!"', "name: 'Notes!' is no name of a set"),
    ('["git", "notes"]', '["git"]', "mix[2].servers: 'notes' is not among the servers of the set"),
    ('["git", "notes"]', '["git", "notes", "git"]', "servers: 'git' is there 2 times"),
    ('["git", "notes"]', '["git", "notes", "redis"]', "servers: no table of mix has tasks of 'redis'"),
    ('["git", "notes"]', '"git"', "servers: write a list of names in quotes, not 'git'"),
    ('tracks = ["docker"]', 'tracks = ["dcoker"]', "tracks: there is no track 'dcoker'; the tracks are: docker,"),
    ('"composition"', '"composit"', "mix[1].category: 'composit' is none of single-tool, composition, recovery"),
    ('"hard"', "3", "mix[1].difficulty: write a text in quotes, not 3"),
    ("live = 6", "live = 1", "cohorts.live: write a whole number from 2 to 12, not 1"),
    ("live = 6", "live = 13", "cohorts.live: write a whole number from 2 to 12, not 13"),
    ("live = 6", "live = 5", "5 cohorts that are live for 12 months cannot retire at equal distances of whole months"),
    ('"P1Y"', '"P26W"', "cohorts.lifetime: 'P26W' is not in months: sets, runs and releases are named by months"),
    ('"P1Y"', '"a year"', "cohorts.lifetime: 'a year' is no lifetime: write whole months as an ISO 8601 duration"),
    ('"P1Y"', '"P7Y"', "retire every 14 months, and the most is 12: write P72M"),
    ('[cohorts]', '[cohorts.more]', "'cohorts.more' is unknown; known keys: live, lifetime"),
    ("[[mix]]", "[mix]", "is not TOML"),
    ("private_per_month", "private_per_year", "'quotas.private_per_year' is unknown; did you mean"),
    ('"recovery"\ndifficulty = "easy"\ncohort = 7\nservers = ["notes"]',
     '"composition"\ndifficulty = "hard"\ncohort = 7\nservers = ["git", "notes"]',
     "mix[2]: git/composition/hard is in mix[1] already: name it once"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "sentence"), MISTAKES, ids=[sentence for *_, sentence in MISTAKES])
def test_a_mistake_is_named_with_its_file_and_key(right, wrong, sentence):
    assert right in OWN
    with pytest.raises(Malformed, match=f"^own.toml.*{re.escape(sentence)}"):
        of(OWN.replace(right, wrong))


def test_the_tracks_of_a_set_are_those_that_are_ranked():
    assert set(set_file.TRACKS) == {name for name, track in RUN_TRACKS.items() if track.ranked}


def test_a_set_is_a_shipped_one_or_a_file_of_another_name(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(OWN)
    assert chosen(str(own)) == of(OWN)
    assert chosen("mcpbench") is SETS["mcpbench"]
    for missing in (str(tmp_path / "none.toml"), "deom"):
        with pytest.raises(NotFound):
            chosen(missing)
    own.write_text(OWN.replace('"notes"\nsize', '"demo"\nsize'))
    with pytest.raises(Malformed, match=r"own.toml: name: 'demo' is the name of a shipped set"):
        chosen(str(own))
    own.write_text(DEMO.text)
    assert chosen(str(own)) == DEMO
    own.write_bytes(b"\xff")
    with pytest.raises(Malformed, match="is not UTF-8"):
        read(own)


def test_a_set_without_dev_tasks_has_those_of_the_demo(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(OWN.replace("dev = 2", "dev = 0"))
    assert read(own).dev == DEMO.dev


def test_the_reference_has_every_key():
    page = Path(__file__).parents[3] / "docs" / "reference" / "set-file.md"
    assert page.read_text() == reference(), f"make it again: {COMMAND}"
