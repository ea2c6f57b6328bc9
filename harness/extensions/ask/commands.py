"""The command that asks a run's system a question of one's own."""

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
        typer.Argument(help="One question; without it, a line of standard input each.", metavar="QUESTION"),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", metavar="PROVIDER[/MODEL]", help="Who says how far to trust it; none: nobody."),
    ] = None,
    texts: Annotated[bool, typer.Option("--texts", help="Print the contexts in full.")] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="The run is yours: use the servers, keys, code and files it names.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="The judge and its parameters from this file.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Of the judge alone, e.g. models.judge.model=gpt-4o."),
    ] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Ask a run's system a question of your own.

    It prints the answer with its evidence, sources, tokens, seconds and cost.

    It answers from the index and with the models of its run, which is not changed. Calls are kept under
    RESULTS/asked: the same question again is paid no more. With --json each answer is one line.

    Examples:

      rag-harness ask demo--naive "Who built the harbour wall?"

      rag-harness ask demo--naive    (a question a line, until Ctrl-D)

      rag-harness ask demo--naive "Who built it?" --judge local    (how far to trust the answer)

      rag-harness ask demo--naive "Who built it?" --json < /dev/null
    """
    from harness.extensions.ask.session import AskOptions
    from harness.extensions.ask.terminal import AnswerOutput, ask_run

    options = AskOptions(judge, config, tuple(settings or ()), trust, prices, results, quiet)
    raise typer.Exit(ask_run(run, question, options, AnswerOutput(as_json, texts)))


ASK = CommandSpec("ask", lambda _runtime: ask, "understand")
