"""The graph behind one query's KG-based scores, made anew from its record; what was judged is in the journal."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ConfigError, HarnessError, nearest
from harness.evaluators.kg import KgGraph, KgScores, Match, paths, scores_of
from harness.evaluators.kg.evaluator import KgEvaluator
from harness.evaluators.kg.measures import KgParams
from harness.evaluators.kg.pairs import PAIRS, PairName
from harness.evaluators.sides import settled, why_not
from harness.protocols import Case, Measure, RunFacts
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter
from harness.store import RunDir


@dataclass(frozen=True)
class QueryGraph:
    """The graph of one pair, and what is read off it."""

    question: str
    graph: KgGraph
    matches: Sequence[Match]
    scores: KgScores


@dataclass(frozen=True)
class Wanted:
    """Which graph."""

    query_id: str
    repeat: int
    pair: PairName


def build_query_graph(
    run: RunDir, wanted: Wanted, plan: EvaluationPlan, results: Path, reporter: Reporter
) -> QueryGraph:
    """The graph by the plan's one evaluator, `kg` or `kg_nlp`.

    ConfigError: no such query, no answer to it, nothing to compare, or a text or a label that could not be read.
    """
    case = find_case(run, wanted)
    return asyncio.run(_Building(plan, results / "judge", reporter).run(run.run_id, case, wanted.pair))


def find_case(run: RunDir, wanted: Wanted) -> Case:
    """The answered query; ConfigError where there is none, or the pair has nothing to compare."""
    rows = {row.query.query_id: row for row in run.sample()}
    if wanted.query_id not in rows:
        raise ConfigError(f"{run.run_id} has no query '{wanted.query_id}'", nearest(wanted.query_id, rows))
    record = run.records().get((wanted.query_id, wanted.repeat))
    if record is None or record.prediction is None:
        why = f"failed ({record.failure.kind})" if record and record.failure else "has no record yet"
        raise ConfigError(f"{wanted.query_id}, repeat {wanted.repeat}, {why}", "choose another query")
    row, pair = rows[wanted.query_id], PAIRS[wanted.pair]
    case = Case(row.query, row.reference, record, ())
    facts = RunFacts(has_generator=record.prediction.answer is not None)
    reason = why_not(pair.reads, row.reference, facts, on_null_queries=pair.on_null_queries)
    if not reason:
        score = settled(case, Measure(wanted.pair, "", 0.0), pair.reads)
        reason = score.explanation if score else ""
    if reason:
        raise ConfigError(
            f"{wanted.pair} of {wanted.query_id} compares nothing ({reason})", "choose another pair or query"
        )
    return case


class _Building:
    """The models of one graph, and what is made with them."""

    def __init__(self, plan: EvaluationPlan, folder: Path, reporter: Reporter) -> None:
        (self._planned,) = plan.evaluators
        self._plan, self._folder, self._reporter = plan, folder, reporter

    async def run(self, payer: str, case: Case, pair: PairName) -> QueryGraph:
        params = self._planned.params
        with ExitStack() as stack, self._reporter.bar("graph") as bar:
            runtime = MeteredEvaluation(
                EvaluationModels(self._plan, self._folder, self._reporter, stack), bar.update
            )
            runtime.begin(payer)
            with closing(self._planned.spec.build(params, runtime)) as evaluator:
                if not isinstance(evaluator, KgEvaluator) or not isinstance(params, KgParams):
                    raise TypeError(f"{self._planned.spec.name} makes no graphs")
                graph = await _graph(evaluator, case, pair)
        return QueryGraph(
            case.query.text, graph, paths(graph, params.delta), scores_of(graph, params.delta, params.seeds)
        )


async def _graph(evaluator: KgEvaluator, case: Case, pair: PairName) -> KgGraph:
    """The graph; what would be a failed score is one line here."""
    try:
        return await evaluator.graph(case, pair)
    except HarnessError:
        raise
    except Exception as error:
        what = f"no graph of {case.query.query_id}: {type(error).__name__}: {error}"
        raise ConfigError(what, "choose another query, judge or --by") from error
