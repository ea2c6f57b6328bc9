"""Compares text pairs of one run, each once for all its scores, and explains the scores."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from harness.display.text_format import counted
from harness.evaluators.answer_normalisation import is_verdict
from harness.evaluators.judge_calls import Judgement, NotApplicable
from harness.evaluators.kg.graphs.graph import TOLERANCE, KgGraph, TripletSide, connect, distinct_labels
from harness.evaluators.kg.graphs.scores import KgScores, paths, scores_of
from harness.evaluators.kg.measures import PAIRS, PUBLISHED, KgParams, MeasurePlace, PairName, content_of
from harness.evaluators.kg.short_answers import names_in, phrase_in, strictly_alike, verdict_of
from harness.evaluators.score_preconditions import reference_answer
from harness.evaluators.scores import bounded
from harness.evaluators.text_vectors import cosine_matrix
from harness.extraction.entity_names import one_line
from harness.extraction.text_windows import Extractions, ParsedTexts
from harness.llm_utils.concurrency import Once
from harness.protocols import Embedder, ScoringInput, Side


class _Compared(NamedTuple):
    input: TripletSide
    context: TripletSide
    are_verdicts: bool = False

    @property
    def is_brief(self) -> bool:
        return bool(self.input.names or self.context.names)


class Comparisons:
    """The comparisons of one run. All methods may call models and run inside `runtime.charge()`."""

    def __init__(self, reading: Extractions | ParsedTexts, embedder: Embedder, params: KgParams) -> None:
        self._reading, self._embedder, self._params = reading, embedder, params
        self._judged: Once[tuple[str, int, PairName, bool], dict[str, Judgement]] = Once()

    async def judgement(self, case: ScoringInput, place: MeasurePlace) -> Judgement:
        """Value and explanation. Raises if an extraction failed, `NotApplicable` if a text has no triplets
        or names, and ValueError for an invalid vector.
        """
        pair, score = place
        sides = await self._compared(case, pair)
        nothing = without_triplets(pair, sides.input, sides.context)
        if score == "measurable":
            return (0.0, nothing) if nothing else (1.0, _sizes(pair, sides))
        as_published = score in PUBLISHED
        if nothing and not as_published:
            raise NotApplicable(nothing)
        if score == "triplet_similarity":
            return await self._triplet_similarity(sides)
        # Skip the second comparison if it equals the first.
        apart = as_published and bool(sides.is_brief or nothing)
        key = case.record.query_id, case.record.repeat, pair, apart
        judged = await self._judged.of(key, partial(self._judge, case, pair, as_published=apart))
        return judged[PUBLISHED.get(score, score)]

    async def graph(self, case: ScoringInput, pair: PairName) -> KgGraph:
        """The graph on which the scores of a pair are computed; all distinct labels are embedded in one call.

        Raises `NotApplicable` if a text has no triplets or names.
        """
        sides = await self._compared(case, pair)
        if nothing := without_triplets(pair, sides.input, sides.context):
            raise NotApplicable(nothing)
        return await self._connect(sides)

    async def _judge(self, case: ScoringInput, pair: PairName, *, as_published: bool) -> dict[str, Judgement]:
        graph = await self._connect(await self._compared(case, pair, as_published=as_published))
        return await asyncio.to_thread(judgements, graph, pair, self._params)

    async def _triplet_similarity(self, sides: _Compared) -> Judgement:
        """Relations count here: each triplet is embedded as "head relation tail"."""
        texts, others = ([" ".join(one) for one in side.triplets] for side in (sides.input, sides.context))
        if not texts or not others:
            raise NotApplicable("a text has names and no triplets")
        is_near = await cosine_matrix(self._embedder, texts, others) >= self._params.tau - TOLERANCE
        n_near = int(is_near.any(axis=1).sum())
        return n_near / len(texts), f"{n_near:,} of {len(texts):,} triplets are near one there"

    async def _connect(self, sides: _Compared) -> KgGraph:
        labels = distinct_labels(sides.input, sides.context)
        rows = await self._embedder.embed_documents(labels) if labels else ()
        vectors = dict(zip(labels, rows, strict=True))
        # Thousands of entities take seconds: let the progress bar and an interrupt run meanwhile.
        graph = await asyncio.to_thread(connect, sides.input, sides.context, vectors, self._params.tau)
        return strictly_alike(graph, verdicts=sides.are_verdicts) if sides.is_brief else graph

    async def _compared(self, case: ScoringInput, pair: PairName, *, as_published: bool = False) -> _Compared:
        """Short answers and references are compared by names (see `short_answers`), unless `as_published`."""
        texts = case.prediction.answer or "", reference_answer(case.reference)
        if pair == "factual_correctness" and not as_published and any(map(is_verdict, texts)):
            said, right = (TripletSide.of((), [verdict_of(text)]) for text in texts)
            return _Compared(said, right, are_verdicts=True)
        inputs, contexts = await asyncio.gather(
            *(self._triplet_side(case, side, pair, as_published) for side in PAIRS[pair].sides)
        )
        return _Compared(inputs, contexts)

    async def _triplet_side(
        self, case: ScoringInput, side: Side, pair: PairName, as_published: bool
    ) -> TripletSide:
        said = content_of(case, side)
        brief = said.texts[0] if side in {"answer", "reference"} and not as_published else ""
        # A name alone does not repeat the question.
        names_count = pair != "answer_relevancy"
        if is_verdict(brief):
            return TripletSide.of(())
        if names := names_in(brief):
            return TripletSide.of((), names if names_count else ())
        triplets = (*said.triplets, *await self._reading.of(*said.texts))
        return TripletSide.of(triplets, phrase_in(brief) if names_count and not triplets else ())


_MOST_NAMED = 5
_LONGEST_NAMED = 40


def judgements(graph: KgGraph, pair: PairName, params: KgParams) -> dict[str, Judgement]:
    """The five scores with their explanations; all 0 if a text has no entities, as published."""
    scores = scores_of(graph, params.delta, params.seeds)
    nothing = without_triplets(pair, graph.inputs, graph.contexts)
    reasons = dict.fromkeys(scores.values, nothing) if nothing else _reasons(graph, scores, params)
    return {name: (value, reasons[name]) for name, value in scores.values.items()}


def _sizes(pair: PairName, sides: _Compared) -> str:
    sizes = (
        f"{counted(len(side.names), 'name') if side.names else f'{len(side.triplets):,}'} of the {name}"
        for side, name in zip(sides[:2], PAIRS[pair].sides, strict=True)
    )
    return f"triplets: {', '.join(sizes)}"


def without_triplets(pair: PairName, inputs: TripletSide, contexts: TripletSide) -> str:
    """The texts without triplets and names; empty if both have some."""
    names = zip((inputs, contexts), PAIRS[pair].sides, strict=True)
    missing = [name for side, name in names if not side.labels]
    return "; ".join(f"the {name} {'have' if name == 'contexts' else 'has'} no triplets" for name in missing)


def _reasons(graph: KgGraph, scores: KgScores, params: KgParams) -> dict[str, str]:
    reached = {match.entity for match in paths(graph, params.delta)}
    similar = {edge.input_entity for edge in graph.similar_edges()}
    n = len(graph.inputs.labels)
    both_ways = round(scores.multi_hop_undirected * n)
    entities, within = f"of {n:,} entities", f"reach a context entity within {params.delta:g}"
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
