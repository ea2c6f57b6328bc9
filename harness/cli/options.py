"""Flags that several commands have, each with its help."""

from pathlib import Path
from typing import Annotated

import typer

ConfigsOption = Annotated[
    list[Path] | None,
    typer.Option("--config", "-c", help="A YAML file, see configs/bench; repeat it for one after another."),
]
SystemOption = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        "-s",
        help="A system's name, or your pipeline, e.g. http://127.0.0.1:8000/ask; repeat it to compare several.",
    ),
]
DatasetOption = Annotated[str | None, typer.Option("--dataset", "-d", help="A data set's name.")]
DocsOption = Annotated[
    Path | None,
    typer.Option(
        "--docs", metavar="FOLDER", help="Your own documents, e.g. --docs papers --questions asked.jsonl."
    ),
]
QuestionsOption = Annotated[
    Path | None,
    typer.Option("--questions", metavar="FILE", help="Questions about them, e.g. --questions asked.jsonl."),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include", metavar="PATTERN", help="Read these files of --docs though ignored or secret, e.g. '*.pem'."
    ),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Overrides one key, e.g. answer.top_k=8.")
]
ExecutorOption = Annotated[
    str | None,
    typer.Option("--executor", metavar="local|ray", help="Run on this machine, or on a Ray cluster."),
]
RayAddressOption = Annotated[
    str | None, typer.Option("--ray-address", metavar="HOST:PORT", help="Of the cluster; default: this machine's.")
]
NAMES = "Names, a comma between, or a flag for each."
EvaluatorsOption = Annotated[list[str] | None, typer.Option("--evaluators", "-e", metavar="NAMES", help=NAMES)]
ResultsOption = Annotated[Path, typer.Option("--results", help="Where runs are kept.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value for scripts.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
PricesOption = Annotated[
    Path | None, typer.Option("--prices", help="A price table of your own, as configs/prices.yaml.")
]
RankOption = Annotated[
    str | None, typer.Option("--measure", "-m", help="The measure that ranks; default: the data set's own.")
]
MarginOption = Annotated[
    float | None,
    typer.Option(
        "--margin", min=0.01, max=100, help="Points by which a run may be worse and count as good; default: 5."
    ),
]
RunsArgument = Annotated[list[str], typer.Argument(help="Run ids, unique parts of them, or paths.", metavar="RUN")]


def words(texts: list[str] | None) -> tuple[str, ...]:
    """Names, with commas between or each with a flag of its own."""
    return tuple(filter(None, (word.strip() for text in texts or () for word in text.split(","))))
