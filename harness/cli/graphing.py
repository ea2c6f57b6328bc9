"""`rag-harness graph`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cli.consoles import open_console
from harness.cli.evaluating import EvaluateOptions, config_of
from harness.evaluators.kg import KgScores
from harness.evaluators.kg.export import graphml
from harness.evaluators.kg.pairs import PairName
from harness.report.query_graph import draw_query_graph
from harness.report.text import file_name, printable
from harness.runner.evaluating.plan import plan_evaluation
from harness.runner.progress import Reporter
from harness.runner.query_graph import Wanted, build_query_graph
from harness.store import RunDir, find_runs
from harness.store.files import write_atomic

_EVALUATORS = {"judge": "kg", "nlp": "kg_nlp"}


@dataclass(frozen=True)
class GraphOptions:
    """The flags of the command."""

    pair: PairName
    by: str | None
    """judge or nlp. None: the judge's where the run has scores by it, else nlp, which is free."""
    repeat: int
    config: Path | None
    settings: Sequence[str]
    out: Path | None
    results: Path
    quiet: bool


def draw_graph(name: str, query_id: str, options: GraphOptions) -> None:
    """Write the graph as GraphML, SVG and PNG, and print its scores and where they are."""
    run = find_runs(options.results, [name])[0]
    evaluator = _EVALUATORS[options.by] if options.by else _default(run)
    config = config_of(
        run, EvaluateOptions(options.config, evaluator, options.settings, options.results, False, options.quiet)
    )
    wanted = Wanted(query_id, options.repeat, options.pair)
    reporter = Reporter(quiet=options.quiet)
    found = build_query_graph(run, wanted, plan_evaluation(config), options.results, reporter)
    folder = options.out or options.results / "graphs" / run.run_id / evaluator
    stem = f"{file_name(query_id)}-{options.pair}" + (f"-{options.repeat}" if options.repeat else "")
    shown = f"{options.pair} of {printable(query_id)} ({evaluator}): {_values(found.scores)}"
    document = folder / f"{stem}.graphml"
    write_atomic(document, graphml(found.graph, found.matches))
    title = f"{shown}. {printable(found.question, 120)}"
    pictures = draw_query_graph(found.graph, found.matches, title, folder, stem)
    files = ", ".join(str(path) for path in (document, *pictures))
    open_console().print(f"{shown}: {files}", markup=False, highlight=False, soft_wrap=True)


def _default(run: RunDir) -> str:
    scored = {evaluation.evaluator for evaluation in run.evaluations()}
    return "kg" if "kg" in scored else "kg_nlp"


def _values(scores: KgScores) -> str:
    parts = {
        "multi-hop": scores.multi_hop,
        "undirected": scores.multi_hop_undirected,
        "direct": scores.direct,
        "community": scores.community,
        "coverage": scores.community_coverage,
    }
    return ", ".join(f"{name} {value:.3f}" for name, value in parts.items())
