"""The KG-based scores of answers and contexts: `kg`, whose triplets a judge reads, and `kg_nlp`, by rules.

| `kg_<score>_<pair>` | how much of | is in | null queries |
|--|--|--|--|
| `context_relevancy` | the question | the contexts | no |
| `answer_relevancy` | the question | the answer | yes |
| `faithfulness` | the answer | the contexts | yes |
| `factual_correctness` | the answer | the first reference answer that says anything | no |

The scores are those of the package (`multi_hop`, `multi_hop_undirected`, `direct`, `community`,
`community_coverage`), and `measurable`: 1 where both sides have triplets. Where one has none the others are 0, as
published; the mean of `measurable` tells how often it is that rule that speaks.

- `kg` asks the judge for the triplets of each text, in windows, a call each; a passage that several queries
  retrieve is read once. One window that cannot be read fails the scores of its pair.
- `kg_nlp` parses: free, offline, the same every time. Its measures are named apart, since rules find other
  triplets than a model: names that stand in one sentence, and few in a question or a short answer.
- The labels of a pair are embedded in one call by `models.judge_embedder`. Relations are not compared.

Where there is nothing to compare: no generator, contexts or reference makes what reads it not applicable, and so
does an abstention; an empty answer, and no context in a run that has some, are 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec

from harness.errors import MissingDependency
from harness.evaluators.extracted import judged_extractions
from harness.evaluators.judged import Judgement, judge_each
from harness.evaluators.kg.comparing import Comparisons, Reading, StartReading
from harness.evaluators.kg.graph import KgGraph
from harness.evaluators.kg.measures import KgParams, Names
from harness.evaluators.kg.pairs import PAIRS, PairName, side_texts
from harness.evaluators.sides import settled, why_not
from harness.extraction.nlp import check_pipeline
from harness.extraction.parsed import ParsedTexts
from harness.protocols import Case, EvaluationRuntime, EvaluatorSpec, Measure, RunFacts
from harness.records import Reference, Score

JUDGED = Names("kg")
PARSED = Names("kg_nlp", twin_prefix="kg")
_BLOCK = 32
"""Comparisons: many more than are worth having under way at once."""


class KgEvaluator:
    """See the module."""

    def __init__(
        self, params: KgParams, runtime: EvaluationRuntime, names: Names, start_reading: StartReading
    ) -> None:
        self._params, self._runtime = params, runtime
        self._names, self._start_reading = names, start_reading

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        """No generator, contexts or reference where the pair reads them; half of the pairs on null queries."""
        pair = PAIRS[self._names.place(measure).pair]
        return why_not(pair.reads, reference, run, on_null_queries=pair.on_null_queries)

    async def evaluate(self, cases: Sequence[Case]) -> list[Score]:
        """Every measure of every case; the scores of one pair fail together, with the reason."""
        scores: list[Score] = []
        asked: list[tuple[Case, PairName]] = []
        for case in cases:
            left: dict[PairName, list[Measure]] = {}
            for measure in case.measures:
                pair = self._names.place(measure).pair
                if score := settled(case, measure, PAIRS[pair].reads):
                    scores.append(score)
                else:
                    left.setdefault(pair, []).append(measure)
            asked += [(replace(case, measures=tuple(measures)), pair) for pair, measures in left.items()]
        comparisons = await self._compare(asked)

        async def judge(case: Case, measure: Measure) -> Judgement:
            return await comparisons.judgement(case, self._names.place(measure))

        return scores + await judge_each(list(_in_blocks([case for case, _ in asked])), self._runtime, judge)

    async def graph(self, case: Case, pair: PairName) -> KgGraph:
        """The graph behind the scores of one pair; charged. Raises what makes those scores fail."""
        with self._runtime.charge():
            return await (await self._compare([(case, pair)])).graph(case, pair)

    def close(self) -> None:
        """Nothing is open."""

    async def _compare(self, asked: Sequence[tuple[Case, PairName]]) -> Comparisons:
        """The comparisons of these pairs, whose texts are now known."""
        sides = ((case, side) for case, pair in asked for side in (PAIRS[pair].input, PAIRS[pair].context))
        texts = [text for case, side in sides for text in side_texts(case, side)]
        return Comparisons(await self._start_reading(texts), self._runtime.embedder, self._params)


def _in_blocks(comparisons: Sequence[Case]) -> Iterator[Case]:
    """Each has the measures of one pair. Those under way at once are different comparisons: the scores of one
    would wait for one another and leave the judge idle.
    """
    for start in range(0, len(comparisons), _BLOCK):
        block = comparisons[start : start + _BLOCK]
        yield from (replace(one, measures=one.measures[:1]) for one in block)
        yield from (replace(one, measures=one.measures[1:]) for one in block)


def _judged(params: KgParams, runtime: EvaluationRuntime) -> KgEvaluator:
    async def start_reading(_texts: Sequence[str]) -> Reading:
        return judged_extractions(runtime.judge)

    return KgEvaluator(params, runtime, JUDGED, start_reading)


def _parsed(params: KgParams, runtime: EvaluationRuntime) -> KgEvaluator:
    # One for all runs of the command: systems share contexts.
    parsed = ParsedTexts(lambda done, total: runtime.progress(done, total, "parsing"))

    async def start_reading(texts: Sequence[str]) -> Reading:
        await parsed.parse(texts)
        return parsed

    return KgEvaluator(params, runtime, PARSED, start_reading)


def check_kg(_params: KgParams) -> None:
    """Raise MissingDependency unless igraph is installed."""
    if find_spec("igraph") is None:
        raise MissingDependency("the igraph package is not installed", "pip install 'rag-harness[kg]'")


def check_kg_nlp(params: KgParams) -> None:
    """Raise MissingDependency unless igraph, spaCy and an English pipeline are installed."""
    check_kg(params)
    check_pipeline(None)


SPEC = EvaluatorSpec(
    name="kg",
    version="1",
    summary="KG-eval: entities of a text within reach of, or in a community with, another's (by a judge)",
    params=KgParams,
    measures=JUDGED.measures,
    build=_judged,
    roles=frozenset({"judge", "judge_embedder"}),
    preflight=check_kg,
)
NLP_SPEC = EvaluatorSpec(
    name="kg_nlp",
    version="1",
    summary="KG-eval with triplets by rules on a parse: free, offline, deterministic (spaCy)",
    params=KgParams,
    measures=PARSED.measures,
    build=_parsed,
    roles=frozenset({"judge_embedder"}),
    preflight=check_kg_nlp,
)
