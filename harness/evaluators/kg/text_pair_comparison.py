"""Compares text pairs of one run, each once for all its scores, and explains the scores."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from harness.core.records import Triplet
from harness.display.text_format import counted
from harness.evaluators.answer_normalisation import is_verdict
from harness.evaluators.judge_calls import Judgement, NotApplicable
from harness.evaluators.kg.graphs.graph import TOLERANCE, KgGraph, TripletSide, connect, distinct_labels
from harness.evaluators.kg.graphs.multi_hop import paths
from harness.evaluators.kg.graphs.scores import KgScores, scores_of
from harness.evaluators.kg.measures import PAIRS, PUBLISHED, KgParams, MeasurePlace, PairName, content_of
from harness.evaluators.kg.short_answers import names_in, phrase_in, strictly_alike, verdict_of
from harness.evaluators.score_preconditions import reference_answer
from harness.evaluators.scores import bounded
from harness.evaluators.text_vectors import cosine_matrix
from harness.extraction.entity_names import one_line
from harness.llm_utils.concurrency import Once
from harness.protocols import Embedder, ScoringInput, Side


class Reading(Protocol):
    async def of(self, *texts: str) -> tuple[Triplet, ...]:
        """All triplets of the texts; raises if the extraction of a text failed."""
        ...


StartReading = Callable[[Sequence[str]], Awaitable[Reading]]
"""Starts the extraction of the texts that the scores of a run need."""


class _Pair(NamedTuple):
    input: TripletSide
    context: TripletSide
    of_verdicts: bool = False

    @property
    def is_brief(self) -> bool:
        return bool(self.input.names or self.context.names)


class Comparisons:
    """The comparisons of one run. All methods may call models and run inside `runtime.charge()`."""

    def __init__(self, reading: Reading, embedder: Embedder, params: KgParams) -> None:
        self._reading, self._embedder, self._params = reading, embedder, params
        self._judged: Once[tuple[str, int, PairName, bool], dict[str, Judgement]] = Once()

    async def judgement(self, case: ScoringInput, place: MeasurePlace) -> Judgement:
        """Value and explanation. Raises if an extraction failed, `NotApplicable` if a text has no triplets
        or names, and ValueError for an invalid vector.
        """
        sides = await self._compared(case, place.pair)
        if place.score == "measurable":
            return measurable(place.pair, sides[:2])
        as_published = place.score in PUBLISHED
        nothing = without_triplets(place.pair, sides[:2])
        if nothing and not as_published:
            raise NotApplicable(nothing)
        if place.score == "triplet_similarity":
            return await self._triplet_similarity(sides)
        # Skip the second comparison if it equals the first.
        apart = as_published and bool(sides.is_brief or nothing)
        key = case.record.query_id, case.record.repeat, place.pair, apart
        judged = await self._judged.of(key, partial(self._judge, case, place.pair, as_published=apart))
        return judged[PUBLISHED.get(place.score, place.score)]

    async def graph(self, case: ScoringInput, pair: PairName) -> KgGraph:
        """The graph on which the scores of a pair are computed; all distinct labels are embedded in one call.

        Raises `NotApplicable` if a text has no triplets or names.
        """
        sides = await self._compared(case, pair)
        if nothing := without_triplets(pair, sides[:2]):
            raise NotApplicable(nothing)
        return await self._connect(sides)

    async def _judge(self, case: ScoringInput, pair: PairName, *, as_published: bool) -> dict[str, Judgement]:
        sides = await (self._published(case, pair) if as_published else self._compared(case, pair))
        return await asyncio.to_thread(judgements, await self._connect(sides), pair, self._params)

    async def _triplet_similarity(self, sides: _Pair) -> Judgement:
        """Relations count here: each triplet is embedded as "head relation tail"."""
        texts, others = ([" ".join(one) for one in side.triplets] for side in sides[:2])
        if not texts or not others:
            raise NotApplicable("a text has names and no triplets")
        is_near = await cosine_matrix(self._embedder, texts, others) >= self._params.tau - TOLERANCE
        n_near = int(is_near.any(axis=1).sum())
        return n_near / len(texts), f"{n_near:,} of {len(texts):,} triplets are near one there"

    async def _connect(self, sides: _Pair) -> KgGraph:
        labels = distinct_labels(sides.input, sides.context)
        rows = await self._embedder.embed_documents(labels) if labels else ()
        vectors = dict(zip(labels, rows, strict=True))
        # Thousands of entities take seconds: let the progress bar and an interrupt run meanwhile.
        graph = await asyncio.to_thread(connect, sides.input, sides.context, vectors, self._params.tau)
        return strictly_alike(graph, verdicts=sides.of_verdicts) if sides.is_brief else graph

    async def _published(self, case: ScoringInput, pair: PairName) -> _Pair:
        inputs, contexts = await asyncio.gather(
            self._triplets(case, PAIRS[pair].input), self._triplets(case, PAIRS[pair].context)
        )
        return _Pair(TripletSide.of(inputs), TripletSide.of(contexts))

    async def _compared(self, case: ScoringInput, pair: PairName) -> _Pair:
        """Compares short answers and references by their names; see `short_answers`."""
        gold, answer = reference_answer(case.reference), case.prediction.answer or ""
        if pair == "factual_correctness" and (is_verdict(gold) or is_verdict(answer)):
            said, right = (TripletSide.of((), [verdict_of(text)]) for text in (answer, gold))
            return _Pair(said, right, of_verdicts=True)
        inputs, contexts = await asyncio.gather(
            self._triplet_side(case, PAIRS[pair].input, pair), self._triplet_side(case, PAIRS[pair].context, pair)
        )
        return _Pair(inputs, contexts)

    async def _triplet_side(self, case: ScoringInput, side: Side, pair: PairName) -> TripletSide:
        if side not in {"answer", "reference"}:
            return TripletSide.of(await self._triplets(case, side))
        (text,) = content_of(case, side).texts
        # A name alone does not repeat the question.
        names_count = pair != "answer_relevancy"
        if is_verdict(text):
            return TripletSide.of(())
        if names := names_in(text):
            return TripletSide.of((), names if names_count else ())
        triplets = await self._triplets(case, side)
        return TripletSide.of(triplets, phrase_in(text) if names_count and not triplets else ())

    async def _triplets(self, case: ScoringInput, side: Side) -> tuple[Triplet, ...]:
        said = content_of(case, side)
        return (*said.triplets, *await self._reading.of(*said.texts))


_MOST_NAMED = 5
_LONGEST_NAMED = 40


def judgements(graph: KgGraph, pair: PairName, params: KgParams) -> dict[str, Judgement]:
    """The scores of Algorithms 2 and 3, Formula 2 and our variants; all 0 if a text has no entities, as
    published."""
    scores = scores_of(graph, params.delta, params.seeds)
    nothing = without_triplets(pair, (graph.inputs, graph.contexts))
    reasons = dict.fromkeys(scores.values, nothing) if nothing else _reasons(graph, scores, params)
    return {name: (value, reasons[name]) for name, value in scores.values.items()}


def measurable(pair: PairName, sides: tuple[TripletSide, TripletSide]) -> Judgement:
    nothing = without_triplets(pair, sides)
    sizes = (counted(len(side.names), "name") if side.names else f"{len(side.triplets):,}" for side in sides)
    counts = (f"{size} of the {name}" for size, name in zip(sizes, PAIRS[pair][:2], strict=True))
    return (0.0, nothing) if nothing else (1.0, f"triplets: {', '.join(counts)}")


def without_triplets(pair: PairName, sides: tuple[TripletSide, TripletSide]) -> str:
    """The texts without triplets and names; empty if both have some."""
    names = PAIRS[pair].input, PAIRS[pair].context
    missing = [name for side, name in zip(sides, names, strict=True) if not side.labels]
    return "; ".join(f"the {name} {'have' if name == 'contexts' else 'has'} no triplets" for name in missing)


def _reasons(graph: KgGraph, scores: KgScores, params: KgParams) -> dict[str, str]:
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
    others = sorted(set(graph.inputs.labels) - set(named))
    shown = [bounded(one_line(label), _LONGEST_NAMED) for label in others[:_MOST_NAMED]]
    more = [f"and {len(others) - _MOST_NAMED:,} more"] if len(others) > _MOST_NAMED else []
    return f"; not: {', '.join([*shown, *more])}" if others else ""
