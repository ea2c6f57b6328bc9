#!/usr/bin/env python3
"""Which measure tells a relevant passage from one that only looks like it?

    RAG_HARNESS_DATA=../shared/data .venv/bin/python scripts/check_relevance.py [--queries 200] [--judged 15]

MS MARCO gives each of 200 queries one relevant passage and one hard negative (ms_marco_hard_neg_balanced.csv; for
six queries both are one text). Every measure that claims to score how relevant contexts are scores each passage as
the only context of its query; the baseline is the plain cosine of query and passage. RAG-Eval's query relevance
reads an answer: the passage is its answer as well as its context. `measurable` claims nothing: it says how often
KG-eval had triplets to compare.

What needs a judge runs on the first --judged queries of the sample; --judged 0 starts none. Every call is kept in
--folder: interrupted, the same command goes on. The table counts calls and tokens as if none had been there;
seconds are this command's own, so only those of a first run say what a measure takes.
"""

import argparse
import asyncio
import csv
import os
import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from harness.analysis.auc import QueryScores, auc
from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.errors import DataError, HarnessError
from harness.evaluators.base import Scorer, score_run
from harness.evaluators.triplet.cosine import highest_cosines
from harness.models.providers import resolve_embedder, resolve_generator
from harness.protocols import EvaluatorSpec
from harness.records import Context, Cost, Prediction, Query, Reference, RunRecord, Score, Usage
from harness.registry import load_evaluator
from harness.report.text import markdown
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter
from harness.store import SampleRow

DATA = Path("ms_marco", "ms_marco_hard_neg_balanced.csv")
_KG = ("multi_hop", "multi_hop_undirected", "direct", "community", "community_coverage", "measurable")
_KG_PARAMS: dict[str, Any] = {"pairs": ("context_relevancy",), "scores": _KG}


class Pair(NamedTuple):
    """A query with its two passages."""

    query: str
    relevant: str
    negative: str


class Claim(NamedTuple):
    """An evaluator that scores relevance, and by which of its measures."""

    evaluator: str
    params: Mapping[str, Any]
    measures: tuple[str, ...]
    passage_is_answer: bool = False


CLAIMS = (
    Claim("kg_nlp", _KG_PARAMS, tuple(f"kg_nlp_{score}_context_relevancy" for score in _KG)),
    Claim("kg", _KG_PARAMS, tuple(f"kg_{score}_context_relevancy" for score in _KG)),
    Claim("triplet", {"metrics": ("response_relevancy",)}, ("triplet_response_relevancy",)),
    Claim("rag_eval", {}, ("rag_eval_query_relevance",), passage_is_answer=True),
    Claim("ragas", {"metrics": ("context_relevance",)}, ("ragas_context_relevance",)),
)


@dataclass(frozen=True)
class Column:
    """What one measure gave, for each query's relevant passage and for its negative, and what that took."""

    measure: str
    scores: tuple[tuple[Score, Score], ...]
    judge: Usage
    seconds: float


def main() -> None:
    asked = _arguments()
    pairs = sample_of(read_pairs(asked.data), asked.queries, asked.seed)
    judge = resolve_generator(JudgeConfig(provider=asked.provider, model=asked.model))
    plan = EvaluationPlan((), judge, resolve_embedder(JudgeEmbedderConfig()), {})
    print(f"{len(pairs)} queries, {min(asked.judged, len(pairs))} of them judged, seed {asked.seed}\n")
    columns = asyncio.run(_columns(pairs, asked, plan))
    print(table(columns))
    for reason in reasons(columns):
        print(reason)


async def _columns(pairs: Sequence[Pair], asked: argparse.Namespace, plan: EvaluationPlan) -> list[Column]:
    """The baseline, then what each evaluator gives; in one event loop, to which the models' clients belong."""
    with ExitStack() as stack:
        models = EvaluationModels(plan, asked.folder, Reporter(), stack)
        columns = [await _baseline(pairs, models)]
        for claim in CLAIMS:
            try:
                columns += await _claimed(claim, pairs, asked.judged, models)
            except HarnessError as error:
                print(f"{claim.evaluator} is left out: {error}\n")
    return columns


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("RAG_HARNESS_DATA", "../shared/data")))
    parser.add_argument("--queries", type=int, default=200, help="for what needs no judge")
    parser.add_argument("--judged", type=int, default=15, help="for what does; 0: nothing is judged")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--folder", type=Path, default=Path("results/check_relevance"), help="keeps every call")
    parser.add_argument("--provider", default="local", help="of the judge")
    parser.add_argument("--model", default=None, help="of the judge (default: the local one)")
    return parser.parse_args()


def read_pairs(data: Path) -> list[Pair]:
    """The queries of the file in their order. DataError where it is missing or a query has not two passages."""
    path = data / DATA
    if not path.is_file():
        raise DataError(f"no {path}", "name the data directory: --data, or RAG_HARNESS_DATA")
    passages: dict[str, dict[str, str]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            passages.setdefault(row["query"], {})[row["expected_score"]] = row["expected_response"]
    if any(found.keys() != {"0", "1"} for found in passages.values()):
        raise DataError(f"{path}: a query has not one passage of each kind", "fetch the file anew")
    return [Pair(query, found["1"], found["0"]) for query, found in passages.items()]


def sample_of(pairs: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """So many pairs in random order, so that the first few are a sample too."""
    return random.Random(seed).sample(pairs, min(count, len(pairs)))  # noqa: S311 - no secret


async def _baseline(pairs: Sequence[Pair], models: EvaluationModels) -> Column:
    start, runtime = time.monotonic(), MeteredEvaluation(models, lambda _done, _total, _doing: None)
    found = []
    with runtime.charge():
        for number, pair in enumerate(pairs):
            cosines = await highest_cosines(runtime.embedder, [pair.relevant, pair.negative], [pair.query])
            relevant, negative = (_score(f"{number}", value) for value in cosines.tolist())
            found.append((relevant, negative))
    return Column("cosine of query and passage", tuple(found), Usage(), time.monotonic() - start)


def _score(query_id: str, value: float) -> Score:
    return Score(query_id=query_id, repeat=0, measure="cosine", status="scored", value=value)


async def _claimed(claim: Claim, pairs: Sequence[Pair], judged: int, models: EvaluationModels) -> list[Column]:
    """A column for each measure of the claim; nothing where it needs a judge and none is asked."""
    spec = load_evaluator(claim.evaluator)
    chosen = pairs[:judged] if "judge" in spec.roles else pairs
    return await _scored(claim, spec, chosen, models) if chosen else []


async def _scored(
    claim: Claim, spec: EvaluatorSpec, pairs: Sequence[Pair], models: EvaluationModels
) -> list[Column]:
    params = spec.params.model_validate(claim.params)
    if spec.preflight:
        spec.preflight(params)
    measures = tuple(one for one in spec.measures(params) if one.name in claim.measures)
    rows = list(_rows(pairs, as_answer=claim.passage_is_answer))
    records = {(row.query.query_id, 0): record for row, record in rows}
    start = time.monotonic()
    with Reporter().bar(spec.name) as bar:
        runtime = MeteredEvaluation(models, bar.update)
        runtime.begin("check")
        with closing(spec.build(params, runtime)) as evaluator:
            scorer = Scorer(spec.name, measures, evaluator)
            scores = await score_run(scorer, [row for row, _ in rows], records)
    seconds = time.monotonic() - start
    by_key = {(score.measure, score.query_id): score for score in scores}
    used = runtime.meter.usage.get("judge", Usage())
    return [
        Column(one.name, tuple(_both(by_key, one.name, number) for number in range(len(pairs))), used, seconds)
        for one in measures
    ]


def _both(scores: Mapping[tuple[str, str], Score], measure: str, number: int) -> tuple[Score, Score]:
    return scores[measure, f"{number}-relevant"], scores[measure, f"{number}-negative"]


def _rows(pairs: Sequence[Pair], *, as_answer: bool) -> Iterator[tuple[SampleRow, RunRecord]]:
    for number, pair in enumerate(pairs):
        for kind, passage in (("relevant", pair.relevant), ("negative", pair.negative)):
            name = f"{number}-{kind}"
            contexts = (Context(text=passage, doc_ids=(name,)),)
            record = RunRecord(
                query_id=name,
                repeat=0,
                status="ok",
                prediction=Prediction(answer=passage if as_answer else None, contexts=contexts),
                cost=Cost(wall_s=0.0),
                attempt=1,
                started_at="",
            )
            reference = Reference(query_id=name, query_type="", answers=())
            yield SampleRow(query=Query(query_id=name, text=pair.query), reference=reference), record


def table(columns: Sequence[Column]) -> str:
    """Markdown. The measures of one evaluator share its calls, tokens and seconds."""
    heads = ["measure", "passages", "scored", "failed", "n/a", "AUC [95 %]", "relevant", "negative"]
    heads += ["relevant higher", "equal", "calls", "tokens", "seconds"]
    lines = [heads, ["--", *["--:"] * (len(heads) - 1)], *map(_line, columns)]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{rows}\n\nCalls and tokens: the judge's for a passage. Relevant higher, equal: shares of queries."


def _line(column: Column) -> list[str]:
    statuses = [score.status for both in column.scores for score in both]
    queries = [QueryScores(*([] if one.value is None else [one.value] for one in both)) for both in column.scores]
    relevant, negative = ([value for one in queries for value in one[side]] for side in (0, 1))
    complete = [(one.positives[0], one.negatives[0]) for one in queries if one.positives and one.negatives]
    count = len(statuses)
    return [
        markdown(column.measure),
        str(count),
        *(str(statuses.count(status)) for status in ("scored", "failed", "not_applicable")),
        _area(queries),
        *(f"{statistics.fmean(side):.3f}" if side else "-" for side in (relevant, negative)),
        _share([one > other for one, other in complete]),
        _share([one == other for one, other in complete]),
        f"{column.judge.calls / count:.1f}",
        f"{(column.judge.input_tokens + column.judge.output_tokens) / count:,.0f}",
        f"{column.seconds:.0f}",
    ]


def _area(queries: Sequence[QueryScores]) -> str:
    value, (low, high) = auc(queries)
    if value is None:
        return "-"
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _share(found: Sequence[bool]) -> str:
    return f"{statistics.fmean(found):.2f}" if found else "-"


def reasons(columns: Sequence[Column]) -> Iterator[str]:
    """For each measure why passages have no score, the first reason of each kind."""
    for column in columns:
        for status in ("failed", "not_applicable"):
            found = [one.explanation for both in column.scores for one in both if one.status == status]
            if found:
                yield f"{column.measure}: {status} {len(found)}, such as: {markdown(found[0], 200)}"


if __name__ == "__main__":
    main()
