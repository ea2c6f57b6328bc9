"""The cause of each wrong answer, from recorded runs: a case for each cause, and each way to misread one."""

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
    """The stored corpus and index of a run."""

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


ROSES = passage("Roses need sun.", "garden")
MIDDLE = TEXT.index(FACT) + 10
CUT = {"bridge": [(0, MIDDLE), (MIDDLE, len(TEXT))]}
REWORDED = [("bridge", "In 1861 the bridge was opened.")]
LONG = f"{FACT} It was painted green. {OTHER}"
CUT_CONTEXT = passage(LONG).model_copy(update={"text": "Title of bridge\nThe bridge over"})
WHOLE_PASSAGE = FailureAnalysisParams(longest_fact=10)
"""A longer fact is traced by its document."""
GARDEN = [("garden", "")]
NULL: dict[str, Any] = {"evidence": (), "references": ["Insufficient information."]}
CLOSED_BOOK = RunFacts(has_contexts=False)
RANKED = places("Roses need sun.", FACT)
CASES: list[tuple[dict[str, Any], str, str]] = [
    ({"evidence": [("bridge", FACT), ("elsewhere", "Ice.")], "contexts": [passage(FACT)]}, "not-in-corpus", ""),
    ({"contexts": [ROSES], "retrieved": places("Roses"), "searched": Kept(passages=CUT)}, "cut-by-chunking", ""),
    (
        {"contexts": [ROSES], "searched": Kept(passages={"bridge": [(0, MIDDLE), (0, len(TEXT))]})},
        "not-found",
        "no ranking",
    ),
    # An index that does not list its passages has cut nothing.
    ({"contexts": [ROSES], "retrieved": places("Roses need sun.")}, "not-found", "not among the first 1"),
    ({"contexts": [ROSES], "retrieved": places("Roses", "It was painted", FACT)}, "ranked-too-low", "rank 3"),
    # A fact is not found inside a longer number.
    (
        {"contexts": [Context(text="21861", doc_ids=("garden",))], "evidence": [("bridge", "1861")]},
        "not-found",
        "",
    ),
    (
        {
            "contexts": [passage(FACT)],
            "evidence": [("bridge", FACT), ("bridge", OTHER)],
            "retrieved": places(FACT, OTHER),
        },
        "only-part",
        "1 of 2 in the contexts; missing: one at rank 2",
    ),
    # Another passage of its document does not state the fact.
    (
        {"contexts": [passage("It was painted green.")], "retrieved": places("It was painted", FACT)},
        "ranked-too-low",
        "",
    ),
    ({"contexts": [CUT_CONTEXT], "retrieved": places(LONG)}, "only-part", "context 1 was cut"),
    ({"contexts": [passage(FACT)]}, "answered-wrong", ""),
    ({"contexts": [passage(FACT)], "answer": ""}, "answered-wrong", "the answer is empty"),
    ({"contexts": [passage(FACT)], "answer": "Insufficient information."}, "refused", ""),
    # An answer that may be right in other words is no failure of retrieval or generation.
    ({"contexts": [passage(FACT)], "answer": "in May 1861", "references": ["May 1861"]}, "worded-otherwise", ""),
    ({"contexts": [ROSES], "answer": "in May 1861", "references": ["May 1861"]}, "worded-otherwise", ""),
    ({"contexts": [passage(FACT)], "answer": "1861", **NULL}, "answered-nothing", ""),
    # The document words the fact differently: passages are not searched for it.
    ({"contexts": [passage(FACT)], "evidence": REWORDED}, "not-known", ""),
    (
        {"contexts": [ROSES], "evidence": REWORDED, "retrieved": RANKED},
        "ranked-too-low",
        "its document at rank 2",
    ),
    # A document is in the contexts only if all of it is.
    ({"contexts": [ROSES], "evidence": GARDEN}, "not-known", ""),
    (
        {"contexts": [ROSES, passage("Tulips need less of it.", "garden")], "evidence": GARDEN},
        "answered-wrong",
        "",
    ),
    (
        {"contexts": [passage(FACT)], "evidence": GARDEN, "retrieved": places(FACT, "Roses")},
        "ranked-too-low",
        "",
    ),
    ({"contexts": [passage("It was painted green.")], "params": WHOLE_PASSAGE}, "not-known", ""),
    ({"contexts": [passage(FACT)], "params": WHOLE_PASSAGE}, "answered-wrong", ""),
    ({"contexts": [passage(FACT)], "evidence": ()}, "not-known", ""),
    ({"facts": CLOSED_BOOK}, "not-known", ""),
    ({"contexts": [ROSES], "retrieved": RANKED, "searched": Kept(documents={})}, "not-found", "the corpus was"),
]


@pytest.mark.parametrize(
    ("case", "label", "said"), CASES, ids=[f"{label}{n}" for n, (_, label, _) in enumerate(CASES)]
)
def test_each_wrong_answer_has_its_one_cause(case: dict[str, Any], label: str, said: str) -> None:
    score = why(**case)
    assert (score.value, score.label) == (1.0, label)
    assert said in score.explanation


def test_a_right_answer_has_no_cause_whatever_was_retrieved() -> None:
    for score in (why("1861."), why("Insufficient information.", [passage(FACT)], **NULL)):
        assert (score.value, score.label) == (0.0, "")


@pytest.mark.parametrize("measure", ["wrong_answers", "missed_evidence"])
def test_a_query_that_failed_says_so(measure: str) -> None:
    score = why(failure=Failure(kind="timeout", message="no answer within 5 s"), measure=measure)
    assert (score.status, score.value, score.label) == ("imputed", 1.0, "failed")


@pytest.mark.parametrize(("kind", "doc_ids"), [("triplet", ("bridge",)), ("summary", ())])
def test_the_cause_is_not_known_if_a_triplet_or_report_may_paraphrase_the_fact(
    kind: Any, doc_ids: tuple[str, ...]
) -> None:
    context = Context(text="(bridge)-[opened in]->(1861)", doc_ids=doc_ids, kind=kind)
    score = why(contexts=[context], retrieved=RANKED)
    assert score.label == "not-known"
    assert kind in score.explanation


@pytest.mark.parametrize(
    "wrong",
    [
        Span(doc_id="of another corpus", start=0, end=5),
        Span(doc_id="garden", start=0, end=10**12),
        Span(doc_id="bridge", start=50, end=3),
    ],
)
@pytest.mark.parametrize("fact", [FACT, ""])
def test_a_ranking_of_another_corpus_gives_no_cause(wrong: Span, fact: str) -> None:
    ranking = Places.of([place("Roses need sun.", "garden"), wrong, place(FACT)])
    score = why(contexts=[ROSES], retrieved=ranking, evidence=[("bridge", fact)])
    assert (score.label, "corpus" in score.explanation) == ("not-known", True)


@pytest.mark.parametrize("told", [{}, {"bridge": [(0, 10**9)]}, {"bridge": [(9, 2)]}])
def test_an_index_of_another_corpus_is_not_said_to_have_cut_a_fact(told: dict[str, list[tuple[int, int]]]) -> None:
    kept = Kept(passages={"garden": [(0, 9)], **told})
    assert why(contexts=[ROSES], retrieved=places("Roses need sun."), searched=kept).label == "not-known"


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"references": [f"{'word ' * 14}1861"]}, "15 words"),
        ({"answer": None}, "the run has no generator"),
        ({"measure": "missed_evidence", "facts": CLOSED_BOOK}, "the contexts are not recorded"),
        ({"measure": "missed_evidence", "evidence": ()}, "the reference names no evidence"),
        # That its document is there does not tell whether the relevant part is.
        ({"measure": "missed_evidence", "evidence": [("bridge", "")]}, "the evidence states no fact"),
    ],
)
def test_what_cannot_be_analysed_is_not_applicable(case: dict[str, Any], reason: str) -> None:
    score = why(contexts=[passage(FACT)], **case)
    assert score.status == "not_applicable"
    assert reason in score.explanation


def test_retrieval_alone_has_causes_of_missing_evidence() -> None:
    assert why(None, [ROSES], retrieved=RANKED, measure="missed_evidence").label == "ranked-too-low"
    found = why(None, [passage(FACT)], measure="missed_evidence")
    assert (found.value, found.label) == (0.0, "")
