"""Fixtures of locks of every kind: a SoftHSM token, age and SSH keys, and a key service of the test's own."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyrage
import pytest

from vault.keys.locks import pkcs11 as lock
from vault.keys.locks import pkcs11_process
from vault.keys.locks.command import Command, NewCommand
from vault.keys.locks.custodians import Custodians, KeyShare, Split, decrypted
from vault.keys.locks.file_mode import FileMode
from vault.keys.locks.lock import Maker, Opener
from vault.keys.locks.passphrase import Passphrase
from vault.keys.locks.pkcs11 import NewPkcs11, Pkcs11

from ....needs import needing
from ....ssh_keys import make_ssh_key
from ...builders import CHEAP

MODULE = Path("/usr/lib/softhsm/libsofthsm2.so")
KMS = Path(__file__).resolve().parents[4] / "examples" / "kms" / "local.py"
PIN, TOKEN = "test-1234", "quarterturn tests"
PEOPLE = ("ada", "bob", "cyd")


@dataclass
class Kept:
    """A kind of lock: how to make and open it, what must not open it, and which secrets must never show."""

    maker: Maker
    opener: Callable[[], Opener]
    wrong: Callable[[], Opener]
    secrets: tuple[bytes, ...] = field(repr=False)


@dataclass
class Post:
    """Sends shares to custodians, and opens them with their keys."""

    folder: Path
    files: dict[str, bytes] = field(default_factory=dict)

    def deliver(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)

    def share(self, name: str) -> KeyShare:
        identity = (self.folder / name).read_bytes()
        return KeyShare.parse(decrypted(self.files[name], [identity], name))

    def public(self, name: str) -> str:
        return (self.folder / f"{name}.pub").read_text().strip()

    def split(self, threshold: int = 2, **public: str) -> Split:
        """Split the key for the three people, or for others or with other keys."""
        return Split(threshold, {name: self.public(name) for name in PEOPLE} | public, self.deliver)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a test's ring."""
    return tmp_path / "keys" / "ring.json"


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with three people's keys: age keys for two of them, an SSH key for the third."""
    folder = tmp_path_factory.mktemp("people")
    for name in PEOPLE[:2]:
        identity = pyrage.x25519.Identity.generate()
        (folder / name).write_text(f"# as age-keygen writes it\n{identity}\n")
        (folder / f"{name}.pub").write_text(f"{identity.to_public()}\n")
    make_ssh_key(folder / PEOPLE[2])
    return folder


@pytest.fixture
def post(people: Path) -> Post:
    return Post(people)


@pytest.fixture(scope="session")
@needing("softhsm")
def token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Make a token of the tests' own; the module is found by its path, and the token by SOFTHSM2_CONF."""
    folder = tmp_path_factory.mktemp("softhsm")
    (folder / "tokens").mkdir()
    (folder / "conf").write_text(f"directories.tokendir = {folder}/tokens\nobjectstore.backend = file\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTHSM2_CONF", str(folder / "conf"))
        words = ["softhsm2-util", "--init-token", "--free", "--label", TOKEN, "--pin", PIN, "--so-pin", "test-so-pin"]
        subprocess.run(words, check=True, capture_output=True)
        yield TOKEN


@pytest.fixture
def kms(tmp_path: Path) -> tuple[str, ...]:
    """Return the arguments that start the example's key service."""
    return (sys.executable, str(KMS), "--key", str(tmp_path / "kms.key"))


TOKENS = pytest.param("pkcs11", marks=[pytest.mark.slow, pytest.mark.needs("softhsm")])


@pytest.fixture(params=["file-mode", "passphrase", TOKENS, "custodians", "command"])
def kept(request: pytest.FixtureRequest) -> Kept:
    made: Kept = {"file-mode": file_mode, "passphrase": passphrase, "pkcs11": pkcs11, "custodians": custodians}.get(
        request.param, command
    )(request)
    return made


def file_mode(_: pytest.FixtureRequest) -> Kept:
    return Kept(FileMode(), FileMode, lambda: Passphrase(b"test-any"), ())


def passphrase(_: pytest.FixtureRequest) -> Kept:
    right, wrong = Passphrase(b"test-correct horse", CHEAP), Passphrase(b"test-another horse")
    return Kept(right, lambda: right, lambda: wrong, (b"test-correct horse",))


def pkcs11(request: pytest.FixtureRequest) -> Kept:
    token = request.getfixturevalue("token")
    request.getfixturevalue("monkeypatch").setattr(lock, "run", in_process)
    maker = NewPkcs11(MODULE, token, "quarterturn", PIN)
    return Kept(maker, lambda: Pkcs11(PIN), lambda: Pkcs11("test-9999"), (PIN.encode(),))


def in_process(_words: object, question: bytes, *_: object) -> tuple[int, bytes]:
    """Answer as a token's process does, without one; `test_pkcs11.py` starts it."""
    return 0, json.dumps(pkcs11_process.answered(json.loads(question))).encode()


def custodians(request: pytest.FixtureRequest) -> Kept:
    post = request.getfixturevalue("post")

    def brought(*names: str) -> Custodians:
        return Custodians([post.share(name) for name in names])

    return Kept(post.split(), lambda: brought("ada", "cyd"), lambda: brought("bob"), ())


def command(request: pytest.FixtureRequest) -> Kept:
    kms = request.getfixturevalue("kms")
    key = request.getfixturevalue("tmp_path") / "kms.key"

    def refusing() -> Command:
        key.write_bytes(b"test-another-key-of-the-service.")
        return Command()

    return Kept(NewCommand(kms), Command, refusing, ())
