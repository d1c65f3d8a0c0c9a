"""A real browser, and reports for it to open."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

import dissensus as ds
from report.report_studies import Opened, demo_study, nasty_study

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
INSTALL = "apt-get update -q && apt-get install -y -q --no-install-recommends chromium"
PATIENCE = 60_000
"""Milliseconds; a busy machine draws slowly."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def found_chromium() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def install_chromium(lock: Path) -> str | None:
    """Install the browser unless another worker has just done so: one at a time may."""
    import fcntl

    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if found_chromium() is None:
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(["sh", "-c", INSTALL], check=False, env=environment)
    return found_chromium()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Find the browser, or install it where that is allowed; without it CI fails and everybody else is told."""
    path = found_chromium()
    if path is None and shutil.which("apt-get") and os.geteuid() == 0:
        # Workers have folders of their own, side by side.
        path = install_chromium(tmp_path_factory.getbasetemp().parent / "chromium.lock")
    if path is not None:
        return path
    message = f"NO BROWSER: the report is not tested. Install chromium: {INSTALL}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()


def opened(context: BrowserContext, address: str, *, drawn: bool) -> Opened:
    """Open a page as soon as the explorer works, or, if wanted, when all figures are drawn."""
    found = Opened(context.new_page())
    found.page.set_default_timeout(PATIENCE)
    found.page.goto(address)
    if drawn:
        found.page.wait_for_selector("html[data-ready]", state="attached")
    return found


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Opened]]:
    """Open files in pages of their own, where nothing but files may be fetched and everything wrong is noted."""
    contexts: list[BrowserContext] = []

    def open_page(path: Path, *, fragment: str = "", drawn: bool = False, **settings: object) -> Opened:
        contexts.append(browser.new_context(**{"reduced_motion": "reduce", **settings}))  # type: ignore[arg-type]
        return opened(contexts[-1], path.as_uri() + fragment, drawn=drawn)

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a study with everything: models, categories, strata, images, two aggregations."""
    directory = tmp_path_factory.mktemp("report")
    path = directory / "report.html"
    ds.write_report(demo_study(directory), path)
    return path


@pytest.fixture(scope="session")
def nasty_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a study whose names are markup, formulas and scripts."""
    path = tmp_path_factory.mktemp("nasty") / "report.html"
    ds.write_report(nasty_study(), path, title="<script>alert(1)</script>")
    return path


def drawn_once(browser: Browser, path: Path) -> Iterator[Opened]:
    context = browser.new_context(reduced_motion="reduce")
    yield opened(context, path.as_uri(), drawn=True)
    context.close()


@pytest.fixture(scope="session")
def shared(browser: Browser, report: Path) -> Iterator[Opened]:
    """The report, opened once and drawn: loading takes longer than most tests."""
    yield from drawn_once(browser, report)


@pytest.fixture(scope="session")
def nasty(browser: Browser, nasty_report: Path) -> Iterator[Opened]:
    """The report with the names that are no names, opened once and drawn."""
    yield from drawn_once(browser, nasty_report)


@pytest.fixture
def page(shared: Opened) -> Page:
    """The report as if it had just been opened: no case chosen, nothing filtered."""
    shared.page.emulate_media(media="screen")
    shared.page.evaluate("location.hash = '#cases'")
    shared.page.get_by_role("button", name="Reset", exact=True).click()
    expect(shared.page.locator("#case")).to_be_hidden()
    expect(shared.page.locator("#page-of")).to_have_text("Page 1 of 5")
    return shared.page
