"""The comparisons of one run: the two texts of a pair are read, embedded and compared once for all scores."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from harness.asking.once import Once
from harness.evaluators.judged import Judgement
from harness.evaluators.kg.explaining import judgements, measurable
from harness.evaluators.kg.graphs.graph import KgGraph, connect
from harness.evaluators.kg.graphs.sides import TripletSide, distinct_labels
from harness.evaluators.kg.measures import KgParams, MeasurePlace, ScoreName
from harness.evaluators.kg.pairs import PAIRS, PairName, said_by
from harness.protocols import Case, Embedder, Side
from harness.records import Triplet


class Reading(Protocol):
    """Texts to triplets."""

    async def of(self, *texts: str) -> tuple[Triplet, ...]:
        """All that the texts state; raises where one cannot be read."""
        ...


StartReading = Callable[[Sequence[str]], Awaitable[Reading]]
"""A reading of these texts, which the scores of a run will ask for."""


class Comparisons:
    """See the module. Everything here asks models: it stands inside `runtime.charge()`."""

    def __init__(self, reading: Reading, embedder: Embedder, params: KgParams) -> None:
        self._reading, self._embedder, self._params = reading, embedder, params
        self._judged: Once[tuple[str, int, PairName], dict[ScoreName, Judgement]] = Once()

    async def judgement(self, case: Case, place: MeasurePlace) -> Judgement:
        """Value and explanation. Raises where a text cannot be read, and ValueError for a vector that is none."""
        if place.score == "measurable":
            return measurable(place.pair, await self._sides(case, place.pair))
        key = case.record.query_id, case.record.repeat, place.pair
        judged = await self._judged.of(key, partial(self._judge, case, place.pair))
        return judged[place.score]

    async def graph(self, case: Case, pair: PairName) -> KgGraph:
        """What the scores of a pair are counted on; each distinct label is embedded, all in one call."""
        inputs, contexts = await self._sides(case, pair)
        labels = distinct_labels(inputs, contexts)
        rows = await self._embedder.embed_documents(labels) if labels else ()
        vectors = dict(zip(labels, rows, strict=True))
        # Thousands of entities take seconds, in which the bar and an interrupt have their turn.
        return await asyncio.to_thread(connect, inputs, contexts, vectors, self._params.tau)

    async def _judge(self, case: Case, pair: PairName) -> dict[ScoreName, Judgement]:
        return await asyncio.to_thread(judgements, await self.graph(case, pair), pair, self._params)

    async def _sides(self, case: Case, pair: PairName) -> tuple[TripletSide, TripletSide]:
        inputs, contexts = await asyncio.gather(
            self._triplets(case, PAIRS[pair].input), self._triplets(case, PAIRS[pair].context)
        )
        return TripletSide.of(inputs), TripletSide.of(contexts)

    async def _triplets(self, case: Case, side: Side) -> tuple[Triplet, ...]:
        said = said_by(case, side)
        return (*said.triplets, *await self._reading.of(*said.texts))
