"""`rag-harness try` in a real browser: documents are dropped, two systems answer, a vote is read by `compare`."""

import http.client
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from chromium import Seen, wait_until
from command_line import CommandLine, CommandLineHere
from labelled_runs import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

ANSWER = "Ada Kline runs the tide mill."
QUESTION = "Who is in charge of the mill?"
MILL = f"The tide mill stands at the harbour. Ada Kline runs the tide mill since 2019. {HOSTILE}"
FAKE = (
    *("--set", "models.generator.provider=fake", "--set", f"models.generator.options.reply={ANSWER}"),
    *("--set", "models.embedder.provider=fake", "--judge", "fake"),
)


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})


@pytest.fixture
def serving(cli: CommandLine) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    """The command and the address that it printed."""
    process = cli.begin("try", "--quiet", *FAKE, stdout=subprocess.PIPE)
    assert process.stdout
    yield process, process.stdout.readline().split()[-1]
    process.terminate()
    process.communicate()


def drop(page: "Page", name: str, text: str, *, zeros: int = 0) -> None:
    """A file with this text, and so many bytes behind it."""
    made = page.evaluate_handle(
        """([name, text, zeros]) => {
            const all = new DataTransfer();
            all.items.add(new File([text, new Uint8Array(zeros)], name));
            return all;
        }""",
        [name, text, zeros],
    )
    page.dispatch_event("#drop", "drop", {"dataTransfer": made})


def add_documents(page: "Page") -> None:
    """Two documents, and two files that are refused."""
    page.wait_for_selector("body[data-phase=documents]")
    drop(page, "..\\mill<script>window.ran=3<.txt", MILL)
    wait_until(page, "document.querySelectorAll('#names li').length === 1")
    drop(page, "harbour.md", "# The harbour\n\nThe wall was built in 1911 by the town.")
    wait_until(page, "document.querySelectorAll('#names li').length === 2")
    drop(page, "large.txt", "", zeros=200_000_000)
    wait_until(page, "document.getElementById('error').innerText.includes('large.txt has more than 20 MB')")
    drop(page, "virus.exe", "x")
    wait_until(page, "document.getElementById('error').innerText.includes('is not read')")
    page.get_by_role("button", name="Index them").click()
    page.wait_for_selector("body[data-phase=ready]", timeout=120_000)


def test_documents_are_dropped_two_systems_answer_and_the_vote_is_read_by_compare(
    chromium_browser: "Browser",
    cli: CommandLine,
    serving: "tuple[subprocess.Popen[str], str]",
) -> None:
    process, url = serving
    seen, context = Seen(), chromium_browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    seen.watch(page)
    page.goto(url)
    add_documents(page)
    page.get_by_label("Question").fill(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-answers='2']", timeout=60_000)
    assert page.locator(".answer").all_inner_texts() == [ANSWER, ANSWER]
    assert "Ada Kline runs the tide mill since 2019." in page.locator("mark").all_inner_texts()
    assert page.locator(".judged").count() == 2
    assert "tokens" in page.locator("article").first.inner_text()
    assert page.locator("h3").all_inner_texts() == ["A", "B"], "nobody is named before the vote"
    assert HOSTILE in page.locator("#answers").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    other = context.new_page()
    other.goto(url)
    other.wait_for_selector("body[data-phase=ready]")
    other.get_by_label("Question").fill("What stands at the harbour?")
    other.get_by_role("button", name="Ask both").click()
    other.wait_for_selector("body[data-answers='2']", timeout=60_000)
    assert page.locator("#asked").inner_text() == QUESTION
    page.keyboard.press("a")
    page.wait_for_selector("article.chosen[data-letter=A]")
    named = page.locator("h3").all_inner_texts()
    assert sorted(name[3:] for name in named) == ["kg", "naive"]
    wait_until(page, "document.querySelector('#tally code') !== null")
    command = page.locator("#tally code").inner_text()
    assert not page.evaluate("window.ran")
    seen.check_served(urlsplit(url).port, refuses=True)
    _refuses_strangers(url)
    page.get_by_role("button", name="Done").click()
    assert process.wait(30) == 0
    context.close()
    printed = cli.call(*command.split()[1:])
    assert printed.returncode == 0, printed.stderr
    assert f"{named[0][3:]} preferred 1 of 1" in printed.stdout or f"{named[0][3:]} 1, tie 0" in printed.stdout
    assert [path.name for path in cli.folder.iterdir() if path.name not in {"results", "cache"}] == []


def _refuses_strangers(url: str) -> None:
    """Another origin, a name that resolves to this machine, a missing token: 403; a file of 200 MB: 413."""
    port, token = urlsplit(url).port, parse_qs(urlsplit(url).query)["token"][0]
    ours = {"X-Page-Token": token, "Content-Type": "application/json", "Host": f"127.0.0.1:{port}"}
    cases = [
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": f"evil.example:{port}"}, 403),
        ({"X-Page-Token": ""}, 403),
        ({"Content-Length": "200000000"}, 413),
    ]
    for other, status in cases:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("POST", "/document", json.dumps({"name": "a.txt", "content": ""}), {**ours, **other})
        assert connection.getresponse().status == status, other
        connection.close()
