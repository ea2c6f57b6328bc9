"""The names of the measures, and what `per_evaluator.kg` and `per_evaluator.kg_nlp` may set."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

from pydantic import Field

from harness.evaluators.kg.graph import TAU
from harness.evaluators.kg.multi_hop import DELTA
from harness.evaluators.kg.pairs import PAIRS, PairName
from harness.evaluators.kg.scores import SEEDS
from harness.protocols import Measure, Params

ScoreName = Literal["multi_hop", "multi_hop_undirected", "direct", "community", "community_coverage", "measurable"]

_SCORES: dict[ScoreName, str] = {
    "multi_hop": "share of the entities {} within reach (KG-eval, Algorithm 2)",
    "multi_hop_undirected": "share of the entities {} within reach, triplets read both ways",
    "direct": "share of the entities {} that are similar to one there",
    "community": "share of the entities {} in a community with one there (KG-eval, Formula 2)",
    "community_coverage": "share of the communities that hold both: {} (KG-eval, Algorithm 3)",
    "measurable": "both sides have triplets: {}",
}


class KgParams(Params):
    """Which pairs and scores, and the constants of KG-eval."""

    pairs: tuple[PairName, ...] = Field(get_args(PairName), min_length=1)
    scores: tuple[ScoreName, ...] = Field(get_args(ScoreName), min_length=1)
    tau: float = Field(TAU, ge=-1, le=1)
    """From which cosine on two entities mean the same."""
    delta: float = Field(DELTA, ge=0)
    """What a path may cost at most: 0.2 for a triplet, 1 - cosine for its end."""
    seeds: int = Field(SEEDS, ge=1, le=1000)
    """Partitions into communities whose mean counts."""


class Place(NamedTuple):
    """What a measure's name says."""

    pair: PairName
    score: ScoreName


@dataclass(frozen=True)
class Names:
    """The measures of one evaluator."""

    prefix: str
    twin_prefix: str = ""
    """Of the evaluator that these measures stand in for."""

    def measures(self, params: KgParams) -> tuple[Measure, ...]:
        """The chosen ones by pair, then by score, in the order of the tables."""
        return tuple(
            self._measure(Place(pair, score))
            for pair in PAIRS
            if pair in params.pairs
            for score in _SCORES
            if score in params.scores
        )

    def place(self, measure: Measure) -> Place:
        """The pair and the score that a measure of this evaluator names."""
        return self._places[measure.name]

    @cached_property
    def _places(self) -> dict[str, Place]:
        places = [Place(pair, score) for pair in PAIRS for score in _SCORES]
        return {_name(self.prefix, place): place for place in places}

    def _measure(self, place: Place) -> Measure:
        return Measure(
            name=_name(self.prefix, place),
            summary=_SCORES[place.score].format(PAIRS[place.pair].summary),
            failure_value=0.0,
            binary=place.score == "measurable",
            range=(0.0, 1.0),
            twin_of=_name(self.twin_prefix, place) if self.twin_prefix and place.score != "measurable" else "",
        )


def _name(prefix: str, place: Place) -> str:
    return f"{prefix}_{place.score}_{place.pair}"
