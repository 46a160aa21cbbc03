"""Tests of the token lock: the token encrypts and decrypts, and its key never leaves it."""

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pkcs11
import pytest
from pkcs11 import Attribute, KeyType, MechanismFlag

from vault.errors import Broken, Locked, Malformed, Refused, Unavailable
from vault.keys.locks import pkcs11 as lock
from vault.keys.locks.pkcs11 import NewPkcs11, Pkcs11
from vault.keys.ring import FileKeyRing

from .conftest import MODULE, PIN

pytestmark = [pytest.mark.slow, pytest.mark.needs("softhsm")]


@contextmanager
def session(token):
    library = pkcs11.lib(str(MODULE))
    with library.get_token(token_label=token).open(rw=True, user_pin=PIN) as opened:
        yield opened
    library.finalize()


def made(session, label, **template):
    return session.generate_key(
        KeyType.AES,
        256,
        id=b"test",
        label=label,
        store=True,
        capabilities=MechanismFlag.ENCRYPT | MechanismFlag.DECRYPT,
        template={Attribute[name.upper()]: value for name, value in template.items()},
    )


def test_the_key_that_it_makes_never_leaves_the_token(path, token):
    FileKeyRing.create(path, None).add_lock(NewPkcs11(MODULE, token, "made here", PIN))
    with session(token) as looking:
        key = looking.get_key(label="made here")
        assert key[Attribute.SENSITIVE]
        assert not key[Attribute.EXTRACTABLE]
        assert key.key_length == 256
        with pytest.raises(pkcs11.AttributeSensitive):
            _ = key[Attribute.VALUE]


def test_the_module_is_never_loaded_beside_the_ring(path, token):
    """Runs in a process of its own, because the module is loaded into this one by the other tests."""
    program = (
        "import json, sys; from pathlib import Path; from vault.keys.locks.pkcs11 import NewPkcs11, Pkcs11;"
        "from vault.keys.ring import FileKeyRing; path, module, token, pin = Path(sys.argv[1]), *sys.argv[2:];"
        "ring = FileKeyRing.create(path, None); ring.add_lock(NewPkcs11(Path(module), token, 'apart', pin));"
        "assert FileKeyRing.open_by(path, [Pkcs11(pin)]).key_id == ring.key_id;"
        "print(json.dumps([Path('/proc/self/maps').read_text(), sorted(sys.modules)]))"
    )
    command = [sys.executable, "-I", "-c", program, str(path), str(MODULE), token, PIN]
    maps, loaded = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert MODULE.name not in maps
    assert "pkcs11" not in loaded


def test_a_module_that_runs_code_finds_neither_the_ring_nor_its_folder(path, tmp_path, monkeypatch):
    ring = FileKeyRing.create(path, None)
    seen = tmp_path / "seen.json"
    module = tmp_path / "module.py"
    module.write_text(
        "import json, os, sys\n"
        "opened = [f'/proc/self/fd/{number}' for number in range(64)]\n"
        "links = [os.readlink(place) for place in opened if os.path.lexists(place)]\n"
        f"open({str(seen)!r}, 'w').write(json.dumps([json.load(sys.stdin), sys.argv, links]))\n"
        'print(\'{"error": "Locked", "sentence": "No."}\')\n'
    )
    monkeypatch.setattr(lock, "PROCESS", (sys.executable, "-I", str(module)))
    with pytest.raises(Locked, match=r"^No\.$"):
        ring.add_lock(NewPkcs11(Path("/canary.so"), "token", "key", PIN))
    request, arguments, descriptors = json.loads(seen.read_text())
    assert set(request) == {"do", "lock", "ring", "pin", "root", "nonce", "new_id"}
    assert arguments == [str(module)]
    assert str(path.parent) not in " ".join(descriptors)
    assert PIN not in " ".join(arguments)


@pytest.mark.parametrize("answer", ["", "[]", "{}", '{"key_id": 1, "sealed": "x"}', '{"key_id": "", "sealed": "AAAA"}'])
def test_an_answer_that_is_none_makes_no_lock(path, monkeypatch, answer):
    ring = FileKeyRing.create(path, None)
    monkeypatch.setattr(lock, "run", lambda *_: (0, answer.encode()))
    with pytest.raises((Broken, Malformed), match="module"):
        ring.add_lock(NewPkcs11(Path("/canary.so"), "token", "key", PIN))
    assert [kept["kind"] for kept in ring.locks] == ["file-mode"]


@pytest.mark.parametrize("template", [{"sensitive": False}, {"extractable": True}])
def test_a_key_that_could_leave_it_is_not_used(path, token, template):
    label = f"loose {next(iter(template))}"
    with session(token) as making:
        made(making, label, **template)
    with pytest.raises(Refused, match=f"key '{label}' .* can leave it"):
        FileKeyRing.create(path, None).add_lock(NewPkcs11(MODULE, token, label, PIN))


def test_a_key_that_was_made_before_is_used_and_one_that_is_gone_is_missed(path, token):
    ring = FileKeyRing.create(path, None)
    ring.add_lock(NewPkcs11(MODULE, token, "shared", PIN))
    ring.add_lock(NewPkcs11(MODULE, token, "shared", PIN))
    assert len({lock["key_id"] for lock in ring.locks}) == 1
    with session(token) as breaking:
        breaking.get_key(label="shared").destroy()
    with pytest.raises(Locked, match="no longer holds the key"):
        FileKeyRing.open_by(path, [Pkcs11(PIN)])
    ring.add_lock(NewPkcs11(MODULE, token, "shared", PIN))
    assert FileKeyRing.open_by(path, [Pkcs11(PIN)]).key_id == ring.key_id


@pytest.mark.parametrize(
    ("other", "kind", "sentence"),
    [
        ({"module": Path("/nowhere/module.so")}, Unavailable, "cannot be used: .*No such file"),
        ({"token": "another token"}, Unavailable, "There is no token 'another token' .*plugged in"),
        ({"pin": "test-0000"}, Locked, "PIN does not open the token"),
        ({"pin": "1"}, Locked, "PIN does not open the token"),
    ],
)
def test_a_missing_module_token_or_key_is_named(path, token, other, kind, sentence):
    ring = FileKeyRing.create(path, None)
    with pytest.raises(kind, match=sentence):
        ring.add_lock(replace(NewPkcs11(MODULE, token, "quarterturn", PIN), **other))
    assert FileKeyRing.open(path, None).key_id == ring.key_id


def test_a_key_of_the_same_name_that_is_another_is_noticed(path, token):
    maker, other = (NewPkcs11(MODULE, token, label, PIN) for label in ("one", "two"))
    ring = FileKeyRing.create(path, None)
    ring.add_lock(maker)
    locks = [maker.seal(bytes(32), "a", "ring:0000000000000000"), other.seal(bytes(32), "a", "ring:0000000000000000")]
    swapped = {**locks[1], "sealed": locks[0]["sealed"]}
    with pytest.raises(Broken, match="does not decrypt"):
        Pkcs11(PIN).open(swapped, "ring:0000000000000000")
