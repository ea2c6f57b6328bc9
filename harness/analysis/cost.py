"""What a run took: tokens, dollars, seconds, CPU and memory, in the same long format as the scores.

Per query (types, `overall`, `overall_natural`; n counts (query, repeat) pairs as everywhere):

- `input_tokens`, `output_tokens`, `tokens` (both), `cached_tokens` (a part of the input), `model_calls`: over all
  roles; `generator_*`: of the generator.
  Of the attempt that counts, failed queries included: what a failure used was used. Where a server did not count
  the tokens of a call, that query's number is unknown (n_failed), not low; so is `model_calls` where nobody
  counted the calls of an imported answer.
- `usd`: those tokens at the price table. Absent if a model that was called has no price.
- `wall_s` and `latency_s` (wall - throttled), each with mean and p50, p90, p95, p99; `throttled_s`, `cpu_s`,
  `stage_<name>_s` (0 for a query that did not enter the stage): of queries that were answered, and answered live.
  A failed or timed-out query has no latency, and a call replayed from the journal of an interrupted attempt, or a
  vector taken from the cache, took no time: all n_failed. Absent where no query was timed at all (answers imported
  without seconds).

Per run (`overall`, n = 1): `answer_usd_total`, everything paid for answering, earlier attempts included;
`answer_peak_rss_bytes`, the peak memory of the system's process (the operating system's count, not a sample);
`index_*`, what the index took, whoever paid for it (`index_wall_s` is unknown if calls were replayed or vectors
came from the cache; `index_spent_s` is what the build took with their help); `index_shared_*`, the part of it that
another run than the builder had paid for; `<phase>_<quantity>_mean` and `_max` for each column of resources.csv
(n = samples; no interval, since neighbouring samples are alike).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.analysis.aggregate import Aggregate, Frame, aggregate_quantiles, aggregate_scores
from harness.analysis.prices import NO_CALL, Prices, role_price, usage_usd
from harness.analysis.resources import PHASES, QUANTITIES, Resources, load_resources
from harness.records import Cost, IndexRecord, RunRecord, Score, Usage
from harness.store import RunDir, counting

QUANTILES = (0.5, 0.9, 0.95, 0.99)
TIMES = frozenset({"latency_s", "wall_s"})
"""What has quantiles."""
GENERATOR = "generator"

Models = Mapping[str, Any]
"""The `models` part of a run's identity: role -> provider, model, ..."""
MeasuredCosts = dict[str, float | None]
"""Measure -> value, None where it could not be measured."""


def run_costs(run: RunDir, prices: Prices, attempts: Sequence[RunRecord] | None = None) -> list[Aggregate]:
    """Everything above for one run directory, finished or not; what is not there yet has no rows.

    `attempts`: what `run.iter_records()` gives, where it was read before.
    """
    frame, models = Frame.of(run), run.manifest().identity.get("models", {})
    attempts = list(run.iter_records()) if attempts is None else attempts
    rows = query_costs(frame, counting(attempts).values(), models, prices)
    costs = [record.cost for record in attempts]
    rows += [*attempt_costs(frame, costs, models, prices), *peak_memory(frame, costs)]
    index, resources = run.index(), run.resources_path()
    rows += index_costs(frame, index, models, prices) if index else []
    return rows + (resource_use(frame, load_resources(resources)) if resources else [])


def query_costs(frame: Frame, records: Iterable[RunRecord], models: Models, prices: Prices) -> list[Aggregate]:
    """The rows per query, of the records that count (`RunDir.records`)."""
    scores = query_scores(list(records), models, prices)
    times = [score for score in scores if score.measure in TIMES]
    rows = aggregate_scores(frame, scores, proportions=False)
    return rows + aggregate_quantiles(frame, times, QUANTILES)


def query_scores(records: Sequence[RunRecord], models: Models, prices: Prices) -> list[Score]:
    """What each query took, by measure; failed where it is not known."""
    priced = not unpriced_roles((record.cost for record in records), models, prices)
    has_generator = (models.get(GENERATOR) or {}).get("provider", NO_CALL) != NO_CALL
    used: list[Score] = []
    for record in records:
        values = _tokens(record.cost, has_generator)
        if priced:
            values["usd"] = usage_usd(prices, models, record.cost.usage)
        used += _scores(record, values)
    return [*used, *_timing_scores(records)]


def latencies(frame: Frame, records: Iterable[RunRecord]) -> list[float]:
    """`latency_s` of every answer of the frame that has one, ascending."""
    asked = (r for r in records if r.query_id in frame.query_types and r.repeat < frame.repeats)
    values = (r.cost.latency_s for r in asked if r.status == "ok" and _is_live(r.cost))
    return sorted(value for value in values if value is not None)


def attempt_costs(frame: Frame, costs: Iterable[Cost], models: Models, prices: Prices) -> list[Aggregate]:
    """`answer_usd_total` over every attempt (`RunDir.iter_records`); no row without a price or an attempt."""
    costs = list(costs)
    if not costs or unpriced_roles(costs, models, prices):
        return []
    spent = [usage_usd(prices, models, cost.usage) for cost in costs]
    known = [usd for usd in spent if usd is not None]
    return [frame.row("answer_usd_total", sum(known) if len(known) == len(spent) else None)]


def peak_memory(frame: Frame, costs: Iterable[Cost]) -> list[Aggregate]:
    """`answer_peak_rss_bytes`, the most the system's process ever held while answering; no row if not measured."""
    peaks = [cost.peak_rss_bytes for cost in costs if cost.peak_rss_bytes is not None]
    return [frame.row("answer_peak_rss_bytes", max(peaks))] if peaks else []


def unpriced_roles(costs: Iterable[Cost], models: Models, prices: Prices) -> list[str]:
    """The roles whose model was called, as far as anybody knows, but has no price."""
    roles = {role for cost in costs for role, usage in cost.usage.items() if usage.is_used}
    return sorted(role for role in roles if role_price(prices, models, role) is None)


def index_costs(frame: Frame, index: IndexRecord, models: Models, prices: Prices) -> list[Aggregate]:
    """What the index is and what building it took. A system that has no such thing (nodes, say) has no row."""
    cost, live = index.cost, _is_live(index.cost)
    counted = index.stats.model_dump(exclude={"notes"}, exclude_none=True)
    values: MeasuredCosts = {**counted, "bytes": index.bytes_on_disk, **_tokens(cost, has_generator=False)}
    values["embedded_texts"], values["cached_texts"] = cost.embedded_texts, cost.cached_texts
    values["spent_s"], values["wall_s"] = cost.wall_s, cost.wall_s if live else None
    shared = [
        usage for run, roles in cost.replayed_from.items() if run != index.built_by for usage in roles.values()
    ]
    values.update(_counts("shared_", sum(shared, Usage())))
    values["shared_texts"] = sum(number for run, number in cost.cached_from.items() if run != index.built_by)
    values["throttled_s"] = cost.throttled_s if live else None
    if cost.cpu_s is not None:
        values["cpu_s"] = cost.cpu_s if live else None
    if cost.peak_rss_bytes is not None:
        values["peak_rss_bytes"] = cost.peak_rss_bytes
    if not unpriced_roles([cost], models, prices):
        values["usd"] = usage_usd(prices, models, cost.usage)
    return [frame.row(f"index_{name}", value) for name, value in sorted(values.items())]


def resource_use(frame: Frame, resources: Resources) -> list[Aggregate]:
    """Mean and maximum of every measured quantity in each phase."""
    rows = []
    for phase in PHASES:
        for quantity in QUANTITIES:
            values = resources.values(quantity, phase)
            for statistic, value in (("mean", sum(values) / len(values)), ("max", max(values))) if values else ():
                row = frame.row(f"{phase}_{quantity}_{statistic}", value)
                rows.append(replace(row, n_scored=len(values), n_expected=len(values)))
    return rows


def _tokens(cost: Cost, has_generator: bool) -> MeasuredCosts:
    total = sum(cost.usage.values(), Usage())
    values = _counts("", total)
    if not all(usage.calls_are_known for usage in cost.usage.values()):
        # The sum over roles may look like a count although one of them is none.
        values["model_calls"] = None
    return {**values, **_counts("generator_", cost.usage.get(GENERATOR, Usage()))} if has_generator else values


def _counts(prefix: str, usage: Usage) -> MeasuredCosts:
    metered = not usage.unmetered_calls
    return {
        f"{prefix}tokens": usage.input_tokens + usage.output_tokens if metered else None,
        f"{prefix}input_tokens": usage.input_tokens if metered else None,
        f"{prefix}output_tokens": usage.output_tokens if metered else None,
        f"{prefix}cached_tokens": usage.cached_tokens if metered else None,
        f"{prefix}model_calls": usage.calls if usage.calls_are_known else None,
    }


def _is_live(cost: Cost) -> bool:
    """Whether the time was spent rather than saved by an earlier attempt or build."""
    return not (cost.replayed_calls or cost.cached_texts)


def _timing_scores(records: Sequence[RunRecord]) -> list[Score]:
    if all(record.cost.wall_s is None for record in records):
        return []
    stages = sorted({stage for record in records for stage in record.cost.stages_s})
    with_throttling = any(record.cost.throttled_s is not None for record in records)
    with_cpu = any(record.cost.cpu_s is not None for record in records)
    scores = []
    for record in records:
        cost, live = record.cost, record.status == "ok" and _is_live(record.cost)
        values: MeasuredCosts = {"latency_s": cost.latency_s, "wall_s": cost.wall_s}
        if with_throttling:
            values["throttled_s"] = cost.throttled_s
        values.update({f"stage_{stage}_s": cost.stages_s.get(stage, 0.0) for stage in stages})
        if with_cpu:
            values["cpu_s"] = cost.cpu_s
        scores += _scores(record, values if live else dict.fromkeys(values))
    return scores


def _scores(record: RunRecord, values: MeasuredCosts) -> list[Score]:
    return [
        Score(
            query_id=record.query_id,
            repeat=record.repeat,
            measure=measure,
            status="failed" if value is None else "scored",
            value=None if value is None else float(value),
        )
        for measure, value in values.items()
    ]
