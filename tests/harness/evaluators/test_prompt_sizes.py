"""Evidence within the first characters of what the generator saw, and what naming documents is worth there."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring import build_scorer, score_all

from harness.core.records import Context, Evidence, Prediction, Reference, Score
from harness.evaluators.gold_ranks import without_white_space
from harness.evaluators.prompt_sizes import prompt_contexts
from harness.evaluators.retrieval import SPEC, RetrievalParams
from harness.llm_utils.answer_contract import answer_messages

from .conftest import MakeRecord

DOCUMENTS = tuple(f"d{number}" for number in range(200))
GOLD = (("d3", "Ann founded Acme."), ("d7", "Acme began in 1990."))

EXPECTED = "answer_Hit@4000c"


def scores_of(
    make_record: MakeRecord,
    contexts: Sequence[Context],
    params: RetrievalParams | None = None,
    gold: Sequence[tuple[str, str]] = GOLD,
) -> dict[str, Score]:
    evidence = tuple(Evidence(doc_id=doc_id, fact=fact) for doc_id, fact in gold)
    reference = Reference(query_id="q", query_type="inference", answers=("x",), evidence=evidence)
    said = make_record("q").model_copy(update={"prediction": Prediction(answer="x", contexts=tuple(contexts))})
    return {one.measure: one for one in score_all(build_scorer(SPEC, params), [reference], {("q", 0): said})}


def passage(text: str, *doc_ids: str, kind: str = "passage") -> Context:
    return Context.model_validate({"text": text, "doc_ids": doc_ids, "kind": kind})


@pytest.mark.parametrize("kind", ["summary", "triplet", "passage"])
def test_one_text_that_names_every_document_has_recalled_all_and_shown_nothing(
    record: MakeRecord, kind: str
) -> None:
    found = scores_of(record, [passage("The reports are about companies.", *DOCUMENTS, kind=kind)])
    assert found["Recall"].value == found["AllHit"].value == 1.0
    assert found["Precision"].value == len(GOLD) / len(DOCUMENTS)
    assert found["documents_named"].value == len(DOCUMENTS)
    within = {name: score.value for name, score in found.items() if name.endswith("c") and name != EXPECTED}
    assert len(within) == 4 * len(RetrievalParams().sizes)
    assert set(within.values()) == {0.0}


def test_a_fact_counts_from_the_size_at_which_its_last_letter_was_shown(record: MakeRecord) -> None:
    contexts = [passage("Cats purr.", "x"), passage("Well: Ann founded\n Acme. And more.", "d3")]
    shown = answer_messages("?", contexts, "short")[1].content.split("Passages:\n\n")[1]
    end = shown.index("Acme.") + len("Acme.")
    found = scores_of(record, contexts, RetrievalParams(sizes=(end - 1, end)))
    assert found[f"fact_Recall@{end - 1}c"].value == 0
    assert found[f"fact_Recall@{end}c"].value == 0.5
    assert found[f"fact_Recall@{end}c"].explanation == (
        f"1 of 2 gold facts within the first {end} of {prompt_contexts(contexts).length} characters; "
        f"first at {end}"
    )


def test_a_document_counts_from_the_size_at_which_its_text_begins(record: MakeRecord) -> None:
    contexts = [
        passage("Cats purr.", "x"),
        passage("Whatever.", "d3"),
        passage("(a)-[is]->(b)", "d7", kind="triplet"),
    ]
    begin = len("[1] Cats purr.\n\n[2] ") + 1
    found = scores_of(record, contexts, RetrievalParams(sizes=(begin - 1, begin, 1_000)))
    assert [found[f"Recall@{size}c"].value for size in (begin - 1, begin, 1_000)] == [0, 0.5, 0.5]


def test_what_the_generator_saw_is_measured_as_the_prompt_has_it(record: MakeRecord) -> None:
    contexts = [passage(" one \n", "a"), passage("", "b"), passage("three", "c")]
    block = "[1] one\n\n[2] \n\n[3] three"
    assert block in answer_messages("?", contexts, "short")[1].content
    assert scores_of(record, contexts)["context_characters"].value == len(block)
    assert scores_of(record, [])["context_characters"].value == 0


@given(st.lists(st.text(max_size=30), max_size=6), st.integers(0, 5), st.text(max_size=10))
def test_each_text_stands_where_it_is_said_to(texts: list[str], place: int, extra: str) -> None:
    contexts = [passage(f"{text}{extra}" if number == place else text) for number, text in enumerate(texts)]
    what = prompt_contexts(contexts)
    block = answer_messages("?", contexts, "short")[1].content.removeprefix("Passages:\n\n")
    for text, start in zip(what.texts, what.starts, strict=True):
        assert block[start : start + len(text)] == text
    assert block[what.length :].startswith("\n\nQuestion: ") or not contexts


@given(
    st.lists(st.text(alphabet="ab \n", max_size=12), min_size=1, max_size=4),
    st.text(alphabet="ab", min_size=1, max_size=3),
)
def test_a_fact_within_n_is_one_that_the_prompt_cut_at_n_still_states(texts: list[str], fact: str) -> None:
    """Held against cutting the prompt itself, context by context."""
    from harness.evaluators.gold_ranks import FactFinder
    from harness.evaluators.prompt_sizes import facts_within

    contexts = [passage(text) for text in texts]
    what = prompt_contexts(contexts)
    found = facts_within(FactFinder(without_white_space).find([fact], texts), what)
    for size in range(what.length + 2):
        left = [text[: max(size - start, 0)] for text, start in zip(what.texts, what.starts, strict=True)]
        assert found.within(size) == any(fact in without_white_space(text) for text in left)


def test_a_failed_query_counts_in_recall_and_has_no_length(record: MakeRecord) -> None:
    evidence = (Evidence(doc_id="d3", fact="Ann founded Acme."),)
    reference = Reference(query_id="q", query_type="inference", answers=("x",), evidence=evidence)
    found = score_all(build_scorer(SPEC), [reference], {("q", 0): record("q", error="boom")})
    by_name = {score.measure: score for score in found}
    assert (by_name["fact_Recall@1000c"].status, by_name["fact_Recall@1000c"].value) == ("imputed", 0.0)
    for name in ("documents_named", "contexts_shown", "context_characters"):
        assert (by_name[name].status, by_name[name].value) == ("not_applicable", None)


def test_where_a_ranking_is_shorter_than_the_cutoff_the_score_says_so(record: MakeRecord) -> None:
    found = scores_of(record, [passage("text", "a"), passage("text", "d3")])
    assert found["Hit@10"].explanation == "1 of 2 gold documents in the first 10 (there are 2); first at 2"
    assert found["fact_Hit@4"].explanation == "0 of 2 gold facts in the first 4 (there are 2)"
    assert found["Hit@1"].explanation == "0 of 2 gold documents in the first 1; first at 2"


def test_curves_of_recall_lie_along_the_sizes() -> None:
    panels = [one.panel for one in SPEC.measures(RetrievalParams()) if one.name.endswith("c") and one.panel]
    assert {panel.figure.stem for panel in panels} == {"retrieval_at_size"}
    for curve in ("All", "Recall"):
        at = [panel.at for panel in panels if (panel.row, panel.curve) == ("facts", curve)]
        assert at == [1000, 2000, 4000, 8000, 16000]


def test_all_of_the_evidence_is_within_n_once_the_last_fact_is(record: MakeRecord) -> None:
    contexts = [passage(fact, doc_id) for doc_id, fact in GOLD]
    whole = prompt_contexts(contexts).length
    found = scores_of(record, contexts, RetrievalParams(sizes=(whole - 1, whole)))
    assert [found[f"fact_{share}@{whole - 1}c"].value for share in ("Recall", "AllHit")] == [0.5, 0]
    assert [found[f"fact_{share}@{whole}c"].value for share in ("Recall", "AllHit")] == [1, 1]
