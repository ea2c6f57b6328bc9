"""RAGAS: scores that need no judge, and its version. ragas is not imported."""

import pytest
from judges import ScriptedJudge, WordEmbedder
from scoring import BareEvaluation, passages, score_one

from harness.core.errors import MissingDependency
from harness.core.records import Prediction
from harness.evaluators import ragas as ragas_evaluator
from harness.evaluators.ragas import SPEC, RagasParams
from harness.evaluators.ragas_rows import RagasMetric

ABSTAINS = ("not_applicable", None, "the answer abstains")


@pytest.mark.parametrize(
    ("metric", "answer", "context", "expected"),
    [
        ("factual_correctness", "Insufficient information.", "text", ("scored", 0.0, "the answer abstains")),
        ("faithfulness", "Insufficient information.", "text", ABSTAINS),
        ("response_relevancy", "Insufficient information.", "text", ABSTAINS),
        ("context_precision", "Ann", " \n", ("scored", 0.0, "no contexts were retrieved")),
        ("faithfulness", "Ann", "", ("scored", 0.0, "no contexts were retrieved")),
    ],
)
def test_an_abstention_is_wrong_if_a_reference_says_so_and_no_context_is_zero(
    metric: RagasMetric, answer: str, context: str, expected: tuple[str, float | None, str]
) -> None:
    judge = ScriptedJudge({})
    said, params = Prediction(answer=answer, contexts=passages(context)), RagasParams(metrics=(metric,))
    runtime = BareEvaluation(judge, WordEmbedder())
    (score,) = score_one(SPEC, said, answers=("Ann",), params=params, runtime=runtime).values()
    assert (score.status, score.value, score.explanation) == expected
    assert not judge.asked


def test_another_version_of_ragas_is_refused_before_it_gives_other_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert SPEC.preflight is not None
    SPEC.preflight(RagasParams())
    monkeypatch.setattr(ragas_evaluator, "version", lambda _name: "0.3.3")
    with pytest.raises(MissingDependency, match=r"ragas 0\.3\.3 is installed, not 0\.4\.3"):
        SPEC.preflight(RagasParams())
