"""Why each wrong answer is wrong, from what was recorded: a case for each cause, and each way to misread one."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from records import run_record
from scoring import build_scorer

from harness.core.records import Context, Evidence, Failure, Places, Prediction, Query, Reference, Score, Span
from harness.evaluators.failure_analysis import SPEC
from harness.evaluators.failure_analysis.evaluator import FailureAnalysisParams
from harness.evaluators.run_scoring import score_run
from harness.protocols import RunFacts
from harness.store import SampleRow

FACT = "The bridge over the Aire opened in 1861."
OTHER = "Its toll was a penny until 1884."
TEXT = f"News of the day. {FACT} It was painted green. {OTHER} The mayor spoke for an hour about his garden."
DOCUMENTS = {"bridge": TEXT, "garden": "Roses need sun. Tulips need less of it."}


@dataclass
class Kept:
    """What a run searched, by hand."""

    documents: Mapping[str, str] = field(default_factory=lambda: DOCUMENTS)
    passages: Mapping[str, Sequence[tuple[int, int]]] | None = None


def place(words: str, doc_id: str = "bridge") -> Span:
    start = DOCUMENTS[doc_id].index(words)
    return Span(doc_id=doc_id, start=start, end=start + len(words))


def passage(words: str, doc_id: str = "bridge") -> Context:
    span = place(words, doc_id)
    return Context(text=f"Title of {doc_id}\n{words}", doc_ids=(doc_id,), span=span)


def places(*words: str) -> Places:
    found = [(doc_id, one) for one in words for doc_id, text in DOCUMENTS.items() if one in text]
    return Places.of(place(one, doc_id) for doc_id, one in found)


def why(
    answer: str | None = "green",
    contexts: Sequence[Context] = (),
    *,
    evidence: Sequence[tuple[str, str]] = (("bridge", FACT),),
    references: Sequence[str] = ("1861",),
    retrieved: Places | None = None,
    searched: Kept | None = None,
    failure: Failure | None = None,
    measure: str = "wrong_answers",
    facts: RunFacts | None = None,
    params: FailureAnalysisParams | None = None,
) -> Score:
    """The score of one answer."""
    gold = tuple(Evidence(doc_id=doc_id, fact=fact) for doc_id, fact in evidence)
    reference = Reference(query_id="q", query_type="t", answers=tuple(references), evidence=gold)
    stated = facts is None or facts.has_contexts
    said = Prediction(answer=answer, contexts=tuple(contexts), has_contexts=stated, retrieved=retrieved)
    record = run_record("q", failure or said)
    row = SampleRow(query=Query(query_id="q", text="When?"), reference=reference)
    scorer = build_scorer(SPEC, params)
    scores = asyncio.run(score_run(scorer, [row], {("q", 0): record}, 1, facts, searched or Kept()))
    return next(score for score in scores if score.measure == measure)


def test_a_right_answer_has_no_cause_whatever_was_found() -> None:
    score = why("1861.", [])
    assert (score.value, score.label) == (0.0, "")


def test_a_document_that_is_not_in_the_corpus_cannot_be_found_by_anybody() -> None:
    score = why(evidence=[("bridge", FACT), ("elsewhere", "The river froze.")], contexts=[passage(FACT)])
    assert (score.value, score.label) == (1.0, "not-in-corpus")


def test_a_fact_that_no_stored_passage_holds_whole_was_cut() -> None:
    middle = TEXT.index(FACT) + 10
    cut = Kept(passages={"bridge": [(0, middle), (middle, len(TEXT))]})
    contexts = [passage("Roses need sun.", "garden")]
    assert why(contexts=contexts, retrieved=places("Roses need sun."), searched=cut).label == "cut-by-chunking"
    whole = Kept(passages={"bridge": [(0, middle), (0, len(TEXT))]})
    assert why(contexts=contexts, retrieved=places("Roses need sun."), searched=whole).label == "not-found"


def test_an_index_that_does_not_tell_its_passages_is_not_said_to_have_cut_a_fact() -> None:
    score = why(contexts=[passage("Roses need sun.", "garden")], retrieved=places("Roses need sun."))
    assert score.label == "not-found"
    assert "not among the first 1" in score.explanation


def test_a_fact_behind_what_was_handed_over_has_its_rank() -> None:
    contexts = [passage("Roses need sun.", "garden")]
    score = why(contexts=contexts, retrieved=places("Roses need sun.", "It was painted green.", FACT))
    assert score.label == "ranked-too-low"
    assert "rank 3" in score.explanation


def test_a_fact_inside_a_longer_number_is_not_there() -> None:
    roses = Context(text="Order 21861: roses.", doc_ids=("garden",))
    found = why(contexts=[roses], evidence=[("bridge", "1861")])
    assert (found.value, found.label) == (1.0, "not-found")


def test_without_a_ranking_beyond_the_contexts_nothing_is_said_of_ranks() -> None:
    score = why(contexts=[passage("Roses need sun.", "garden")])
    assert score.label == "not-found"
    assert "no ranking" in score.explanation


def test_of_two_facts_one_of_which_is_there_the_answer_had_a_part() -> None:
    score = why(
        contexts=[passage(FACT)], evidence=[("bridge", FACT), ("bridge", OTHER)], retrieved=places(FACT, OTHER)
    )
    assert score.label == "only-part"
    assert "1 of 2" in score.explanation
    assert "rank 2" in score.explanation


def test_a_fact_that_the_other_passages_of_its_document_do_not_state_is_not_there() -> None:
    score = why(contexts=[passage("It was painted green.")], retrieved=places("It was painted green.", FACT))
    assert score.label == "ranked-too-low"


@pytest.mark.parametrize(
    ("answer", "label"),
    [("green", "answered-wrong"), ("", "answered-wrong"), ("Insufficient information.", "refused")],
)
def test_where_all_of_it_is_there_the_generator_failed(answer: str, label: str) -> None:
    assert why(answer, [passage(FACT)]).label == label


@pytest.mark.parametrize("contexts", [[passage(FACT)], [passage("Roses need sun.", "garden")]])
def test_an_answer_that_may_be_right_in_other_words_is_no_failure_of_the_retriever_or_the_generator(
    contexts: list[Context],
) -> None:
    assert why("in May 1861", contexts, references=["May 1861"]).label == "worded-otherwise"


def test_an_answer_to_what_has_none_is_its_own_cause() -> None:
    null: dict[str, Any] = {"evidence": (), "references": ["Insufficient information."]}
    assert why("1861", [passage(FACT)], **null).label == "answered-nothing"
    assert why("Insufficient information.", [passage(FACT)], **null).value == 0.0


@pytest.mark.parametrize("measure", ["wrong_answers", "missed_evidence"])
def test_a_query_that_failed_says_so(measure: str) -> None:
    score = why(failure=Failure(kind="timeout", message="no answer within 5 s"), measure=measure)
    assert (score.status, score.value, score.label) == ("imputed", 1.0, "failed")


@pytest.mark.parametrize("kind", ["triplet", "summary"])
@pytest.mark.parametrize("doc_ids", [("bridge",), ()])
def test_what_a_triplet_or_report_says_in_other_words_is_not_known(kind: Any, doc_ids: tuple[str, ...]) -> None:
    context = Context(text="(bridge)-[opened in]->(1861)", doc_ids=doc_ids, kind=kind)
    score = why(contexts=[context], retrieved=places("Roses need sun.", FACT))
    assert score.label == "not-known"
    assert kind in score.explanation


def test_a_fact_that_its_document_words_otherwise_is_not_looked_for_in_passages() -> None:
    reworded = [("bridge", "In 1861 the bridge was opened.")]
    cut = Kept(passages={"bridge": [(0, len(TEXT))]})
    assert why(contexts=[passage(FACT)], evidence=reworded, searched=cut).label == "not-known"
    elsewhere = why(
        contexts=[passage("Roses need sun.", "garden")],
        evidence=reworded,
        retrieved=places("Roses need sun.", FACT),
        searched=cut,
    )
    assert elsewhere.label == "ranked-too-low"
    assert "its document at rank 2" in elsewhere.explanation


def test_evidence_that_is_a_document_is_there_only_where_all_of_it_is_shown() -> None:
    document = [("garden", "")]
    part = [passage("Roses need sun.", "garden")]
    assert why(contexts=part, evidence=document).label == "not-known"
    whole = [*part, passage("Tulips need less of it.", "garden")]
    assert why(contexts=whole, evidence=document).label == "answered-wrong"
    assert (
        why(contexts=[passage(FACT)], evidence=document, retrieved=places(FACT, "Roses")).label == "ranked-too-low"
    )


def test_a_fact_as_long_as_a_passage_is_followed_by_its_document() -> None:
    short = FailureAnalysisParams(longest_fact=10)
    assert why(contexts=[passage("It was painted green.")], params=short).label == "not-known"
    assert why(contexts=[passage(FACT)], params=short).label == "answered-wrong"


def test_a_context_that_was_cut_before_the_fact_holds_a_part() -> None:
    whole = passage(f"{FACT} It was painted green. {OTHER}")
    cut = whole.model_copy(update={"text": "Title of bridge\nThe bridge over"})
    score = why(contexts=[cut], retrieved=places(f"{FACT} It was painted green. {OTHER}"))
    assert score.label == "only-part"
    assert "context 1 was cut" in score.explanation


def test_a_data_set_that_names_no_evidence_leaves_the_cause_unknown() -> None:
    assert why(contexts=[passage(FACT)], evidence=()).label == "not-known"
    assert why("Insufficient information.", [passage(FACT)], evidence=()).label == "not-known"


def test_a_system_that_reads_no_documents_has_no_search_to_blame() -> None:
    closed = RunFacts(has_contexts=False)
    assert why(facts=closed).label == "not-known"
    assert why(facts=closed, measure="missed_evidence").status == "not_applicable"


def test_where_the_corpus_was_not_kept_no_rank_is_made_up() -> None:
    nothing = Kept(documents={})
    contexts = [passage("Roses need sun.", "garden")]
    score = why(contexts=contexts, retrieved=places("Roses need sun.", FACT), searched=nothing)
    assert score.label == "not-found"
    assert "the corpus" in score.explanation


@pytest.mark.parametrize(
    "wrong",
    [
        Span(doc_id="of another corpus", start=0, end=5),
        Span(doc_id="garden", start=0, end=10**12),
        Span(doc_id="bridge", start=50, end=3),
    ],
)
def test_a_ranking_of_another_corpus_says_nothing_of_the_search(wrong: Span) -> None:
    for evidence in ([("bridge", FACT)], [("bridge", "")]):
        score = why(
            contexts=[passage("Roses need sun.", "garden")],
            retrieved=Places.of([place("Roses need sun.", "garden"), wrong, place(FACT)]),
            evidence=evidence,
        )
        assert (score.label, "corpus" in score.explanation) == ("not-known", True)


@pytest.mark.parametrize("told", [{}, {"bridge": [(0, 10**9)]}, {"bridge": [(9, 2)]}])
def test_an_index_of_another_corpus_is_not_said_to_have_cut_a_fact(told: dict[str, list[tuple[int, int]]]) -> None:
    contexts = [passage("Roses need sun.", "garden")]
    kept = Kept(passages={"garden": [(0, 9)], **told})
    assert why(contexts=contexts, retrieved=places("Roses need sun."), searched=kept).label == "not-known"


def test_a_reference_that_can_be_worded_in_many_ways_calls_no_answer_wrong() -> None:
    score = why(
        contexts=[passage(FACT)],
        references=["It was opened to traffic in the spring of the year 1861 by its mayor"],
    )
    assert score.status == "not_applicable"
    assert "15 words" in score.explanation


def test_retrieval_alone_has_evidence_that_is_missing_and_no_wrong_answers() -> None:
    contexts = [passage("Roses need sun.", "garden")]
    ranked = places("Roses need sun.", FACT)
    assert why(None, contexts, retrieved=ranked).status == "not_applicable"
    assert why(None, contexts, retrieved=ranked, measure="missed_evidence").label == "ranked-too-low"
    found = why(None, [passage(FACT)], measure="missed_evidence")
    assert (found.value, found.label) == (0.0, "")


def test_a_query_without_evidence_misses_none() -> None:
    assert why(evidence=(), measure="missed_evidence").status == "not_applicable"


def test_where_no_part_of_a_document_is_marked_nothing_is_said_to_be_missed() -> None:
    """That its document is there does not tell whether what matters is."""
    score = why(None, [passage(FACT)], evidence=[("bridge", "")], measure="missed_evidence")
    assert (score.status, score.explanation) == ("not_applicable", "the evidence states no fact")
