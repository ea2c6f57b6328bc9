"""What scoring took: apart from the system's cost, whoever paid."""

import pytest

from harness.core.records import Cost, EvaluationRecord, Usage
from harness.statistics import load_prices
from harness.statistics.cost import evaluation_costs

from .conftest import MakeFrame

OPENAI: dict[str, dict[str, object]] = {"judge": {"provider": "openai", "model": "gpt-4o-mini"}}
ASKED = Usage(calls=4, input_tokens=2_000_000, output_tokens=100_000)


def evaluation(
    models: dict[str, dict[str, object]], usage: dict[str, Usage], replayed: int = 0
) -> EvaluationRecord:
    cost = Cost(wall_s=9.0, usage=usage, replayed_calls=replayed)
    return EvaluationRecord.model_validate(
        {"evaluator": "ragas", "version": "1", "models": models, "measures": ("ragas_faithfulness",), "cost": cost}
    )


def found(frame: MakeFrame, record: EvaluationRecord) -> dict[str, float | None]:
    return {row.measure: row.mean for row in evaluation_costs(frame({"t": 1}), [record], load_prices())}


def test_a_judges_tokens_and_dollars_are_rows_of_their_evaluator(frame: MakeFrame) -> None:
    rows = found(frame, evaluation(OPENAI, {"judge": ASKED}, replayed=1))
    assert rows == {
        "evaluation_ragas_spent_s": 9.0,
        "evaluation_ragas_model_calls": 4,
        "evaluation_ragas_replayed_calls": 1,
        "evaluation_ragas_input_tokens": 2_000_000,
        "evaluation_ragas_output_tokens": 100_000,
        "evaluation_ragas_usd": pytest.approx(0.36),
    }


def test_tokens_that_a_judges_server_did_not_count_are_unknown(frame: MakeFrame) -> None:
    rows = found(frame, evaluation(OPENAI, {"judge": Usage(calls=1, unmetered_calls=1)}))
    assert rows["evaluation_ragas_input_tokens"] is None
    assert rows["evaluation_ragas_usd"] is None


def test_a_judge_without_a_price_costs_no_known_dollars(frame: MakeFrame) -> None:
    models: dict[str, dict[str, object]] = {"judge": {"provider": "openai", "model": "gpt-unknown"}}
    assert "evaluation_ragas_usd" not in found(frame, evaluation(models, {"judge": ASKED}))


def test_an_evaluator_that_asks_nobody_has_only_its_seconds(frame: MakeFrame) -> None:
    assert found(frame, evaluation({}, {})) == {"evaluation_ragas_spent_s": 9.0}
