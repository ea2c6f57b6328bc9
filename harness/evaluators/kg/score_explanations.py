"""The scores of a graph, each with an explanation."""

from collections.abc import Iterable, Sequence

from harness.display.text_format import counted
from harness.evaluators.judge_calls import Judgement
from harness.evaluators.kg.graphs.graph import KgGraph, TripletSide
from harness.evaluators.kg.graphs.multi_hop import paths
from harness.evaluators.kg.graphs.scores import KgScores, scores_of
from harness.evaluators.kg.measures import KgParams, ScoreName
from harness.evaluators.kg.text_pairs import PAIRS, PairName
from harness.evaluators.scores import bounded
from harness.extraction.entity_names import one_line
from harness.protocols import Side

_MOST_NAMED = 5
_LONGEST_NAMED = 40


def judgements(graph: KgGraph, pair: PairName, params: KgParams) -> dict[ScoreName, Judgement]:
    """The scores of Algorithms 2 and 3, Formula 2 and our variants; all 0 if a text has no entities, as
    published."""
    scores = scores_of(graph, params.delta, params.seeds)
    values: dict[ScoreName, float] = {
        "multi_hop": scores.multi_hop,
        "multi_hop_undirected": scores.multi_hop_undirected,
        "direct": scores.direct,
        "community": scores.community,
        "community_coverage": scores.community_coverage,
    }
    nothing = without_triplets(pair, (graph.inputs, graph.contexts))
    reasons = dict.fromkeys(values, nothing) if nothing else _reasons(graph, scores, params)
    return {name: (value, reasons[name]) for name, value in values.items()}


def measurable(pair: PairName, sides: tuple[TripletSide, TripletSide]) -> Judgement:
    """1 if both texts have triplets or names, otherwise 0."""
    nothing = without_triplets(pair, sides)
    counts = (f"{_size_text(side)} of {_the(name)}" for side, name in zip(sides, PAIRS[pair][:2], strict=True))
    return (0.0, nothing) if nothing else (1.0, f"triplets: {', '.join(counts)}")


def without_triplets(pair: PairName, sides: tuple[TripletSide, TripletSide]) -> str:
    """The texts without triplets and names; empty if both have some."""
    names = PAIRS[pair].input, PAIRS[pair].context
    missing = [name for side, name in zip(sides, names, strict=True) if not side.labels]
    return "; ".join(f"{_the(name)} {'have' if name == 'contexts' else 'has'} no triplets" for name in missing)


def _size_text(side: TripletSide) -> str:
    return counted(len(side.names), "name") if side.names else f"{len(side.triplets):,}"


def _reasons(graph: KgGraph, scores: KgScores, params: KgParams) -> dict[ScoreName, str]:
    reached = {match.entity for match in paths(graph, params.delta)}
    similar = {edge.input_entity for edge in graph.similar_edges()}
    both_ways = round(scores.multi_hop_undirected * scores.input_entities)
    entities, within = f"of {scores.input_entities:,} entities", f"reach a context entity within {params.delta:g}"
    partitions = f"mean of {params.seeds} seeds, spread"
    return {
        "multi_hop": f"{len(reached):,} {entities} {within}{_others(graph, reached)}",
        "multi_hop_undirected": f"{both_ways:,} {entities} {within}, following triplets in both directions",
        "direct": f"{len(similar):,} {entities} are similar to a context entity{_others(graph, similar)}",
        "community": f"{partitions} {scores.community_spread:.3f}",
        "community_coverage": f"{partitions} {scores.community_coverage_spread:.3f}",
    }


def _others(graph: KgGraph, named: Iterable[str]) -> str:
    """Such as `; not: Berlin, Paris`, with the first few of them."""
    others = _shown(sorted(set(graph.inputs.labels) - set(named)))
    return f"; not: {', '.join(others)}" if others else ""


def _shown(labels: Sequence[str]) -> list[str]:
    shown = [bounded(one_line(label), _LONGEST_NAMED) for label in labels[:_MOST_NAMED]]
    return shown + ([f"and {len(labels) - _MOST_NAMED:,} more"] if len(labels) > _MOST_NAMED else [])


def _the(name: Side) -> str:
    return f"the {name}"
