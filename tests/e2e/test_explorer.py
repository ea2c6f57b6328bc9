"""The explorer in a real browser: what a reader clicks and types, and what a hostile corpus must not do."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from explorer_page import write_page
from explorer_runs import Answers, Asked, Said, explorer_of, record, records, score

from harness.core.records import Context, Evidence, Failure, Step
from harness.display.text_format import NOTHING

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

OpenExplorer = Callable[..., "Page"]
FACT = "The bridge  was closed\nin 2031."


@pytest.fixture
def open_explorer(tmp_path: Path, open_file: "Callable[..., Page]") -> OpenExplorer:
    """open_explorer(queries, runs, **options of build_explorer) -> the page, ready."""

    def opening(asked: list[Asked], runs: list[Answers], **options: Any) -> "Page":
        explorer = explorer_of(tmp_path / "results", asked, runs, **options)
        page = open_file(write_page(tmp_path / "report.html", [explorer]))
        page.wait_for_selector("[data-ready]")
        return page

    return opening


def choose(page: "Page", field: str, label: str) -> None:
    page.locator(f".ex-field-{field} select").select_option(label=label)


def shown(page: "Page") -> list[str]:
    """The ids of the listed queries."""
    return page.locator("tbody tr .ex-id").all_text_contents()


def open_query(page: "Page", at: int = 0) -> None:
    page.locator("tr[data-at] button").nth(at).click()
    page.wait_for_selector("dialog[open] .ex-column")


def verdicts(page: "Page") -> list[list[str]]:
    return [row.locator(".ex-chip").all_text_contents() for row in page.locator("tr[data-at]").all()]


def context(text: str, *docs: str, kind: Any = "passage") -> Context:
    return Context(text=text, doc_ids=docs, kind=kind)


def two_runs(values: dict[str, tuple[Any, Any]], measure: str = "accuracy") -> tuple[list[Asked], list[Answers]]:
    """Query id -> values of the runs `kg` and `naive`."""
    said = records({name: Said() for name in values})
    runs = [
        Answers(system, said, [score(name, both[side], measure) for name, both in values.items()])
        for side, system in enumerate(("kg", "naive"))
    ]
    return [Asked(name) for name in values], runs


BINARY = {
    "both": (1.0, 1.0),
    "kg only": (1.0, 0.0),
    "naive only": (0.0, 1.0),
    "none": (0.0, 0.0),
    "naive failed": (1.0, "failed"),
    "kg n/a": ("not_applicable", 0.0),
    "imputed": ("imputed", 1.0),
}
RELATIONS = {
    "every query": list(BINARY),
    "A right and B wrong": ["kg only"],
    "A wrong and B right": ["naive only", "imputed"],
    "both right": ["both"],
    "both wrong": ["none"],
    "A better than B": ["kg only"],
    "B better than A": ["naive only", "imputed"],
    "they differ": ["kg only", "naive only", "imputed"],
}


def test_filters_show_the_queries_that_match_and_paper_shows_one_line(open_explorer: OpenExplorer) -> None:
    page = open_explorer(*two_runs(BINARY))
    for relation, expected in RELATIONS.items():
        choose(page, "relation", relation)
        assert shown(page) == expected, relation
        count = f"{len(expected)} of 7 queries" if len(expected) < 7 else "7 queries"
        assert page.locator(".ex-count").text_content() == count, relation
    page.emulate_media(media="print")
    assert not page.locator(".explorer").is_visible()
    assert "open this file in a browser" in " ".join((page.locator(".ex-print").text_content() or "").split())


def test_where_lower_is_better_a_zero_is_right(open_explorer: OpenExplorer) -> None:
    page = open_explorer(*two_runs({"made up": (1.0, 0.0), "fine": (0.0, 0.0)}, "hallucination_rate"))
    assert verdicts(page) == [["W", "R"], ["R", "R"]]
    choose(page, "relation", "B better than A")
    assert shown(page) == ["made up"]


def test_a_graded_measure_is_compared_and_never_right_or_wrong(open_explorer: OpenExplorer) -> None:
    values = {"a": (0.2, 0.7), "b": (0.7, 0.2), "c": (0.75, 0.2), "d": (0.5, 0.5)}
    page = open_explorer(*two_runs(values, "token_f1"))
    assert page.locator(".ex-field-relation option:disabled").count() == 5
    choose(page, "relation", "A better than B")
    choose(page, "order", "A ahead of B first")
    assert shown(page) == ["c", "b"]
    assert verdicts(page)[0] == ["0.75", "0.2"]


def test_type_status_and_words_narrow_the_list_together(open_explorer: OpenExplorer) -> None:
    asked = [Asked(f"q{number}", f"Question {number}", "odd" if number % 2 else "even") for number in range(6)]
    said: dict[str, Said | Failure] = {one.query_id: Said(f"Answer of {one.query_id}") for one in asked}
    said |= {"q1": Failure(kind="timeout", message="late"), "q2": Failure(kind="ValueError", message="no JSON")}
    said |= {"q3": Said("Insufficient information.")}
    del said["q5"]
    page = open_explorer(asked, [Answers("kg", records(said))])
    assert verdicts(page) == [[NOTHING], ["T"], ["F"], ["N"], [NOTHING], [NOTHING]]
    for status, expected in (
        ("a system timed out", ["q1"]),
        ("a system failed", ["q2"]),
        ("a system gave no answer", ["q3"]),
        ("a system has no record", ["q5"]),
        ("every system answered", ["q0", "q3", "q4"]),
    ):
        choose(page, "status", status)
        assert shown(page) == expected
    choose(page, "type", "even")
    assert shown(page) == ["q0", "q4"]
    page.get_by_label("Search").fill("of Q4 QUESTION")
    assert shown(page) == ["q4"]
    page.get_by_role("button", name="Reset").click()
    assert len(shown(page)) == 6


def test_evidence_is_underlined_and_gold_facts_and_documents_are_marked(open_explorer: OpenExplorer) -> None:
    text = "Before. The bridge was clo sed in\u00a02031. After 120 days."
    offered = context("sed in\u00a02031. After 120 days.", "gold doc", kind="sentence")
    evidence = (Evidence(doc_id="gold doc", fact=FACT), Evidence(doc_id="other", fact="20 days"))
    said = Said(contexts=(context("nothing here", "x"), context(text, "gold doc")), evidence=(offered,))
    page = open_explorer([Asked("q1", evidence=evidence)], [Answers("kg", records({"q1": said}))])
    open_query(page)
    found = page.locator(".ex-contexts .ex-pre").nth(1)
    assert found.text_content() == text
    assert "".join(found.locator("u").all_text_contents()) == offered.text
    assert "".join(page.locator("mark").all_text_contents()) == "The bridge was clo sed in\u00a02031."
    assert page.get_by_text("holds evidence offered").count() == 1
    assert set(page.locator(".ex-doc-gold").all_text_contents()) == {"gold gold doc"}
    first, second = page.locator(".ex-facts li").all_text_contents()
    assert "kg: context 2" in first and "not in kg" in second


def test_a_query_shows_triplets_trace_times_tokens_and_scores_with_reasons(open_explorer: OpenExplorer) -> None:
    contexts = (context("(Acme)-[OWNS]->(Lagos (port))", "doc", kind="triplet"),)
    said = Said("Yes", contexts, (Step(name="round 1", content="what is Acme?"),), (context("proof", "doc"),))
    scores = [score("q1", 1.0, why="'yes' against 'yes'"), score("q1", "failed", "kg_coverage", why="judge down")]
    page = open_explorer([Asked("q1")], [Answers("kg", records({"q1": said}), scores)])
    open_query(page)
    assert page.locator(".ex-triplet").text_content() == "Acme -[OWNS]-> Lagos (port)"
    column = page.locator(".ex-column").text_content() or ""
    for part in (
        *("Trace (1 step)", "what is Acme?", "Evidence the system offers (1)", "Time: 1.5 s", "generate", "1,200"),
        *("0.5 s more waiting for limits of a provider, 2 s in all", "1 call answered from the journal"),
        *("'yes' against 'yes'", "failedjudge down"),
    ):
        assert part in column
    assert page.locator(".ex-field-measure option").all_text_contents() == ["answers right"]


def test_the_list_and_a_query_need_no_mouse(open_explorer: OpenExplorer) -> None:
    page = open_explorer(*two_runs(BINARY))
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] .ex-column")
    assert page.locator(".ex-place").text_content() == "2 of 7 matches"
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('dialog').dataset.query === 'naive only'")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog:not([open])", state="attached")
    assert page.evaluate("document.activeElement.closest('tr').dataset.at") == "2"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.type") == "search"


def test_every_repeat_is_shown_with_its_own_scores(open_explorer: OpenExplorer) -> None:
    said = {("q1", at): record("q1", Said(answer), at) for at, answer in enumerate(("Yes", "No"))}
    scores = [score("q1", 1.0, why="first"), score("q1", 0.0, repeat=1, why="second")]
    page = open_explorer([Asked("q1")], [Answers("kg", said, scores, repeats=2)])
    assert verdicts(page) == [["0.5"]]
    open_query(page)
    folds = page.locator(".ex-column > details").all_text_contents()
    assert ["Yes" in folds[0], "first" in folds[0], "No" in folds[1], "second" in folds[1]] == [True] * 4


def test_what_was_left_out_is_said_where_a_reader_looks_for_it(open_explorer: OpenExplorer) -> None:
    asked = [Asked(f"q{number}") for number in range(120)]
    said = records({one.query_id: Said(f"answer {one.query_id}", (context("text"),)) for one in asked})
    page = open_explorer(asked, [Answers("kg", said, [score(one.query_id, 1.0) for one in asked])], budget_bytes=0)
    assert "for the first 0 of 120 queries" in (page.locator(".ex-left-out").text_content() or "")
    page.get_by_role("button", name="Show 20 more").click()
    open_query(page, 119)
    column = page.locator(".ex-column").text_content() or ""
    assert "answer q119" in column
    assert "rag-harness show demo--kg q119" in column


def test_a_failed_and_a_half_finished_run_stand_beside_each_other(open_explorer: OpenExplorer) -> None:
    failed = records({name: Failure(kind="ValueError", message="<b>no JSON</b>") for name in ("q1", "q2")})
    runs = [
        Answers("kg", failed, [score("q1", "imputed"), score("q2", "imputed")]),
        Answers("naive", records({"q1": Said("No")}), [score("q1", 0.0), score("q2", "failed", why="no record")]),
    ]
    page = open_explorer([Asked("q1"), Asked("q2")], runs)
    assert verdicts(page) == [["F", "W"], ["F", NOTHING]]
    open_query(page, 1)
    left, right = page.locator(".ex-column").all_text_contents()
    assert "ValueError: <b>no JSON</b>" in left
    assert "No record: the run is unfinished" in right


def test_a_browser_that_cannot_unpack_says_so(tmp_path: Path, open_file: "Callable[..., Page]") -> None:
    explorer = explorer_of(tmp_path / "results", [Asked("q1")], [Answers("kg", {})])
    path = write_page(tmp_path / "report.html", [explorer])
    text = path.read_text(encoding="utf-8")
    page = open_file(path)
    page.context.add_init_script("delete globalThis.DecompressionStream")
    page.reload()
    page.wait_for_function("document.querySelector('.ex-loading').textContent.includes('cannot unpack')")
    assert "data-ready" not in text.split("<body>")[1].split("<script")[0]


WHY = {"q1": "ranked-too-low", "q2": "answered-wrong", "q3": ""}


def sorted_runs() -> tuple[list[Asked], list[Answers]]:
    """Of kg the first two queries are wrong, of naive the second alone."""
    said, runs = records({name: Said() for name in WHY}), []
    for system, wrong in (("kg", {"q1", "q2"}), ("naive", {"q2"})):
        labels = {name: label if name in wrong else "" for name, label in WHY.items()}
        why, scores = f"at rank 7 of {system}", []
        for name, label in labels.items():
            scores += [score(name, float(not label))]
            scores += [score(name, float(bool(label)), "wrong_answers", label=label, why=why)]
        runs.append(Answers(system, said, scores))
    return [Asked(name, query_type=kind) for name, kind in zip(WHY, ("odd", "even", "odd"), strict=True)], runs


def test_queries_are_filtered_by_why_an_answer_is_wrong_and_of_which_system(open_explorer: OpenExplorer) -> None:
    page = open_explorer(*sorted_runs())
    choose(page, "kind", "ranked too low")
    assert shown(page) == ["q1"]
    choose(page, "kind", "wrong answers: all")
    assert shown(page) == ["q1", "q2"]
    choose(page, "of", "naive")
    assert shown(page) == ["q2"]
    open_query(page)
    assert page.locator(".ex-why").all_text_contents() == [
        f"wrong answers: in the context, answered wrong (at rank 7 of {system})" for system in ("kg", "naive")
    ]


def test_the_address_of_a_query_opens_it_despite_filters(open_explorer: OpenExplorer) -> None:
    page = open_explorer(*sorted_runs())
    open_query(page, 2)
    link = page.locator(".ex-link").get_attribute("href")
    assert link
    assert page.url.endswith(link)
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog:not([open])", state="attached")
    # The dialog says that it is closed an event later.
    page.wait_for_function("location.hash === ''")
    choose(page, "kind", "ranked too low")
    page.evaluate("(link) => { location.hash = link; }", link)
    page.wait_for_selector("dialog[open] .ex-column")
    assert page.locator("dialog").get_attribute("data-query") == "q3"
    page.reload()
    page.wait_for_selector("dialog[open] .ex-column")
    assert page.locator("dialog").get_attribute("data-query") == "q3"
    page.evaluate("location.hash = '#q=%3Cimg src=x%3E&in=g7&a=99'")
    page.wait_for_function("document.querySelector('.ex-count').textContent.includes('has no query <img src=x>')")
