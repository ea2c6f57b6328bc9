"""Drives this machine's Chromium with Playwright. A page must not raise errors or request anything."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

    from harness.extensions.web.pages import LocalPage

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "chromium"
UNTESTED = "could not test report.html in a browser"
_ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Seen:
    """Events of a page that a file on disk should not cause."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Record everything from now on."""
        page.on("console", lambda message: self.errors.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", self._refuse)

    def _refuse(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def check(self, opened: set[str]) -> None:
        """Only the opened files were requested, and nothing failed."""
        assert self.errors == []
        assert self.dialogs == []
        assert [url for url in self.requests if url not in opened and not url.startswith("blob:null/")] == []

    def check_served(self, port: int | None, *, refuses: bool) -> None:
        """Only that server was asked for anything, and nothing failed but what it refused."""
        assert [error for error in self.errors if not refuses or "400 (Bad Request)" not in error] == []
        assert self.dialogs == []
        assert [one for one in self.requests if not one.startswith((f"http://127.0.0.1:{port}/", "data:"))] == []


def executable() -> str:
    """Path of Chromium; empty if there is none."""
    told = subprocess.run([SCRIPT, "path"], capture_output=True, text=True, check=False, timeout=30)
    return told.stdout.strip() if told.returncode == 0 else ""


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    """One browser for the tests of a file, no longer: while Playwright runs, nothing else in this process can
    start an event loop. Without Chromium the tests are skipped, or fail if CI=true.
    """
    found = executable()
    if not found:
        why = f"{UNTESTED}: no Chromium (scripts/chromium install)"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    arguments = [*_ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def open_file(chromium_browser: Browser) -> Iterator[Callable[..., Page]]:
    """open_file(path, **context options) -> page; at the end no page may have raised errors or sent requests."""
    seen, opened, contexts = Seen(), set(), []

    def opening(path: Path, **options: object) -> Page:
        context = chromium_browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        seen.watch(page)
        opened.add(path.as_uri())
        page.goto(path.as_uri())
        return page

    yield opening
    for context in contexts:
        context.close()
    seen.check(opened)


@contextmanager
def served(browser: Browser, content: LocalPage, *, refuses: bool = False) -> Iterator[Page]:
    """A page of ours on a phone; in the end it asked nobody else for anything, ran nothing that it shows, and
    complained of nothing. `refuses`: but that its server refused what it sent.
    """
    from harness.extensions.web.server import PageServer

    context, seen = browser.new_context(viewport={"width": 390, "height": 800}), Seen()
    with PageServer(content) as server:
        serving = threading.Thread(target=server.serve)
        serving.start()
        page = context.new_page()
        seen.watch(page)
        try:
            page.goto(server.url)
            yield page
            assert not page.evaluate("window.ran")
        finally:
            context.close()
            server.shutdown()
            serving.join()
    seen.check_served(server.port, refuses=refuses)


def wait_until(page: Page, true: str) -> None:
    """Wait until that expression is true in the page. `wait_for_function` uses eval, which the page's
    Content-Security-Policy forbids.
    """
    for _ in range(200):
        if page.evaluate(true):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {true}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report at the end that no page was opened, and why."""
    skipped = {str(report.longrepr[2]) for report in terminalreporter.getreports("skipped")}
    for reason in sorted(reason.removeprefix("Skipped: ") for reason in skipped if UNTESTED in reason):
        terminalreporter.write_line(reason, yellow=True)


def unfold(page: Page) -> None:
    """Open all collapsed parts, and wait until the explorers are filled."""
    page.wait_for_selector("[data-ready]", state="attached")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
