"""The commands `ask` and `try`, which ask the systems of runs new questions: in the terminal, and on a page."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import JsonOption, PricesOption, QuietOption, ResultsOption, TrustOption
from harness.protocols import CommandSpec

JudgeOption = Annotated[
    str | None,
    typer.Option("--judge", metavar="PROVIDER[/MODEL]", help="Model that judges the answers, or none."),
]
JudgeFileOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="Read the judge and its parameters from this file.")
]


def ask(
    question: Annotated[
        list[str] | None,
        typer.Argument(
            help="The question, in quotes. Without it, each line of standard input is one.", metavar="QUESTION"
        ),
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN", help="Run id, part of one, path or index id; repeat to compare."),
    ] = None,
    judge: JudgeOption = None,
    texts: Annotated[bool, typer.Option("--texts", help="Print the contexts in full.")] = False,
    trust: TrustOption = False,
    config: JudgeFileOption = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Settings of the judge, e.g. models.judge.model=gpt-4o."),
    ] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Ask the system of a run, or several, a new question.

    Prints the answer with its evidence, sources, tokens, seconds and cost; of several runs the answers side by
    side.

    Index and models are those of the run, which is not changed. Calls are kept in RESULTS/asked, so the same
    question is not paid again. With --json each answer is one line.

    Examples:

      rag-harness ask "Who built the harbour wall?" --run trial1

      rag-harness ask "Who built the harbour wall?" --run trial1 --run trial2    (side by side)

      rag-harness ask --run trial1    (a question a line, until Ctrl-D)

      rag-harness ask "Who built it?" --run trial1 --judge local    (judge the answer)

      rag-harness ask "Who built it?" --run trial1 --json < /dev/null
    """
    from harness.core.errors import ConfigError
    from harness.extensions.ask.output import ask_runs
    from harness.extensions.ask.session import runs_to_ask
    from harness.runner.live_run_check import run_named
    from harness.runner.progress import Reporter
    from harness.store.run_lookup import newest_text

    if question and len(question) > 1:
        what = f"{len(question)} arguments where one question is expected"
        raise ConfigError(what, "put the question in quotes, and name each run with --run")
    if not run:
        raise ConfigError("no run is named", f"name one or several with --run; {newest_text(results)}")
    opened = runs_to_ask(
        [run_named(results, name) for name in run],
        judge=judge,
        config=config,
        settings=settings or (),
        trust=trust,
        prices=prices,
        results=results,
    )
    asked = question[0] if question else None
    opening = opened(Reporter(quiet=quiet))
    raise typer.Exit(ask_runs(opening, asked, as_json=as_json, texts=texts, quiet=quiet))


def try_systems(
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Two runs. Without them, two systems over your documents.", metavar="RUN"),
    ] = None,
    docs: Annotated[
        Path | None, typer.Option("--docs", metavar="FOLDER", help="Documents; without it, drop them on the page.")
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the page, e.g. --port 8123.")] = 0,
    judge: JudgeOption = None,
    trust: TrustOption = False,
    config: JudgeFileOption = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A key of the systems' config, or of the judge."),
    ] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    quiet: QuietOption = False,
) -> None:
    """Ask two systems on a page, and vote.

    The answers are shown side by side in random order, with the passages that support them, tokens, seconds and,
    with --judge, a confidence. The systems are named after the vote. `compare` prints the votes of two runs.

    Without runs, two systems are indexed over your documents, without a model call for the index: naive and kg
    with the local model. Their runs are kept in RESULTS/try. The page is served on 127.0.0.1 only; its address
    contains its token. Nothing leaves this machine but the requests to the models of the systems and the judge.

    Examples:

      rag-harness try    (drop documents on the page)

      rag-harness try --docs papers --judge local

      rag-harness try trial1 trial2

      rag-harness compare trial1 trial2    (with the votes)
    """
    from functools import partial

    from harness.extensions.ask.comparison_page import try_on_page
    from harness.extensions.ask.session import runs_to_ask

    to_ask = partial(runs_to_ask, judge=judge, config=config, prices=prices)
    try_on_page(runs or (), docs, port, to_ask, settings=settings or (), trust=trust, results=results, quiet=quiet)


ASK = CommandSpec("ask", lambda _runtime: ask, "understand")
TRY = CommandSpec("try", lambda _runtime: try_systems, "understand")
