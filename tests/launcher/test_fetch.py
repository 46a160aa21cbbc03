"""Tests of fetching a pinned wheel: from wherever pip would get it, from a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quarterturn.launcher.fetch import fetch, this_machine
from quarterturn.launcher.package_index import Machine, Pin
from quarterturn.launcher.pip_settings import PipSettings
from quarterturn.launcher.steps import Stop

from .conftest import sha256

ANYWHERE = Machine("linux", "any", ("", ""))  # the wheel of these tests has no platform: see `fits`


@pytest.fixture(autouse=True)
def _fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Machine, "runs", lambda _self, platforms: platforms == "any")


def pin(*wheels: bytes) -> Pin:
    return Pin("paperclip", "1.0", frozenset(map(sha256, wheels)))


def test_a_wheel_comes_from_an_index_that_serves_only_html(index: Any) -> None:
    assert fetch(pin(index.wheel), PipSettings(index=index.url), ANYWHERE) == index.wheel
    assert index.asked == ["/simple/paperclip/", "/files/paperclip-1.0-py3-none-any.whl"]


def test_a_damaged_wheel_is_refused(index: Any) -> None:
    index.claimed = "0" * 64
    with pytest.raises(Stop, match="was changed on the way"):
        fetch(pin(index.wheel), PipSettings(index=index.url), ANYWHERE)


def test_a_wheel_that_only_the_index_vouches_for_is_refused(index: Any) -> None:
    with pytest.raises(Stop, match="is not a file that the lock pins"):
        fetch(pin(b"what we pinned"), PipSettings(index=index.url), ANYWHERE)


def test_the_next_place_is_asked_where_the_first_has_nothing(index: Any, tmp_path: Path) -> None:
    nowhere = index.url.replace("/simple", "/nothing")
    settings = PipSettings(index=nowhere, extra_indexes=(index.url,), find_links=(tmp_path.as_uri(),))
    assert fetch(pin(index.wheel), settings, ANYWHERE) == index.wheel


def test_a_folder_of_wheels_needs_no_index(index: Any, tmp_path: Path) -> None:
    (tmp_path / "paperclip-1.0-py3-none-any.whl").write_bytes(index.wheel)
    settings = PipSettings(index=None, find_links=(tmp_path.as_uri(),))
    assert fetch(pin(index.wheel), settings, ANYWHERE) == index.wheel
    assert index.asked == []


def test_an_index_may_be_a_folder(index: Any, tmp_path: Path) -> None:
    page = tmp_path / "simple" / "paperclip" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text('<a href="../../paperclip-1.0-py3-none-any.whl">paperclip</a>')
    (tmp_path / "paperclip-1.0-py3-none-any.whl").write_bytes(index.wheel)
    settings = PipSettings(index=(tmp_path / "simple").as_uri())
    assert fetch(pin(index.wheel), settings, ANYWHERE) == index.wheel


def test_a_name_and_password_in_the_address_are_sent_and_never_told(index: Any) -> None:
    index.login = "me:hunter 2"
    address = index.url.replace("//", "//me:hunter%202@")
    assert fetch(pin(index.wheel), PipSettings(index=address), ANYWHERE) == index.wheel
    index.login = "me:changed"
    with pytest.raises(Stop) as stop:
        fetch(pin(index.wheel), PipSettings(index=address), ANYWHERE)
    assert "could not be read (Unauthorized)" in str(stop.value)
    assert "hunter" not in str(stop.value)


def test_a_certificate_is_checked_unless_pip_was_told_otherwise(secured: Any) -> None:
    index = secured.index
    with pytest.raises(Stop, match=r"certificate verify failed.*PIP_CERT"):
        fetch(pin(index.wheel), PipSettings(index=index.url), ANYWHERE)
    trusted = PipSettings(index=index.url, cert=str(secured.certificate))
    assert fetch(pin(index.wheel), trusted, ANYWHERE) == index.wheel
    blind = PipSettings(index=index.url, trusted_hosts=("127.0.0.1",))
    assert fetch(pin(index.wheel), blind, ANYWHERE) == index.wheel


def test_a_proxy_is_used(index: Any) -> None:
    settings = PipSettings(index="http://index.test/simple", proxy=index.url.removesuffix("/simple"))
    assert fetch(pin(index.wheel), settings, ANYWHERE) == index.wheel
    assert index.asked[0] == "http://index.test/simple/paperclip/"


def test_all_that_was_tried_is_told_when_nothing_has_it(index: Any, tmp_path: Path) -> None:
    settings = PipSettings(index=index.url, find_links=(tmp_path.as_uri(),))
    with pytest.raises(Stop) as stop:
        fetch(Pin("paperclip", "2.0", frozenset()), settings, ANYWHERE)
    assert "paperclip 2.0 for linux on any could not be had" in str(stop.value)
    assert f"{tmp_path.as_uri()} does not have it; {index.url}/paperclip/ does not have it" in str(stop.value)
    assert stop.value.code == 6


def test_this_machine_is_described() -> None:
    assert this_machine().processor
