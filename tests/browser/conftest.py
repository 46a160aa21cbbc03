"""Fixtures for browser tests: Debian's chromium, and the service on a loopback port over a month that has ended.

Every page that a test opens must reach nothing but this machine, and must leave the browser's console without errors. A
line in `WALKED` adds a page to those that are visited.

The browser's client keeps an event loop running in its thread, so it and its tests have a thread of their own.
"""

from __future__ import annotations

import importlib.resources
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from quarterturn.accounts.roles import ROLES
from quarterturn.app import Application
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store.requests import SubmissionRequest
from rotation.calendar import Month
from rotation.findings.store import NewFinding, ScanRecord
from rotation.generation import shipped_dev_sets
from rotation.month.sets import DEMO
from vault.canonical import canonical

from ..quarterturn.conftest import make, written
from ..quarterturn.http.conftest import NOW, answering, play, turned_from

# Each page, and whose token opens it; `{made}` is a submission of theirs.
WALKED = [
    ("/", None),
    ("/leaderboard/2026-12", None),
    ("/leaderboard/2027-01?sort=calls&agent=a", None),
    ("/agents/ada/agent", None),
    ("/release/Historical-2026-12", None),
    ("/leaf/0", None),
    ("/rotation", None),
    ("/explorer", None),
    ("/docs", None),
    ("/sign-in", None),
    ("/mine", "submitter"),
    ("/submission/{made}", "submitter"),
    ("/findings/details", "reviewer"),
]

CHROMIUM = "/usr/bin/chromium"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP plain.test 127.0.0.1 , MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]
HERE = {"127.0.0.1", "plain.test"}  # the second is this machine under a name that browsers do not trust over http
WAIT = 20_000  # milliseconds: the machine may be busy

TESTS = next(parent for parent in Path(__file__).parents if parent.name == "tests")
THREAD: list[ThreadPoolExecutor] = []  # at most one


def there(do: Callable[..., Any], *what: Any, **how: Any) -> Any:
    """Run a function in the browser's thread."""
    if threading.current_thread().name.startswith("browser"):
        return do(*what, **how)
    if not THREAD:
        THREAD.append(ThreadPoolExecutor(1, "browser"))
    return THREAD[0].submit(do, *what, **how).result()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run the tests of this folder in the browser's thread."""
    if not pyfuncitem.path.is_relative_to(TESTS / "browser"):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    there(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names})
    return True


@dataclass
class Served:
    """A home that is served over HTTP.

    Attributes:
        url: where, without a slash at the end.
        house: the home.
        public: its public folder.
        tokens: a token for each role.
        made: a submission of whoever has the role `submitter`.
    """

    url: str
    house: Application
    public: Path
    tokens: dict[str, str] = field(default_factory=dict, repr=False)
    made: str = ""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a home whose first month has ended, with one run and the sunset cohort released."""
    templates = tmp_path_factory.mktemp("templates")
    (templates / "dev.json").write_bytes(small_dev_set())
    home = make(templates / "live", tasks=5, live=True)
    turned_from(home, templates)
    house = Application(home, None, lambda: NOW)
    play(house, 9)
    month = Month.parse("2027-01")
    found = [NewFinding("leak", name, month, p, p, p) for name, p in (("mallory", 0.001), ("bob", 0.03), ("ada", 0.9))]
    house.benchmark.findings.keep([ScanRecord(month, NOW, 6, 4, None)], found)
    house.home.settings = house.home.settings.model_copy(
        update={"service": ServiceSettings(images=("",), requests_per_minute=100_000)}
    )
    tokens = {role: house.auth.accounts.create(role, role)[0] for role in ROLES}
    house.auth.accounts.create("ada", "submitter")
    house.submissions.store.take("ada", SubmissionRequest("check", image="ada/agent:1"), month=str(month))
    house.submissions.display_names.choose("ada", "agent", "Falcon 7B")
    with closing(house), answering(house) as url:
        served = Served(url, house, house.home.places.public, tokens)
        bearer = {"authorization": f"Bearer {tokens['submitter']}"}
        served.made = httpx2.post(f"{served.url}/submissions", json={"image": "agent:1"}, headers=bearer).json()["id"]
        yield served


def small_dev_set() -> bytes:
    """A dev set of one task a stratum; the real one takes long to draw."""
    tasks = [written(stratum, 99) for stratum in DEMO.per_cohort]
    return canonical({"set": DEMO.name, "version": shipped_dev_sets.version(), "tasks": tasks})


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start Debian's chromium; a test fails where it is missing."""
    assert shutil.which(CHROMIUM), "the tests of the pages need Debian's chromium: ./run test --all installs it"
    playwright = there(sync_playwright().start)
    try:
        browser = there(playwright.chromium.launch, executable_path=CHROMIUM, args=QUIET)
        yield browser
        there(browser.close)
    finally:
        there(playwright.stop)
        THREAD.pop().shutdown()


Open = Callable[..., Page]


@pytest.fixture
def new_tab(browser: Browser) -> Iterator[Open]:
    """Open pages of files, each in a context of its own: `new_tab(java_script_enabled=False, ...)`."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def made(how: dict[str, Any]) -> Page:
        context = browser.new_context(**{"service_workers": "block", **how})
        context.set_default_timeout(WAIT)
        contexts.append(context)
        context.on("request", lambda request: _stays(request.url, wrong))
        context.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        context.on("weberror", lambda error: wrong.append(str(error.error)))
        page = context.new_page()
        page.wrong = wrong  # type: ignore[attr-defined]  # a test that provokes an error takes it out
        return page

    yield lambda **how: there(made, how)
    for context in contexts:
        there(context.close)
    assert not wrong


@pytest.fixture
def new_page(new_tab: Open, site: Served) -> Open:
    """Open pages of the service, each in a context of its own: `new_page(who="submitter", ...)`."""

    def new(who: str | None = None, **how: Any) -> Page:
        page = new_tab(**{"base_url": site.url, **how})
        if who is not None:
            cookie = {"name": "quarterturn", "value": site.tokens[who], "url": site.url}
            there(page.context.add_cookies, [cookie])
        return page

    return new


@pytest.fixture
def page(new_page: Open) -> Page:
    """One page, of 1200 by 900."""
    return new_page(viewport={"width": 1200, "height": 900})


@pytest.fixture
def walked(site: Served) -> list[tuple[str, str | None]]:
    """Return every page's address, and whose token opens it."""
    return [(address.format(made=site.made), who) for address, who in WALKED]


@pytest.fixture(params=WALKED, ids=lambda param: param[0])
def walk(request: pytest.FixtureRequest, site: Served, new_page: Open) -> Open:
    """Open each page in turn, as a user who may."""
    address, who = request.param

    def open_it(**how: Any) -> Page:
        page = new_page(who=who, **how)
        assert page.goto(address.format(made=site.made)).ok
        return page

    return open_it


@pytest.fixture(scope="session")
def barriers() -> Callable[..., list[str]]:
    """Return the serious and critical violations that axe-core finds in a page, by all rules or by those named."""
    source = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")

    def find(page: Page, *rules: str) -> list[str]:
        if not page.evaluate("() => 'axe' in window"):
            page.evaluate(source)
        how = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
        found = page.evaluate("async (how) => (await axe.run(document, how)).violations", how)
        grave = (one for one in found if one["impact"] in {"serious", "critical"})
        return [f"{one['id']}: {node['target']}: {node['html'][:120]}" for one in grave for node in one["nodes"]]

    return find


@pytest.fixture(scope="session")
def drop() -> Callable[[Page, str, Path], None]:
    """Drop a file or a folder onto an element, as a user does with the mouse."""

    def do(page: Page, onto: str, what: Path) -> None:
        page.locator(onto).scroll_into_view_if_needed()
        box = page.locator(onto).bounding_box()
        assert box is not None
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + 5}
        data = {"items": [], "files": [str(what)], "dragOperationsMask": 1}
        hand = page.context.new_cdp_session(page)
        for kind in ("dragEnter", "dragOver", "drop"):
            hand.send("Input.dispatchDragEvent", {"type": kind, "data": data, **at})

    return do


def _stays(url: str, wrong: list[str]) -> None:
    parts = urlsplit(url)
    if parts.scheme in {"http", "https", "ws", "wss"} and parts.hostname not in HERE:
        wrong.append(f"the page asked for {url}")
