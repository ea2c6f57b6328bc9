"""`rag-harness`: the commands, in workflow order. Heavy imports happen inside the commands."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer

from harness.cli import options
from harness.cli.compare import compare
from harness.cli.console import note_usage_data
from harness.cli.contributed_commands import CommandsByJob, add_plugged
from harness.cli.import_answers import import_command
from harness.cli.process_start import errors_as_exit_codes
from harness.core.errors import EXIT_CODES, HarnessError

app = typer.Typer(
    cls=CommandsByJob,
    epilog="Quick start without a language model: "
    "`rag-harness run --set models.generator.provider=none`. To check the installation: `rag-harness doctor`.\n\n"
    "\b\nExit codes:\n" + "\n".join(f"{code:>3}  {meaning}" for code, meaning in EXIT_CODES.items()),
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def prepare(
    version: options.VersionOption = False,  # noqa: ARG001 - the callback prints it
) -> None:
    """Compare RAG architectures on your data: accuracy, retrieval, cost, latency, CPU and RAM."""
    from harness.models.weights import cache_dir

    note_usage_data()
    # For matplotlib's font list. A user without a home folder has no cache folder.
    with suppress(RuntimeError, HarnessError):
        os.environ.setdefault("MPLCONFIGDIR", str(cache_dir() / "matplotlib"))


@app.command(rich_help_panel="decide")
def init(
    file: Annotated[Path, typer.Argument(help="File to write.", metavar="FILE")] = Path("rag-harness.yaml"),
) -> None:
    """Write a config file to start from.

    It contains every key with its default and its meaning. An existing file is not overwritten.

    Example: rag-harness init my-bench.yaml
    """
    from harness.cli.new import begin_config

    begin_config(file)


@app.command(rich_help_panel="decide")
def demo(
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the path of the report only.")] = False,
) -> None:
    """Open a finished report, to see what you will get.

    Nothing is run: the report of `make bench` ships with the package.

    Example: rag-harness demo
    """
    from harness.cli.demo_report import open_finished_report

    open_finished_report(in_browser=not no_open)


@app.command("list", rich_help_panel="extend")
def list_command(
    kind: Annotated[Literal["systems", "datasets", "evaluators", "measures", "providers"], typer.Argument()],
    full: Annotated[bool, typer.Option("--full", help="With parameters and their defaults.")] = False,
    as_json: options.JsonOption = False,
) -> None:
    """List installed plug-ins: systems, data sets, metrics and more.

    Example: rag-harness list measures
    """
    from harness.cli.list_plugins import print_list

    print_list(kind, full=full, as_json=as_json)


@app.command(rich_help_panel="decide")
def plan(
    config: options.ConfigsOption = None,
    system: options.SystemOption = None,
    dataset: options.DatasetOption = None,
    docs: options.DocsOption = None,
    questions: options.QuestionsOption = None,
    field: options.FieldOption = None,
    include: options.IncludeOption = None,
    settings: options.SetOption = None,
    results: options.ResultsOption = Path("results"),
    as_json: options.JsonOption = False,
) -> None:
    """Show which runs a config contains, and which are done.

    One line per run with its id and status: done, partial or missing. No model is called.

    Example: rag-harness plan --config configs/sweeps/top_k.yaml
    """
    from harness.api.config_building import bench_configs
    from harness.cli.plan import print_plan

    data = options.chosen_dataset(dataset, docs, questions, include, field)
    resolved = bench_configs(config, systems=system or (), dataset=data, settings=settings or ())
    print_plan(resolved, results, as_json=as_json)


@app.command(rich_help_panel="decide")
def estimate(
    config: options.ConfigsOption = None,
    system: options.SystemOption = None,
    dataset: options.DatasetOption = None,
    docs: options.DocsOption = None,
    questions: options.QuestionsOption = None,
    field: options.FieldOption = None,
    include: options.IncludeOption = None,
    settings: options.SetOption = None,
    results: options.ResultsOption = Path("results"),
    as_json: options.JsonOption = False,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate/--no-calibrate", help="Measure the speed of local models first, in seconds."),
    ] = True,
) -> None:
    """Estimate tokens, dollars and minutes before you pay.

    Lists the remaining work of each run and of its judges, as ranges. No paid model is called.

    Based on the corpus, the prompts, earlier runs under --results and the speed of local models.

    Example: rag-harness estimate --config configs/bench/openai.yaml
    """
    from harness.api.config_building import bench_configs
    from harness.cli.estimate import print_estimate

    data = options.chosen_dataset(dataset, docs, questions, include, field)
    resolved = bench_configs(config, systems=system or (), dataset=data, settings=settings or ())
    print_estimate(resolved, results, as_json=as_json, calibrate=calibrate)


@app.command(rich_help_panel="decide")
def run(
    config: options.ConfigsOption = None,
    system: options.SystemOption = None,
    dataset: options.DatasetOption = None,
    docs: options.DocsOption = None,
    questions: options.QuestionsOption = None,
    field: options.FieldOption = None,
    include: options.IncludeOption = None,
    measure: options.RankOption = None,
    settings: options.SetOption = None,
    name: options.RunNameOption = None,
    results: options.ResultsOption = Path("results"),
    retry_failed: options.RetryOption = False,
    fresh_index: options.FreshIndexOption = False,
    records_only: options.RecordsOnlyOption = False,
    executor: options.ExecutorOption = None,
    ray_address: options.RayAddressOption = None,
    out: options.ReportFolderOption = None,
    as_json: options.JsonOption = False,
    quiet: options.PathOnlyOption = False,
    full: options.FullOption = False,
) -> None:
    """Run systems on sampled queries, score them, write a report.

    If it is interrupted, the same command resumes it.

    Several configs run one after another and share one report. Options override the same key in each config.

    Examples:

      rag-harness run --system naive --dataset demo

      rag-harness run -c configs/bench/default.yaml -d multihop_rag --set dataset.sample.per_type=5

      rag-harness run --docs papers --questions asked.jsonl -s naive -s kg    (your documents)

      rag-harness run --set models.generator.provider=none    (retrieval only)

      rag-harness run -s naive -s kg -d demo --set race.margin=5    (stop once the choice is clear)

      rag-harness run -s naive -s python:my_module:my_function    (your pipeline: docs/your-pipeline.md)

      rag-harness run -c configs/services/dify.yaml --docs docs --questions questions.csv

      rag-harness run -c configs/bench/retrieval.yaml -c configs/bench/demo.yaml

      rag-harness run -s naive --set answer.top_k=8 --name trial1    (reports and commands call it trial1)

      rag-harness run -c sweep.yaml --executor ray --ray-address 10.0.0.1:6379    (docs/many-machines.md)

      open $(rag-harness run -q -c rag-harness.yaml)
    """
    from harness.api.config_building import bench_configs
    from harness.api.running import RunOptions
    from harness.cli.run import default_data_note, run_all

    said = [*(settings or ()), *options.executor_settings(executor, ray_address)]
    data = options.chosen_dataset(dataset, docs, questions, include, field)
    resolved = bench_configs(config, systems=system or (), dataset=data, measure=measure, name=name, settings=said)
    is_named = config or dataset or docs or any("dataset." in one for one in said)
    chosen = RunOptions(
        results,
        retry_failed=retry_failed,
        fresh_index=fresh_index,
        records_only=records_only,
        quiet=quiet,
        note="" if is_named else default_data_note(resolved[0].dataset.name),
    )
    raise typer.Exit(run_all(resolved, chosen, out=out, as_json=as_json, full=full))


app.command("import", rich_help_panel="keep")(import_command)


@app.command(rich_help_panel="keep")
def evaluate(
    runs: options.RunsArgument,
    evaluators: options.EvaluatorsOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Config with evaluators, judges and prices.")
    ] = None,
    settings: options.SetOption = None,
    prices: options.PricesOption = None,
    results: options.ResultsOption = Path("results"),
    executor: options.ExecutorOption = None,
    ray_address: options.RayAddressOption = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Score saved answers again, without calling any system.

    Judgements are kept, so each is paid only once.

    Without --config, the evaluators come from the config of the run, and the judge from --set or the defaults.

    Examples:

      rag-harness evaluate trial1 --evaluators answer,retrieval

      rag-harness evaluate trial1 --config my.yaml    (the config of its run)

      rag-harness evaluate trial1 trial2 -e ragas --set models.judge.provider=openai

      rag-harness evaluate trial1 -e bertscore --set per_evaluator.bertscore.model=roberta-large

      rag-harness evaluate trial1 -e kg,ragas --executor ray    (docs/many-machines.md)
    """
    from harness.api.evaluating import EvaluateOptions
    from harness.cli.evaluate import evaluate_named

    said = (*(settings or ()), *options.executor_settings(executor, ray_address))
    chosen = EvaluateOptions(config, options.words(evaluators), said, prices, results, quiet)
    raise typer.Exit(evaluate_named(runs, chosen, as_json=as_json))


@app.command(rich_help_panel="decide")
def report(
    runs: options.RunsArgument,
    measure: options.RankOption = None,
    margin: options.MarginOption = None,
    out: options.ReportFolderOption = None,
    prices: options.PricesOption = None,
    results: options.ResultsOption = Path("results"),
    figures: options.FiguresOption = None,
    full: options.FullOption = False,
    as_json: options.JsonOption = False,
    beside: options.BesideOption = None,
) -> None:
    """Say what to choose, and write a report: page, figures and tables.

    Prints the verdict. Writes report.html, verdict.json, summary.md and summary.csv.

    Examples:

      rag-harness report trial1 --out my-report

      rag-harness report trial1 trial2 --measure Recall@10 --figures pdf

      rag-harness report trial1 trial2 --beside thesis
    """
    from harness.cli.report import ReportOptions, report_runs

    formats = tuple(one.value for one in figures or ())
    chosen = ReportOptions(out, results, prices, measure, margin, full, as_json, formats=formats, beside=beside)
    report_runs(runs, chosen)


app.command(rich_help_panel="decide")(compare)


@app.command(rich_help_panel="understand")
def show(
    run: Annotated[str, typer.Argument(help="Run id, name, unique part of one, or path.", metavar="RUN")],
    query_id: Annotated[str | None, typer.Argument(help="Query id; omit it to show the whole run.")] = None,
    prices: options.PricesOption = None,
    results: options.ResultsOption = Path("results"),
    as_json: options.JsonOption = False,
    full: options.FullOption = False,
) -> None:
    """Show a run or one query: answer, contexts, scores.

    Example: rag-harness show trial1 demo-0005
    """
    from harness.cli.show import show_run

    show_run(run, query_id, results, prices, full=full, as_json=as_json)


@app.command(rich_help_panel="extend")
def new(
    kind: Annotated[Literal["system", "dataset", "evaluator"], typer.Argument()],
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and dashes.", metavar="NAME")],
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Parent folder of the package.")] = Path(),
) -> None:
    """Create a package for your own plug-in.

    The package is a small working example: it installs, runs and passes the contract tests. Then change it.

    What each part does, and how to write a provider or a report section: docs/README.md.

    Examples:

      rag-harness new system my-search

      rag-harness new dataset our-tickets --into ../plugins
    """
    from harness.cli.new import create

    create(kind, name, into)


@app.command(rich_help_panel="extend")
def doctor(results: options.ResultsOption = Path("results")) -> None:
    """Check the installation and show how to fix it."""
    from harness.cli.doctor import print_checkup

    raise typer.Exit(print_checkup(results))


def main() -> None:
    """The console script. Exit 2 with one line for errors that the user can fix, 130 when interrupted."""
    with errors_as_exit_codes():
        built_in = [
            command.name or command.callback.__name__ for command in app.registered_commands if command.callback
        ]
        asked = next(iter(sys.argv[1:2]), None)
        if asked not in built_in:
            add_plugged(app, built_in, asked)
        app()


if __name__ == "__main__":
    main()
