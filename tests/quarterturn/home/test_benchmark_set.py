"""Tests of a home's own set: `init --set FILE`, the copy that the home keeps, its quotas, and `set check`."""

from functools import partial
from pathlib import Path

import pytest

from grammars.language.load import load
from quarterturn.errors import Refused
from quarterturn.public_view import dev_set
from quarterturn.tasks import set_report
from rotation.generation.grammars import shipped_among
from rotation.month.sets import chosen, named

from ...rotation.month.test_set_file import OWN, of
from ..guides import GuideShell, blocks, commands

pytestmark = pytest.mark.slow

GUIDE = "design-a-set.md"
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    return file


def test_a_home_is_made_with_a_set_of_ones_own_and_keeps_a_copy(own, tmp_path, say, opened):
    home = tmp_path / "home"
    made = say("init", "--set", own, "--month", "2026-12", "--home", home)
    assert made.code == 0, made.err
    assert "No shipped grammar is for notes: import yours first" in made.out
    own.unlink()
    app = opened(home)
    assert app.benchmark.spec == of(OWN)
    assert (app.home.settings.benchmark.set, app.home.settings.service.private_per_month) == ("notes", 3)
    assert {task.server for task in app.execution.facilities.dev_tasks(None)} == {"git"}
    backup = tmp_path / "backup"
    assert say("backup", backup, "--home", home).code == 0
    assert (backup / "set.toml").read_text() == OWN


def test_a_copy_that_does_not_add_up_is_refused(own, tmp_path, say):
    home = tmp_path / "home"
    say("init", "--set", own, "--home", home)
    wrong = {
        OWN.replace("size = 60", "size = 61"): "set.toml: size: 6 cohorts of 10 tasks make 60, but size says 61",
        OWN.replace('"notes"\nsize', '"other"\nsize'): "'benchmark.set' is 'notes', and",
    }
    for text, sentence in wrong.items():
        (home / "set.toml").write_text(text)
        say("turn", "plan", "--home", home).refuses(2, sentence)


def test_nothing_is_made_of_a_wrong_set_file(own, tmp_path, say):
    own.write_text(OWN.replace("dev = 2", "dev = 0").replace("cohort = 7", "cohort = 7\ndev = 1"))
    say("init", "--set", own, "--home", tmp_path / "home").refuses(
        3, "the dev set of 'notes' has tasks of notes, which have no shipped grammar"
    )
    own.write_text(OWN.replace("live = 6", "live = 0"))
    assert say("init", "--set", own, "--home", tmp_path / "home").code == 2
    assert not (tmp_path / "home").exists()


def test_set_check_says_what_a_set_comes_to_and_what_the_grammars_lack(own, say):
    assert "notes: 60 private tasks in 6 cohorts of 10; one retires every 2 months" in say("set", "check", own).out
    data = say("set", "check", own, "--json").data
    assert data["make_up"] == {}  # nobody knows what a server without a grammar would give
    rows = {(row["server"], row["category"]): row for row in data["rows"]}
    git, notes = rows["git", "composition"], rows["notes", "recovery"]
    assert (git["live"], git["reserve"], git["dev"], notes["skeletons"]) == (18, 1, 2, None)
    later = (git["skeletons"] - 18 - 1 - 2) // 3
    assert git["months"] == 2 * (1 + later)
    own.write_text(OWN.replace("cohort = 3", "cohort = 93").replace("size = 60", "size = 600"))
    short = say("set", "check", own)
    assert "git/composition: 558 live, 1 spare and 2 dev tasks need as many skeletons" in short.out
    assert short.code == 1


def test_set_check_says_how_many_tasks_are_of_each_kind_and_what_cannot_be_had(tmp_path, say):
    text = say("set", "show", "demo", "--json").data["text"].replace('name = "demo"', 'name = "other"')
    file = tmp_path / "other.toml"
    quota = 'category = "composition"\nseveral_servers = 1\nconditional = 2'
    file.write_text(text.replace('category = "composition"', quota))
    cohort = say("set", "check", file, "--json").data["make_up"]["cohort"]
    assert (cohort["tasks"], cohort["single_tool"]) == (6, 2)
    assert cohort["several_servers"] >= 1
    assert cohort["conditional"] >= 2
    file.write_text(text.replace('category = "recovery"', 'category = "recovery"\nconditional = 2'))
    say("set", "check", file).refuses(8, "hard recovery tasks that are conditional of 2 servers")


def test_the_example_set_of_more_domains_has_enough_skeletons_on_every_server_that_it_names():
    spec = chosen(str(EXAMPLES / "sets" / "domains.toml"))
    folders = {name: EXAMPLES / "servers" / name / "grammar" for name in spec.servers}
    added = {name: load(folder) for name, folder in folders.items() if folder.is_dir()}
    assert set(spec.servers) - added.keys() == set(named("mcpbench").servers)
    report = set_report.report(spec, {**shipped_among(set(spec.servers) - added.keys()), **added})
    assert report.ok
    assert {row.server for row in report.rows if row.cohort} == set(spec.servers)
    cohort, dev = report.kinds["cohort"], report.kinds["dev"]
    assert cohort.tasks == spec.cohort_size
    assert cohort.conditional >= 10
    assert dev.conditional >= 1, "a dev set has its share of each quota"


def test_the_guide_works_line_by_line(tmp_path, say, monkeypatch):
    shell = GuideShell(tmp_path, say, monkeypatch)
    (text,) = blocks(GUIDE, "toml")
    (tmp_path / "files-and-rows.toml").write_text(text)
    said = [shell.type(command) for command in commands(GUIDE)]
    assert "36 private tasks in 3 cohorts of 12; one retires every 2 months" in said[2]
    assert (tmp_path / "home" / "set.toml").read_text() == text
    (tmp_path / "files-and-rows.toml").write_text(text.replace("size = 36", "size = 40"))
    wrong = say("set", "check", "files-and-rows.toml").sentence
    assert "size: 3 cohorts of 12 tasks make 36, but size says 40" in wrong


def test_a_dev_set_that_would_publish_skeletons_of_private_tasks_is_not_written(tmp_path, caplog):
    written = tmp_path / "dev.json"
    drawn = partial(dev_set, of(OWN))
    with pytest.raises(Refused, match="would publish 2 skeletons that private tasks have: set `dev` in the home's set"):
        drawn(lambda skeletons: len(list(skeletons)), written)
    earlier = drawn(lambda _: 0, written).replace(b'"notes"', b'"before"')
    written.write_bytes(earlier)
    assert drawn(lambda _: 1, written) == earlier
    assert "the dev set stays as it is: the dev set of 'notes' would publish 1 skeletons" in caplog.text


def test_the_skeletons_of_private_tasks_are_counted(live, opened):
    house = opened(live)
    of_cohorts = len(house.benchmark.months.taken())
    existing = [f"{stratum}/{number}" for stratum in house.benchmark.spec.per_cohort for number in range(5)]
    assert 0 < of_cohorts < len(existing)
    assert house.tasks.known_tasks.count_unpublished([*existing, "another"]) == of_cohorts
