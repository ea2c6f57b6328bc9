"""The metrics and parameters of `kg` and `kg_nlp`."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

from pydantic import Field

from harness.evaluators.kg.graphs.graph import TAU
from harness.evaluators.kg.graphs.multi_hop import DELTA
from harness.evaluators.kg.graphs.scores import SEEDS
from harness.evaluators.kg.text_pairs import PAIRS, PairName
from harness.protocols import Measure, Panel, PanelFigure, Params

ScoreName = Literal[
    "multi_hop",
    "multi_hop_undirected",
    "direct",
    "community",
    "community_coverage",
    "measurable",
    "multi_hop_published",
    "community_published",
    "community_coverage_published",
    "triplet_similarity",
]
_BY_DEFAULT = tuple(name for name in get_args(ScoreName) if name != "triplet_similarity")
"""The others need no embedding beside those of the entities."""

_SCORES: dict[ScoreName, str] = {
    "multi_hop": "share of the entities of the {} within reach (KG-eval, Algorithm 2)",
    "multi_hop_undirected": "share of the entities of the {} within reach, following triplets in both directions",
    "direct": "share of the entities of the {} that are similar to one there",
    "community": "share of the entities of the {} in a community with one there (KG-eval, Formula 2)",
    "community_coverage": "share of the communities with entities of both: {} (KG-eval, Algorithm 3)",
    "measurable": "both texts have triplets or names: {}",
    "multi_hop_published": "share of the entities of the {} within reach, 0 without triplets",
    "community_published": "share of the entities of the {} in a community with one there, 0 without triplets",
    "community_coverage_published": "share of the communities with entities of both, 0 without triplets: {}",
    "triplet_similarity": "share of the triplets of the {} near one there by cosine (future work of KG-eval)",
}
PUBLISHED: dict[ScoreName, ScoreName] = {
    "multi_hop_published": "multi_hop",
    "community_published": "community",
    "community_coverage_published": "community_coverage",
}
"""The scores of KG-eval as published: without names, and 0 if a text has no triplet."""
_ROWS: dict[ScoreName, str] = {
    "multi_hop": "multi-hop",
    "community": "community",
    "direct": "direct",
    "community_coverage": "coverage",
}
"""Scores shown in the figure, the main ones first, with their row names."""


class KgParams(Params):
    """The pairs, scores and constants of KG-eval."""

    pairs: tuple[PairName, ...] = Field(get_args(PairName), min_length=1)
    scores: tuple[ScoreName, ...] = Field(_BY_DEFAULT, min_length=1)
    """`triplet_similarity` is not among them by default: it also embeds every triplet."""
    tau: float = Field(TAU, ge=-1, le=1)
    """Minimum cosine of two equivalent entities, or triplets."""
    delta: float = Field(DELTA, ge=0)
    """Maximum cost of a path: 0.2 per triplet, 1 - cosine for its end."""
    seeds: int = Field(SEEDS, ge=1, le=1000)
    """Number of partitions over which the community score is averaged."""


class MeasurePlace(NamedTuple):
    """The parts of a metric's name."""

    pair: PairName
    score: ScoreName


@dataclass(frozen=True)
class Names:
    """The measures of one evaluator."""

    prefix: str
    extracted_by: str
    """The extractor of the triplets."""
    twin_prefix: str = ""
    """Prefix of the evaluator that these metrics approximate."""

    def measures(self, params: KgParams) -> tuple[Measure, ...]:
        """The selected metrics by pair, then by score, in the order of the tables."""
        return tuple(
            self._measure(MeasurePlace(pair, score))
            for pair in PAIRS
            if pair in params.pairs
            for score in _SCORES
            if score in params.scores
        )

    def place(self, measure: Measure) -> MeasurePlace:
        """The pair and score of a metric of this evaluator."""
        return self._places[measure.name]

    @cached_property
    def _places(self) -> dict[str, MeasurePlace]:
        places = [MeasurePlace(pair, score) for pair in PAIRS for score in _SCORES]
        return {_name(self.prefix, place): place for place in places}

    @cached_property
    def _figure(self) -> PanelFigure:
        return PanelFigure(
            f"graph_scores_{self.prefix}",
            f"Graph scores, triplets by {self.extracted_by}",
            f"KG-eval with triplets by {self.extracted_by}: share of one text's entities that the other's "
            "graph reaches",
        )

    def _measure(self, place: MeasurePlace) -> Measure:
        pair, published = PAIRS[place.pair], place.score in PUBLISHED
        drawn = Panel(self._figure, pair.title, _ROWS.get(place.score, ""))
        has_twin = self.twin_prefix and place.score != "measurable" and not published
        return Measure(
            name=_name(self.prefix, place),
            summary=_SCORES[place.score].format(f"{pair.input} in the {pair.context}"),
            failure_value=0.0,
            title=_title(place),
            section="Knowledge-graph scores as published" if published else "Knowledge-graph scores",
            reads=pair.reads,
            queries="all" if pair.on_null_queries else "answerable",
            binary=place.score == "measurable",
            range=(0.0, 1.0),
            twin_of=_name(self.twin_prefix, place) if has_twin else "",
            # With rules it agrees less with human labels than cheaper metrics do (docs/validity.md).
            stands_for=pair.dimension if place.score == "multi_hop" and not self.twin_prefix else None,
            panel=drawn if place.score in _ROWS else None,
        )


def _name(prefix: str, place: MeasurePlace) -> str:
    score, suffix = PUBLISHED.get(place.score), "_published"
    return f"{prefix}_{score}_{place.pair}{suffix}" if score else f"{prefix}_{place.score}_{place.pair}"


def _title(place: MeasurePlace) -> str:
    score = PUBLISHED.get(place.score, place.score).replace("_", "-")
    as_published = ", as published" if place.score in PUBLISHED else ""
    return f"{score} score of {PAIRS[place.pair].title}{as_published}"
