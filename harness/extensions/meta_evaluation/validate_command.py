"""The command that compares measures with human labels."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import (
    EvaluatorsOption,
    JsonOption,
    PricesOption,
    QuietOption,
    ResultsOption,
    SetOption,
    words,
)
from harness.protocols import CommandSpec


def validate(
    set_name: Annotated[
        str, typer.Option("--set-name", help="A labelled set, see docs/validity.md, e.g. --set-name clapnq.")
    ] = "ragchecker",
    evaluators: EvaluatorsOption = None,
    number: Annotated[
        int | None,
        typer.Option("-n", "--n", min=1, help="Only this many questions, at least 10, e.g. -n 50."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", metavar="PROVIDER[/MODEL]", help="Also judged measures, e.g. --judge local."),
    ] = None,
    no_judge: Annotated[bool, typer.Option("--no-judge", help="Only measures without a judge (default).")] = False,
    again: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Make the card again from its values.json; nothing is scored."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the card; default: RESULTS/validity/SET.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Selects the questions of -n.")] = 0,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Evaluators, judge, budget and prices from this file.")
    ] = None,
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
    from harness.extensions.meta_evaluation.validate_terminal import ValidateOptions, print_validity

    options = ValidateOptions(
        set_name=set_name,
        evaluators=words(evaluators),
        number=number,
        seed=seed,
        judge=judge,
        no_judge=no_judge,
        again=again,
        out=out,
        config=config,
        settings=tuple(settings or ()),
        prices=prices,
        results=results,
        quiet=quiet,
    )
    raise typer.Exit(print_validity(options, as_json=as_json))


VALIDATE = CommandSpec("validate", lambda _runtime: validate, "understand")
