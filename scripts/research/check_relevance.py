"""Which measure separates relevant passages from hard negatives?

MS MARCO gives each of 200 queries one relevant passage and one hard negative (ms_marco_hard_neg_balanced.csv; for
six queries both are the same text). Every measure of context relevance scores each passage as the only context of
its query; the baseline is the cosine of query and passage. RAG-Eval's query relevance reads an answer: the passage
is its answer as well as its context. `measurable` is no such measure: it shows how often KG-eval had triplets to
compare.

Judged measures run on the first --judged queries of the sample; --judged 0 starts no judge. Every call is saved in
--folder: if interrupted, the same command resumes. The table counts calls and tokens as if none had been saved;
seconds are of this command, so only those of a first run show the cost of a measure.

Examples:
  RAG_HARNESS_DATA=data .venv/bin/python scripts/research/check_relevance.py --judged 0
  RAG_HARNESS_DATA=data .venv/bin/python scripts/research/check_relevance.py --queries 200 --judged 15
"""

import argparse
import asyncio
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from common import command_line, limits, mean, print_table, started
from judging import Answered, judge_arguments, judge_of, judged, metered, opened, tokens

from harness.config import JudgeConfig
from harness.core.errors import DataError, HarnessError
from harness.core.records import Context, Prediction, Query, Reference, Score, Usage
from harness.datasets.local_files import ENV, find, read_csv
from harness.datasets.row_fields import FIX
from harness.display.text_format import markdown
from harness.evaluators.triplet.cosine import highest_cosines
from harness.registry import EVALUATORS
from harness.runner.evaluating.models import EvaluationModels
from harness.statistics.roc_auc import QueryScores, auc
from harness.store import SampleRow

DATA = "ms_marco/ms_marco_hard_neg_balanced.csv"
_KG = ("multi_hop", "multi_hop_undirected", "direct", "community", "community_coverage", "measurable")
_KG_PARAMS: dict[str, Any] = {"pairs": ("context_relevancy",), "scores": _KG}


class Pair(NamedTuple):
    """A query with its two passages."""

    query: str
    relevant: str
    negative: str


class Claim(NamedTuple):
    """An evaluator with measures of relevance."""

    evaluator: str
    params: Mapping[str, Any]
    measures: tuple[str, ...]
    passage_is_answer: bool = False


HEADER = (
    *("measure", "passages", "scored", "failed", "n/a", "AUC [95 %]", "relevant", "negative"),
    *("relevant higher", "equal", "calls", "tokens", "seconds"),
)
CLAIMS = (
    Claim("kg_nlp", _KG_PARAMS, tuple(f"kg_nlp_{score}_context_relevancy" for score in _KG)),
    Claim("kg", _KG_PARAMS, tuple(f"kg_{score}_context_relevancy" for score in _KG)),
    Claim("triplet", {"metrics": ("response_relevancy",)}, ("triplet_response_relevancy",)),
    Claim("rag_eval", {}, ("rag_eval_query_relevance",), passage_is_answer=True),
    Claim("ragas", {"metrics": ("context_relevance",)}, ("ragas_context_relevance",)),
)


@dataclass(frozen=True)
class Column:
    """A measure's scores of each query's relevant passage, then of its negative, and their cost."""

    measure: str
    scores: list[Score]
    judge: Usage
    seconds: float


def main() -> None:
    asked = _arguments()
    known, rng = read_pairs(), random.Random(asked.seed)  # noqa: S311 - no secret
    # In random order, so that the first few are also a random sample.
    pairs = rng.sample(known, min(asked.queries, len(known)))
    print(f"{len(pairs)} queries, {min(asked.judged, len(pairs))} of them judged, seed {asked.seed}\n")
    columns = asyncio.run(_columns(pairs, judge_of(asked), asked))
    print_table(HEADER, map(_line, columns))
    print("\nCalls and tokens: the judge's for a passage. Relevant higher, equal: shares of queries.")
    for reason in reasons(columns):
        print(reason)


async def _columns(pairs: Sequence[Pair], judge: JudgeConfig, asked: argparse.Namespace) -> list[Column]:
    """The baseline, then each evaluator's scores; in one event loop, because the models' clients belong to it."""
    with opened(judge, asked.folder) as models:
        columns = [await _baseline(pairs, models)]
        for claim in CLAIMS:
            try:
                columns += await _claimed(claim, pairs, asked.judged, models)
            except HarnessError as error:
                print(f"{claim.evaluator} is left out: {error}\n")
    return columns


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--queries", type=int, default=200, help="queries for measures without a judge")
    parser.add_argument("--judged", type=int, default=15, help="queries for judged measures; 0: none")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    judge_arguments(parser)
    return parser.parse_args()


def read_pairs() -> list[Pair]:
    """The queries of the file in order. DataError: the file is missing, or a query has not two passages."""
    path = find(DATA)
    if path is None:
        raise DataError(f"no {DATA} in the data directory", f"set {ENV}")
    passages: dict[str, dict[str, str]] = {}
    for row in read_csv(path, ","):
        passages.setdefault(row.text("query"), {})[row.text("expected_score")] = row.text("expected_response")
    if any(found.keys() != {"0", "1"} for found in passages.values()):
        raise DataError(f"{path}: a query has not one passage of each kind", FIX)
    return [Pair(query, found["1"], found["0"]) for query, found in passages.items()]


async def _baseline(pairs: Sequence[Pair], models: EvaluationModels) -> Column:
    start, runtime, found = time.monotonic(), metered(models), []
    scored: Any = {"repeat": 0, "measure": "cosine", "status": "scored"}
    with runtime.charge():
        for pair in pairs:
            cosines = await highest_cosines(runtime.embedder, [pair.relevant, pair.negative], [pair.query])
            found += [Score(query_id=pair.query, value=value, **scored) for value in cosines.tolist()]
    return Column("cosine of query and passage", found, Usage(), time.monotonic() - start)


async def _claimed(claim: Claim, pairs: Sequence[Pair], count: int, models: EvaluationModels) -> list[Column]:
    """A column per measure; empty if it needs a judge and judging is disabled."""
    spec = EVALUATORS.load(claim.evaluator)
    rows = list(_rows(pairs[:count] if "judge" in spec.roles else pairs, as_answer=claim.passage_is_answer))
    if not rows:
        return []
    found = await judged(rows, spec, spec.params.model_validate(claim.params), models)
    return [
        Column(name, [one for one in found.scores if one.measure == name], found.usage, found.seconds)
        for name in claim.measures
    ]


def _rows(pairs: Sequence[Pair], *, as_answer: bool) -> Iterator[Answered]:
    """The relevant passage of each query, then its negative."""
    for number, pair in enumerate(pairs):
        for kind, passage in (("relevant", pair.relevant), ("negative", pair.negative)):
            name = f"{number}-{kind}"
            row = SampleRow(
                query=Query(query_id=name, text=pair.query),
                reference=Reference(query_id=name, query_type="", answers=()),
            )
            contexts = (Context(text=passage, doc_ids=(name,)),)
            yield row, Prediction(answer=passage if as_answer else None, contexts=contexts)


def _line(column: Column) -> list[str]:
    statuses = [score.status for score in column.scores]
    values = [[] if score.value is None else [score.value] for score in column.scores]
    queries = [QueryScores(*both) for both in zip(values[::2], values[1::2], strict=True)]
    relevant, negative = ([value for one in queries for value in one[side]] for side in (0, 1))
    complete = [(one.positives[0], one.negatives[0]) for one in queries if one.positives and one.negatives]
    count = len(statuses)
    return [
        markdown(column.measure),
        str(count),
        *(str(statuses.count(status)) for status in ("scored", "failed", "not_applicable")),
        _area(queries),
        mean(relevant),
        mean(negative),
        mean([one > other for one, other in complete]),
        mean([one == other for one, other in complete]),
        f"{column.judge.calls / count:.1f}",
        f"{tokens(column.judge) / count:,.0f}",
        f"{column.seconds:.0f}",
    ]


def _area(queries: Sequence[QueryScores]) -> str:
    value, interval = auc(queries)
    return "-" if value is None else f"{value:.3f}{limits(*interval)}"


def reasons(columns: Sequence[Column]) -> Iterator[str]:
    """Why passages have no score, for each measure: the first reason of each kind."""
    for column in columns:
        for status in ("failed", "not_applicable"):
            found = [one.explanation for one in column.scores if one.status == status]
            if found:
                yield f"{column.measure}: {status} {len(found)}, such as: {markdown(found[0], 200)}"


if __name__ == "__main__":
    started(main)
