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


def test_an_abstention_is_wrong_if_there_is_a_reference_answer_and_otherwise_not_applicable() -> None:
    metrics: tuple[RagasMetric, ...] = ("faithfulness", "factual_correctness", "response_relevancy")
    scores = settled(("Ann",), answered("q", "Insufficient information.", "text"), RagasParams(metrics=metrics))
    assert scores.pop("ragas_factual_correctness").value == 0.0
    assert {(score.status, score.explanation) for score in scores.values()} == {
        ("not_applicable", "the answer abstains")
    }


@pytest.mark.parametrize("metric", ["context_precision", "faithfulness", "context_relevance"])
def test_without_contexts_all_that_reads_them_is_zero(metric: RagasMetric) -> None:
    scores = settled(("Ann",), answered("q", "Ann", "", " \n"), RagasParams(metrics=(metric,)))
    assert [(one.value, one.explanation) for one in scores.values()] == [(0.0, "no contexts were retrieved")]


def test_another_version_of_ragas_is_refused_before_it_gives_other_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert SPEC.preflight is not None
    SPEC.preflight(RagasParams())
    monkeypatch.setattr(ragas_evaluator, "version", lambda _name: "0.3.3")
    with pytest.raises(MissingDependency, match=r"ragas 0\.3\.3 is installed, not 0\.4\.3"):
        SPEC.preflight(RagasParams())
