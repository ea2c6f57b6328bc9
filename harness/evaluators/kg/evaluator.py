"""The KG-based scores of answers and contexts: `kg` extracts triplets with a judge, `kg_nlp` with rules.

| `kg_<score>_<pair>` | how much of | is in | null queries |
|--|--|--|--|
| `context_relevancy` | the question | the contexts | no |
| `answer_relevancy` | the question | the answer | yes |
| `faithfulness` | the answer | the contexts | yes |
| `factual_correctness` | the answer | the first non-blank reference answer | no |

The package `graphs` defines the scores. A short answer or reference ("Sam Altman", "Yes") is compared by its names
(`short_answers`). If one of the two texts has neither triplets nor names, the scores are not applicable, and
`measurable` is 0, otherwise 1. `..._published` are the paper's three scores as published: without names, and 0 if
a text has no triplets, as no short answer has. `triplet_similarity`, if `scores` names it, is the
share of a text's triplets that have one at a cosine of at least `tau` in the other.

- `kg` extracts the triplets of each text with the judge, in windows, one call each; a passage that several queries
  retrieve is extracted once. If one window fails, the scores of its pair fail.
- `kg_nlp` parses: free, offline and deterministic. Its metrics have their own names, because rules find other
  triplets than a model.
- Triplets that a graph context carries are used as they are; the rest of its text is extracted.
- The labels of a pair are embedded in one call by `models.judge_embedder`.

Metrics that read a missing generator, contexts or reference, or an abstention, are not applicable. An empty
answer, and no context in a run that has some, score 0.
"""

from collections.abc import Iterable, Sequence

from harness.core.errors import need
from harness.evaluators.judge_calls import Judge, JudgedEvaluator
from harness.evaluators.kg.graphs.graph import KgGraph
from harness.evaluators.kg.measures import PAIRS, KgParams, PairName, Places, content_of, kg_measures
from harness.evaluators.kg.text_pair_comparison import Comparisons
from harness.evaluators.triplet_extraction import judged_extractions
from harness.extraction.nlp import check_pipeline, pipeline_digest
from harness.extraction.text_windows import ParsedTexts
from harness.protocols import EvaluationRuntime, EvaluatorSpec, Measure, Params, ScoringInput, Side

JUDGED = kg_measures("kg", "a judge model")
PARSED = kg_measures("kg_nlp", "parsing rules", twin_prefix="kg")


class KgEvaluator(JudgedEvaluator):
    """The evaluator `kg` or `kg_nlp`. The scores of one pair fail together, with the reason."""

    def __init__(self, params: KgParams, runtime: EvaluationRuntime, parsed: ParsedTexts | None = None) -> None:
        """`parsed`: shared by all runs of the command, because systems retrieve the same contexts; None: `kg`."""
        super().__init__(runtime)
        self._params, self._parsed = params, parsed
        self._places = JUDGED if parsed is None else PARSED

    async def begin(self, cases: Sequence[ScoringInput]) -> Judge:
        sides = {
            (case.record.query_id, case.record.repeat, side): case
            for case in cases
            for measure in case.measures
            for side in PAIRS[self._places[measure].pair].sides
        }
        comparisons = await self._compare((case, side) for (_, _, side), case in sides.items())
        return lambda case, measure: comparisons.judgement(case, self._places[measure])

    def call_of(self, measure: Measure) -> object:
        return self._places[measure].pair

    async def graph(self, case: ScoringInput, pair: PairName) -> KgGraph:
        """The graph behind the scores of one pair; charged. Raises the error that makes those scores fail."""
        with self._runtime.charge():
            return await (await self._compare((case, side) for side in PAIRS[pair].sides)).graph(case, pair)

    def measure_of(self, pair: PairName) -> Measure:
        return next(measure for measure, place in self._places.items() if place.pair == pair)

    async def _compare(self, asked: Iterable[tuple[ScoringInput, Side]]) -> Comparisons:
        if self._parsed:
            await self._parsed.parse(text for case, side in asked for text in content_of(case, side).texts)
        reading = self._parsed or judged_extractions(self._runtime.judge)
        return Comparisons(reading, self._runtime.embedder, self._params)


def _parsing(params: KgParams, runtime: EvaluationRuntime) -> KgEvaluator:
    return KgEvaluator(params, runtime, ParsedTexts(lambda done, total: runtime.progress(done, total, "parsing")))


def built(name: str, params: Params, runtime: EvaluationRuntime) -> KgEvaluator:
    """The evaluator of that name; ValueError for the params of another one."""
    if not isinstance(params, KgParams):
        raise ValueError(f"{name}: {type(params).__name__} are not its parameters")
    return KgEvaluator(params, runtime) if name == SPEC.name else _parsing(params, runtime)


def _selected(places: Places, params: KgParams) -> tuple[Measure, ...]:
    return tuple(
        measure for measure, place in places.items() if place.pair in params.pairs and place.score in params.scores
    )


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
    measures=lambda params: _selected(JUDGED, params),
    build=KgEvaluator,
    roles=frozenset({"judge", "judge_embedder"}),
    preflight=check_kg,
)
NLP_SPEC = EvaluatorSpec(
    name="kg_nlp",
    version="7",
    summary="KG-eval with triplets from parsing rules: free, offline, deterministic (spaCy)",
    params=KgParams,
    measures=lambda params: _selected(PARSED, params),
    build=_parsing,
    roles=frozenset({"judge_embedder"}),
    weights=lambda _params: {"parser": pipeline_digest(None)},
    preflight=check_kg_nlp,
)
