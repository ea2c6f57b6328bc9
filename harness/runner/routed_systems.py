"""Routed systems: the systems to which a router sends queries, their indexes and costs."""

from collections.abc import Iterable, Sequence
from typing import Any

from harness.config import BenchConfig, SystemOverrides
from harness.core.errors import ConfigError
from harness.core.records import Cost, Expected, IndexRecord, IndexStats, Usage, Work, subtract_usage
from harness.protocols import Roles, Route, SystemSpec
from harness.runner.costs import by_payer, cost_together, largest_known, sum_if_known


def refuse_unroutable(spec: SystemSpec) -> None:
    """ConfigError if queries cannot be routed to this system: it routes itself, or its index cannot be shared."""
    if spec.routes is not None:
        raise ConfigError(f"'{spec.name}' routes queries itself", "route only to systems that answer queries")
    if spec.own_models or spec.sees_gold:
        why = "sees the gold evidence" if spec.sees_gold else "has its own models and index"
        raise ConfigError(f"queries cannot be routed to '{spec.name}': it {why}", "name another system in routes")


def config_of(config: BenchConfig, route: Route) -> BenchConfig:
    own = SystemOverrides(index=dict(route.index), answer=dict(route.answer))
    alone = {"systems": [route.system], "per_system": {route.system: own}}
    return config.model_copy(update={**alone, "index": {}, "answer": {}, "matrix": {}})


def with_roles(own: Roles, routed: Iterable[Roles]) -> Roles:
    all_roles = [own, *routed]
    return Roles(
        index=frozenset().union(*(one.index for one in all_roles)),
        answer=frozenset().union(*(one.answer for one in all_roles)),
    )


def joined_expectation(own: Expected, routed: Sequence[tuple[str, str, Expected]]) -> Expected:
    """The expected work of a system and its routed systems, given as (name, index id, expectation). Each index
    counts once. Queries count as if all went to the most expensive system: the routing is not known in advance.
    """
    dearest, _, most = max(routed, key=lambda one: _characters(one[2].query))
    indexes = {index_id: expected.index for _, index_id, expected in routed}
    conditions = [f"every query goes to {dearest}", *filter(None, (own.most, most.most))]
    notes = [*own.notes, *(note for _, _, expected in routed for note in expected.notes)]
    return Expected(
        index=_joined_work([own.index, *indexes.values()]),
        query=_joined_work([own.query, most.query]),
        most=", ".join(conditions) if len(routed) > 1 else most.most,
        notes=tuple(dict.fromkeys(notes)),
    )


def _characters(work: Work) -> float:
    return sum(kind.calls * kind.input_characters for kind in work.calls) + work.embedded_characters


def _joined_work(parts: Sequence[Work]) -> Work:
    return Work(
        calls=tuple(kind for part in parts for kind in part.calls),
        embedded_texts=sum(part.embedded_texts for part in parts),
        embedded_characters=sum(part.embedded_characters for part in parts),
    )


def joined_index(index_id: str, run_id: str, parts: Sequence[IndexRecord]) -> IndexRecord:
    """The record of an index that consists of these parts, with their summed cost. Parts that another run than
    `run_id` built are recorded as paid by that run.
    """
    return IndexRecord(
        index_id=index_id,
        stats=_stats(parts),
        cost=_cost(run_id, parts),
        bytes_on_disk=sum(one.bytes_on_disk for one in parts),
        built_by=run_id,
    )


def _stats(parts: Sequence[IndexRecord]) -> IndexStats:
    totals: dict[str, Any] = {}
    for name in ("chunks", "nodes", "edges", "communities", "failed_chunks"):
        known = [value for one in parts if (value := getattr(one.stats, name)) is not None]
        totals[name] = sum(known) if known else None
    return IndexStats(
        documents=max(one.stats.documents for one in parts),
        passages=parts[0].stats.passages if len(parts) == 1 else None,
        notes=tuple(dict.fromkeys(note for one in parts for note in one.stats.notes)),
        **totals,
    )


def _cost(run_id: str, parts: Sequence[IndexRecord]) -> Cost:
    costs = [one.cost for one in parts]
    # Parts that other runs built, by the run that paid.
    elsewhere = [{part.built_by: _own_usage(part.cost)} for part in parts if part.built_by != run_id]
    helped = [cost.saved_s for cost in costs if not cost.is_live]
    stages_s: dict[str, float] = {}
    for name, seconds in (stage for cost in costs for stage in cost.stages_s.items()):
        stages_s[name] = stages_s.get(name, 0.0) + seconds
    # The parts were built one after another, so that all seconds add up.
    return cost_together(costs, sum_if_known([cost.wall_s for cost in costs])).model_copy(
        update={
            "throttled_s": sum_if_known([cost.throttled_s for cost in costs]),
            "stages_s": stages_s,
            "embedder_rss_bytes": largest_known([cost.embedder_rss_bytes for cost in costs]),
            "saved_s": sum_if_known(helped) if helped else None,
            "replayed_from": by_payer([*(cost.replayed_from for cost in costs), *elsewhere]),
        }
    )


def _own_usage(cost: Cost) -> dict[str, Usage]:
    """The usage without replayed calls and cached vectors of other runs."""
    left = subtract_usage(cost.usage, [roles for _, roles in cost.shared_usage])
    return {role: used for role, used in left.items() if used.is_used}
