"""The KG-based scores of answers and contexts: `kg` extracts triplets with a judge, `kg_nlp` with rules.

| `kg_<score>_<pair>` | how much of | is in | null queries |
|--|--|--|--|
| `context_relevancy` | the question | the contexts | no |
| `answer_relevancy` | the question | the answer | yes |
| `faithfulness` | the answer | the contexts | yes |
| `factual_correctness` | the answer | the first non-blank reference answer | no |

The package `graphs` defines the scores (`multi_hop`, `multi_hop_undirected`, `direct`, `community`,
`community_coverage`). A short answer or reference ("Sam Altman", "Yes") is compared by its names
(`short_answers`). If one of the two texts has neither triplets nor names, the scores are not applicable, the
explanation names the text, and `measurable` is 0, otherwise 1. `..._published` are the paper's three scores as
published: without names, and 0 if a text has no triplets, which is the case for every short answer, right or
wrong. `triplet_similarity`, if `scores` names it, is the share of a text's triplets that have one at a cosine of
at least `tau` in the other: heads, relations and tails together, which the paper leaves to future work.

- `kg` extracts the triplets of each text with the judge, in windows, one call each; a passage that several queries
  retrieve is extracted once. If one window fails, the scores of its pair fail.
- `kg_nlp` parses: free, offline and deterministic. Its metrics have their own names, because rules find other
  triplets than a model: pairs of names in one sentence, and few in a question or a short answer.
- Triplets that a graph context carries are used as they are; the rest of its text is extracted.
- The labels of a pair are embedded in one call by `models.judge_embedder`. Relations are compared by
  `triplet_similarity` alone.

Metrics that read a missing generator, contexts or reference, or an abstention, are not applicable. An empty
answer, and no context in a run that has some, score 0.
"""

from collections.abc import Sequence

from harness.core.errors import need
from harness.evaluators.judge_calls import Judge, JudgedEvaluator, Judgement
from harness.evaluators.kg.graphs.graph import KgGraph
from harness.evaluators.kg.measures import PAIRS, KgParams, PairName, Places, content_of, kg_measures, selected
from harness.evaluators.kg.text_pair_comparison import Comparisons, Reading, StartReading
from harness.evaluators.triplet_extraction import judged_extractions
from harness.extraction.nlp import check_pipeline, pipeline_digest
from harness.extraction.text_windows import ParsedTexts
from harness.protocols import EvaluationRuntime, EvaluatorSpec, Measure, Params, ScoringInput

JUDGED = kg_measures("kg", "a judge model")
PARSED = kg_measures("kg_nlp", "parsing rules", twin_prefix="kg")


class KgEvaluator(JudgedEvaluator):
    """The evaluator `kg` or `kg_nlp`. The scores of one pair fail together, with the reason."""

    def __init__(
        self, params: KgParams, runtime: EvaluationRuntime, places: Places, start_reading: StartReading
    ) -> None:
        super().__init__(runtime)
        self._params, self._places, self._start_reading = params, places, start_reading

    async def begin(self, cases: Sequence[ScoringInput]) -> Judge:
        pairs = [(case, self._places[measure].pair) for case in cases for measure in case.measures]
        comparisons = await self._compare(pairs)

        async def judge(case: ScoringInput, measure: Measure) -> Judgement:
            return await comparisons.judgement(case, self._places[measure])

        return judge

    def call_of(self, measure: Measure) -> object:
        return self._places[measure].pair

    async def graph(self, case: ScoringInput, pair: PairName) -> KgGraph:
        """The graph behind the scores of one pair; charged. Raises the error that makes those scores fail."""
        with self._runtime.charge():
            return await (await self._compare([(case, pair)])).graph(case, pair)

    def measure_of(self, pair: PairName) -> Measure:
        return next(measure for measure, place in self._places.items() if place.pair == pair)

    async def _compare(self, asked: Sequence[tuple[ScoringInput, PairName]]) -> Comparisons:
        sides = dict.fromkeys(
            (case.record.query_id, case.record.repeat, side)
            for case, pair in asked
            for side in (PAIRS[pair].input, PAIRS[pair].context)
        )
        by_key = {(case.record.query_id, case.record.repeat): case for case, _ in asked}
        texts = [text for query, repeat, side in sides for text in content_of(by_key[query, repeat], side).texts]
        return Comparisons(await self._start_reading(texts), self._runtime.embedder, self._params)


def _judged(params: KgParams, runtime: EvaluationRuntime) -> KgEvaluator:
    async def start_reading(_texts: Sequence[str]) -> Reading:
        return judged_extractions(runtime.judge)

    return KgEvaluator(params, runtime, JUDGED, start_reading)


def _parsed(params: KgParams, runtime: EvaluationRuntime) -> KgEvaluator:
    # Shared by all runs of the command, because systems retrieve the same contexts.
    parsed = ParsedTexts(lambda done, total: runtime.progress(done, total, "parsing"))

    async def start_reading(texts: Sequence[str]) -> Reading:
        await parsed.parse(texts)
        return parsed

    return KgEvaluator(params, runtime, PARSED, start_reading)


def built(name: str, params: Params, runtime: EvaluationRuntime) -> KgEvaluator:
    """The evaluator of that name; ValueError for the params of another one."""
    if not isinstance(params, KgParams):
        raise ValueError(f"{name}: {type(params).__name__} are not its parameters")
    return (_judged if name == SPEC.name else _parsed)(params, runtime)


def check_kg(_params: KgParams) -> None:
    need("evaluator-kg", "igraph")


def check_kg_nlp(params: KgParams) -> None:
    check_kg(params)
    check_pipeline(None)


SPEC = EvaluatorSpec(
    name="kg",
    version="8",
    summary="KG-eval: share of one text's entities that another text's graph reaches (by a judge)",
    params=KgParams,
    measures=lambda params: selected(JUDGED, params),
    build=_judged,
    roles=frozenset({"judge", "judge_embedder"}),
    preflight=check_kg,
)
NLP_SPEC = EvaluatorSpec(
    name="kg_nlp",
    version="7",
    summary="KG-eval with triplets from parsing rules: free, offline, deterministic (spaCy)",
    params=KgParams,
    measures=lambda params: selected(PARSED, params),
    build=_parsed,
    roles=frozenset({"judge_embedder"}),
    weights=lambda _params: {"parser": pipeline_digest(None)},
    preflight=check_kg_nlp,
)
