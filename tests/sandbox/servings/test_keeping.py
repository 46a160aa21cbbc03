"""Tests of keeping a hand-in on a runner's disk: full disks, and hand-ins that are too long."""

import errno

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from sandbox.errors import Unavailable
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.servings import supervisor
from sandbox.servings.handed_in import HandIn
from sandbox.servings.sealing import open_hand_in
from sandbox.servings.spool import Spool
from sandbox.servings.supervisor import SupervisorRequest, Supervisors, keep_hand_in
from sandbox.world.frozen import FrozenState

PRIVATE = X25519PrivateKey.generate()
HANDLE = "s-" + "1" * 32
LEFT = HandIn(AttemptFacts(Stage.FROZEN, "answered"), output="printed", state=FrozenState(b"a tar"))


@pytest.fixture
def request_(tmp_path):
    return SupervisorRequest(HANDLE, b"", bytes(32), PRIVATE.public_key().public_bytes_raw(), tmp_path)


def read_kept(folder) -> HandIn:
    with Spool(folder).open(HANDLE) as sealed:
        return open_hand_in(HANDLE, sealed.read(), PRIVATE)


def test_what_a_full_disk_does_not_take_is_written_once_there_is_room(request_, tmp_path, monkeypatch):
    full, write = [True], supervisor.Spool.keep

    def keep(*args) -> None:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*args)

    monkeypatch.setattr(supervisor.Spool, "keep", keep)
    keep_hand_in(request_, LEFT, wait=lambda _: full.pop())
    assert read_kept(tmp_path) == LEFT


@pytest.mark.parametrize("cap", ["MAX_SEALED", "MAX_PARTS_BYTES"])
def test_of_what_is_longer_than_a_service_takes_the_facts_are_kept(request_, tmp_path, monkeypatch, cap):
    monkeypatch.setattr(supervisor, cap, 4)
    keep_hand_in(request_, LEFT)
    assert read_kept(tmp_path) == HandIn(AttemptFacts(Stage.FROZEN, "answered", too_large=True))


def test_a_spool_that_cannot_be_written_is_waited_for(request_, tmp_path):
    (tmp_path / f"{HANDLE}.lock").mkdir()
    with pytest.raises(Unavailable, match="no supervisor can be started"):
        Supervisors().start(request_)
