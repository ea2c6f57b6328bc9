"""`rag-harness`: the commands, in workflow order. Heavy imports wait until a command runs."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from harness.cli.choices import Creatable, Listed, executor_settings
from harness.cli.console import complain, note_usage_data, show_bug
from harness.cli.options import (
    NAMES,
    ConfigsOption,
    DatasetOption,
    DocsOption,
    EvaluatorsOption,
    ExecutorOption,
    IncludeOption,
    JsonOption,
    MarginOption,
    PricesOption,
    QuestionsOption,
    QuietOption,
    RankOption,
    RayAddressOption,
    ResultsOption,
    RunsArgument,
    SetOption,
    SystemOption,
    words,
)
from harness.cli.process_start import prepare_process
from harness.core.errors import EXIT_INTERRUPTED, EXIT_USER, HarnessError, RunInterrupted, refusal_of_system

_JOBS = ("decide", "understand", "keep", "extend")
"""Those of `harness.protocols.commands.Job`, which takes longer to import than to print the help."""


class CommandsByJob(TyperGroup):
    """`--help` lists the commands by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A section a job; each line is the command's whole first sentence."""
        commands = [command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))]
        for job in _JOBS:
            rows = [
                (str(command.name), command.get_short_help_str(limit=200))
                for command in commands
                if getattr(command, "rich_help_panel", None) == job
            ]
            with formatter.section(f"{job.capitalize()}"):
                formatter.write_dl(rows)


app = typer.Typer(
    cls=CommandsByJob,
    epilog="First, in seconds, without a language model: "
    "`rag-harness run --set models.generator.provider=none`. What is missing: `rag-harness doctor`.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"rag-harness {version('rag-bench-harness')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[  # noqa: ARG001 - its callback prints it
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Compare RAG architectures on your data: right answers, evidence found, cost, latency, CPU and RAM."""
    from harness.models.weights import cache_dir

    note_usage_data()
    # matplotlib's list of fonts; a user without a home has none.
    with suppress(RuntimeError, HarnessError):
        os.environ.setdefault("MPLCONFIGDIR", str(cache_dir() / "matplotlib"))


@app.command(rich_help_panel="decide")
def init(
    file: Annotated[Path, typer.Argument(help="The file to write.", metavar="FILE")] = Path("rag-harness.yaml"),
) -> None:
    """Write a config file to start from.

    It holds every key with its default and what it means. Nothing is overwritten.

    Example: rag-harness init my-bench.yaml
    """
    from harness.cli.init import begin_config

    begin_config(file)


@app.command("list", rich_help_panel="extend")
def list_command(kind: Annotated[Listed, typer.Argument()], as_json: JsonOption = False) -> None:
    """List what is installed: systems, data sets, metrics and more.

    Example: rag-harness list measures
    """
    from harness.cli.list_plugins import print_list

    print_list(kind.value, as_json=as_json)


@app.command(rich_help_panel="decide")
def plan(
    config: ConfigsOption = None,
    system: SystemOption = None,
    dataset: DatasetOption = None,
    docs: DocsOption = None,
    questions: QuestionsOption = None,
    include: IncludeOption = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Show what a config would run, and what is done already.

    A line for each run, with its id: done, partial or missing. Calls no model.

    Example: rag-harness plan --config configs/sweeps/top_k.yaml
    """
    from harness.api.config_building import DatasetChoice, bench_configs
    from harness.cli.plan import print_plan

    chosen = DatasetChoice(dataset, docs, questions, tuple(include or ()))
    resolved = bench_configs(config, systems=system or (), dataset=chosen, settings=settings or ())
    print_plan(resolved, results, as_json=as_json)


@app.command(rich_help_panel="decide")
def estimate(
    config: ConfigsOption = None,
    system: SystemOption = None,
    dataset: DatasetOption = None,
    docs: DocsOption = None,
    questions: QuestionsOption = None,
    include: IncludeOption = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Estimate tokens, dollars and minutes before you pay.

    For each run of a config and its judges: what is still to be done. Calls no model.

    From the corpus, the systems' prompts and what earlier runs under --results measured; without any, the most.

    Example: rag-harness estimate --config configs/bench/openai.yaml
    """
    from harness.api.config_building import DatasetChoice, bench_configs
    from harness.cli.estimate import print_estimate

    chosen = DatasetChoice(dataset, docs, questions, tuple(include or ()))
    resolved = bench_configs(config, systems=system or (), dataset=chosen, settings=settings or ())
    print_estimate(resolved, results, as_json=as_json)


@app.command(rich_help_panel="decide")
def run(
    config: ConfigsOption = None,
    system: SystemOption = None,
    dataset: DatasetOption = None,
    docs: DocsOption = None,
    questions: QuestionsOption = None,
    include: IncludeOption = None,
    measure: RankOption = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Answer failed queries again.")] = False,
    fresh_index: Annotated[
        bool, typer.Option("--fresh-index", help="Build indexes anew, pay for them again, measure their seconds.")
    ] = False,
    records_only: Annotated[bool, typer.Option("--records-only", help="Neither evaluate nor report.")] = False,
    executor: ExecutorOption = None,
    ray_address: RayAddressOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the report.")] = None,
    as_json: JsonOption = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress: the path of the report alone, on standard output.")
    ] = False,
) -> None:
    """Run systems on sampled queries, score them, write a report.

    Stopped anywhere, the same command resumes.

    Several configs run one after another and end in one report; what is set here holds for each.

    Examples:

      rag-harness run --system naive --dataset demo

      rag-harness run -c configs/bench/default.yaml -d multihop_rag --set dataset.sample.per_type=5

      rag-harness run --docs papers --questions asked.jsonl -s naive -s kg    (your own documents)

      rag-harness run --set models.generator.provider=none    (retrieval alone)

      rag-harness run -s naive -s kg -d demo --set race.margin=5    (until it is settled which to choose)

      rag-harness run -s naive -s python:my_module:my_function    (a pipeline of your own: docs/your-pipeline.md)

      rag-harness run -c configs/bench/retrieval.yaml -c configs/bench/demo.yaml

      rag-harness run -c sweep.yaml --executor ray --ray-address 10.0.0.1:6379    (docs/many-machines.md)

      open $(rag-harness run -q -c rag-harness.yaml)
    """
    from harness.api.config_building import DatasetChoice, bench_configs
    from harness.api.running import RunOptions
    from harness.cli.run import RunOutput, run_all

    chosen = DatasetChoice(dataset, docs, questions, tuple(include or ()))
    resolved = bench_configs(
        config,
        systems=system or (),
        dataset=chosen,
        measure=measure,
        settings=[*(settings or ()), *executor_settings(executor, ray_address)],
    )
    options = RunOptions(
        results, retry_failed=retry_failed, fresh_index=fresh_index, records_only=records_only, quiet=quiet
    )
    raise typer.Exit(run_all(resolved, options, RunOutput(out, as_json)))


@app.command("import", rich_help_panel="keep")
def import_command(
    file: Annotated[Path, typer.Argument(help="One JSON object a line.", metavar="FILE.jsonl")],
    name: Annotated[str, typer.Option("--name", "-n", help="What to call the system that answered.")],
    dataset: DatasetOption = None,
    docs: DocsOption = None,
    questions: QuestionsOption = None,
    include: IncludeOption = None,
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
    evaluators: EvaluatorsOption = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out rows whose query the data set does not hold.")
    ] = False,
    results: ResultsOption = Path("results"),
) -> None:
    """Import answers that another tool produced, to score them here.

    A row has `query` (the text) or `query_id`, and `answer` or `error`; it may have `contexts` (texts, or objects
    with text, doc_ids, score, kind), `input_tokens`, `output_tokens`, `cached_tokens`, `model_calls`, `latency_s`,
    `repeat` (from 0) and `started_at`. What is left out is unknown, never 0.

    Examples:

      rag-harness import answers.jsonl -d multihop_rag -n my-agent --field answer=response

      rag-harness import answers.jsonl --docs papers --questions asked.jsonl -n my-agent
    """
    from harness.cli.import_answers import import_file, parse_pairs
    from harness.runner.importing.imported_run import ImportRequest
    from harness.store import find_runs

    request = ImportRequest(
        file=file,
        label=name,
        dataset=dataset,
        subset=subset,
        docs=docs,
        questions=questions,
        include=tuple(include or ()),
        fields=parse_pairs("--field", field or ()),
        where=parse_pairs("--where", where or ()),
        model=model,
        like=find_runs(results, [like])[0] if like else None,
        evaluators=words(evaluators),
        skip_unknown=skip_unknown,
    )
    import_file(request, results)


@app.command(rich_help_panel="keep")
def evaluate(
    runs: RunsArgument,
    evaluators: EvaluatorsOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Evaluators, judges and prices from this file.")
    ] = None,
    settings: SetOption = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    executor: ExecutorOption = None,
    ray_address: RayAddressOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Score saved answers again; no system is called.

    Judgements are kept, and paid once.

    Without --config a run says which evaluators; the judge and its key are what you say, or the default.

    Examples:

      rag-harness evaluate demo--naive --evaluators answer,retrieval

      rag-harness evaluate demo--naive --config my.yaml    (the config of its run)

      rag-harness evaluate demo--naive demo--kg -e ragas --set models.judge.provider=openai

      rag-harness evaluate demo--naive -e bertscore --set per_evaluator.bertscore.model=roberta-large

      rag-harness evaluate demo--naive -e kg,ragas --executor ray    (docs/many-machines.md)
    """
    from harness.api.evaluating import EvaluateOptions
    from harness.cli.evaluate import evaluate_named

    said = (*(settings or ()), *executor_settings(executor, ray_address))
    options = EvaluateOptions(config, words(evaluators), said, prices, results, quiet)
    raise typer.Exit(evaluate_named(runs, options, as_json=as_json))


@app.command(rich_help_panel="decide")
def report(
    runs: RunsArgument,
    measure: RankOption = None,
    margin: MarginOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the report.")] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
) -> None:
    """Write the report of runs: page, figures and tables.

    report.html, summary.md and summary.csv; the main tables are printed too.

    Examples:

      rag-harness report demo--naive --out my-report

      rag-harness report demo--naive demo--kg --measure Recall@10
    """
    from harness.cli.report import ReportOptions, report_runs

    report_runs(runs, ReportOptions(out, results, prices, measure, margin))


@app.command(rich_help_panel="decide")
def compare(
    runs: RunsArgument,
    measures: Annotated[
        list[str] | None, typer.Option("--measures", "--measure", "-m", metavar="NAMES", help=NAMES)
    ] = None,
    query_type: Annotated[str | None, typer.Option("--query-type", help="Only queries of this type.")] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="RUN", help="Compare only with this run.")
    ] = None,
    margin: MarginOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for tables and query ids.")] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Compare runs query by query, with intervals and tests.

    A difference that may be chance is shown as a tie.

    Example: rag-harness compare demo--naive demo--recursive --measures accuracy,latency_s
    """
    from harness.cli.compare import CompareOptions
    from harness.cli.compare import compare as compare_named

    options = CompareOptions(words(measures), query_type, against, out, results, as_json, prices, margin)
    compare_named(runs, options)


@app.command(rich_help_panel="understand")
def show(
    run: Annotated[str, typer.Argument(help="A run id, a unique part of one, or a path.", metavar="RUN")],
    query_id: Annotated[str | None, typer.Argument(help="One query; without it, the whole run.")] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
) -> None:
    """Show a run or one query: answer, contexts, scores.

    Example: rag-harness show demo--naive demo-0005
    """
    from harness.cli.show import show_run

    show_run(run, query_id, results, prices)


@app.command(rich_help_panel="extend")
def new(
    kind: Annotated[Creatable, typer.Argument()],
    name: Annotated[str, typer.Argument(help="Small letters, digits and dashes.", metavar="NAME")],
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="The folder that is to hold it.")] = Path(),
) -> None:
    """Create a package for a plug-in of your own.

    For a system, data set, evaluator, provider or report section: it installs, runs and passes its contract.

    It starts as a small one that works, to be changed. What each part of it is for: docs/README.md.

    Examples:

      rag-harness new system my-search

      rag-harness new dataset our-tickets --into ../plugins
    """
    from harness.cli.new import create

    create(kind.value, name, into)


@app.command(rich_help_panel="extend")
def doctor(results: ResultsOption = Path("results")) -> None:
    """Check what is installed and reachable, and how to fix it."""
    from harness.cli.doctor import print_checkup

    raise typer.Exit(print_checkup(results))


def main() -> None:
    """The console script: one line and exit 2 for what the user can fix, 130 when interrupted."""
    sys.excepthook = show_bug
    # For what libraries start; our own processes are started with it anyway.
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        prepare_process()
        own = [
            command.name or command.callback.__name__ for command in app.registered_commands if command.callback
        ]
        asked = next(iter(sys.argv[1:2]), None)
        if asked not in own:
            from harness.cli.plugin_commands import add_plugged

            add_plugged(app, own, asked)
        try:
            app()
        finally:
            sys.stdout.flush()  # What cannot be written is said here, and not while Python ends.
    except HarnessError as error:
        complain(f"error: {error}")
        sys.exit(EXIT_USER)
    except (OSError, MemoryError) as error:
        if (refusal := refusal_of_system(error)) is None:
            raise
        complain(f"error: {refusal}")
        sys.exit(EXIT_USER)
    except RunInterrupted as interrupted:
        complain(str(interrupted))
        sys.exit(EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
