"""Tests of the settings file: every key is known, every mistake is named, and what is written reads back."""

from typing import get_args

import pytest

from grammars.language.labels import Category as DrawnCategory
from grammars.language.labels import Difficulty as DrawnDifficulty
from quarterturn import choices, settings
from quarterturn.boxes import BOXES
from quarterturn.errors import Malformed, NotFound
from quarterturn.settings import BenchmarkSettings, RunSettings, Settings
from vault.task.lifecycle import TaskState

FIRST = '[benchmark]\nfirst_month = "2026-12"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[benchmark", "is not TOML"),
        (
            FIRST + "[run]\nworkers = 1\nworkers = 2\n",
            "(at line 5, column 12). A text stands in quotes, and each key once",
        ),
        (FIRST + "[run]\nworkers = true\n", "'run.workers' is wrong: it must be a whole number, without quotes"),
        (FIRST + '[notify]\nsmtp_port = "587"\n', "'notify.smtp_port' is wrong: it must be a whole number"),
        ("", "'benchmark' is missing: the table [benchmark] is needed"),
        ("[benchmark]\n", "'benchmark.first_month' is missing: The first month, YYYY-MM."),
        ('[benchmark]\nfirst_month = "2026-13"\n', "'benchmark.first_month' is wrong"),
        ('[benchmark]\nfirst_month = "\u0662\u0660\u0662\u0666-12"\n', "'benchmark.first_month' is wrong"),
        ('[benchmark]\nfirst_month = "1999-12"\n', "'benchmark.first_month' is wrong: '1999-12' is not a month"),
        (FIRST + 'orgin = "a.example/log"\n', "'benchmark.orgin' is not a setting; did you mean 'origin'?"),
        (FIRST + 'origin = "a b"\n', "'benchmark.origin' is wrong"),
        (FIRST + 'origin = "a\\nb"\n', "'benchmark.origin' is wrong"),
        (FIRST + "[rum]\nworkers = 2\n", "'rum' is not a setting; did you mean 'run'?"),
        (FIRST + "[run]\nworker = 2\n", "'run.worker' is not a setting; did you mean 'workers'?"),
        (FIRST + "[run]\nzebra = 2\n", "the keys here are: box, runners, runtime, wall_seconds, workers"),
        (FIRST + "[run]\nworkers = 'two'\n", "'run.workers' is wrong: it must be a whole number, without quotes"),
        (FIRST + "[run]\nwall_seconds = 'long'\n", "'run.wall_seconds' is wrong: it must be a number, without quotes"),
        (FIRST + "[database]\nurl = 3\n", "'database.url' is wrong: it must be a text in quotes"),
        ("run = 3\n" + FIRST, "'run' is wrong: it must be a table"),
        (FIRST + "[run]\nworkers = 0\n", "'run.workers' is wrong: it must be at least 1"),
        (FIRST + '[run]\nbox = "vm"\n', "'run.box' is wrong: it must be one of 'auto', 'docker' or 'bwrap'"),
        (FIRST + "[run]\nwall_seconds = -1\n", "'run.wall_seconds' is wrong"),
        (FIRST + "[run]\nwall_seconds = nan\n", "'run.wall_seconds' is wrong"),
        (FIRST + '[service]\nimages = "ada/"\n', "'service.images' is wrong: it must be a list in square brackets"),
        (FIRST + '[service]\nimages = ["{account}"]\n', "'service.images' is wrong: '{account}' names no images: it"),
        (
            FIRST + '[service]\nimages = ["{account}/", "x/{account}/"]\n',
            "'service.images' is wrong: {account}/ and x/",
        ),
        (FIRST + '[notify]\nwebhook = "http://a.example/"\n', "'notify.webhook' is wrong: a webhook is an https URL"),
        (FIRST + '[notify]\nmail_from = "a@b.example\\nBcc: c@d.example"\n', "'notify.mail_from' is wrong"),
        (FIRST + '[notify]\nmail_to = ["a@b.example, c@d.example"]\n', "'notify.mail_to.0' is wrong"),
        (FIRST + "store = 1\n", "'benchmark.store' is not a setting"),
        (FIRST + '[service]\ncallbacks = "x"\n', "'service.callbacks' is wrong: it must be ADDRESS:PORT, such as 127."),
        (
            FIRST + '[service]\ncallbacks_url = "x"\n',
            "'service.callbacks_url' is wrong: it must be a URL, such",
        ),
        (FIRST + '[models.A]\nwire = "openai"\n', "'models.A' is wrong: a table's name has 1 to 16 of a-z, 0-9 and"),
        (FIRST + f'operator = "{"x" * 301}"\n', "'benchmark.operator' is wrong: it must have at most 300 characters"),
        (FIRST + 'operator = "a\\nb"\n', "'benchmark.operator' is wrong: One line for the front page:"),
    ],
)
def test_a_mistake_is_named_with_its_place(text, sentence, tmp_path):
    file = tmp_path / "quarterturn.toml"
    file.write_text(text)
    with pytest.raises(Malformed) as error:
        settings.load(file)
    assert str(error.value).startswith(str(file))
    assert sentence in str(error.value)


def test_a_byte_order_mark_and_the_line_ends_of_other_systems_are_read(tmp_path):
    (tmp_path / "f.toml").write_bytes(b"\xef\xbb\xbf" + FIRST.replace("\n", "\r\n").encode())
    assert settings.load(tmp_path / "f.toml").benchmark.first_month == "2026-12"


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "quarterturn.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(Malformed, match="is not TOML"):
        settings.load(tmp_path / "quarterturn.toml")


def test_a_missing_file_names_the_verb_that_makes_one(tmp_path):
    with pytest.raises(NotFound, match="quarterturn init --home"):
        settings.load(tmp_path / "quarterturn.toml")


def test_what_is_written_reads_back(tmp_path):
    benchmark = BenchmarkSettings(origin="bench.example/log-2", first_month="2026-12")
    chosen = Settings(
        benchmark=benchmark,
        database=settings.DatabaseSettings(url='postgresql://u:p"\\#@db/ä'),
        run=RunSettings(box="bwrap", workers=7, wall_seconds=0.5),
    )
    (tmp_path / "quarterturn.toml").write_text(settings.dump(chosen), encoding="utf-8")
    assert settings.load(tmp_path / "quarterturn.toml") == chosen


def test_choices_are_those_of_the_code():
    assert set(get_args(choices.BoxName)) == {"auto", *BOXES}
    assert get_args(choices.Category) == get_args(DrawnCategory)
    assert get_args(choices.Difficulty) == get_args(DrawnDifficulty)
    assert set(get_args(choices.State)) == set(TaskState)
