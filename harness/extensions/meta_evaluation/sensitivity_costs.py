"""The cost of judging an answer, and the effect of a parameter."""

from collections.abc import Sequence

from harness.core.records import Usage
from harness.display import Entry, Quantity, Table, printable
from harness.extensions.meta_evaluation.sweep_figures import MovedParameter
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir


def cost_table(runs: Sequence[RunDir], evaluators: Sequence[str], prices: Prices) -> Table:
    """Calls, tokens and dollars per answer for each evaluator. Reused judgements count."""
    rows = []
    for name in evaluators:
        usage, dollars, seconds, answers = Usage(), 0.0, 0.0, 0
        is_priced = True
        for run in runs:
            for one in (one for one in run.evaluations() if one.evaluator == name):
                answers += len(run.sample())
                seconds += one.cost.wall_s or 0.0
                usage = sum(one.cost.usage.values(), usage)
                usd = usage_usd(prices, one.models, one.cost.usage)
                is_priced, dollars = is_priced and usd is not None, dollars + (usd or 0.0)
        rows.append(_cost_row(name, answers, usage, (dollars if is_priced else None, seconds)))
    header = ("evaluator", "answers", "calls", "input tokens", "output tokens", "dollars", "seconds")
    note = "Each for one answer; seconds are of this machine, without judgements replayed from the journal."
    return Table("costs", "What an answer costs to score", header, tuple(rows), note)


def sweep_table(points: Sequence[MovedParameter]) -> Table:
    """A row for each measure and value of a parameter."""
    rows: list[tuple[Entry, ...]] = [
        (
            printable(point.effect.measure.name),
            f"{point.parameter} = {point.value}",
            Quantity(point.effect.mean_before, unit="share"),
            Quantity(point.effect.mean_after, unit="share"),
            Quantity(point.effect.auc.value, *point.effect.auc.interval, unit="coefficient"),
            Quantity(point.effect.n, of=point.effect.n_swapped, unit="count"),
        )
        for point in points
    ]
    header = ("measure", "parameter", "as it was", "wrong answer", "AUC", "answers")
    ordered = sorted(rows, key=lambda row: (str(row[0]), str(row[1]).partition(" ")[0]))
    return Table("sweep", "Wrong answers over values of a parameter", header, tuple(ordered))


def _cost_row(name: str, answers: int, usage: Usage, known: tuple[float | None, float]) -> tuple[Entry, ...]:
    def each(value: float | None) -> Quantity:
        return Quantity(value / answers if value is not None and answers else None)

    dollars, seconds = known
    tokens = (usage.input_tokens, usage.output_tokens)
    return (printable(name), Quantity(answers, unit="count"), *map(each, (usage.calls, *tokens, dollars, seconds)))
