"""Tests of a home's claim judge: its settings and key, the check of it, and what a turn and a run make of it."""

import json
from functools import partial

import pytest

from quarterturn import settings
from quarterturn.app import Application
from quarterturn.errors import Malformed, NotFound, Refused
from quarterturn.runs.request import RunRequest
from quarterturn.submissions.store.requests import SubmissionRequest
from quarterturn_judge.loopback_model import Dials, LoopbackModel
from rotation.errors import Refused as NotTheSame
from rotation.exposure.tracks import JUDGED
from sandbox.claim_judge.anchors import SHIPPED
from vault.errors import Locked

MODELS = '[models.rules]\nwire = "openai"\nurl = "{url}"\nmodels = ["rules-1", "rules-2"]\n'
TABLE = '[claim_judge]\nupstream = "rules"\nmodel = "rules-1"\n'


@pytest.fixture
def model():
    with LoopbackModel() as model:
        yield model


def with_judge(opened, home, model, table=TABLE, *, keys=True):
    """Name a judge in a home's settings, enter its keys, and open the home."""
    with home.joinpath("quarterturn.toml").open("a") as file:
        file.write("\n" + MODELS.format(url=model.url) + "\n" + table)
    house = opened(home)
    for tasks in ("dev", "private") if keys else ():
        house.keys.models.keep_key("rules", tasks, f"test-{tasks}")
    return house


@pytest.fixture
def named(opened):
    return partial(with_judge, opened)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'upstream = "rules"',
            'upstream = "other"',
            "claim_judge.upstream names 'other', and there is no [models.other]",
        ),
        ('"rules-1"', '"rules-3"', "claim_judge.model must be one of the models of [models.rules]"),
        ("model = ", "modle = ", "'claim_judge.modle' is not a setting; did you mean 'model'?"),
        ("model = ", "tokens = 1\nmodel = ", "'claim_judge.tokens' is wrong"),
    ],
)
def test_a_mistake_in_the_table_is_named(old, new, sentence, tmp_path):
    file = tmp_path / "quarterturn.toml"
    models = MODELS.format(url="http://127.0.0.1:9/v1")
    file.write_text('[benchmark]\nfirst_month = "2026-12"\n' + models + TABLE.replace(old, new, 1))
    with pytest.raises(Malformed) as error:
        settings.load(file)
    assert sentence in str(error.value)


def test_settings_of_a_judge_read_back_and_a_home_without_one_has_no_table(home, model, tmp_path, named):
    assert "claim_judge" not in home.joinpath("quarterturn.toml").read_text()
    house = named(home, model)
    (tmp_path / "again.toml").write_text(settings.dump(house.home.settings))
    assert settings.load(tmp_path / "again.toml") == house.home.settings


def test_the_judge_has_an_upstream_of_its_own_which_agents_are_refused(home, model, named):
    house = named(home, model)
    with pytest.raises(Refused, match="the upstream 'rules' judges answers"), house.keys.models.gateway("rules", "dev"):
        pass
    assert list(house.submissions.service.policy.models) == []
    with house.keys.claim_judges.opened("private") as judge:
        assert judge.check()
        assert "test-" not in repr(judge)


def test_a_home_without_a_judge_or_without_its_key_says_so(home, model, named, opened):
    house = opened(home)
    assert (house.keys.claim_judges.digests(), house.keys.claim_judges.checked(), house.keys.admission_judge) == (
        None,
        None,
        None,
    )
    with pytest.raises(NotFound, match=r"add a table \[claim_judge\]"):
        house.keys.claim_judges.spec()
    house = named(home, model, keys=False)
    with pytest.raises(Locked, match="no key was entered for private runs of 'rules'"):
        house.keys.claim_judges.judge("private")


def test_whatever_decides_a_verdict_changes_a_digest(home, model, named, opened):
    house = named(home, model)
    first = house.keys.claim_judges.digests()
    document = json.loads(SHIPPED.read_bytes())
    (home / "own.json").write_text(json.dumps({"anchors": document["anchors"][:8]}))
    toml = home / "quarterturn.toml"
    toml.write_text(toml.read_text().replace('model = "rules-1"', 'model = "rules-2"\nanchors = "own.json"'))
    house = opened(home)
    second = house.keys.claim_judges.digests()
    assert (first.rubric == second.rubric, first.parameters == second.parameters) == (True, False)
    assert first.anchors != second.anchors
    assert first.digest != second.digest


@pytest.mark.full
@pytest.mark.slow
def test_a_judge_is_checked_and_a_set_then_names_it(home, model, say, named):
    house = named(home, model)
    with pytest.raises(Refused, match="was never checked as the settings have it now"):
        house.keys.claim_judges.checked()
    estimated = say("judge", "check", "--estimate", "--home", home, "--json")
    assert (estimated.code, model.asked) == (0, [])
    checked = say("judge", "check", "--home", home, "--json")
    assert checked.code == 0, checked.err
    data = json.loads(checked.out)["data"]
    assert data["estimate"] == json.loads(estimated.out)["data"]["estimate"]
    assert data["cost"]["requests"] == data["estimate"]["requests"] == len(model.asked)
    assert (data["refused"], data["anchors"]["n"]) == ([], 10)
    assert data["judge"] == house.keys.claim_judges.checked().as_json()
    assert "tokens read" in checked.err
    shown = say("judge", "check", "--passes", "1", "--home", home)
    assert "claim -, task -" in shown.out
    assert "The judge is over every bar" in shown.out
    toml = home / "quarterturn.toml"
    toml.write_text(toml.read_text().replace('model = "rules-1"', 'model = "rules-2"'))
    with pytest.raises(Refused, match="was never checked as the settings have it now"):
        Application(home, None).keys.claim_judges.checked()


@pytest.mark.slow
def test_a_judge_under_a_bar_is_refused_with_exit_code_8_and_no_set_names_it(home, say, named):
    with LoopbackModel(Dials(confusion=0.1)) as model:
        house = named(home, model)
        checked = say("judge", "check", "--passes", "1", "--home", home)
    assert checked.code == 8
    assert "REFUSED: " in checked.out
    with pytest.raises(Refused, match="the claim judge was checked and is refused: "):
        house.keys.claim_judges.checked()


def test_a_judge_that_does_not_answer_is_not_measured(home, model, say, named):
    house = named(home, model)
    house.close()
    toml = home / "quarterturn.toml"
    toml.write_text(toml.read_text().replace(model.url, "http://127.0.0.1:9/v1"))
    checked = say("judge", "check", "--home", home)
    assert checked.code == 6
    assert "the upstream 'rules' does not answer for the model 'rules-1'" in checked.err
    assert not (home / "claim-judge.json").exists()


def test_anchors_are_frozen_and_refused_once_they_are_changed(home, model, say, tmp_path, named):
    document = json.loads(SHIPPED.read_bytes())
    for anchor in document["anchors"]:
        del anchor["sha256"]
    own = home / "own.json"
    own.write_text(json.dumps(document))
    assert say("judge", "freeze", own).code == 0
    named(home, model, TABLE + 'anchors = "own.json"\n')
    own.write_text(own.read_text().replace('"gold": "partially_correct"', '"gold": "correct"', 1))
    refused = say("judge", "check", "--home", home)
    assert refused.code == 8
    assert "the gold of anchor half-a-pair was changed" in refused.err
    assert say("judge", "freeze", home / "none.json").code == 3
    bad = tmp_path / "bad.json"
    bad.write_text('{"anchors": [1]}')
    assert say("judge", "freeze", bad).code == 2
    assert bad.read_text() == '{"anchors": [1]}'


def test_a_private_run_of_a_judged_set_needs_the_judge_that_the_set_names(live, model, monkeypatch, named):
    house = named(live, model)
    chosen = RunRequest("ada/agent", None, "ada", None)
    assert house.runs.official.require_judge() is None, "the live set was made before the judge was named"
    digests = house.keys.claim_judges.digests()
    monkeypatch.setattr(type(house.benchmark.months), "judge", lambda _: digests.digest)
    assert house.runs.official.require_judge() == digests.digest
    assert chosen.run_class(private=True, judged=house.runs.official.judged()) == "open"
    assert house.submissions.service.policy.judged()
    assert house.submissions.service.policy._track(SubmissionRequest("private", image="ada/agent")) == JUDGED.name
    monkeypatch.setattr(type(house.benchmark.months), "judge", lambda _: "0" * 64)
    with pytest.raises(NotTheSame, match="names another claim judge"):
        house.execution.private_runs.run(chosen, None)
