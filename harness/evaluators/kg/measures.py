"""The pairs of texts that `kg` and `kg_nlp` compare, their metrics and parameters."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from pydantic import Field

from harness.core.records import Dimension
from harness.evaluators.kg.graphs.graph import TAU
from harness.evaluators.kg.graphs.scores import DELTA, SEEDS
from harness.evaluators.score_preconditions import reference_answer
from harness.evaluators.triplet_extraction import TextContent, content_of_contexts
from harness.protocols import Measure, Panel, PanelFigure, Params, ScoringInput, Side

PairName = Literal["context_relevancy", "answer_relevancy", "faithfulness", "factual_correctness"]


class TextPair(NamedTuple):
    """The text that is scored, and the text that it is compared with."""

    input: Side
    context: Side
    dimension: Dimension
    """The dimension that people rate."""
    on_null_queries: bool
    """Whether it applies to null queries."""

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.input, self.context


PAIRS: dict[PairName, TextPair] = {
    "context_relevancy": TextPair("question", "contexts", "context_relevancy", on_null_queries=False),
    "answer_relevancy": TextPair("question", "answer", "response_relevancy", on_null_queries=True),
    "faithfulness": TextPair("answer", "contexts", "faithfulness", on_null_queries=True),
    "factual_correctness": TextPair("answer", "reference", "factual_correctness", on_null_queries=False),
}


def content_of(case: ScoringInput, side: Side) -> TextContent:
    """The text to compare; of several reference answers the first that is not blank."""
    if side == "contexts":
        return content_of_contexts(case.prediction.contexts)
    texts = {
        "question": case.query.text,
        "answer": case.prediction.answer or "",
        "reference": reference_answer(case.reference),
    }
    return TextContent((texts[side],))


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
    pair: PairName
    score: ScoreName


Places = Mapping[Measure, MeasurePlace]


def kg_measures(prefix: str, extracted_by: str, twin_prefix: str = "") -> Places:
    """The metrics of one evaluator by pair, then by score, in the order of the tables.

    `extracted_by`: the extractor of the triplets; `twin_prefix`: prefix of the evaluator that these metrics
    approximate.
    """
    figure = PanelFigure(
        f"graph_scores_{prefix}",
        f"Graph scores, triplets by {extracted_by}",
        f"KG-eval with triplets by {extracted_by}: share of one text's entities that the other's graph reaches",
    )
    places = [MeasurePlace(pair, score) for pair in PAIRS for score in _SCORES]
    return {_measure(place, figure, prefix, twin_prefix): place for place in places}


def _measure(place: MeasurePlace, figure: PanelFigure, prefix: str, twin_prefix: str) -> Measure:
    pair, published = PAIRS[place.pair], place.score in PUBLISHED
    title = f"{pair.input} in {pair.context}"
    score = PUBLISHED.get(place.score, place.score).replace("_", "-")
    has_twin = twin_prefix and place.score != "measurable" and not published
    return Measure(
        name=_name(prefix, place),
        summary=_SCORES[place.score].format(f"{pair.input} in the {pair.context}"),
        failure_value=0.0,
        title=f"{score} score of {title}{', as published' if published else ''}",
        section="Knowledge-graph scores as published" if published else "Knowledge-graph scores",
        reads=frozenset(pair.sides),
        queries="all" if pair.on_null_queries else "answerable",
        binary=place.score == "measurable",
        range=(0.0, 1.0),
        twin_of=_name(twin_prefix, place) if has_twin else "",
        # With rules it agrees less with human labels than cheaper metrics do (docs/validity.md).
        stands_for=pair.dimension if place.score == "multi_hop" and not twin_prefix else None,
        panel=Panel(figure, title, _ROWS[place.score]) if place.score in _ROWS else None,
    )


def _name(prefix: str, place: MeasurePlace) -> str:
    suffix = "_published" if place.score in PUBLISHED else ""
    return f"{prefix}_{PUBLISHED.get(place.score, place.score)}_{place.pair}{suffix}"
