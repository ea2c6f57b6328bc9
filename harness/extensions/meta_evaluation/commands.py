"""Commands that evaluate metrics: against each other, against people, and on perturbed answers."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import (
    NAMES,
    EvaluatorsOption,
    JsonOption,
    PricesOption,
    QuietOption,
    ResultsOption,
    RunsArgument,
    SetOption,
    words,
)
from harness.protocols import CommandSpec


class CorrelatedBy(StrEnum):
    """How answers are divided."""

    type = "type"
    run = "run"


class EditedAnswer(StrEnum):
    """Kinds of perturbation."""

    reference = "reference"
    own = "own"


OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="A folder for a page, tables, figures and JSON.")
]


def correlate(
    runs: RunsArgument,
    measures: Annotated[
        list[str] | None, typer.Option("--measure", "--measures", "-m", metavar="NAMES", help=NAMES)
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", metavar="FILE", help="Human labels, a CSV: docs/correlate.md."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option("--scale", metavar="LOW-HIGH", help="Range of the labels, e.g. 1-5 or -2..2.")
    ] = None,
    by: Annotated[CorrelatedBy | None, typer.Option("--by", help="Also for each query type, or each run.")] = None,
    out: OutOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Correlate metrics with each other or with human labels.

    Pearson, Spearman and Kendall, with intervals.

    Only scored answers count. Without --measure all measures are used; with --labels each is correlated with each
    dimension of the labels. Answers to queries that share a document form one cluster.

    Examples:

      rag-harness correlate demo--naive -m token_f1,accuracy --out correlations

      rag-harness correlate demo--naive demo--kg --labels labels.csv --scale 1-5 --by type
    """
    from harness.extensions.meta_evaluation.correlate_terminal import CorrelateOptions, correlate_named
    from harness.extensions.meta_evaluation.correlations import By

    named = words(measures)
    divided: By | None = None if by is None else "type" if by is CorrelatedBy.type else "run"
    options = CorrelateOptions(named, labels, scale, divided, out, results, as_json, quiet)
    correlate_named(runs, options)


def sensitivity(
    run: Annotated[str, typer.Argument(help="A run id, a unique part of one, or a path.", metavar="RUN")],
    evaluators: EvaluatorsOption = None,
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="PAPER", help="kg-eval or rag-eval: docs/sensitivity.md.")
    ] = None,
    base: Annotated[
        EditedAnswer | None,
        typer.Option("--base", help="Which answer is made wrong: the reference (default), or the run's own."),
    ] = None,
    swaps: Annotated[
        list[str] | None, typer.Option("--swap", metavar="NAMES", help=f"Only these changes. {NAMES}")
    ] = None,
    number: Annotated[int, typer.Option("--n", min=10, help="Queries, drawn with --seed.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Selects the queries and the wrong answers.")] = 0,
    judge: Annotated[
        str | None,
        typer.Option("--judge", metavar="PROVIDER[/MODEL]", help="The judge, e.g. openai/gpt-4o-mini."),
    ] = None,
    no_judge: Annotated[bool, typer.Option("--no-judge", help="Only measures without a judge.")] = False,
    sweep: Annotated[
        list[str] | None,
        typer.Option("--sweep", metavar="EVALUATOR.PARAMETER=VALUES", help="Repeat the test at each value."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Evaluators, judges and prices from this file.")
    ] = None,
    settings: SetOption = None,
    prices: PricesOption = None,
    out: OutOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Test which metrics notice wrong answers.

    Right answers are made wrong in known ways. No system is called.

    Changes: another query's answer, another name, a negation, another number, half of the answer, a generic
    answer, a reversed statement, another query, other contexts. The same command resumes after an interruption.

    Examples:

      rag-harness sensitivity demo--naive -e kg_nlp,bertscore,answer --out sensitivity

      rag-harness sensitivity ms_marco--gold --preset kg-eval --no-judge

      rag-harness sensitivity demo--naive --preset rag-eval --judge openai/gpt-4o-mini --n 50
    """
    from harness.api.config_building import named_judge
    from harness.api.evaluating import EvaluateOptions
    from harness.extensions.meta_evaluation.sensitivity_run import (
        PerturbationOptions,
        SensitivityOptions,
        chosen_swaps,
        parse_sweep,
    )
    from harness.extensions.meta_evaluation.sensitivity_terminal import SensitivityOutput, run_sensitivity

    wishes = PerturbationOptions(preset, base.value if base else None, words(swaps), number, seed)
    choice, paper = chosen_swaps(wishes)
    named = words(evaluators) or (paper.evaluators if paper else ())
    said = (*named_judge(judge), *(settings or ()))
    sweeps = tuple(map(parse_sweep, (*(sweep or ()), *(paper.sweeps if paper else ()))))
    evaluate = EvaluateOptions(config, named, said, prices, results, quiet)
    options = SensitivityOptions(choice, evaluate, not no_judge, sweeps)
    raise typer.Exit(run_sensitivity(run, options, SensitivityOutput(out, as_json)))


CORRELATE = CommandSpec("correlate", lambda _runtime: correlate, "understand")
SENSITIVITY = CommandSpec("sensitivity", lambda _runtime: sensitivity, "understand")
