"""Tests of what is particular to the fake box; what all boxes share is in tests/contracts/test_boxes.py."""

import tempfile
from pathlib import Path

import pytest

import quarterturn
from sandbox.boxes import fake_box
from sandbox.boxes.box import Program, ResourceLimits
from sandbox.boxes.fake_box import FakeBox
from sandbox.errors import Refused
from verifiers.tree import DIRECTORY, FileTree

from ..builders import a_server

SERVER = a_server("sh", "/bin/sh", "-c", "pwd > place; sleep 60")


def test_it_is_not_official_and_says_that_it_isolates_nothing():
    assert FakeBox.name == "fake"
    assert not FakeBox.official
    assert "no wall" in fake_box.__doc__


def test_a_worlds_data_is_a_folder_of_its_own_that_goes_with_it(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one, other = (FakeBox().world([SERVER], FileTree({"files": DIRECTORY}), ResourceLimits()) for _ in range(2))
    with one.channel(), other.channel():
        assert len(list(tmp_path.iterdir())) == 2
        one.close()
        other.close()
    assert list(tmp_path.iterdir()) == []


def test_an_image_is_refused(tmp_path):
    with pytest.raises(Refused, match="not an image"):
        FakeBox().place(Program(image="anything"), tmp_path, ResourceLimits())


@pytest.mark.parametrize("name", ["fake_box", "memory_box"])
def test_the_product_never_offers_it(name):
    wiring = list(Path(quarterturn.__file__).parent.rglob("*.py"))
    assert wiring
    assert not [path for path in wiring if name in path.read_text()]
