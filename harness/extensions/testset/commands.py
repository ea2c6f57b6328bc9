"""The commands that write and review question files."""

import time
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import IncludeOption, JsonOption, PricesOption, QuietOption, SetOption
from harness.protocols import CommandSpec


def questions(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder of documents, e.g. papers.", metavar="FOLDER")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="The documents of a data set instead, by its name.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The question file, e.g. -o asked.jsonl.")] = Path(
        "questions.jsonl"
    ),
    number: Annotated[int, typer.Option("--n", min=1, max=100_000, help="How many in all, e.g. --n 100.")] = 50,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", "-k", metavar="KIND[=N]", help="Only these, e.g. -k bridge=10 -k single_fact."),
    ] = None,
    include: IncludeOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Selects the sentences asked about, e.g. --seed 1.")] = 0,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Models, budget and prices, e.g. -c my.yaml.")
    ] = None,
    settings: SetOption = None,
    prices: PricesOption = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only print the estimated cost. Free.")] = False,
    template: Annotated[
        Path | None,
        typer.Option("--template", metavar="FILE.csv", help="No model: a sheet of quotes to write questions for."),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Generate questions with evidence from your documents.

    Each question is checked. Stopped anywhere, the same command resumes.

    Kinds: single_fact, bridge (over two documents), comparison, temporal, unanswerable. models.generator writes,
    models.judge checks; where only one is set, it does both. Candidates and verdicts stay in OUT's .work folder.

    Examples:

      rag-harness questions papers --n 40 --out asked.jsonl

      rag-harness questions papers --set models.generator.provider=openai --set budget.usd=1

      rag-harness questions --dataset demo --kind bridge=10 --estimate

      rag-harness questions papers --template asked.csv --n 20
    """
    from harness.core.current_process import start_up_s
    from harness.extensions.testset.output import print_plan_of_questions, print_template, write_and_print
    from harness.extensions.testset.write_questions import WriteOptions

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
        include=tuple(include or ()),
        began=time.monotonic() - start_up_s(),
    )
    if template:
        raise typer.Exit(print_template(template, options))
    raise typer.Exit(print_plan_of_questions(options) if estimate else write_and_print(options, as_json=as_json))


def review(
    file: Annotated[
        Path, typer.Argument(help="A question file: .jsonl, or .csv written by hand.", metavar="FILE")
    ],
    by: Annotated[
        str | None, typer.Option("--by", help="The reviewer, e.g. --by ada; default: your login.")
    ] = None,
    docs: Annotated[
        Path | None,
        typer.Option(
            "--docs", help="Documents that quotes must match, e.g. --docs papers; default: the work folder."
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the page, e.g. --port 8123.")] = 0,
    to_csv: Annotated[
        Path | None, typer.Option("--to-csv", help="Write a sheet instead of a page, e.g. --to-csv q.csv.")
    ] = None,
    from_csv: Annotated[
        Path | None, typer.Option("--from-csv", help="Read decisions from that sheet, e.g. --from-csv q.csv.")
    ] = None,
) -> None:
    """Accept, edit or reject questions.

    On a page in the browser, or in a CSV sheet. The page also shows what the checks rejected, and why.

    The page is served on 127.0.0.1 only; its address contains its token. In a sheet, write accept or reject in
    the column `decision`; changed cells count as edits. Quotes must stay word for word.

    Examples:

      rag-harness review questions.jsonl

      rag-harness review asked.csv --docs papers

      rag-harness review questions.jsonl --to-csv questions.csv

      rag-harness review questions.jsonl --from-csv questions.csv --by ada
    """
    from harness.cli.console import open_console
    from harness.core.errors import ConfigError
    from harness.display import counted
    from harness.extensions.testset.review_session import (
        open_review,
        review_page,
        review_summary,
        take_sheet,
        write_sheet,
    )
    from harness.extensions.web import serve_page

    if to_csv and from_csv:
        raise ConfigError("--to-csv and --from-csv", "use them one after the other")
    if (to_csv or from_csv) and file.suffix != ".jsonl":
        raise ConfigError(f"{file} is a sheet already", "edit it, or review it on the page: leave out the option")
    console = open_console()
    with open_review(file, by, docs) as opened:
        if to_csv:
            number = counted(write_sheet(opened, to_csv), "question")
            then = f"fill in `decision` with accept or reject, then --from-csv {to_csv}"
            console.print(f"{to_csv}: {number}; {then}", soft_wrap=True)
        elif from_csv:
            taken = take_sheet(opened, from_csv)
            rejected, edited = sum(one.verdict == "reject" for one in taken), sum(bool(one.edit) for one in taken)
            said = f"{len(taken) - rejected} accepted, {edited} of them edited, {rejected} rejected"
            # Rows without a decision, or not in the sheet.
            console.print(f"{said}, {len(opened.rows) - len(taken)} left", soft_wrap=True)
        else:
            if not opened.documents:
                console.print("note: quotes are not checked; name their documents: --docs FOLDER", soft_wrap=True)
            serve_page(review_page(opened), port)
        console.print(review_summary(opened), soft_wrap=True)


QUESTIONS = CommandSpec("questions", lambda _runtime: questions, "decide")
REVIEW = CommandSpec("review", lambda _runtime: review, "decide")
