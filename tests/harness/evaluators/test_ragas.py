"""RAGAS without a judge: what applies to a query, and what an answer settles by itself. ragas is not imported."""

import pytest
from judges import ScriptedJudge, WordEmbedder
from scoring import BareEvaluation, answered, score_one

from harness.core.errors import MissingDependency
from harness.core.records import RunRecord, Score
from harness.evaluators import ragas as ragas_evaluator
from harness.evaluators.ragas import SPEC, RagasParams
from harness.evaluators.ragas_metrics import RagasMetric
from harness.protocols import RunFacts

ALL = (
    "ragas_context_precision_no_reference",
    "ragas_context_precision",
    "ragas_context_recall",
    "ragas_faithfulness",
    "ragas_factual_correctness",
    "ragas_response_relevancy",
    "ragas_context_relevance",
)
NULL = ("Insufficient information.",)


def settled(
    answers: tuple[str, ...], record: RunRecord, params: RagasParams | None = None, facts: RunFacts | None = None
) -> dict[str, Score]:
    """The scores by measure, where a judge that is asked anything fails the test."""
    judge = ScriptedJudge({})
    runtime = BareEvaluation(judge, WordEmbedder())
    assert record.prediction is not None
    found = score_one(SPEC, record.prediction, answers=answers, params=params, runtime=runtime, facts=facts)
    assert not judge.asked
    return found


OF_ANSWERS = ("context_precision_no_reference", "faithfulness", "factual_correctness", "response_relevancy")
OF_CONTEXTS = ("context_precision", "context_recall", "faithfulness", "context_relevance")


@pytest.mark.parametrize(
    ("texts", "metrics", "reason"),
    [
        ((" \n\u200b", "text"), OF_ANSWERS, "the answer is empty"),
        (("Ann",), OF_CONTEXTS, "no contexts were retrieved"),
        (("Ann", "", " \n"), OF_CONTEXTS, "no contexts were retrieved"),
    ],
)
def test_an_empty_text_is_0_in_whatever_reads_it(
    texts: tuple[str, ...], metrics: tuple[RagasMetric, ...], reason: str
) -> None:
    scores = settled(("Ann",), answered("q", *texts), RagasParams(metrics=metrics))
    assert {(score.value, score.explanation) for score in scores.values()} == {(0.0, reason)}


def test_an_abstention_is_wrong_where_there_is_an_answer_and_else_no_statement_at_all() -> None:
    refused = answered("q", "Insufficient information.", "text")
    scores = settled(("Ann",), refused, RagasParams(metrics=OF_ANSWERS))
    assert scores.pop("ragas_factual_correctness").value == 0.0
    assert {(score.status, score.explanation) for score in scores.values()} == {
        ("not_applicable", "the answer abstains")
    }


def test_to_a_null_query_only_what_an_invented_answer_says_applies() -> None:
    scores = settled(NULL, answered("q", "Insufficient information.", "text"))
    reasons = {name: score.explanation for name, score in scores.items()}
    assert {score.status for score in scores.values()} == {"not_applicable"}
    about_the_answer = {"ragas_faithfulness", "ragas_response_relevancy"}
    assert {name for name, reason in reasons.items() if reason == "the answer abstains"} == about_the_answer
    assert {reasons[name] for name in ALL if name not in about_the_answer} == {"the query is a null query"}


def test_what_a_run_or_a_data_set_does_not_have_is_not_applicable() -> None:
    bare = RunFacts(has_generator=False, has_contexts=False)
    scores = settled((" ",), answered("q", None), facts=bare)
    assert {score.status for score in scores.values()} == {"not_applicable"}
    assert scores["ragas_faithfulness"].explanation == "the run has no generator"
    assert scores["ragas_context_recall"].explanation == "the contexts are not recorded"
    scores = settled(("",), answered("q", "", "text"), RagasParams(metrics=("context_recall",)))
    assert scores["ragas_context_recall"].explanation == "the data set gives no reference answer"


def test_another_version_of_ragas_is_refused_before_it_gives_other_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert SPEC.preflight is not None
    SPEC.preflight(RagasParams())
    monkeypatch.setattr(ragas_evaluator, "version", lambda _name: "0.3.3")
    with pytest.raises(MissingDependency, match=r"ragas 0\.3\.3 is installed, not 0\.4\.3"):
        SPEC.preflight(RagasParams())
