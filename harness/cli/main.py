"""`rag-harness`: the commands, in workflow order. Heavy imports happen inside the commands."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from harness.cli.console import complain, note_usage_data, show_bug
from harness.cli.option_enums import Creatable, FigureFormat, Listed, executor_settings
from harness.cli.options import (
    NAMES,
    ConfigsOption,
    DatasetOption,
    DocsOption,
    EvaluatorsOption,
    ExecutorOption,
    FieldOption,
    FullOption,
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
    parse_pairs,
    words,
)
from harness.cli.process_start import prepare_process
from harness.core.errors import (
    EXIT_CODES,
    EXIT_INTERRUPTED,
    EXIT_USER,
    HarnessError,
    RunInterrupted,
    refusal_of_system,
)

_JOBS = ("decide", "understand", "keep", "extend")
"""The values of `harness.protocols.commands.Job`, repeated here because importing it would slow down `--help`."""


class CommandsByJob(TyperGroup):
    """Groups the commands in `--help` by job."""

    def invoke(self, ctx: Any) -> Any:
        """Say that a command was interrupted; Typer would end it without a word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise RunInterrupted("interrupted") from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per job; each line is the command's first sentence."""
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
    epilog="Quick start without a language model: "
    "`rag-harness run --set models.generator.provider=none`. To check the installation: `rag-harness doctor`.\n\n"
    "\b\nExit codes:\n" + "\n".join(f"{code:>3}  {meaning}" for code, meaning in EXIT_CODES.items()),
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
    version: Annotated[  # noqa: ARG001 - the callback prints it
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
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
    from harness.cli.init import begin_config

    begin_config(file)


@app.command(rich_help_panel="decide")
def demo(
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the path of the report only.")] = False,
) -> None:
    """Open a finished report, to see what you will get.

    Nothing is run: the report of `make bench` ships with the package.

    Example: rag-harness demo
    """
    from harness.cli.finished_report import open_finished_report

    open_finished_report(in_browser=not no_open)


@app.command("list", rich_help_panel="extend")
def list_command(kind: Annotated[Listed, typer.Argument()], as_json: JsonOption = False) -> None:
    """List installed plug-ins: systems, data sets, metrics and more.

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
    field: FieldOption = None,
    include: IncludeOption = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Show which runs a config contains, and which are done.

    One line per run with its id and status: done, partial or missing. No model is called.

    Example: rag-harness plan --config configs/sweeps/top_k.yaml
    """
    from harness.api.config_building import DatasetChoice, bench_configs
    from harness.cli.plan import print_plan

    chosen = DatasetChoice(dataset, docs, questions, tuple(include or ()), parse_pairs("--field", field or ()))
    resolved = bench_configs(config, systems=system or (), dataset=chosen, settings=settings or ())
    print_plan(resolved, results, as_json=as_json)


@app.command(rich_help_panel="decide")
def estimate(
    config: ConfigsOption = None,
    system: SystemOption = None,
    dataset: DatasetOption = None,
    docs: DocsOption = None,
    questions: QuestionsOption = None,
    field: FieldOption = None,
    include: IncludeOption = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Estimate tokens, dollars and minutes before you pay.

    Lists the remaining work of each run and of its judges. No model is called.

    Based on the corpus, the prompts and earlier runs under --results; without earlier runs, an upper bound.

    Example: rag-harness estimate --config configs/bench/openai.yaml
    """
    from harness.api.config_building import DatasetChoice, bench_configs
    from harness.cli.estimate import print_estimate

    chosen = DatasetChoice(dataset, docs, questions, tuple(include or ()), parse_pairs("--field", field or ()))
    resolved = bench_configs(config, systems=system or (), dataset=chosen, settings=settings or ())
    print_estimate(resolved, results, as_json=as_json)


@app.command(rich_help_panel="decide")
def run(
    config: ConfigsOption = None,
    system: SystemOption = None,
    dataset: DatasetOption = None,
    docs: DocsOption = None,
    questions: QuestionsOption = None,
    field: FieldOption = None,
    include: IncludeOption = None,
    measure: RankOption = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Answer failed queries again.")] = False,
    fresh_index: Annotated[
        bool, typer.Option("--fresh-index", help="Rebuild indexes: pays again, measures the time.")
    ] = False,
    records_only: Annotated[
        bool, typer.Option("--records-only", help="Answer only; do not evaluate or report.")
    ] = False,
    executor: ExecutorOption = None,
    ray_address: RayAddressOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the report.")] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the path of the report.")] = False,
    full: FullOption = False,
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

      rag-harness run -c sweep.yaml --executor ray --ray-address 10.0.0.1:6379    (docs/many-machines.md)

      open $(rag-harness run -q -c rag-harness.yaml)
    """
    from harness.api.config_building import DatasetChoice, bench_configs
    from harness.api.running import RunOptions
    from harness.cli.run import RunOutput, run_all

    chosen = DatasetChoice(dataset, docs, questions, tuple(include or ()), parse_pairs("--field", field or ()))
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
    raise typer.Exit(run_all(resolved, options, RunOutput(out, as_json, full)))


@app.command("import", rich_help_panel="keep")
def import_command(
    file: Annotated[Path, typer.Argument(help="Answers: JSON Lines, JSON, CSV or Parquet.", metavar="FILE")],
    name: Annotated[str, typer.Option("--name", "-n", help="Name of the system that answered.")],
    dataset: DatasetOption = None,
    docs: DocsOption = None,
    questions: QuestionsOption = None,
    include: IncludeOption = None,
    subset: Annotated[str | None, typer.Option("--subset", help="Name of a part of the data set.")] = None,
    where: Annotated[
        list[str] | None, typer.Option("--where", metavar="FIELD=VALUE", help="Import only rows with this value.")
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="OURS=THEIRS", help="Map a field, e.g. answer=reply."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="PROVIDER/NAME", help="Model for prices, e.g. openai/gpt-4o-mini."),
    ] = None,
    like: Annotated[
        str | None, typer.Option("--like", metavar="RUN", help="Use the sample of this run, to compare with it.")
    ] = None,
    evaluators: EvaluatorsOption = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Skip rows whose query is not in the data set.")
    ] = False,
    only_answered: Annotated[
        bool, typer.Option("--only-answered", help="The sample is the queries that the file answers.")
    ] = False,
    results: ResultsOption = Path("results"),
) -> None:
    """Import answers of another tool, to score them here.

    FILE is JSON Lines, JSON, CSV or Parquet, also with .gz. Names of ragas, DeepEval, TruLens, LangSmith, AutoRAG
    and promptfoo are known; fields that are not read are listed.

    Each row has `query` (the text) or `query_id`, and `answer` or `error`. Optional: `contexts` (texts, or objects
    with text, doc_ids, score, kind), `input_tokens`, `output_tokens`, `cached_tokens`, `model_calls`, `latency_s`,
    `repeat` (from 0) and `started_at`. A missing number is unknown, not 0.

    Examples:

      rag-harness import answers.jsonl -d multihop_rag -n my-agent --field answer=reply

      rag-harness import answers.jsonl --docs papers --questions asked.jsonl -n my-agent
    """
    from harness.cli.import_answers import import_file
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
        only_answered=only_answered,
    )
    import_file(request, results)


@app.command(rich_help_panel="keep")
def evaluate(
    runs: RunsArgument,
    evaluators: EvaluatorsOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Config with evaluators, judges and prices.")
    ] = None,
    settings: SetOption = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    executor: ExecutorOption = None,
    ray_address: RayAddressOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Score saved answers again, without calling any system.

    Judgements are kept, so each is paid only once.

    Without --config, the evaluators come from the config of the run, and the judge from --set or the defaults.

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
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the report.")] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    figures: Annotated[
        list[FigureFormat] | None,
        typer.Option("--figures", help="Write figures in this format as well as SVG."),
    ] = None,
    full: FullOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what to choose, and write a report: page, figures and tables.

    Prints the verdict. Writes report.html, verdict.json, summary.md and summary.csv.

    Examples:

      rag-harness report demo--naive --out my-report

      rag-harness report demo--naive demo--kg --measure Recall@10 --figures pdf
    """
    from harness.cli.report import ReportOptions, report_runs

    formats = tuple(one.value for one in figures or ())
    report_runs(runs, ReportOptions(out, results, prices, measure, margin, full, as_json, formats=formats))


@app.command(rich_help_panel="decide")
def compare(
    runs: RunsArgument,
    measures: Annotated[
        list[str] | None, typer.Option("--measures", "--measure", "-m", metavar="NAMES", help=NAMES)
    ] = None,
    query_type: Annotated[str | None, typer.Option("--query-type", help="Only queries of this type.")] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="RUN", help="Compare every run with this one only.")
    ] = None,
    margin: MarginOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for tables and query ids.")] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    full: FullOption = False,
) -> None:
    """Compare runs query by query, with intervals and tests.

    A difference that could be chance is reported as a statistical tie.

    Example: rag-harness compare demo--naive demo--recursive --measures accuracy,latency_s
    """
    from harness.cli.compare import CompareOptions
    from harness.cli.compare import compare as compare_named

    options = CompareOptions(words(measures), query_type, against, out, results, as_json, prices, margin, full)
    compare_named(runs, options)


@app.command(rich_help_panel="understand")
def show(
    run: Annotated[str, typer.Argument(help="Run id, unique part of one, or path.", metavar="RUN")],
    query_id: Annotated[str | None, typer.Argument(help="Query id; omit it to show the whole run.")] = None,
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

    create(kind.value, name, into)


@app.command(rich_help_panel="extend")
def doctor(results: ResultsOption = Path("results")) -> None:
    """Check the installation and show how to fix it."""
    from harness.cli.doctor import print_checkup

    raise typer.Exit(print_checkup(results))


def main() -> None:
    """The console script. Exit 2 with one line for errors that the user can fix, 130 when interrupted."""
    sys.excepthook = show_bug
    # For processes that libraries start; our own processes get it explicitly.
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        prepare_process()
        own = [
            command.name or command.callback.__name__ for command in app.registered_commands if command.callback
        ]
        asked = next(iter(sys.argv[1:2]), None)
        if asked not in own:
            from harness.cli.contributed_commands import add_plugged

            add_plugged(app, own, asked)
        try:
            app()
        finally:
            sys.stdout.flush()  # Report a write error here, not at interpreter exit.
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
