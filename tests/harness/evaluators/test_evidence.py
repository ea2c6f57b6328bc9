"""Sentences offered as proof, held against gold facts: worked by hand."""

import pytest
from records import FAILED
from runtimes import Embedder
from scoring import BareEvaluation, score_one

from harness.core.records import Context, Prediction, Score
from harness.evaluators.evidence import SPEC
from harness.protocols import RunFacts

A, B = "The mill was repaired under Mira Holt.", "Tidewright Power built the Gull Sound array in 1998."


def sentence(text: str, doc_id: str = "d") -> Context:
    return Context(text=text, doc_ids=(doc_id,), kind="sentence")


def scores(gold: list[str], offered: list[Context] | None, facts: RunFacts | None = None) -> dict[str, Score]:
    """`offered` None: the query failed."""
    said = FAILED if offered is None else Prediction(answer="an answer", evidence=tuple(offered))
    evidence, runtime = [("d", fact) for fact in gold], BareEvaluation(embedder=Embedder())
    return score_one(SPEC, said, evidence=evidence, runtime=runtime, facts=facts)


def values(gold: list[str], *offered: Context) -> dict[str, float | None]:
    return {name: score.value for name, score in scores(gold, list(offered)).items()}


def test_the_gold_sentences_themselves_are_worth_the_most() -> None:
    found = values([A, B], sentence(A), sentence(B))
    assert found["evid"] == pytest.approx(1.0)
    assert (found["evidence_recall"], found["evidence_precision"]) == (1.0, 1.0)
    assert found["evidence_characters"] == len(A) + len(B)


def test_twice_the_length_is_worth_half_the_cosine() -> None:
    assert values([A], sentence(f"{A}{A[:-1]}"))["evid"] == pytest.approx(0.5, abs=0.02)


def test_recall_is_of_facts_and_precision_of_sentences() -> None:
    found = values([A, B], sentence(A), sentence("It rained."), sentence("Nobody came to the opening."))
    assert found["evidence_recall"] == 0.5
    assert found["evidence_precision"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("offered", "is_same"),
    [
        ("Tidewright Power  built the Gull\nSound array in 1998.", True),
        ("In spring, Tidewright Power built the Gull Sound array in 1998. It is large.", True),
        ("built the Gull Sound array in 1998", True),
        ("power built the Gull Sound array, as everybody knows.", True),
        ("Ondrevik built the signals in 1998.", False),
    ],
)
def test_a_sentence_covers_a_fact_if_they_share_half_of_the_shorter_one(offered: str, is_same: bool) -> None:
    assert values([B], sentence(offered))["evidence_recall"] == float(is_same)


@pytest.mark.parametrize(
    ("offered", "fact", "is_same"),
    [
        ("Yes.", "Yes. Revenues rose by 5% to a record.", False),
        ("rose by 5% to", "Revenues rose by 5% to a record", False),
        ("Revenues rose by 5% to a rec", "Revenues rose by 5% to a record", True),
        # A fact that is short itself has to be there whole.
        ("Ann left.", "Ann left.", True),
        ("It is said that Ann left.", "Ann left.", True),
        ("Ann lef", "Ann left.", False),
        ("It lasts 120 days, or 20 days.", "20 days", True),
        ("東京は日本の首都", "首都のことだが、東京は日本の首都である。", True),
        ("東京は", "首都のことだが、東京は日本の首都である。", False),
    ],
)
def test_a_short_common_substring_proves_nothing(offered: str, fact: str, is_same: bool) -> None:
    found = values([fact], sentence(offered))
    assert (found["evidence_recall"], found["evidence_precision"]) == (float(is_same), float(is_same))


def test_an_answer_without_a_sentence_and_a_failed_query_score_zero() -> None:
    assert [score.value for score in scores([A], []).values()] == [0.0] * 4
    failed = scores([A], None)
    assert failed.pop("evidence_characters").status == "not_applicable"
    assert {(score.status, score.value) for score in failed.values()} == {("imputed", 0.0)}


@pytest.mark.parametrize(
    ("gold", "facts", "reason"),
    [
        ([], None, "names no fact"),
        (["x" * 1001], None, "1,001 characters"),
        ([A], RunFacts(has_evidence=False), "no answer of the run"),
        ([A], RunFacts(has_generator=False), "no generator"),
    ],
)
def test_where_it_does_not_apply_it_says_why(gold: list[str], facts: RunFacts | None, reason: str) -> None:
    found = scores(gold, [sentence(A)], facts)
    assert {score.status for score in found.values()} == {"not_applicable"}
    assert all(reason in score.said for score in found.values())
