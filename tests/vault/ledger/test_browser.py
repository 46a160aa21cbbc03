"""Tests of the page that checks a release: one file, reproducible bytes, and no script but its own may run."""

import base64
import hashlib
import re
import subprocess
import sys

import pytest

from vault.ledger import browser

SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_its_policy_lets_its_own_script_run_and_reach_nothing():
    text = browser.page().decode()
    (script,), (style,) = SCRIPT.findall(text), STYLE.findall(text)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1].split("; ")
    assert policy == [
        "default-src 'none'",
        f"script-src 'sha256-{digest(script)}'",
        f"style-src 'sha256-{digest(style)}'",
        "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert text.index("Content-Security-Policy") < text.index("<style>"), "the policy stands before what it is about"


def test_nothing_in_it_is_of_elsewhere():
    text = browser.page().decode()
    assert not re.search(r"\b(src|href)=|\burl\(|\bimport\b|\bfetch\(|XMLHttpRequest|@[a-z-]+@", text)
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"https://in-toto.io/Statement/v1"}, "a name, not an address"


def test_the_page_is_reproducible_from_the_source():
    made = subprocess.run([sys.executable, "-m", "vault.ledger.browser"], capture_output=True, check=True)
    assert made.stdout == browser.page()


@pytest.mark.parametrize("script", [browser.page(), browser.explorer()])
def test_nothing_is_written_as_markup_or_run_from_text(script):
    assert not re.search(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", script)


def test_explorer_and_page_share_every_part_but_the_last():
    assert all(browser.library() in text.decode() for text in (browser.page(), browser.explorer()))
