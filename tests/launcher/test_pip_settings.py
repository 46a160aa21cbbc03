"""Tests that pip's settings, and nothing else, reach uv."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quarterturn.launcher.pip_settings import DEFAULT_INDEX, PipSettings, for_node, for_uv, read
from quarterturn.launcher.steps import Stop

UV = Path(sys.prefix) / "uv" / "bin" / "uv"


def settings_of(tmp_path: Path, text: str, **variables: str) -> PipSettings:
    (tmp_path / "pip.conf").write_text(text)
    named = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path)}
    return read({**named, **variables})


def install(tmp_path: Path, requirement: str = "paperclip", **variables: str) -> subprocess.CompletedProcess[str]:
    """Install with uv in the environment that the launcher derives from pip's settings."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull, **variables}
    settings = read(environ)
    closed = ["--no-index"] if settings.index is None else []
    target = ["--python", sys.executable, "--target", str(tmp_path / "site"), "--no-cache"]
    return subprocess.run(
        [UV, "pip", "install", *target, *closed, requirement],
        env=environ | for_uv(settings, environ) | {"UV_HTTP_RETRIES": "0"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


def installed(tmp_path: Path) -> bool:
    return (tmp_path / "site" / "paperclip.py").is_file()


def test_a_variable_is_over_install_which_is_over_global_and_a_quiet_pip_speaks(tmp_path: Path) -> None:
    text = "[install]\nindex-url = http://b.test/simple\n[global]\nindex_url = http://a.test/simple\ntimeout = 7\n"
    settings = settings_of(tmp_path, f"{text}quiet = 1\n", PIP_PROXY="http://d.test:3128")
    assert (settings.index, settings.timeout, settings.proxy) == ("http://b.test/simple", "7", "http://d.test:3128")
    assert settings_of(tmp_path, text, PIP_INDEX_URL="http://c.test/simple").index == "http://c.test/simple"


def test_folders_that_are_not_there_are_passed_over_with_a_word(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    text = f"[global]\nfind-links = /nowhere/wheels {tmp_path}/wheels\nextra-index-url =\n    file:///nowhere/simple\n"
    settings = settings_of(tmp_path, text)
    assert settings.find_links == ((tmp_path / "wheels").as_uri(),)
    assert settings.extra_indexes == ()
    assert [note.rpartition(" ")[0].count("nowhere") for note in settings.notes] == [1, 1]


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Stop, match=r"(?s)pip\.conf.*\nMend the file that it names") as stop:
        settings_of(tmp_path, "index-url = http://a.test/simple\n")
    assert stop.value.code == 2


def test_an_index_with_a_password_does_not_show_it() -> None:
    assert "hunter2" not in repr(PipSettings(index="http://me:hunter2@a.test/simple"))


def test_every_setting_has_its_variable() -> None:
    settings = PipSettings(
        index="http://a.test/simple",
        extra_indexes=("http://b.test/simple", "file:///c"),
        find_links=("file:///d", "file:///e"),
        trusted_hosts=("f.test", "g.test:8443"),
        cert="/h.crt",
        client_cert="/i.pem",
        proxy="http://j.test:3128",
        timeout="30.5",
    )
    assert for_uv(settings, {}) == {
        "UV_DEFAULT_INDEX": "http://a.test/simple",
        "UV_INDEX": "http://b.test/simple file:///c",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "file:///d,file:///e",
        "UV_INSECURE_HOST": "f.test g.test:8443",
        "SSL_CERT_FILE": "/h.crt",
        "SSL_CLIENT_CERT": "/i.pem",
        "HTTP_PROXY": "http://j.test:3128",
        "HTTPS_PROXY": "http://j.test:3128",
        "UV_HTTP_TIMEOUT": "30",
    }
    assert for_node(settings, {})["NODE_EXTRA_CA_CERTS"] == "/h.crt"


def test_uvs_own_settings_win() -> None:
    settings = PipSettings(index="http://a.test/simple", proxy="http://b.test:3128")
    own = {"UV_DEFAULT_INDEX": "http://mine.test/simple", "https_proxy": "http://mine.test:1", "SSL_CERT_FILE": "/mine"}
    assert for_uv(settings, own) == {"HTTP_PROXY": "http://b.test:3128"}


def test_uv_installs_from_the_index_that_only_pip_was_told_of(tmp_path: Path, index: Any) -> None:
    done = install(tmp_path, PIP_INDEX_URL=index.url)
    assert installed(tmp_path), done.stderr


def test_uv_takes_from_an_extra_index_what_the_first_does_not_have(tmp_path: Path, index: Any, secured: Any) -> None:
    empty = index.url.replace("/simple", "/nothing")
    done = install(tmp_path, PIP_INDEX_URL=empty, PIP_EXTRA_INDEX_URL=index.url)
    assert installed(tmp_path), done.stderr


def test_uv_takes_a_file_from_a_folder_with_no_index_at_all(tmp_path: Path, index: Any) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / "paperclip-1.0-py3-none-any.whl").write_bytes(index.wheel)
    done = install(tmp_path, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(folder))
    assert installed(tmp_path), done.stderr
    assert not index.asked


def test_uv_trusts_the_certificate_that_pip_was_given(tmp_path: Path, secured: Any) -> None:
    assert not installed(tmp_path)
    assert "ertificate" in install(tmp_path, PIP_INDEX_URL=secured.index.url).stderr
    done = install(tmp_path, PIP_INDEX_URL=secured.index.url, PIP_CERT=str(secured.certificate))
    assert installed(tmp_path), done.stderr


def test_uv_trusts_the_host_that_pip_was_told_to_trust(tmp_path: Path, secured: Any) -> None:
    done = install(tmp_path, PIP_INDEX_URL=secured.index.url, PIP_TRUSTED_HOST="127.0.0.1")
    assert installed(tmp_path), done.stderr


def test_uv_goes_through_pips_proxy(tmp_path: Path, index: Any) -> None:
    proxy = index.url.removesuffix("/simple")
    done = install(tmp_path, PIP_INDEX_URL="http://index.test/simple", PIP_PROXY=proxy)
    assert installed(tmp_path), done.stderr
    assert index.asked[0].startswith("http://index.test/simple/paperclip/")


def test_the_default_index_is_the_one_that_pip_has() -> None:
    assert read({"PIP_CONFIG_FILE": os.devnull}).index == DEFAULT_INDEX
    assert DEFAULT_INDEX.startswith("https://")
    assert DEFAULT_INDEX.endswith("/simple")
