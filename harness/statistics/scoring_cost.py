"""The cost of scoring a run, in the same long format; never part of the system's cost.

Per run and evaluator, `evaluation_<evaluator>_` and: `spent_s`, `model_calls`, `input_tokens`, `output_tokens` (of
every judgement, reused ones too), `replayed_calls` (the part paid by earlier judgements of the same text) and
`usd`. Absent: tokens of an evaluator without a model, dollars of a model without a price.
"""

from collections.abc import Sequence

from harness.core.records import EvaluationRecord, Usage
from harness.statistics.aggregate import Aggregate, Frame
from harness.statistics.cost import unpriced_roles
from harness.statistics.prices import Prices, usage_usd

PREFIX = "evaluation_"


def evaluation_costs(frame: Frame, evaluations: Sequence[EvaluationRecord], prices: Prices) -> list[Aggregate]:
    """The rows above for every evaluation of one run."""
    return [row for evaluation in evaluations for row in _rows(frame, evaluation, prices)]


def _rows(frame: Frame, evaluation: EvaluationRecord, prices: Prices) -> list[Aggregate]:
    cost, values = evaluation.cost, dict[str, float | None]()
    values["spent_s"] = cost.wall_s
    if evaluation.models:
        used = sum(cost.usage.values(), Usage())
        metered = not used.unmetered_calls
        values["model_calls"], values["replayed_calls"] = used.calls, cost.replayed_calls
        values["input_tokens"] = used.input_tokens if metered else None
        values["output_tokens"] = used.output_tokens if metered else None
        if not unpriced_roles([cost], evaluation.models, prices):
            values["usd"] = usage_usd(prices, evaluation.models, cost.usage)
    return [frame.row(f"{PREFIX}{evaluation.evaluator}_{name}", value) for name, value in values.items()]
