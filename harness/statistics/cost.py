"""Costs of a run: tokens, dollars, seconds, CPU and memory, in the same long format as the scores.

Per query (types, `overall`, `overall_natural`; n counts (query, repeat) pairs as everywhere):

- `input_tokens`, `output_tokens`, `tokens` (both), `cached_tokens` (a part of the input), `model_calls`: over all
  roles; `generator_*`: of the generator. Includes failed queries; the latest attempt counts. If a server did not
  count the tokens of a call, the query's number is a lower bound (n_imputed); if it counted none in the whole run,
  it is unknown (n_failed). `model_calls` is unknown for imported answers without a count of calls.
- `usd`: those tokens at the price table. Absent if a model that was called has no price.
- `wall_s` and `latency_s` (wall - throttled), each with mean and p50, p90, p95, p99: of queries that were answered
  live. A query that timed out counts with at least its limit (or with its own wall time or latency, if that is
  more) as n_imputed: the mean is restricted at the limit. The limit applies to latency; throttling by a provider
  is added in wall time only. n_failed: queries that failed otherwise, and those with replayed calls or cached
  vectors, which take no time. Absent if no query was timed (answers imported without seconds).
- `throttled_s`, `cpu_s`, `stage_<name>_s` (0 for a query that did not enter the stage): likewise, but for a query
  that timed out only `throttled_s` is known.

So a cost with n_imputed is a lower bound. A quantile is a lower bound only if such values may be above it:
see `is_lower_bound`.

Per run (`overall`, n = 1): `answer_usd_total`, everything paid for answering, including earlier attempts, each
vector once; `answer_peak_rss_bytes`, the peak memory of the system's process (counted by the operating system, not
sampled), and `answer_embedder_rss_bytes`, its growth when the embedder was loaded in that process; `index_*`, the
cost of the index, whoever paid for it (`index_wall_s` is unknown if calls were replayed or vectors came from the
cache; `index_spent_s` is the duration of the build with their help; `index_alone_s` adds the original duration of
those calls and vectors, unknown if it was not recorded); `index_shared_*`, the part that another run than the
builder had paid for; `<phase>_<quantity>_mean` and `_max` for each column of resources.csv (n = samples; no
interval, since neighbouring samples are correlated).

`evaluation_costs` gives the cost of scoring a run in the same format; it is never part of the system's cost.

Per run and evaluator, `evaluation_<evaluator>_` and: `spent_s`, `model_calls`, `input_tokens`, `output_tokens` (of
every judgement, reused ones too), `replayed_calls` (the part paid by earlier judgements of the same text) and
`usd`. Absent: tokens of an evaluator without a model, dollars of a model without a price.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from harness.core.records import Cost, EvaluationRecord, IndexRecord, RunRecord, Usage, subtract_usage
from harness.statistics.aggregate import aggregate_quantiles, aggregate_scores
from harness.statistics.columnar_scores import FAILED, IMPUTED, SCORED, Answer, ScoreColumns
from harness.statistics.prices import NO_CALL, Prices, role_price, usage_usd
from harness.statistics.resource_usage import PHASES, QUANTITIES, Resources, load_resources
from harness.statistics.run_frame import Aggregate, Frame, LowerBound
from harness.store import RunDir

QUANTILES = (0.5, 0.9, 0.95, 0.99)
TIMES = frozenset({"latency_s", "wall_s"})
"""Costs with quantiles."""
GENERATOR = "generator"

Models = Mapping[str, Any]
"""The `models` part of a run's identity: role -> provider, model, ..."""
MOST_FAILED = 0.01
"""A run that fails on a larger share of its queries is not ranked as cheapest or fastest: failing is cheap."""
_OF_AN_INDEX = ("bytes", "documents", "spent_s", "tokens", "wall_s")
"""Costs that every index has, known or not."""
_MEMORY = ("peak_rss_bytes", "embedder_rss_bytes")
_QUANTILE = re.compile(r"_p\d+$")


class Measured(NamedTuple):
    """A value, None if it could not be measured, and whether it is only a lower bound."""

    value: float | None
    at_least: bool = False

    @property
    def cell(self) -> tuple[int, float | None]:
        """State and value of a score."""
        return FAILED if self.value is None else IMPUTED if self.at_least else SCORED, self.value


MeasuredCosts = dict[str, Measured]
"""Metric -> value."""


_UNKNOWN = Measured(None)


@dataclass(frozen=True)
class _Known:
    """The quantities that any record of a run has; others get no column."""

    has_price: bool
    """Whether each model that was called has a price."""
    any_token: bool
    any_time: bool
    stages: Sequence[str]
    any_throttling: bool
    any_cpu: bool

    @classmethod
    def of(cls, records: Collection[RunRecord], models: Models, prices: Prices) -> _Known:
        costs = [record.cost for record in records]
        roles = {role for cost in costs for role in cost.called_roles}
        return cls(
            has_price=not without_price(roles, models, prices),
            any_token=any(cost.total.has_tokens for cost in costs),
            any_time=any(one.cost.wall_s is not None or one.status == "timeout" for one in records),
            stages=sorted({stage for cost in costs for stage in cost.stages_s}),
            any_throttling=any(cost.throttled_s is not None for cost in costs),
            any_cpu=any(cost.cpu_s is not None for cost in costs),
        )


def fails_too_often(n_failed: int, n_answered: int) -> bool:
    """Whether a run failed too many queries to be called the cheapest or fastest."""
    return n_failed > MOST_FAILED * n_answered


def is_lower_bound(row: Aggregate) -> bool:
    """Whether a cost row is only a lower bound: a sum or mean that contains one, or a `LowerBound`."""
    if _QUANTILE.search(row.measure):
        return isinstance(row, LowerBound)
    return row.n_imputed > 0


def run_costs(
    run: RunDir, frame: Frame, attempts: Iterable[RunRecord], used: ScoreColumns, prices: Prices
) -> list[Aggregate]:
    """All rows described above for one run directory, finished or not; unknown quantities have none.

    `attempts`: those of `run.iter_records()`, which are iterated twice; `used`: the result of `query_scores`.
    """
    models = run.manifest().models
    rows = query_costs(frame, used)
    rows += attempt_costs(frame, (record.cost for record in attempts), models, prices)
    rows += peak_memory(frame, (record.cost for record in attempts))
    index, resources = run.index(), run.resources_path()
    rows += index_costs(frame, index, models, prices) if index else []
    return rows + (resource_use(frame, load_resources(resources)) if resources else [])


def query_costs(frame: Frame, used: ScoreColumns) -> list[Aggregate]:
    """The rows per query; `used`: the result of `query_scores`."""
    rows = aggregate_scores(frame, used, ranges=dict.fromkeys(used.by_measure, (0.0, inf)))
    return rows + aggregate_quantiles(frame, used.only(TIMES), QUANTILES)


def query_scores(frame: Frame, records: Collection[RunRecord], models: Models, prices: Prices) -> ScoreColumns:
    """The cost of each query by measure, from the records that count (`RunDir.records`); failed if it is unknown,
    imputed if it is a lower bound.
    """
    known = _Known.of(records, models, prices)
    has_generator = (models.get(GENERATOR) or {}).get("provider", NO_CALL) != NO_CALL

    def answers() -> Iterator[Answer]:
        for record in records:
            values = _tokens(record.cost, has_generator)
            if known.has_price:
                values["usd"] = _usd(record.cost, models, prices)
            if not known.any_token:
                values = _without_bounds(values)
            if known.any_time:
                values |= {**_times(record, frame.query_limit_s), **_parts_of_time(record, known)}
            yield (record.query_id, record.repeat), {name: one.cell for name, one in values.items()}

    return ScoreColumns.of_cells(frame, answers())


def latencies(used: ScoreColumns) -> list[float]:
    """`latency_s` of every answer that has one, ascending; the limit for a query that timed out."""
    if "latency_s" not in used.by_measure:
        return []
    found = used.by_measure["latency_s"].values
    ascending: list[float] = np.sort(found[~np.isnan(found)]).tolist()
    return ascending


def attempt_costs(frame: Frame, costs: Iterable[Cost], models: Models, prices: Prices) -> list[Aggregate]:
    """`answer_usd_total` over every attempt (`RunDir.iter_records`). Cached vectors cost nothing here: the run
    that computed them has counted them. No row without a price or an attempt.
    """
    total, n, at_least, any_token, roles = 0.0, 0, False, False, set[str]()
    for cost in costs:
        own = cost.model_copy(update={"usage": subtract_usage(cost.usage, cost.cached_usage.values())})
        spent = _usd(own, models, prices)
        total, n, at_least = total + (spent.value or 0.0), n + 1, at_least or spent.at_least
        any_token = any_token or own.total.has_tokens
        roles |= own.called_roles
    if not n or without_price(roles, models, prices):
        return []
    return [_row(frame, "answer_usd_total", Measured(total, at_least) if any_token or not at_least else _UNKNOWN)]


def peak_memory(frame: Frame, costs: Iterable[Cost]) -> list[Aggregate]:
    """`answer_peak_rss_bytes`, the maximum memory of the system's process while answering, and
    `answer_embedder_rss_bytes`, the part for loading the embedder; no row for what was not measured.
    """
    most: dict[str, int] = {}
    for cost in costs:
        for name in _MEMORY:
            if (value := getattr(cost, name)) is not None:
                most[name] = max(value, most.get(name, value))
    return [frame.row(f"answer_{name}", most[name]) for name in _MEMORY if name in most]


def without_price(roles: Iterable[str], models: Models, prices: Prices) -> list[str]:
    return sorted(role for role in roles if role_price(prices, models, role) is None)


def index_costs(frame: Frame, index: IndexRecord, models: Models, prices: Prices) -> list[Aggregate]:
    """Contents and cost of the index. Quantities that a system does not have (such as nodes) have no row."""
    cost, live = index.cost, index.cost.is_live
    if index.stats.is_elsewhere:
        return [frame.row(f"index_{name}", None) for name in _OF_AN_INDEX]
    used = _tokens(cost, has_generator=GENERATOR in cost.usage)
    shared = [usage for run, roles in cost.shared_usage if run != index.built_by for usage in roles.values()]
    used.update(_counts("shared_", sum(shared, Usage())))
    if not without_price(cost.called_roles, models, prices):
        used["usd"] = _usd(cost, models, prices)
    values: dict[str, float | None] = index.stats.model_dump(
        exclude={"notes", "passages", "is_elsewhere"}, exclude_none=True
    )
    values.update(bytes=index.bytes_on_disk, embedded_texts=cost.embedded_texts, cached_texts=cost.cached_texts)
    values["spent_s"], values["wall_s"] = cost.wall_s, cost.wall_s if live else None
    saved_s = 0.0 if live else cost.saved_s
    values["alone_s"] = None if cost.wall_s is None or saved_s is None else cost.wall_s + saved_s
    values["shared_texts"] = sum(number for run, number in cost.cached_from.items() if run != index.built_by)
    values["throttled_s"] = cost.throttled_s if live else None
    if cost.cpu_s is not None:
        values["cpu_s"] = cost.cpu_s if live else None
    memory = {name: getattr(cost, name) for name in _MEMORY}
    values.update({name: value for name, value in memory.items() if value is not None})
    measured = used if cost.total.has_tokens else _without_bounds(used)
    measured.update({name: Measured(value) for name, value in values.items()})
    return [_row(frame, f"index_{name}", value) for name, value in sorted(measured.items())]


def resource_use(frame: Frame, resources: Resources) -> list[Aggregate]:
    rows = []
    for phase in PHASES:
        for quantity in QUANTITIES:
            values = resources.values(quantity, phase)
            for statistic, value in (("mean", sum(values) / len(values)), ("max", max(values))) if values else ():
                row = frame.row(f"{phase}_{quantity}_{statistic}", value)
                rows.append(replace(row, n_scored=len(values), n_expected=len(values)))
    return rows


def _row(frame: Frame, measure: str, measured: Measured) -> Aggregate:
    row = frame.row(measure, measured.value)
    return replace(row, n_scored=0, n_imputed=1) if measured.at_least else row


def _tokens(cost: Cost, has_generator: bool) -> MeasuredCosts:
    values = _counts("", cost.total)
    if not all(usage.calls_are_known for usage in cost.usage.values()):
        # The sum over roles may look like a count although the calls of one role were not counted.
        values["model_calls"] = _UNKNOWN
    return {**values, **_counts("generator_", cost.usage.get(GENERATOR, Usage()))} if has_generator else values


def _counts(prefix: str, usage: Usage) -> MeasuredCosts:
    at_least = usage.unmetered_calls > 0
    return {
        f"{prefix}tokens": Measured(usage.input_tokens + usage.output_tokens, at_least),
        f"{prefix}input_tokens": Measured(usage.input_tokens, at_least),
        f"{prefix}output_tokens": Measured(usage.output_tokens, at_least),
        f"{prefix}cached_tokens": Measured(usage.cached_tokens, at_least),
        f"{prefix}model_calls": Measured(usage.calls if usage.calls_are_known else None),
    }


def _usd(cost: Cost, models: Models, prices: Prices) -> Measured:
    """Dollars for the counted tokens, if every model has a price."""
    usd = usage_usd(prices, models, cost.usage)
    if usd is not None:
        return Measured(usd)
    counted = {role: usage.model_copy(update={"unmetered_calls": 0}) for role, usage in cost.usage.items()}
    return Measured(usage_usd(prices, models, counted), at_least=True)


def _without_bounds(values: MeasuredCosts) -> MeasuredCosts:
    """If no token was counted, a lower bound of 0 would be meaningless."""
    return {name: _UNKNOWN if one.at_least else one for name, one in values.items()}


def _times(record: RunRecord, limit_s: float | None) -> MeasuredCosts:
    cost = record.cost
    times = {"latency_s": cost.latency_s, "wall_s": cost.wall_s}
    if record.status == "timeout" and (limit_s or cost.wall_s):
        return {name: Measured(max(limit_s or 0.0, took or 0.0), at_least=True) for name, took in times.items()}
    known = record.status == "ok" and cost.is_live
    return {name: Measured(seconds if known else None) for name, seconds in times.items()}


def _parts_of_time(record: RunRecord, known: _Known) -> MeasuredCosts:
    """Seconds of stages, of throttling and of the processor, if any query of the run has them."""
    cost, live = record.cost, record.status == "ok" and record.cost.is_live
    parts = {f"stage_{stage}_s": cost.stages_s.get(stage, 0.0) if live else None for stage in known.stages}
    if known.any_throttling:
        timed_out = record.status == "timeout" and cost.wall_s is not None
        parts["throttled_s"] = cost.throttled_s if live or timed_out else None
    if known.any_cpu:
        parts["cpu_s"] = cost.cpu_s if live else None
    return {name: Measured(value) for name, value in parts.items()}


PREFIX = "evaluation_"


def evaluation_costs(frame: Frame, evaluations: Sequence[EvaluationRecord], prices: Prices) -> list[Aggregate]:
    return [row for evaluation in evaluations for row in _rows(frame, evaluation, prices)]


def _rows(frame: Frame, evaluation: EvaluationRecord, prices: Prices) -> list[Aggregate]:
    cost, values = evaluation.cost, dict[str, float | None]()
    values["spent_s"] = cost.wall_s
    if evaluation.models:
        used = cost.total
        metered = not used.unmetered_calls
        values["model_calls"], values["replayed_calls"] = used.calls, cost.replayed_calls
        values["input_tokens"] = used.input_tokens if metered else None
        values["output_tokens"] = used.output_tokens if metered else None
        if not without_price(cost.called_roles, evaluation.models, prices):
            values["usd"] = usage_usd(prices, evaluation.models, cost.usage)
    return [frame.row(f"{PREFIX}{evaluation.evaluator}_{name}", value) for name, value in values.items()]
