"""Two selections on one page, and in the explorer repeats and seconds that are no latency."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from explorer_page import write_page
from explorer_runs import Answers, Asked, Said, explorer_of, record, score
from paired_runs import ScoredRun, write_run

from harness.core.records import Failure
from harness.report import load_chapters, write_report
from harness.report.chapter import Chapter
from harness.statistics.prices import load_prices
from harness.store import RunDir

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

OpenFile = Callable[..., "Page"]


def without_sections(runs: Sequence[RunDir]) -> list[Chapter]:
    """Their figures take most of the time."""
    return [replace(one, specs=()) for one in load_chapters(runs, load_prices())]


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
def test_a_failed_repeat_is_shown_beside_the_score_of_the_others(
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


@pytest.mark.parametrize(
    ("is_retrieval_first", "naive", "kg", "opens_on"),
    [
        (True, {"missing": 10}, {"missing": 9}, "multihop_rag"),
        (True, {"missing": 11}, {}, "multihop_rag, without a generator"),
        (False, {"missing": 10}, {"failing": 1, "missing": 9}, "multihop_rag, without a generator"),
    ],
)
def test_a_page_of_two_steps_opens_on_answers_if_all_systems_answered_ten_queries(
    tmp_path: Path,
    open_file: OpenFile,
    make_run: Callable[..., RunDir],
    is_retrieval_first: bool,
    naive: dict[str, int],
    kg: dict[str, int],
    opens_on: str,
) -> None:
    whole: dict[str, Any] = {"sessions": (), "evaluated": False}
    retrieved = [make_run(system=system, generator={"provider": "none"}, **whole) for system in ("naive", "kg")]
    asked = [
        make_run(system="naive", **whole, **naive),
        make_run(system="kg", **whole, **kg),
        make_run(system="gold", **whole, baseline="the gold evidence", missing=20),
    ]
    runs = [*retrieved, *asked] if is_retrieval_first else [*asked, *retrieved]
    page = open_file(write_report(without_sections(runs), tmp_path / "out"))
    assert page.get_by_role("tab", selected=True).all_inner_texts() == [opens_on]
    (shown,) = [one for one in page.locator("article").all() if one.is_visible()]
    assert shown.get_attribute("data-tab") == opens_on
    other = next(one for one in page.get_by_role("tab").all() if one.inner_text() != opens_on)
    other.click()
    assert page.get_by_role("tab", selected=True).all_inner_texts() == [other.inner_text()]


def test_the_button_shows_questions_that_any_system_failed(tmp_path: Path, open_file: OpenFile) -> None:
    """Also one that the recommended system got right; baselines do not count."""
    scores = {"naive": [1.0] * 9 + [0.0] * 3, "kg": [1.0] * 12, "closed-book": [0.0] * 12}
    runs = [
        write_run(
            tmp_path,
            ScoredRun(system=name, scores={"accuracy": own}, baseline="no documents" if "-" in name else ""),
        )
        for name, own in scores.items()
    ]
    page = open_file(write_report(without_sections(runs), tmp_path / "out"))
    page.wait_for_selector("[data-ready]", state="attached")
    page.locator("a.button").first.click()
    page.wait_for_function("document.querySelector('.ex-count').textContent.includes(' of ')")
    assert page.locator(".ex-count").text_content() == "3 of 12 queries"
    chosen = [page.locator(f".ex-field-{side} select").input_value() for side in ("a", "b")]
    assert chosen[0] != chosen[1]
