"""`rag-harness`: the commands, in workflow order. Heavy imports wait until a command runs."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.errors import EXIT_INTERRUPTED, EXIT_USER, HarnessError, RunInterrupted

app = typer.Typer(
    help="Compare RAG architectures on your data: accuracy, retrieval, cost, latency, CPU and RAM.",
    epilog="First: `rag-harness run --config configs/bench/demo.yaml`. What is missing: `rag-harness doctor`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Kind(StrEnum):
    """What `list` can list."""

    systems = "systems"
    datasets = "datasets"
    evaluators = "evaluators"
    measures = "measures"


class GraphPair(StrEnum):
    """Which two texts a graph joins."""

    context_relevancy = "context_relevancy"
    answer_relevancy = "answer_relevancy"
    faithfulness = "faithfulness"
    factual_correctness = "factual_correctness"


class Extractor(StrEnum):
    """Who reads the triplets."""

    judge = "judge"
    nlp = "nlp"


ConfigOption = Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file; see configs/bench.")]
SystemOption = Annotated[
    list[str] | None, typer.Option("--system", "-s", help="A system's name; repeat it to compare several.")
]
DatasetOption = Annotated[str | None, typer.Option("--dataset", "-d", help="A data set's name.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Overrides one key, e.g. answer.top_k=8.")
]
ResultsOption = Annotated[Path, typer.Option("--results", help="Where runs are kept.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value for scripts.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
RunsArgument = Annotated[
    list[str], typer.Argument(help="Run ids, unique parts of them, or paths.", metavar="RUN...")
]


@app.command("list")
def list_command(kind: Annotated[Kind, typer.Argument()], as_json: JsonOption = False) -> None:
    """List the systems, datasets, evaluators or measures that are installed.

    Example: rag-harness list measures
    """
    from harness.cli.listing import print_list

    print_list(kind.value, as_json=as_json)


@app.command()
def plan(
    config: ConfigOption = None,
    system: SystemOption = None,
    dataset: DatasetOption = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Print the cells of a config with their run ids, and what is done, partial or missing. Costs nothing.

    Example: rag-harness plan --config configs/sweeps/top_k.yaml
    """
    from harness.cli.running import build_config, print_plan

    print_plan(build_config(config, system, dataset, settings), results, as_json=as_json)


@app.command()
def estimate(
    config: ConfigOption = None,
    system: SystemOption = None,
    dataset: DatasetOption = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Print the tokens, dollars and minutes that each cell of a config still takes, and its judges. Costs nothing.

    From the corpus, the systems' prompts and what earlier runs under --results measured; without any, the most.

    Example: rag-harness estimate --config configs/bench/openai.yaml
    """
    from harness.cli.estimating import print_estimate
    from harness.cli.running import build_config

    print_estimate(build_config(config, system, dataset, settings), results, as_json=as_json)


@app.command()
def run(
    config: ConfigOption = None,
    system: SystemOption = None,
    dataset: DatasetOption = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Answer failed queries again.")] = False,
    records_only: Annotated[bool, typer.Option("--records-only", help="Neither evaluate nor report.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the report.")] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run every cell of a config, evaluate it and write a report. Stopped anywhere, the same command resumes.

    Examples:

      rag-harness run --system naive --dataset demo

      rag-harness run -c configs/bench/default.yaml -d multihop_rag --set dataset.sample.per_type=5

      rag-harness run --set models.generator.provider=none    (retrieval alone)
    """
    from harness.cli.running import RunOptions, build_config, run_all

    options = RunOptions(results, retry_failed, records_only, out, as_json, quiet)
    raise typer.Exit(run_all(build_config(config, system, dataset, settings), options))


@app.command("import")
def import_command(
    file: Annotated[Path, typer.Argument(help="One JSON object a line.", metavar="FILE.jsonl")],
    name: Annotated[str, typer.Option("--name", "-n", help="What to call the system that answered.")],
    dataset: DatasetOption = None,
    subset: Annotated[str | None, typer.Option("--subset", help="A named part of the data set.")] = None,
    where: Annotated[
        list[str] | None, typer.Option("--where", metavar="FIELD=VALUE", help="Only rows with this value.")
    ] = None,
    field: Annotated[
        list[str] | None, typer.Option("--field", metavar="OURS=THEIRS", help="E.g. answer=model_answer.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="PROVIDER/NAME", help="Prices the tokens: openai/gpt-4o-mini.")
    ] = None,
    like: Annotated[
        str | None, typer.Option("--like", metavar="RUN", help="Share this run's sample, to be compared with it.")
    ] = None,
    evaluators: Annotated[str | None, typer.Option("--evaluators", "-e", help="Names, a comma between.")] = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out rows whose query the data set does not hold.")
    ] = False,
    results: ResultsOption = Path("results"),
) -> None:
    """Make a run of answers that another system gave, so that it can be scored here.

    A row has `query` (the text) or `query_id`, and `answer` or `error`; it may have `contexts` (texts, or objects
    with text, doc_ids, score, kind), `input_tokens`, `output_tokens`, `cached_tokens`, `model_calls`, `latency_s`,
    `repeat` (from 0) and `started_at`. What is left out is unknown, never 0.

    Example: rag-harness import answers.jsonl -d multihop_rag -n my-agent --field answer=response
    """
    from harness.cli.importing import import_file, parse_pairs
    from harness.runner.importing.run import ImportRequest
    from harness.store import find_runs

    request = ImportRequest(
        file=file,
        label=name,
        dataset=dataset,
        subset=subset,
        fields=parse_pairs("--field", field or ()),
        where=parse_pairs("--where", where or ()),
        model=model,
        like=find_runs(results, [like])[0] if like else None,
        evaluators=tuple(word.strip() for word in evaluators.split(",")) if evaluators else (),
        skip_unknown=skip_unknown,
    )
    import_file(request, results)


@app.command()
def evaluate(
    runs: RunsArgument,
    evaluators: Annotated[str | None, typer.Option("--evaluators", "-e", help="Names, a comma between.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Evaluators and judges from this file, not the runs'.")
    ] = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Score the saved records of runs (again); no system is called. Judgements are kept, and paid once.

    Examples:

      rag-harness evaluate demo--naive --evaluators answer,retrieval

      rag-harness evaluate demo--naive demo--kg -e ragas --set models.judge.provider=openai

      rag-harness evaluate demo--naive -e bertscore --set per_evaluator.bertscore.model=roberta-large
    """
    from harness.cli.evaluating import EvaluateOptions, evaluate_named

    options = EvaluateOptions(config, evaluators, tuple(settings or ()), results, as_json, quiet)
    raise typer.Exit(evaluate_named(runs, options))


@app.command()
def report(
    runs: RunsArgument,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the report.")] = None,
    results: ResultsOption = Path("results"),
) -> None:
    """Write the page (report.html), summary.md and .csv, figures and tables of runs, and print the main tables.

    Example: rag-harness report demo--naive --out my-report
    """
    from harness.cli.reporting import report_runs

    report_runs(runs, out, results)


@app.command()
def compare(
    runs: RunsArgument,
    measures: Annotated[str | None, typer.Option("--measures", "-m", help="Names, a comma between.")] = None,
    query_type: Annotated[str | None, typer.Option("--query-type", help="Only queries of this type.")] = None,
    baseline: Annotated[str | None, typer.Option("--baseline", help="Only pairs with this run.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for tables and query ids.")] = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Compare runs query by query: differences with intervals, tests, ranks. What may be chance is a tie.

    Example: rag-harness compare demo--naive demo--recursive --measures accuracy,latency_s
    """
    from harness.cli.comparing import CompareOptions
    from harness.cli.comparing import compare as compare_named

    compare_named(runs, CompareOptions(measures, query_type, baseline, out, results, as_json))


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="A run id, a unique part of one, or a path.", metavar="RUN")],
    query_id: Annotated[str | None, typer.Argument(help="One query; without it, the whole run.")] = None,
    results: ResultsOption = Path("results"),
) -> None:
    """Show a run, or one query of it: answer, gold, contexts, timing.

    Example: rag-harness show demo--naive demo-0003
    """
    from harness.cli.showing import show_run

    show_run(run, query_id, results)


@app.command()
def graph(
    run: Annotated[str, typer.Argument(help="A run id, a unique part of one, or a path.", metavar="RUN")],
    query_id: Annotated[str, typer.Argument(help="One of its queries.", metavar="QUERY_ID")],
    pair: Annotated[GraphPair, typer.Option("--pair", "-p", help="Which two texts are compared.")],
    by: Annotated[
        Extractor | None, typer.Option("--by", help="Who reads the triplets: nlp, unless the judge did before.")
    ] = None,
    repeat: Annotated[int, typer.Option("--repeat", min=0, help="Which of several answers, from 0.")] = 0,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Parameters and judges from this file, not the run's.")
    ] = None,
    settings: SetOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the files.")] = None,
    results: ResultsOption = Path("results"),
    quiet: QuietOption = False,
) -> None:
    """Write the graph behind a query's KG-based scores as GraphML and as a picture.

    What the judge has read before is not paid again. It needs the evaluator's packages, not its scores.

    Example: rag-harness graph demo--naive demo-0003 --pair faithfulness
    """
    from harness.cli.graphing import GraphOptions, draw_graph

    reader = by.value if by else None
    options = GraphOptions(pair.value, reader, repeat, config, tuple(settings or ()), out, results, quiet)
    draw_graph(run, query_id, options)


@app.command()
def doctor(results: ResultsOption = Path("results")) -> None:
    """Check what is installed, reachable and missing, and how to fix it."""
    from harness.cli.doctoring import print_checkup

    raise typer.Exit(print_checkup(results))


def main() -> None:
    """The console script: one line and exit 2 for what the user can fix, 130 when interrupted."""
    try:
        app()
    except HarnessError as error:
        _complain(f"error: {error}")
        sys.exit(EXIT_USER)
    except RunInterrupted as interrupted:
        _complain(str(interrupted))
        sys.exit(EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        _complain("interrupted")
        sys.exit(EXIT_INTERRUPTED)


def _complain(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    main()
