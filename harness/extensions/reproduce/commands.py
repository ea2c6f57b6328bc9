"""The command `reproduce`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import QuietOption, ResultsOption, SetOption, words
from harness.protocols import CommandSpec


class PaperModels(StrEnum):
    published = "published"
    local = "local"
    scripted = "scripted"


def reproduce(
    paper: Annotated[str, typer.Argument(help="thesis, kg_eval, llm_eval, ge_chat or rag_eval.")],
    models: Annotated[
        PaperModels, typer.Option("--models", help="The paper's own (needs a key), local, or scripted (a trial).")
    ] = PaperModels.published,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAMES", help="Only these, e.g. figure-5.1,table-5.2.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder. Default: results/papers/<paper>-<models>.")
    ] = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    quiet: QuietOption = False,
) -> None:
    """Make every table and figure of a paper, under its own numbers.

    Runs the configs of the paper in configs/reproduce, scores the answers and writes the tables and figures, with
    the published values beside those here. Finished work is not repeated. docs/papers has a page for each paper:
    what was published, and what differs.

    Examples:

      rag-harness reproduce thesis --models scripted        (a minute; shows every file, its numbers mean nothing)

      rag-harness reproduce thesis --models local           (small samples with a model on this machine)

      rag-harness reproduce llm_eval --only table-I --set dataset.sample.per_type=20
    """
    from harness.extensions.reproduce.write import reproduce_paper

    code = reproduce_paper(
        paper, models.value, words(only), settings=settings or [], out=out, results=results, quiet=quiet
    )
    raise typer.Exit(code)


REPRODUCE = CommandSpec("reproduce", lambda _runtime: reproduce, "extend")
