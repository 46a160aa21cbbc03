"""Tests of language models for agents: the settings, the upstream keys, and what a run with a model leaves behind."""

import stat
from collections import Counter

import pytest

from quarterturn import settings
from quarterturn.errors import Malformed, NotFound, Refused
from quarterturn.progress import NullProgress
from quarterturn.runs.request import RunRequest
from sandbox.boxes.box import ResourceLimits
from sandbox.errors import Unavailable
from sandbox.model_gateway.process import ModelGateway
from sandbox.runs import submission
from vault.errors import Locked

TABLE = '[models.gpt]\nwire = "openai"\nurl = "https://models.example/v1"\nmodels = ["small-1"]\n'


@pytest.fixture
def house(home, opened):
    with home.joinpath("quarterturn.toml").open("a") as file:
        file.write(f"\n{TABLE}")
    return opened(home)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("wire", "wir", "'models.gpt.wire' is missing: Wire protocol of the upstream."),
        ("models = ", 'modle = "x"\nmodels = ', "'models.gpt.modle' is not a setting; did you mean 'models'?"),
        ('"openai"', '"grpc"', "'models.gpt.wire' is wrong"),
        ("https:", "http:", "http:// is for a model on this machine"),
        ("https://models", "https://me:word@models", "must hold no user"),
        ('["small-1"]', "[]", "'models.gpt.models' is wrong"),
        ('["small-1"]', '["small 1"]', "'models.gpt.models.0' is wrong"),
        ("models.gpt", "models.GPT", "is wrong"),
        ("models = ", "tokens = 1\nmodels = ", "'models.gpt.tokens' is wrong"),
    ],
)
def test_a_mistake_in_a_model_s_table_is_named(old, new, sentence, tmp_path):
    file = tmp_path / "quarterturn.toml"
    file.write_text('[benchmark]\nfirst_month = "2026-12"\n' + TABLE.replace(old, new, 1))
    with pytest.raises(Malformed) as error:
        settings.load(file)
    assert sentence in str(error.value)
    assert "word" not in str(error.value)


def test_settings_of_models_read_back(house, tmp_path):
    (tmp_path / "again.toml").write_text(settings.dump(house.home.settings))
    assert settings.load(tmp_path / "again.toml") == house.home.settings
    assert house.home.settings.models["gpt"].tokens == 200_000


def test_a_key_is_sealed_and_given_to_the_model_process_alone(house):
    house.keys.models.keep_key("gpt", "dev", "test-first\n")
    house.keys.models.keep_key("gpt", "dev", "test-second")
    place = house.home.places.model_keys / "gpt.dev.key"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert b"test-" not in place.read_bytes()
    with house.keys.models.gateway("gpt", "dev") as gateway:
        assert isinstance(gateway, ModelGateway)
        assert gateway._key == "test-second"
        assert "test-" not in repr(gateway)
    assert house.keys.models.has_keys_for("gpt") == ["dev"]


def test_dev_and_private_runs_never_have_the_same_key(house):
    house.keys.models.keep_key("gpt", "dev", "test-same")
    with pytest.raises(Refused, match="the key of dev runs"):
        house.keys.models.keep_key("gpt", "private", "test-same")
    house.keys.models.keep_key("gpt", "private", "test-other")
    sealed = house.home.places.model_keys / "gpt.private.key"
    kept = sealed.read_bytes()
    with pytest.raises(Refused, match="the key of private runs"):
        house.keys.models.keep_key("gpt", "dev", "test-other")
    sealed.with_name("gpt.dev.key").write_bytes(kept)
    with pytest.raises(Exception, match="does not unwrap"), house.keys.models.gateway("gpt", "dev"):
        pass  # a key is bound to its use: the other's file in its place is none


def test_without_a_model_or_its_key_no_run_begins(house):
    with pytest.raises(NotFound, match="no model 'claude', only gpt"), house.keys.models.gateway("claude", "dev"):
        pass
    with (
        pytest.raises(Locked, match="quarterturn model key gpt --for private"),
        house.keys.models.gateway("gpt", "private"),
    ):
        pass
    with house.keys.models.gateway(None, "private") as nothing:
        assert nothing is None


def test_a_hosted_endpoint_brings_its_own_model():
    with pytest.raises(Malformed, match="leave --model out"):
        RunRequest(None, None, "ada", None, hosting=object(), model="gpt")


def test_the_verbs_take_a_key_from_a_private_file_and_never_say_it(say, house, tmp_path):
    key = tmp_path / "key"
    key.write_text("test-key\n")
    key.chmod(0o644)
    told = ("--home", house.home.folder)
    say("model", "key", "gpt", "--for", "dev", "--file", key, *told).refuses(7, "open to others")
    key.chmod(0o600)
    assert say("model", "key", "gpt", "--for", "dev", "--file", key, *told).code == 0
    listed = say("model", "list", "--json", *told)
    assert listed.data[0]["keys"] == ["dev"]
    assert "test-key" not in listed.out + listed.err
    assert say("model", "key", "other", "--for", "dev", "--file", key, *told).code == 3
    key.write_text("two words")
    again = say("model", "key", "gpt", "--for", "private", "--file", key, *told)
    assert again.code == 2
    assert "two words" not in again.err
    assert say("model", "key", "gpt", "--for", "private", *told).code == 2  # nobody is there to ask


class NoWorld:
    """An official box in which no world ever starts."""

    name, official = "docker", True

    def check(self):
        """Succeed: only the worlds of this box fail to start."""

    def world(self, servers, state, limits):
        raise Unavailable("no world today")

    def place(self, program, sockets, limits):
        raise Unavailable("no place today")


@pytest.mark.full
@pytest.mark.slow
def test_a_run_with_a_model_has_its_own_track_and_shows_its_tasks_to_an_upstream(live, opened):
    with live.joinpath("quarterturn.toml").open("a") as file:
        file.write(f"\n{TABLE}")
    house = opened(live)
    house.keys.models.keep_key("gpt", "private", "test-key")
    image = submission.image("x:1", submitter="ada", resolve=lambda _: "sha256:" + "0" * 64)
    with house.keys.models.gateway("gpt", "private") as gateway:
        opened = house.runs.official.open(image, NoWorld(), gateway.spec.name)
        house.runs.tasks.serve(opened, *opened.tasks)
    assert house.execution.private_runs.terms(gateway).models is gateway
    assert house.execution.private_runs.terms().agent == ResourceLimits(wall=120.0)
    assert opened.record.track == "docker-model-gateway"
    served = Counter()
    for _, who, channel, times in house.benchmark.exposures.totals():
        served[who, channel] += times
    assert served == {("ada", "docker"): 24, ("ada", "upstream:gpt"): 24}
    house.execution.private_runs.play(image, NoWorld(), NullProgress())
    assert {run.track for run in house.runs.store.list()} == {"docker", "docker-model-gateway"}
