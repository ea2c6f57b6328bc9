"""Commands that evaluate metrics: against each other, against people, and on perturbed answers."""

from pathlib import Path
from typing import Annotated, Literal

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

JudgeOption = Annotated[
    str | None,
    typer.Option("--judge", metavar="PROVIDER[/MODEL]", help="The judge, e.g. local or openai/gpt-4o-mini."),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="Evaluators, judge, budget and prices from this file.")
]
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
    by: Annotated[
        Literal["type", "run"] | None, typer.Option("--by", help="Also for each query type, or each run.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="LABEL", help="Also fit the metrics' weights to this label."),
    ] = None,
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

      rag-harness correlate trial1 -m token_f1,accuracy --out correlations

      rag-harness correlate trial1 trial2 --labels labels.csv --scale 1-5 --by type

      rag-harness correlate trial1 -m rag_eval_coverage,rag_eval_fluency --labels labels.csv --weights quality
    """
    from harness.core.errors import ConfigError
    from harness.extensions.meta_evaluation.correlation_columns import (
        measured_columns,
        parse_scale,
        read_labels,
        with_labels,
    )
    from harness.extensions.meta_evaluation.correlation_output import show_correlations
    from harness.extensions.meta_evaluation.correlations import correlate_columns, fit_weights
    from harness.runner.progress import Reporter
    from harness.store import find_runs

    if weights and not labels:
        raise ConfigError("--weights fits metrics to labels", "name the labels: --labels FILE")
    span = parse_scale(scale) if scale else None
    columns = measured_columns(find_runs(results, runs), words(measures))
    if labels:
        columns = with_labels(columns, read_labels(labels, span))
    fitted = fit_weights(columns, weights, span) if weights else None
    with Reporter(quiet=quiet).bar("correlate") as bar:
        findings = correlate_columns(columns, by, bar.update)
    show_correlations(findings, fitted, out=out, as_json=as_json)


def sensitivity(
    run: Annotated[str, typer.Argument(help="A run id, a unique part of one, or a path.", metavar="RUN")],
    evaluators: EvaluatorsOption = None,
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="PAPER", help="kg-eval or rag-eval: docs/sensitivity.md.")
    ] = None,
    base: Annotated[
        Literal["reference", "own"] | None,
        typer.Option("--base", help="Which answer is made wrong: the reference (default), or the run's own."),
    ] = None,
    swaps: Annotated[
        list[str] | None, typer.Option("--swap", metavar="NAMES", help=f"Only these changes. {NAMES}")
    ] = None,
    number: Annotated[int, typer.Option("--n", min=10, help="Queries, drawn with --seed.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Selects the queries and the wrong answers.")] = 0,
    judge: JudgeOption = None,
    no_judge: Annotated[bool, typer.Option("--no-judge", help="Only measures without a judge.")] = False,
    sweep: Annotated[
        list[str] | None,
        typer.Option("--sweep", metavar="EVALUATOR.PARAMETER=VALUES", help="Repeat the test at each value."),
    ] = None,
    config: ConfigOption = None,
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

      rag-harness sensitivity trial1 -e kg_nlp,bertscore,answer --out sensitivity

      rag-harness sensitivity trial1 --preset kg-eval --no-judge

      rag-harness sensitivity trial1 --preset rag-eval --judge openai/gpt-4o-mini --n 50
    """
    from harness.api.config_building import named_judge
    from harness.api.evaluating import EvaluateOptions
    from harness.cli.evaluate import conclude, resumable, say_stopped
    from harness.extensions.meta_evaluation.perturbed_runs import PerturbationChoice
    from harness.extensions.meta_evaluation.sensitivity import measure_sensitivity, parse_sweep, preset_named
    from harness.extensions.meta_evaluation.sensitivity_output import show_sensitivity
    from harness.store import find_runs

    paper = preset_named(preset)
    choice = PerturbationChoice(base or paper.base, words(swaps) or paper.swaps, number, seed)
    named = words(evaluators)
    said = (*paper.settings, *named_judge(judge), *(settings or ()))
    changed = find_runs(results, [run])[0]
    with resumable("paid judgements are kept"):
        sensed = measure_sensitivity(
            changed,
            choice,
            EvaluateOptions(config, named or paper.evaluators, said, prices, results, quiet),
            asks_judges=not no_judge,
            optional=paper.optional - set(named),
            sweeps=[one for text in (*(sweep or ()), *paper.sweeps) for one in parse_sweep(text)],
        )
    if stopped := sensed.evaluation.stopped:
        raise typer.Exit(say_stopped(stopped, sensed.evaluation.spending, "judgements are unfinished"))
    show_sensitivity(changed.run_id, sensed, out=out, as_json=as_json)
    raise typer.Exit(conclude(sensed.evaluation.outcomes))


def validate(
    set_name: Annotated[
        str, typer.Option("--set-name", help="A labelled set, see docs/validity.md, e.g. --set-name clapnq.")
    ] = "ragchecker",
    evaluators: EvaluatorsOption = None,
    number: Annotated[
        int | None,
        typer.Option("-n", "--n", min=1, help="Only this many questions, at least 10, e.g. -n 50."),
    ] = None,
    judge: JudgeOption = None,
    no_judge: Annotated[bool, typer.Option("--no-judge", help="Only measures without a judge (default).")] = False,
    again: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Make the card again from its values.json; nothing is scored."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the card; default: RESULTS/validity/SET.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Selects the questions of -n.")] = 0,
    config: ConfigOption = None,
    settings: SetOption = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check which metrics agree with public human labels.

    Reads a public set of labelled answers from $RAG_HARNESS_DATA, scores them, and prints how well each measure
    agrees with people, and people with each other. If interrupted, it resumes; judgements are paid once.

    Examples:

      rag-harness validate

      rag-harness validate --set-name clapnq --evaluators answer,cosine --json

      rag-harness validate -n 40 --judge local --evaluators rag_eval --set budget.minutes=60

      rag-harness validate --from results/validity/ragchecker --out again
    """
    from harness.api.config_building import named_judge
    from harness.core.errors import ConfigError
    from harness.extensions.meta_evaluation.card_output import read_values
    from harness.extensions.meta_evaluation.labelled_sets import load_set
    from harness.extensions.meta_evaluation.validate import score_and_print, scoring_config, write_and_print
    from harness.extensions.meta_evaluation.validity_card import build_card
    from harness.runner.progress import Reporter

    if judge is not None and no_judge:
        raise ConfigError("--judge and --no-judge contradict each other", "drop one of them")
    if again:
        if evaluators or judge or number is not None:
            raise ConfigError("--from makes a card from existing values", "drop -e, -n and --judge")
        write_and_print(build_card(read_values(again)), out or again, as_json=as_json)
        return
    reporter = Reporter(quiet=quiet)
    human = load_set(set_name).drawn(number, seed)
    said = (*(settings or ()), *named_judge(judge))
    chosen = scoring_config(config, words(evaluators), said, judged=judge is not None, reporter=reporter)
    code = score_and_print(human, chosen, reporter, prices=prices, results=results, out=out, as_json=as_json)
    raise typer.Exit(code)


CORRELATE = CommandSpec("correlate", lambda _runtime: correlate, "understand")
SENSITIVITY = CommandSpec("sensitivity", lambda _runtime: sensitivity, "understand")
VALIDATE = CommandSpec("validate", lambda _runtime: validate, "understand")
