"""The graph of one answer and pair, written as GraphML and SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import ConfigError, HarnessError
from harness.display import file_name, printable
from harness.evaluators.judge_calls import NotApplicable
from harness.evaluators.kg.evaluator import KgEvaluator
from harness.evaluators.kg.graphs.drawing import draw_query_graph, graphml
from harness.evaluators.kg.graphs.graph import KgGraph
from harness.evaluators.kg.graphs.scores import KgScores, Match, paths, scores_of
from harness.evaluators.kg.measures import KgParams, PairName
from harness.evaluators.score_preconditions import score_without_reading, why_not
from harness.protocols import AnswerChoice, OpenedAnswer
from harness.store.atomic_files import write_atomic


@dataclass(frozen=True)
class QueryGraph:
    question: str
    graph: KgGraph
    matches: Sequence[Match]
    scores: KgScores


async def make_graph(evaluator: KgEvaluator, answer: OpenedAnswer, pair: PairName) -> QueryGraph:
    """ConfigError if there is nothing to compare, or if extraction or embedding failed."""
    params = answer.params
    assert isinstance(params, KgParams)  # noqa: S101 - the evaluator was built with them
    measure, case = evaluator.measure_of(pair), answer.case
    if reason := why_not(measure, case.reference, answer.facts):
        raise _compares_nothing(pair, answer, reason)
    if score := score_without_reading(case, measure):
        raise _compares_nothing(pair, answer, score.explanation)
    try:
        graph = await evaluator.graph(case, pair)
    except HarnessError:
        raise
    except NotApplicable as nothing:
        raise _compares_nothing(pair, answer, str(nothing)) from nothing
    except Exception as error:
        what = f"no graph of {case.query.query_id}: {type(error).__name__}: {error}"
        raise ConfigError(what, "choose another query, judge or --by") from error
    scores = scores_of(graph, params.delta, params.seeds)
    return QueryGraph(case.query.text, graph, paths(graph, params.delta), scores)


def write_graph(made: QueryGraph, choice: AnswerChoice, pair: PairName, folder: Path) -> str:
    """Write GraphML and SVG into `folder`; returns a summary of the scores and files."""
    stem = f"{file_name(choice.query_id)}-{pair}" + (f"-{choice.repeat}" if choice.repeat else "")
    names = ("multi-hop", "undirected", "direct", "community", "coverage")
    pairs = zip(names, made.scores.values.values(), strict=True)
    values = ", ".join(f"{name} {value:.3f}" for name, value in pairs)
    shown = f"{pair} of {printable(choice.query_id)} ({choice.evaluator}): {values}"
    document = folder / f"{stem}.graphml"
    write_atomic(document, graphml(made.graph, made.matches))
    title = f"{shown}. {printable(made.question, 120)}"
    picture = draw_query_graph(made.graph, made.matches, title, folder, stem)
    return f"{shown}: {document}, {picture}"


def _compares_nothing(pair: PairName, answer: OpenedAnswer, reason: str) -> ConfigError:
    what = f"{pair} of {answer.case.query.query_id} has nothing to compare ({reason})"
    return ConfigError(what, "choose another pair or query")
