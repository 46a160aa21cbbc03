"""Tests of references to container images: one form, hostile forms, and whose names a pattern permits."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import quote

import pytest
from docker.auth import resolve_repository_name
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox.errors import Malformed
from sandbox.image_reference import MAX_NAME, PATTERN, ImagePattern, ImageReference, require_apart

DIGEST = "sha256:" + "a" * 64
HOSTILE = [
    "mallory/../ada/x:1", "mallory//../ada/x", "mallory/./x", "mallory/x/..", "/mallory/x", "mallory/x/", "mallory//x",
    "mallory\\..\\ada", "mallory/%2e%2e/ada/x", "mallory/x\n", "\nmallory/x", "mallory/x:1\n", "mallory/x\0",
    " mallory/x", "mallory/x y", "--privileged", "-v/:/host", "Mallory/x", "mallory/X", "mallory/\u0445",
    "mallory/x:\u0661", "mallory/\u202ex", "mallory/x?y=1", "mallory/x#y", "https://docker.io/mallory/x",
    "u:p@docker.io/mallory/x", "docker.io//ada/x", "", ":", "@", f"mallory/x@{DIGEST[:-1]}", f"mallory/x@{DIGEST}\n",
    f"mallory/x@{DIGEST.upper()}", f"mallory/x@{DIGEST}@{DIGEST}", "mallory/x@md5:" + "a" * 32, "mallory/x:",
    "mallory/x:-1", "mallory/x:" + "1" * 129, "mallory/x:1:2", "mallory/a..b", "mallory/.x", "mallory/x-", "a" * 256,
    "mallory/a___b", "x/" + "a" * 1_000_000, "a" * 64, "[::1]:5000/mallory/x", "registry.example:/x", "{account}/x",
    "registry.example:65535a/x", "-r.example/x", "../ada/x",
]  # fmt: skip
PIECES = [
    "ada", "mallory", "x", "..", ".", "/", "//", "\\", "%2e", ":", "1", "@", DIGEST, "\n", "\0", "\u0430", "\uff11",
    "_", "-", "docker.io", "index.docker.io", "localhost", ":5000", "library", "A", " ", "{account}", "mallory/",
    "mallory/../",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=40)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_engines_could_read_in_two_ways_is_no_reference(text):
    with pytest.raises(Malformed, match="is not the name of an image") as refused:
        ImageReference.parse(text)
    assert len(str(refused.value)) < 600
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("x", "docker.io/library/x:latest"),
        ("ada/x", "docker.io/ada/x:latest"),
        ("ada/x:1", "docker.io/ada/x:1"),
        ("docker.io/ada/x:1", "docker.io/ada/x:1"),
        ("index.docker.io/ada/x:1", "docker.io/ada/x:1"),
        ("docker.io/x", "docker.io/library/x:latest"),
        ("localhost/x", "localhost/x:latest"),
        ("localhost:5000/ada/x", "localhost:5000/ada/x:latest"),
        ("Registry.Example/ada/x", "Registry.Example/ada/x:latest"),
        ("registry.example:5000", "docker.io/library/registry.example:5000"),
        (f"ada/x@{DIGEST}", f"docker.io/ada/x@{DIGEST}"),
        (f"ada/x:1@{DIGEST}", f"docker.io/ada/x:1@{DIGEST}"),
        (DIGEST, DIGEST),
        ("sha256:short", "docker.io/library/sha256:short"),
        ("a_b/c__d/e.f/g---h", "docker.io/a_b/c__d/e.f/g---h:latest"),
    ],
)
def test_a_reference_has_one_form(text, whole):
    assert str(ImageReference.parse(text)) == whole


@given(texts)
@example("docker.io/library/" + "a" * 64)
def test_whatever_is_read_is_read_again_as_the_same_and_as_dockers_client_does(text):
    try:
        reference = ImageReference.parse(text)
    except Malformed:
        return
    assert ImageReference.parse(str(reference)) == reference
    path = f"/{reference}"
    assert posixpath.normpath(path) == path == quote(path, safe="/:@"), "a client of URLs has nothing to normalize"
    if reference.name:
        assert resolve_repository_name(reference.name) == (reference.registry, "/".join(reference.repository))


@given(texts, st.sampled_from(["mallory", "library", "localhost", "-", "ada", "a" * 40]))
def test_an_account_names_nothing_outside_of_its_components(text, account):
    patterns = [ImagePattern.parse(pattern) for pattern in ("{account}/", "registry.example/agents/{account}/")]
    try:
        reference = ImageReference.parse(text)
    except Malformed:
        return
    if any(pattern.permits(reference, account) for pattern in patterns):
        assert account != "library", "images of one component are everybody's"
        assert str(reference).startswith((f"docker.io/{account}/", f"registry.example/agents/{account}/"))


@pytest.mark.parametrize(
    ("pattern", "permitted", "refused"),
    [
        ("{account}/", ["ada/x", "docker.io/ada/x:1", "ada/x/y"], ["ada", "adam/x", "x/ada/y", "r.example/ada/x"]),
        ("r.example/{account}/", ["r.example/ada/x"], ["ada/x", "r.example/x", "r.example:1/ada/x"]),
        ("r.example/", ["r.example/x", "r.example/bob/x"], ["x", "other.example/x"]),
        ("index.docker.io/agents/", ["agents/x", "docker.io/agents/x"], ["agents", "agents2/x"]),
        ("docker.io/", ["x", "bob/x"], ["registry.example/x"]),
        ("", ["x", "bob/x", "registry.example/x"], []),
    ],
)  # fmt: skip
def test_a_pattern_is_compared_component_by_component(pattern, permitted, refused):
    read = ImagePattern.parse(pattern)
    assert [name for name in permitted + refused if read.permits(ImageReference.parse(name), "ada")] == permitted


def test_an_account_called_as_a_registry_or_as_the_library_has_no_more_than_others():
    mine = ImagePattern.parse("{account}/")
    assert not mine.permits(ImageReference.parse("localhost/x"), "localhost")
    assert not mine.permits(ImageReference.parse("quarterturn-world"), "library")
    assert ImagePattern.parse("library/").permits(ImageReference.parse("python:3"), "ada"), "where it is said"


@pytest.mark.parametrize(
    "text",
    ["{account}", "ada", "/", "../", "{account}//", "{account}/../", "{user}/", "{account}.example/", "x{account}/",
     "Agents/", "{account}:", "{account}/\n", " {account}/", "https://registry.example/", "a" * 256 + "/"],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(text):
    with pytest.raises(Malformed, match=r"names no images: .*; write a registry"):
        ImagePattern.parse(text)


@pytest.mark.parametrize(
    ("patterns", "apart"),
    [
        (["{account}/", "registry.example/{account}/"], True),
        (["{account}/", "{account}/agents/"], True),
        (["{account}/", "agents/"], True),
        (["a/{account}/", "b/{account}/"], True),
        (["{account}/", "agents/{account}/"], False),
        (["registry.example/x/{account}/", "registry.example/{account}/y/"], False),
    ],
)
def test_two_accounts_never_share_a_name_by_two_patterns(patterns, apart):
    read = [ImagePattern.parse(pattern) for pattern in patterns]
    if apart:
        require_apart(read)
    else:
        with pytest.raises(Malformed, match="overlap"):
            require_apart(read)


def test_a_pattern_is_shown_as_names_begin():
    texts = ("", "{account}/", "docker.io/", "r.example/{account}/")
    assert [ImagePattern.parse(text).prefix("ada") for text in texts] == ["", "ada/", "docker.io/", "r.example/ada/"]


@given(st.from_regex(PATTERN, fullmatch=True).filter(lambda text: len(text) <= MAX_NAME))
def test_what_the_schema_permits_is_read(text):
    if not re.fullmatch("[0-9a-f]{64}", text):  # no schema can say so without looking ahead
        ImageReference.parse(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_schema_permits_a_hostile_form(text):
    assert len(text) > MAX_NAME or text == "a" * 64 or not re.fullmatch(PATTERN, text)
