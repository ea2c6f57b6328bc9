"""Retrieval measures worked by hand, to which queries each applies, what is said about them; and how much of the
evidence is within the first characters of the prompt, where naming documents is worth nothing.
"""

from collections.abc import Mapping, Sequence

import pytest
from pydantic import ValidationError
from records import FAILED
from scoring import score_one

from harness.core import errors
from harness.core.errors import MissingDependency
from harness.core.records import Context, ContextKind, Prediction, Score
from harness.evaluators.gold_ranks import prompt_contexts
from harness.evaluators.retrieval import SPEC, RetrievalParams
from harness.llm_utils.answer_contract import answer_messages
from harness.protocols import RunFacts

Gold = Sequence[tuple[str, str]]
"""(doc_id, fact) for each piece of evidence."""

EXPECTED = "answer_Hit@4000c"


def passage(doc_ids: str, text: str = "") -> Context:
    return Context(text=text, doc_ids=tuple(doc_ids.split()))


def scores_of(
    gold: Gold,
    contexts: Sequence[Context] | None,
    params: RetrievalParams | None = None,
    facts: RunFacts | None = None,
) -> dict[str, Score]:
    """`contexts` None: the query failed."""
    said = FAILED if contexts is None else Prediction(answer=None, contexts=tuple(contexts))
    return score_one(SPEC, said, evidence=gold, params=params, facts=facts)


def values(scores: Mapping[str, Score], *names: str) -> list[float | None]:
    return [scores[name].value for name in names]


DOCUMENTS = [passage(doc_id) for doc_id in ["x", "a", "a", "b", "x", "c"]]
"""Ranked by document: x a b c; gold are a, c and one that was not found."""
GOLD = [("a", "fact a"), ("c", "fact c"), ("missing", "fact m"), ("a", "another fact of a")]


def test_documents_are_ranked_where_they_are_named_first_and_counted_once() -> None:
    scores = scores_of(GOLD, DOCUMENTS, RetrievalParams(ks=(1, 2, 4)))
    assert values(scores, "Hit@1", "Hit@2", "Hit@4") == [0, 1, 1]
    assert values(scores, "Recall@1", "Recall@2", "Recall@4", "Recall") == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])
    assert values(scores, "AllHit@1", "AllHit@2", "AllHit@4", "AllHit") == [0, 0, 0, 0]
    assert scores["MRR@4"].value == pytest.approx(1 / 2)
    assert scores["MAP@4"].value == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert scores["nDCG@4"].value == pytest.approx((0.63093 + 0.43068) / (1 + 0.63093 + 0.5), abs=1e-5)


def is_found(fact: str, text: str) -> bool:
    """By fact and within the first characters; without evidence also as an expected answer, if long enough."""
    scores = scores_of([("a", fact)], [passage("a", text)])
    found = scores["fact_Recall@10"].value
    assert found == scores["fact_Recall@4000c"].value
    expected = score_one(
        SPEC, Prediction(answer=None, contexts=(passage("a", text),)), answers=(fact,), evidence=()
    )[EXPECTED]
    assert expected.value in {found, None}
    return bool(found)


IN_WORDS_AND_NUMBERS = [
    ("20 days", "Invoices are kept for 120 days, 121 days or 320 days."),
    ("Cost 5", "The cost: 500 dollars, 5.3 dollars or 5,300 dollars"),
    ("costs 5", "It costs 5\u00a0300 dollars"),
    ("area of 10", "an area of 10\u00b2 metres"),
    ("000 people", "21\u00a0000 people came"),
    ("35 percent", "3.5 percent"),
    (".3 percent", "5.3 percent, or 3 percent"),
    ("-5 million", "a profit of 5 million, or 3-5 million"),
    ("-$5 million", "$5 million"),
    ("Oman", "So many asked the woman"),
    ("Berlin", "the Berliners"),
    ("the rapist", "a therapist"),
    ("item 12", "item 12b"),
    ("\u0909\u091a\u094d\u091a", "\u0909\u091a\u094d\u091a\u0924\u092e"),
]
"""(fact, a text that has its letters only inside other words or numbers)"""


@pytest.mark.parametrize(("fact", "text"), IN_WORDS_AND_NUMBERS)
def test_a_fact_is_not_found_inside_a_word_or_number_but_behind_it(fact: str, text: str) -> None:
    assert not is_found(fact, text)
    assert is_found(fact, f"{text}. \u201c{fact}\u201d, he said")


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("20 days", "after 20days"),
        ("Cost 5", "COST: 5. 3 of them came"),
        ("in 2020", "in 2020-2021"),
        ("environmental rules", "the environ-\nmental rules"),
        ("as the chief said", "as the chief said\u00b9 and others say"),
        ("New York", "(NewYork)"),
        ("-5 million", "a profit of \u22125 million"),
        ("\u6771\u4eac\u90fd\u5e81", "\u5357\u6771\u4eac\u90fd\u5e81\u524d"),
        ("\u0642\u0627\u0647\u0631\u0629", "\u0648\u0628\u0627\u0644\u0642\u0627\u0647\u0631\u0629"),
    ],
)
def test_a_fact_is_found_whatever_its_case_spaces_and_marks_and_among_letters_without_spaces(
    fact: str, text: str
) -> None:
    assert is_found(fact, text)


def test_facts_are_ranked_by_the_first_context_that_contains_them() -> None:
    contexts = [
        passage("x", "nothing"),
        passage("a", "Title\nHe said:\u00a0“one\n\nlong\tfact” in\u2009May."),
        passage("a", "onelongfact again, and asecond fact"),
    ]
    gold = [("a", "one  long fact"), ("a", "a second\nfact"), ("a", "a third fact")]
    scores = scores_of(gold, contexts, RetrievalParams(ks=(1, 2, 3)))
    assert values(scores, "fact_Hit@1", "fact_Hit@2", "fact_AllHit@3", "fact_MRR@3") == [0, 1, 0, 0.5]
    assert values(scores, "fact_Recall@2", "fact_Recall@3") == pytest.approx([1 / 3, 2 / 3])
    assert values(scores_of(gold[:2], contexts, RetrievalParams(ks=(3,))), "fact_AllHit@3") == [1]


def test_compat_adds_one_by_the_rank_of_each_fact_and_can_exceed_one() -> None:
    gold = [("a", "fact one"), ("b", "fact two"), ("c", "fact three"), ("d", "fact four")]
    contexts = [passage("a", "fact one, fact two"), passage("x", "fact one"), passage("c", "fact three")]
    scores = scores_of(gold, contexts)
    assert scores["map_compat@10"].value == pytest.approx((2 / 1 + 1 / 3) / 4)
    assert values(scores, "hits_compat@4", "hits_compat@10", "mrr_compat@10") == [1, 1, 1]
    many = [("a", f"fact number {letter}") for letter in "abcdefghijklmnop"]
    scores = scores_of(many, [passage("a", "; ".join(fact for _, fact in many))])
    assert scores["map_compat@10"].value == pytest.approx(16 / 10)


DESCRIBING = {"documents_named", "contexts_shown", "context_characters"}


def judging(scores: Mapping[str, Score]) -> dict[str, Score]:
    """Without what only describes the contexts."""
    return {name: score for name, score in scores.items() if name not in DESCRIBING}


def reasons(scores: Mapping[str, Score]) -> set[str]:
    assert {score.status for score in scores.values()} == {"not_applicable"}
    return {score.explanation for score in scores.values()}


def test_without_evidence_or_recorded_contexts_nothing_applies_whether_answered_or_failed() -> None:
    for contexts in (DOCUMENTS, None):
        found = judging(scores_of([], contexts))
        found.pop(EXPECTED)
        assert reasons(found) == {"the reference names no evidence"}
    assert reasons(scores_of(GOLD, [], facts=RunFacts(has_contexts=False))) == {"the contexts are not recorded"}


def test_an_answer_without_contexts_in_a_run_that_has_some_retrieved_nothing() -> None:
    scores = scores_of(GOLD, [])
    assert scores.pop(EXPECTED).status == "not_applicable", "it stands in for evidence that nobody named"
    assert {score.value for score in scores.values()} == {0}
    assert scores["Recall@10"].explanation == "0 of 3 gold documents in the first 10 (there are 0)"


def test_a_failed_query_counts_as_the_worst_of_every_measure() -> None:
    scores = scores_of(GOLD, None)
    del scores[EXPECTED]
    assert {(score.status, score.value) for score in judging(scores).values()} == {("imputed", 0)}
    assert reasons({name: scores[name] for name in DESCRIBING}) == {"the query failed"}


def test_contexts_that_name_no_document_leave_documents_not_applicable_and_facts_scored() -> None:
    scores = scores_of(GOLD, [passage("", "fact a"), Context(text="more", doc_ids=("",))])
    assert scores["Hit@10"].explanation == scores["Recall"].explanation == "no context names a document"
    others = {name for name in scores if "fact" not in name and "compat" not in name} - DESCRIBING | {
        "documents_named"
    }
    assert {scores[name].status for name in others} == {"not_applicable"}
    assert values(scores, "fact_Hit@1", "hits_compat@4") == [1, 1]


def test_a_blank_fact_beside_others_is_none() -> None:
    scores = scores_of([("a", ""), ("a", "the fact")], [passage("a", "nothing"), passage("a", "the fact")])
    assert values(scores, "fact_Hit@1", "fact_AllHit@4", "hits_compat@4", "map_compat@10") == [0, 1, 1, 0.5]


def test_a_passage_as_long_as_a_document_is_no_fact() -> None:
    gold, contexts = [("a", "word " * 300), ("a", "the fact")], [passage("a", "the fact")]
    scores = scores_of(gold, contexts)
    why = "a gold fact of 1,500 characters: more than 1,000 is a passage"
    assert scores["fact_Recall@10"].explanation == scores["hits_compat@4"].explanation == why
    assert scores["Hit@1"].value == 1
    assert scores_of(gold, contexts, RetrievalParams(longest_fact=1500))["fact_Recall@10"].value == 0.5


def test_the_explanation_says_how_much_was_found_within_k_and_where_it_begins() -> None:
    scores = scores_of(GOLD, DOCUMENTS, RetrievalParams(ks=(1, 4, 10)))
    assert {
        name: scores[name].explanation for name in ("Recall@4", "Hit@1", "Hit@10", "AllHit", "fact_Hit@4")
    } == {
        "Recall@4": "2 of 3 gold documents in the first 4; first at 2",
        "Hit@1": "0 of 3 gold documents in the first 1; first at 2",
        "Hit@10": "2 of 3 gold documents in the first 10 (there are 4); first at 2",
        "AllHit": "2 of 3 gold documents; first at 2",
        "fact_Hit@4": "0 of 4 gold facts in the first 4",
    }


SIZES = (1000, 2000, 4000, 8000, 16000)


def test_the_default_table_begins_with_the_largest_k_and_cuts_hits_and_recall_at_each() -> None:
    names = [measure.name for measure in SPEC.measures(RetrievalParams())]
    assert names == [
        *("Hit@10", "Recall@10", "AllHit@10", "MRR@10", "MAP@10", "nDCG@10"),
        *("Hit@4", "Recall@4", "AllHit@4", "Hit@1", "Recall@1", "AllHit@1", "Recall", "AllHit"),
        *("Precision", "documents_named"),
        *("fact_Hit@10", "fact_Recall@10", "fact_AllHit@10", "fact_MRR@10"),
        *("fact_Hit@4", "fact_Recall@4", "fact_AllHit@4", "fact_Hit@1", "fact_Recall@1", "fact_AllHit@1"),
        *(f"{share}@{size}c" for share in ("fact_AllHit", "fact_Recall", "AllHit", "Recall") for size in SIZES),
        *("answer_Hit@4000c", "context_characters", "contexts_shown"),
        *("hits_compat@4", "hits_compat@10", "mrr_compat@10", "map_compat@10"),
    ]


def test_cutoffs_are_ordered_and_summaries_say_what_is_counted() -> None:
    summaries = {one.name: one.summary for one in SPEC.measures(RetrievalParams(ks=(20, 5)))}
    assert [name for name in summaries if name.startswith("Hit@")] == ["Hit@20", "Hit@5"]
    assert all("see documents_named" in summaries[name] for name in ("AllHit", "Recall"))


@pytest.mark.parametrize("ks", [(), (0,), (-1,), (1, 1), (1001,), ("many",), (1.5,)])
def test_a_cutoff_that_cannot_be_is_refused(ks: tuple[object, ...]) -> None:
    with pytest.raises(ValidationError, match="ks"):
        RetrievalParams.model_validate({"ks": ks})


def test_without_ir_measures_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda _name: None)
    assert SPEC.preflight is not None
    with pytest.raises(MissingDependency, match=r"pip install 'rag-bench-harness\[evaluator-retrieval\]'"):
        SPEC.preflight(RetrievalParams())


# Within the first characters of what the generator saw.


MANY = tuple(f"d{number}" for number in range(200))
SHOWN_GOLD = (("d3", "Ann founded Acme."), ("d7", "Acme began in 1990."))


def shown(text: str, *doc_ids: str, kind: ContextKind = "passage") -> Context:
    return Context(text=text, doc_ids=doc_ids, kind=kind)


def test_a_summary_that_names_every_document_has_recalled_all_and_shown_nothing() -> None:
    found = scores_of(SHOWN_GOLD, [shown("The reports are about companies.", *MANY, kind="summary")])
    assert found["Recall"].value == found["AllHit"].value == 1.0
    assert found["Precision"].value == len(SHOWN_GOLD) / len(MANY)
    assert found["documents_named"].value == len(MANY)
    within = {name: score.value for name, score in found.items() if name.endswith("c") and name != EXPECTED}
    assert len(within) == 4 * len(RetrievalParams().sizes)
    assert set(within.values()) == {0.0}


def test_a_fact_counts_from_the_size_at_which_its_last_letter_was_shown() -> None:
    contexts = [shown("Cats purr.", "x"), shown("Well: Ann founded\n Acme. And more.", "d3")]
    whole = answer_messages("?", contexts, "short")[1].content.split("Passages:\n\n")[1]
    end = whole.index("Acme.") + len("Acme")
    found = scores_of(SHOWN_GOLD, contexts, RetrievalParams(sizes=(end - 1, end)))
    assert found[f"fact_Recall@{end - 1}c"].value == 0
    assert found[f"fact_Recall@{end}c"].value == 0.5
    assert found[f"fact_Recall@{end}c"].explanation == (
        f"1 of 2 gold facts within the first {end} of {prompt_contexts(contexts).length} characters; "
        f"first at {end}"
    )


def test_contexts_are_measured_as_the_prompt_shows_them() -> None:
    contexts = [shown(" one \n", "a"), shown("", "b"), shown("three", "c")]
    block = "[1] one\n\n[2] \n\n[3] three"
    assert block in answer_messages("?", contexts, "short")[1].content
    assert scores_of(SHOWN_GOLD, contexts)["context_characters"].value == len(block)
    assert scores_of(SHOWN_GOLD, [])["context_characters"].value == 0


def test_curves_of_recall_lie_along_the_sizes() -> None:
    panels = [one.panel for one in SPEC.measures(RetrievalParams()) if one.name.endswith("c") and one.panel]
    assert {panel.figure.stem for panel in panels} == {"retrieval_at_size"}
    for curve in ("All", "Recall"):
        at = [panel.at for panel in panels if (panel.row, panel.curve) == ("facts", curve)]
        assert at == [1000, 2000, 4000, 8000, 16000]
