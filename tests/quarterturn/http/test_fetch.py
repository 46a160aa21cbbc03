"""Tests of `quarterturn fetch` against a service that is a process of its own, and against services that misbehave."""

import hashlib
import json
import re
import shutil
import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from quarterturn.audit import release_download
from quarterturn.client import releases
from quarterturn.client.releases import ReleaseArchive, ReleaseClient
from vault.file_lock import locked
from vault.ledger.release.archive import archive, archive_digest

from ..guides import ROOT
from ..loopback import Request, serving
from .conftest import turned_from

RELEASE = "Historical-2026-12"
OLD = "Historical-2025-12"
"""The example release, which is what a `FakeService` has."""
EXAMPLE = ROOT / "examples" / "release"
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("quarterturn.client.transport.time.sleep", lambda _: None)


@pytest.fixture
def service(live, templates, request):
    """Return the address of a service with a release, and its public folder."""
    home = turned_from(live, templates)
    url, _ = request.getfixturevalue("at_an_address")
    return url, home / "public"


@pytest.fixture
def in_tmp_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_release_is_fetched_and_audited(service, say, tmp_path):
    url, public = service
    mine, key = tmp_path / "mine", public / "log.vkey"
    said = say("fetch", url, "--to", mine, "--key", key)
    assert said.code == 0, said.out + said.err
    assert said.out.startswith(f"{mine / RELEASE}: fetched, ")
    assert "\n13. " in said.out
    assert archive_digest(mine / RELEASE) == archive_digest(public / "releases" / RELEASE)
    assert names(mine) == [RELEASE]
    said = say("fetch", url, RELEASE, "--to", mine, "--key", key, "--json")
    (result,) = said.data
    assert (said.code, result["fetched"], result["audit"]["ok"]) == (0, False, True)
    assert result["sha256"] == archive_digest(mine / RELEASE)
    assert result["folder"] == str(mine / RELEASE)
    newer = public / "log" / "checkpoint"
    said = say("fetch", url, "--to", mine, "--key", key, "--previous", newer, "--json")
    step = said.data[0]["audit"]["steps"][11]
    assert (said.code, step["state"]) == (0, "proved"), said.out
    assert "is the beginning of the newer one" in step["proved"], "the proof is made from the service's tiles"


def test_without_a_key_the_next_command_is_said(service, say, tmp_path, monkeypatch):
    url, public = service
    monkeypatch.chdir(tmp_path)
    said = say("fetch", url, "--all")
    assert (said.code, Path(RELEASE).is_dir()) == (0, True)
    command, source = said.out.splitlines()[-2:]
    assert command == f"Next: quarterturn audit {RELEASE} --key log.vkey"
    assert "other than this service" in source
    shutil.copy(public / "log.vkey", tmp_path)
    assert say(*command.removeprefix("Next: quarterturn ").split()).code == 0


def test_a_release_that_the_audit_refuses_is_a_no(service, say, tmp_path):
    url, _ = service
    said = say("fetch", url, "--to", tmp_path / "mine", "--key", EXAMPLE / "log.vkey")
    assert said.code == 1
    assert "no: step 2 failed" in said.out
    assert (tmp_path / "mine" / RELEASE).is_dir()


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["Historical-2020-01"], (3, f"the service has no archive of Historical-2020-01; it has {RELEASE}")),
        (["../../etc"], (2, "'../../etc' is no release")),
        ([RELEASE, "--all"], (2, "name releases or give --all, not both")),
        (["--previous", "x"], (2, "give --key, too")),
        (["--key", "nowhere"], (3, "there is no file nowhere")),
        (["--to", "a-file"], (2, "a-file is, or lies in, a file")),
    ],
)
def test_what_cannot_be_fetched_is_one_sentence(service, say, in_tmp_path, words, refusal):
    code, says = refusal
    Path("a-file").touch()
    before = names(in_tmp_path)
    say("fetch", service[0], *words).refuses(code, says)
    assert names(in_tmp_path) == before


@pytest.mark.parametrize("url", ["http://bench.example.org", "ftp://127.0.0.1", "bench.example.org", "https://a:b@c"])
def test_an_address_is_https_or_this_machine(say, url):
    say("fetch", url).refuses(2, "https://NAME")


def test_a_service_without_releases_says_so(at_an_address, say, tmp_path):
    say("fetch", at_an_address[0], "--to", tmp_path / "mine").refuses(3, "no release to download yet")


def test_nobody_answers(say, tmp_path):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        say("fetch", url, "--to", tmp_path / "mine").refuses(6, "does not answer")


def test_another_folder_in_its_place_is_left_alone(service, say, tmp_path):
    url, _ = service
    assert say("fetch", url, "--to", tmp_path).code == 0
    readme = tmp_path / RELEASE / "README.md"
    readme.write_text(readme.read_text() + "\n")
    say("fetch", url, "--to", tmp_path).refuses(8, "holds something other than the service lists; move it away")


def test_two_do_not_fetch_into_one_folder(service, say, tmp_path, monkeypatch):
    monkeypatch.setattr(release_download, "_LOCK_TIMEOUT_SECONDS", 0.0)
    with locked(tmp_path, 0.0, "a test", folder=True):
        say("fetch", service[0], "--to", tmp_path).refuses(6, "the lock for downloading releases")


class FakeService:
    """A service that lists and sends what a test wants, byte by byte; it notes the ranges that were asked for."""

    def __init__(self, data: bytes, mine: Path) -> None:
        self.mine = mine
        self.answers_ranges, self.extra, self.in_pieces = True, b"", False
        self.ranges: list[str | None] = []
        self.offer(OLD, data)

    def offer(self, release: str, data: bytes) -> None:
        self.data, self.listed = data, ReleaseArchive(release, len(data), hashlib.sha256(data).hexdigest())
        self.etag, self.most = f'"{self.listed.sha256}"', len(data)

    def part_of(self, digest: str) -> Path:
        return self.mine / f"{OLD}.tar.{digest[:16]}.part"

    @property
    def part(self) -> Path:
        """The file with what was fetched so far."""
        return self.part_of(self.listed.sha256)

    def keep(self, data: bytes) -> None:
        """Write what an earlier command fetched."""
        self.mine.mkdir()
        self.part.write_bytes(data)

    def listing(self) -> bytes:
        item = {"bytes": self.listed.bytes, "sha256": self.listed.sha256, "url": "http://127.0.0.1:1/elsewhere"}
        return json.dumps({"releases": [{"release": self.listed.release, "archive": item}]}).encode()

    def answer(self, request: Request) -> None:
        if request.path == "/releases":
            body, status, more = self.listing(), 200, {}
        else:
            assert request.path == f"/releases/{self.listed.release}.tar"
            asked = request.headers["range"]
            self.ranges.append(asked)
            start, status, more = 0, 200, {"etag": self.etag}
            if asked and self.answers_ranges and request.headers["if-range"] == self.etag:
                start, status = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]), 206
                more["content-range"] = f"bytes {start}-{len(self.data) - 1}/{len(self.data)}"
            body = self.data[start:] + self.extra
            if self.in_pieces:  # the first one is what is listed, to the byte
                pieces = (self.data[start:], self.extra, b"")
                body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
                more["transfer-encoding"] = "chunked"
        request.send_response(status)
        length = {} if "transfer-encoding" in more else {"content-length": str(len(body))}
        for name, value in (length | more).items():
            request.send_header(name, value)
        request.end_headers()
        with suppress(ConnectionError):  # a client may have had enough
            request.wfile.write(body if request.path == "/releases" else body[: self.most])
        request.close_connection = True


@pytest.fixture
def fake(tmp_path, say):
    """Yield a service whose release is a copy of the example, with a function that fetches it."""
    folder = tmp_path / "source" / OLD
    shutil.copytree(EXAMPLE / OLD, folder)
    made = FakeService(b"".join(archive(folder)), tmp_path / "mine")
    with serving(lambda request: made.answer(request)) as made.url:  # noqa: PLW0108 - a test may set another answer
        made.fetch = lambda *words: say("fetch", made.url, "--to", made.mine, *words)
        yield made


def test_a_download_that_breaks_off_goes_on(fake):
    fake.most = 50_000
    assert fake.fetch().code == 0  # 163,840 bytes in four tries
    assert fake.ranges == [None, "bytes=50000-", "bytes=100000-", "bytes=150000-"]
    assert names(fake.mine) == [OLD]


def test_the_next_command_goes_on_from_the_part_of_the_one_before(fake):
    fake.most = 30_000
    fake.fetch().refuses(6, f"120000 of {len(fake.data)} bytes are kept in {fake.mine}")
    assert names(fake.mine) == [fake.part.name]
    assert fake.part.read_bytes() == fake.data[:120_000]
    fake.most, fake.ranges = len(fake.data), []
    assert fake.fetch().code == 0
    assert fake.ranges == ["bytes=120000-"]
    assert archive_digest(fake.mine / OLD) == fake.listed.sha256
    assert names(fake.mine) == [OLD]


def test_the_part_of_another_archive_is_not_gone_on_with(fake):
    fake.mine.mkdir()
    fake.part_of("0" * 64).write_bytes(b"of another one")
    (fake.mine / "notes.part").write_bytes(b"not ours")
    assert fake.fetch().code == 0
    assert fake.ranges == [None]
    assert names(fake.mine) == [OLD, "notes.part"]


@pytest.mark.parametrize("answers_ranges", [True, False])
def test_a_part_that_does_not_fit_is_fetched_anew(fake, answers_ranges):
    fake.answers_ranges = answers_ranges
    fake.keep(bytes(1000))
    assert fake.fetch().code == 0
    assert fake.ranges == (["bytes=1000-", None] if answers_ranges else ["bytes=1000-"])


@pytest.mark.parametrize("length", [0, 1])
def test_a_part_that_is_whole_or_too_long_needs_no_luck(fake, length):
    fake.keep(fake.data + bytes(length))
    assert fake.fetch().code == 0
    assert fake.ranges == [None] * length


def test_an_archive_that_changed_since_it_was_listed_is_refused(fake):
    other = bytearray(fake.data)
    other[700] ^= 1
    fake.data, fake.etag = bytes(other), '"other"'
    fake.keep(fake.data[:600])
    fake.fetch().refuses(1, f"the service lists {fake.listed.sha256}; nothing was unpacked")
    assert names(fake.mine) == []


def test_the_release_of_another_month_is_refused(fake, tmp_path):
    shutil.copytree(tmp_path / "source" / OLD, tmp_path / "source" / RELEASE)
    fake.offer(RELEASE, b"".join(archive(tmp_path / "source" / RELEASE)))
    for _ in range(2):
        fake.fetch("--key", EXAMPLE / "log.vkey").refuses(1, f"offers as {RELEASE} is the release of another month")
        assert names(fake.mine) == []
    shutil.copytree(tmp_path / "source" / RELEASE, fake.mine / RELEASE)
    assert fake.fetch().code == 1


@pytest.mark.parametrize("manifest", [None, b"", b"[]", b"{", b'{"month":["2025-12"]}'])
def test_a_release_without_a_manifest_is_refused(fake, tmp_path, manifest):
    path = tmp_path / "source" / OLD / "manifest.json"
    if manifest is None:
        path.unlink()
    else:
        path.write_bytes(manifest)
    fake.offer(OLD, b"".join(archive(path.parent)))
    assert fake.fetch().code in (1, 2)
    assert names(fake.mine) == []


@pytest.mark.parametrize("in_pieces", [True, False])
def test_more_bytes_than_are_listed_are_not_written(fake, in_pieces):
    fake.extra, fake.most, fake.in_pieces = b"x" * 10_000_000, 20_000_000, in_pieces
    fake.fetch().refuses(6, f"longer than the {fake.listed.bytes} bytes listed")
    assert names(fake.mine) == []


def test_an_archive_that_is_none_writes_nothing_outside_of_the_folder(fake, tmp_path):
    hostile = fake.data.replace(f"{OLD}/README.md".encode(), f"{OLD}/../../x".encode(), 1)
    fake.offer(OLD, hostile)
    fake.fetch().refuses(2, "a header that no archive of a release has")
    assert names(fake.mine) == [fake.part.name]
    assert names(tmp_path) == ["mine", "source"]


@pytest.mark.parametrize(
    "change",
    [
        {"release": "../../Historical-2025-12"},
        {"release": "Historical-2026-12\n"},
        *({"bytes": odd} for odd in (0, -1, "many", (2 << 30) + 1, 1e3, True)),
        {"sha256": "../" * 21 + "x"},
        {"sha256": None},
    ],
)
def test_a_list_of_another_form_is_refused(fake, change):
    fake.listed = replace(fake.listed, **change)
    says = "archive.bytes must be a valid integer" if change == {"bytes": True} else "another form than is known here"
    fake.fetch().refuses(6, says)
    assert (fake.mine.exists(), fake.ranges) == (False, [])


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((200, b"[" * 100_000), "nested deeper than 64 levels"),
        ((200, b'{"releases": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "holds more than|nested deeper"),
        ((400, b"[" * 100_000), "answers with status 400 and no problem document"),
        ((400, b'{"code": "invalid", "errors": 5}'), "answers with status 400 and no problem document"),
        ((200, b'{"releases": 5}'), r"\$\.releases must be a valid (tuple|array)"),
    ],
    ids=["deep", "deep list", "deep problem", "errors 5", "no list"],
)
def test_nonsense_of_a_service_is_one_sentence(fake, monkeypatch, answer, says):
    monkeypatch.setattr(fake, "answer", lambda request: request.answer(*answer))
    said = fake.fetch()
    assert re.search(says, said.refuses(6, fake.url).sentence)
    assert not fake.mine.exists()


def test_a_full_disk_is_one_sentence_and_keeps_the_part(fake, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(release_download, "unpack", full)
        fake.fetch().refuses(6, f"{fake.mine}: No space left on device; the same command goes on")
    assert fake.fetch().code == 0
    assert len(fake.ranges) == 1


def test_the_client_reports_the_size_and_needs_no_token(fake, tmp_path):
    sizes = []
    with ReleaseClient(fake.url) as client:
        (listed,) = client.releases()
        client.download(listed, tmp_path / "part", sizes.append)
    assert listed == fake.listed
    assert sizes == sorted(sizes)
    assert sizes[-1] == listed.bytes <= releases.MAX_ARCHIVE_BYTES
