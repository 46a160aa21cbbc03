"""Tests of the grammar of Python locks: what uv writes comes through unchanged, and nothing else does."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterturn.errors import Malformed
from quarterturn.servers.python_lock import constraints, parse, text_of

ROOT = Path(__file__).parents[3]
HASH = f"--hash=sha256:{'0a' * 32}"
PIN = f"x==1.0 {HASH}"
WRITTEN = re.compile(
    r"[a-z0-9-]+(\[[a-z0-9,-]+\])?==[a-z0-9.!+]+( ; [a-z_0-9.'\"<>=!~() +-]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n",
    re.IGNORECASE,
)
"""What a client is given, written independently of the parser: no option, address, path or variable fits it."""


@pytest.mark.parametrize(
    "lock", [*sorted(ROOT.glob("*/servers/*/requirements.txt")), ROOT / "requirements" / "tests.txt"], ids=str
)
def test_locks_that_uv_wrote_come_through(lock):
    requirements = parse(lock.read_text(), "the lock")
    assert text_of(requirements).split() == lock.read_text().split()
    assert parse(text_of(requirements), "it") == requirements


def test_comments_continuations_extras_and_markers_are_read():
    text = (
        "# by uv\r\nMy_Pkg[b, A_c]==1.0 ; python_version < '3.13' and "
        "(sys_platform == 'linux' or os_name != 'nt') \\\r\n"
        f"    {HASH} \\\r\n    {HASH}\r\n    # via other -r x.txt\r\n\r\ny==2 {HASH}  # via x"
    )
    mine, other = parse(text, "the lock")
    assert (mine.name, mine.version, mine.extras, len(mine.digests)) == ("my-pkg", "1.0", ("a-c", "b"), 2)
    assert mine.marker == "python_version < '3.13' and (sys_platform == 'linux' or os_name != 'nt')"
    assert (other.name, other.marker) == ("y", "")


OPTIONS = [
    "--no-binary x", "--index-url https://192.0.2.1/simple", "--find-links /tmp", "--pre", "-r other.txt",
    "-c other.txt", "-e .", "-i https://192.0.2.1", f"{PIN} --no-binary :all:", f"{PIN} --config-settings=a=b",
    f"{PIN} \\", f"{PIN}\x0c-r other.txt", f"{PIN}\u2028-r other.txt", f"x\x0b-r other.txt=={HASH}",
]  # fmt: skip
UNHASHED = ["x==1.0", "x==1.0 --hash=md5:0", "x==1.0 --hash=sha256:0", f"x==1.0 --hash=sha256:{'G' * 64}"]
UNPINNED = [
    "x @ file:///tmp/x.tar.gz", "x@https://192.0.2.1/x.whl", "https://192.0.2.1/x.whl", "./x.whl", "/tmp/x.tar.gz",
    "x.tar.gz", "git+https://192.0.2.1/x", "${HOME}==1.0", "x==${HOME}", "x==1.0 ; ${HOME} == ''", "x==1.*", "x===1.0",
    "x>=1.0", "x", "x==1.0,==1.0", "x==one", "x==1.0 --global-option=a", "-x==1.0", "x[--pre]==1.0",
    "х==1.0",  # noqa: RUF001 - a letter that looks like x
]  # fmt: skip
MARKERS = [
    "extra == 'a'", "platform_release == 'a'", "os_name", "os_name == 'a' or", r"os_name == 'a\b'",
    f"{'(' * 5000}os_name == 'a'{')' * 5000}", "os_name == 'a' ; -r b", "os_name == ' -r b'", "os_name == 'a --pre '",
]  # fmt: skip
HASHED = [f"{text} {HASH}" for text in (*UNPINNED, *(f"x==1.0 ; {marker}" for marker in MARKERS))]


@pytest.mark.parametrize("line", [*OPTIONS, *UNHASHED, *HASHED])
def test_a_line_that_is_no_pinned_requirement_is_refused_with_its_number(line):
    with pytest.raises(Malformed, match=r"^source/requirements\.txt, line 3 ") as caught:
        parse(f"# a comment\n{PIN}\n{line}", "source/requirements.txt")
    assert "\n" not in str(caught.value)


def test_a_line_of_many_hashes_costs_no_more_than_its_length():
    with pytest.raises(Malformed, match="line 1 "):  # 20,000 took minutes, when one pattern read the whole line
        parse(f"x==1.0 ; os_name{f' {HASH}' * 20_000} x", "it")


WORDS = ["\\\n", HASH, *["x", "==", "1.0", ";", "os_name", "'a'", "#", "-r", "--pre", "@", "${A}", "[a]"], *" \n\t\r"]


@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=4), max_size=24).map("".join))
def test_whatever_is_read_is_written_as_pinned_requirements_and_nothing_else(text):
    try:
        requirements = parse(text, "it")
    except Malformed:
        return
    written = text_of(requirements)
    assert re.fullmatch(f"(?:{WRITTEN.pattern})*", written, re.IGNORECASE)
    assert parse(written, "it") == requirements


def test_constraints_are_names_with_versions():
    assert constraints("mcp < 2 # old\n\nA_b>=1,!=1.5.* ; python_version >= '3.11'\n", "it") == (
        "mcp<2\na-b!=1.5.*,>=1 ; python_version >= '3.11'\n"
    )
    hostile = ("-r x", "mcp", "mcp @ file:///x", "mcp<2 --pre", "${A}<2", "mcp<2 ; extra == 'a'", "https://192.0.2.1/x")
    for line in hostile:
        with pytest.raises(Malformed, match=r"^constraints\.txt, line 1 "):
            constraints(line, "constraints.txt")
