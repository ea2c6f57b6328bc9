"""What a reader of the explorer sees of repeats, and of seconds that are no latency."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from explorer_page import write_page
from explorer_runs import Answers, Asked, Said, explorer_of, record, score

from harness.core.records import Failure

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

OpenFile = Callable[..., "Page"]


def opened(folder: Path, open_file: OpenFile, answers: Answers) -> "Page":
    page = open_file(
        write_page(folder / "report.html", [explorer_of(folder / "results", [Asked("q1")], [answers])])
    )
    page.wait_for_selector("[data-ready]")
    return page


@pytest.mark.parametrize(
    ("kind", "n_failed", "letter", "words"),
    [
        ("timeout", 1, "0.8", "right in 80 % of repeats; at least one repeat timed out"),
        ("ValueError", 2, "0.6", "right in 60 % of repeats; at least one repeat failed"),
        ("timeout", 5, "T", "timed out"),
        ("ValueError", 5, "F", "failed"),
    ],
)
def test_a_repeat_without_an_answer_stands_beside_what_the_others_got_right(
    tmp_path: Path, open_file: OpenFile, kind: str, n_failed: int, letter: str, words: str
) -> None:
    failed = Failure(kind=kind, message="no")
    answered = {("q1", n): record("q1", failed if n < n_failed else Said(), n) for n in range(5)}
    scores = [score("q1", "imputed" if n < n_failed else 1.0, repeat=n) for n in range(5)]
    page = opened(tmp_path, open_file, Answers("kg", answered, scores, repeats=5, binary=("accuracy",)))
    chip = page.locator("tr[data-at] .ex-chip").first
    assert chip.text_content() == letter
    assert (chip.get_attribute("title") or "").endswith(words)


def test_vectors_from_the_cache_are_said_to_have_shortened_a_time(tmp_path: Path, open_file: OpenFile) -> None:
    one = record("q1", Said())
    cost = one.cost.model_copy(update={"cached_texts": 3, "replayed_calls": 0})
    page = opened(tmp_path, open_file, Answers("kg", {("q1", 0): one.model_copy(update={"cost": cost})}))
    page.locator("tr[data-at] button").first.click()
    page.wait_for_selector("dialog[open] .ex-column")
    column = page.locator(".ex-column").text_content() or ""
    assert "3 vectors from the cache: these seconds are no latency" in column
    assert "from the journal" not in column
