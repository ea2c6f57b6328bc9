"""The commands that make and look through question files."""

from pathlib import Path
from typing import Annotated

import typer


def add_questions(app: typer.Typer) -> None:
    """Put them beside the others."""
    app.command("questions")(questions)


def questions(
    folder: Annotated[
        Path | None, typer.Argument(help="Documents: .md, .txt, .html, .pdf, .docx, .jsonl.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="The documents of a data set instead, e.g. demo.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The question file, e.g. asked.jsonl.")] = Path(
        "questions.jsonl"
    ),
    number: Annotated[int, typer.Option("--n", min=1, max=100_000, help="How many in all, e.g. 100.")] = 50,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", "-k", metavar="KIND[=N]", help="Only these, e.g. -k bridge=10 -k single_fact."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of which documents are asked about, e.g. 1.")] = 0,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Models, budget and prices, e.g. my.yaml.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Overrides one key, e.g. models.generator.provider=openai."
        ),
    ] = None,
    prices: Annotated[
        Path | None, typer.Option("--prices", help="A price table of your own, as configs/prices.yaml.")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what it would take. Costs nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value for scripts.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Write questions about documents, with answers and quotes, and check each. Stopped anywhere, it resumes.

    Kinds: single_fact, bridge (over two documents), comparison, temporal, unanswerable. models.generator writes,
    models.judge checks; where only one is set, it does both. Candidates and verdicts stay in OUT's .work folder.

    Examples:

      rag-harness questions papers --n 40 --out asked.jsonl

      rag-harness questions papers --set models.generator.provider=openai --set budget.usd=1

      rag-harness questions --dataset demo --kind bridge=10 --estimate
    """
    from harness.api.writing import WriteOptions
    from harness.cli.questioning import print_plan_of_questions, write_and_print

    options = WriteOptions(
        folder=folder,
        dataset=dataset,
        out=out,
        total=number,
        kinds=tuple(kind or ()),
        seed=seed,
        config=config,
        settings=tuple(settings or ()),
        prices=prices,
        quiet=quiet,
    )
    raise typer.Exit(print_plan_of_questions(options) if estimate else write_and_print(options, as_json=as_json))
