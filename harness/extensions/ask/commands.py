"""The command `ask`, which asks the system of a run a new question."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import JsonOption, PricesOption, QuietOption, ResultsOption
from harness.protocols import CommandSpec


def ask(
    run: Annotated[
        str, typer.Argument(help="A run id, a unique part of one, a path, or an index id.", metavar="RUN")
    ],
    question: Annotated[
        str | None,
        typer.Argument(help="The question. Without it, each line of standard input is one.", metavar="QUESTION"),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", metavar="PROVIDER[/MODEL]", help="Model that judges the answer, or none."),
    ] = None,
    texts: Annotated[bool, typer.Option("--texts", help="Print the contexts in full.")] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Use the servers, keys, code and files that the run names.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Read the judge and its parameters from this file.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Settings of the judge, e.g. models.judge.model=gpt-4o."),
    ] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Ask the system of a run a new question.

    Prints the answer with its evidence, sources, tokens, seconds and cost.

    Index and models are those of the run, which is not changed. Calls are kept in RESULTS/asked, so the same
    question is not paid again. With --json each answer is one line.

    Examples:

      rag-harness ask demo--naive "Who built the harbour wall?"

      rag-harness ask demo--naive    (a question a line, until Ctrl-D)

      rag-harness ask demo--naive "Who built it?" --judge local    (judge the answer)

      rag-harness ask demo--naive "Who built it?" --json < /dev/null
    """
    from harness.extensions.ask.output import ask_run
    from harness.extensions.ask.session import open_run

    opened = open_run(
        run,
        judge=judge,
        config=config,
        settings=settings or (),
        trust=trust,
        prices=prices,
        results=results,
        quiet=quiet,
    )
    raise typer.Exit(ask_run(opened, question, as_json=as_json, texts=texts, quiet=quiet))


ASK = CommandSpec("ask", lambda _runtime: ask, "understand")
