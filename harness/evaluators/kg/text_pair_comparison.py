"""Compares text pairs of one run. A pair is extracted and embedded once for all its scores."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from harness.core.records import Triplet
from harness.evaluators.answer_normalisation import is_verdict
from harness.evaluators.judge_calls import Judgement, NotApplicable
from harness.evaluators.kg.graphs.graph import KgGraph, TripletSide, connect, distinct_labels
from harness.evaluators.kg.graphs.similar_edges import similar_pairs, unit_rows
from harness.evaluators.kg.measures import PUBLISHED, KgParams, MeasurePlace, ScoreName
from harness.evaluators.kg.score_explanations import judgements, measurable, without_triplets
from harness.evaluators.kg.short_answers import names_in, phrase_in, strictly_alike, verdict_of
from harness.evaluators.kg.text_pairs import PAIRS, PairName, content_of
from harness.evaluators.score_preconditions import reference_answer
from harness.llm_utils.concurrency import Once
from harness.protocols import Embedder, ScoringInput, Side


class Reading(Protocol):
    """Extracted triplets of texts."""

    async def of(self, *texts: str) -> tuple[Triplet, ...]:
        """All triplets of the texts; raises if the extraction of a text failed."""
        ...


StartReading = Callable[[Sequence[str]], Awaitable[Reading]]
"""Starts the extraction of the texts that the scores of a run need."""


class _Pair(NamedTuple):
    """The two texts of a comparison."""

    input: TripletSide
    context: TripletSide
    of_verdicts: bool = False

    @property
    def is_brief(self) -> bool:
        """Whether a text is given as names."""
        return bool(self.input.names or self.context.names)


class Comparisons:
    """The comparisons of one run. All methods may call models and run inside `runtime.charge()`."""

    def __init__(self, reading: Reading, embedder: Embedder, params: KgParams) -> None:
        self._reading, self._embedder, self._params = reading, embedder, params
        self._judged: Once[tuple[str, int, PairName, bool], dict[ScoreName, Judgement]] = Once()

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

    async def _judge(
        self, case: ScoringInput, pair: PairName, *, as_published: bool
    ) -> dict[ScoreName, Judgement]:
        sides = await (self._published(case, pair) if as_published else self._compared(case, pair))
        return await asyncio.to_thread(judgements, await self._connect(sides), pair, self._params)

    async def _triplet_similarity(self, sides: _Pair) -> Judgement:
        """Relations count here: each triplet is embedded as "head relation tail"."""
        texts, others = ([" ".join(one) for one in side.triplets] for side in sides[:2])
        if not texts or not others:
            raise NotApplicable("a text has names and no triplets")
        distinct = list(dict.fromkeys([*texts, *others]))
        vectors = dict(zip(distinct, await self._embedder.embed_documents(distinct), strict=True))
        pairs = similar_pairs(unit_rows(texts, vectors), unit_rows(others, vectors), self._params.tau)
        n_near = len(set(pairs.inputs.tolist()))
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
