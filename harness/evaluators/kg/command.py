"""`rag-harness graph`: rebuilds the graph behind a query's KG-based scores."""

from collections.abc import Callable
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.protocols import CommandRuntime, CommandSpec


class GraphPair(StrEnum):
    context_relevancy = "context_relevancy"
    answer_relevancy = "answer_relevancy"
    faithfulness = "faithfulness"
    factual_correctness = "factual_correctness"


_PAIR_HELP = f"Metric whose texts are compared: {', '.join(GraphPair)}."


class GraphReader(StrEnum):
    judge = "judge"
    nlp = "nlp"


_EVALUATORS = {GraphReader.judge: "kg", GraphReader.nlp: "kg_nlp"}


def build(runtime: CommandRuntime) -> Callable[..., None]:
    def graph(
        run: Annotated[str, typer.Argument(help="A run id, a unique part of one, or a path.", metavar="RUN")],
        query_id: Annotated[str, typer.Argument(help="Id of one of its queries.", metavar="QUERY_ID")],
        pair: Annotated[GraphPair, typer.Option("--pair", "-p", metavar="METRIC", help=_PAIR_HELP)],
        by: Annotated[
            GraphReader | None,
            typer.Option(
                "--by", help="Extractor of the triplets: nlp by default, the judge if the run has its scores."
            ),
        ] = None,
        repeat: Annotated[int, typer.Option("--repeat", min=0, help="Number of the repeat, from 0.")] = 0,
        config: Annotated[
            Path | None,
            typer.Option("--config", "-c", help="Parameters and judges from this config instead of the run's."),
        ] = None,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Overrides one key.")
        ] = None,
        out: Annotated[Path | None, typer.Option("--out", "-o", help="Output folder.")] = None,
        results: Annotated[Path, typer.Option("--results", help="Results folder.")] = Path("results"),
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    ) -> None:
        """Export the graph behind a query's KG-based scores.

        As GraphML and as a picture.

        Replies of the judge are reused. It needs the evaluator's packages, not its scores.

        Example: rag-harness graph trial1 demo-0005 --pair context_relevancy
        """
        import asyncio

        from harness.evaluators.kg.evaluator import built
        from harness.evaluators.kg.graph_files import make_graph, write_graph
        from harness.protocols import AnswerChoice

        if by is None:
            is_judged = _EVALUATORS[GraphReader.judge] in runtime.scored_by(run, results)
            by = GraphReader.judge if is_judged else GraphReader.nlp
        name = _EVALUATORS[by]
        choice = AnswerChoice(run, query_id, name, repeat, config, tuple(settings or ()), results, quiet)
        with runtime.open(choice) as answer, closing(built(name, answer.params, answer.runtime)) as evaluator:
            made = asyncio.run(make_graph(evaluator, answer, pair.value))
            runtime.say(write_graph(made, choice, pair.value, out or results / "graphs" / answer.run_id / name))

    return graph


SPEC = CommandSpec("graph", build, "understand")
