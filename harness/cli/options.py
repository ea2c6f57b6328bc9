"""Options of the commands, and the values that they accept."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from harness.api.config_building import DatasetChoice


class FigureFormat(StrEnum):
    """Formats of figures besides SVG."""

    png = "png"
    pdf = "pdf"


CostName = Literal["tokens", "usd", "latency_s"]
ConfigsOption = Annotated[
    list[Path] | None,
    typer.Option("--config", "-c", metavar="FILE", help="YAML config; repeat to run several in turn."),
]
SystemOption = Annotated[
    list[str] | None,
    typer.Option("--system", "-s", metavar="NAME", help="System, or URL of your pipeline; repeat to compare."),
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Use the servers, keys, code and files that the runs name.")
]
DatasetOption = Annotated[str | None, typer.Option("--dataset", "-d", help="Name of a data set.")]
DocsOption = Annotated[
    Path | None,
    typer.Option("--docs", metavar="FOLDER", help="Folder of your documents; use with --questions."),
]
QuestionsOption = Annotated[
    Path | None,
    typer.Option("--questions", metavar="FILE", help="Your questions about --docs, e.g. asked.jsonl."),
]
FieldOption = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="OURS=THEIRS", help="Column of --questions, e.g. answers=ground_truth."),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="PATTERN", help="Also read ignored or secret files, e.g. '*.pem'."),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override one key, e.g. answer.top_k=8.")
]
ExecutorOption = Annotated[
    str | None,
    typer.Option("--executor", metavar="local|ray", help="Run on this machine or on a Ray cluster."),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option("--ray-address", metavar="HOST:PORT", help="Address of the cluster; default: this machine."),
]
NAMES = "Comma-separated names, or repeat the option."
EvaluatorsOption = Annotated[list[str] | None, typer.Option("--evaluators", "-e", metavar="NAMES", help=NAMES)]
ResultsOption = Annotated[Path, typer.Option("--results", metavar="FOLDER", help="Folder of the runs.")]
FullOption = Annotated[bool, typer.Option("--full", help="Print all tables and notes.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value, for scripts.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")]
PricesOption = Annotated[
    Path | None, typer.Option("--prices", metavar="FILE", help="Your price table, like configs/prices.yaml.")
]
RankOption = Annotated[
    str | None, typer.Option("--measure", "-m", help="Metric to rank by; default: from the data set.")
]
MarginOption = Annotated[
    float | None,
    typer.Option("--margin", min=0.01, max=100, help="Points a run may be worse and still as good; default: 5."),
]
RunsArgument = Annotated[
    list[str], typer.Argument(help="Run ids, names, unique parts of them, or paths.", metavar="RUN")
]
RunNameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Your name for these runs, used by reports and commands."),
]
RetryOption = Annotated[bool, typer.Option("--retry-failed", help="Answer failed queries again.")]
FreshIndexOption = Annotated[
    bool, typer.Option("--fresh-index", help="Rebuild indexes: pays again, measures the time.")
]
RecordsOnlyOption = Annotated[bool, typer.Option("--records-only", help="Answer only; do not evaluate or report.")]
PathOnlyOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the path of the report.")]
ReportFolderOption = Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the report.")]
BesideOption = Annotated[
    str | None,
    typer.Option("--beside", metavar="PAPER", help="Show a paper's values beside: thesis, or a CSV."),
]
FiguresOption = Annotated[
    list[FigureFormat] | None,
    typer.Option("--figures", help="Write figures in this format as well as SVG."),
]
AgainstOption = Annotated[
    str | None, typer.Option("--against", metavar="RUN", help="Compare every run with this one only.")
]
MeasuresOption = Annotated[
    list[str] | None, typer.Option("--measures", "--measure", "-m", metavar="NAMES", help=NAMES)
]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"rag-harness {version('rag-bench-harness')}")
        raise typer.Exit


VersionOption = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
]


def words(texts: list[str] | None) -> tuple[str, ...]:
    """Split names that are separated by commas or given by repeating an option."""
    return tuple(filter(None, (word.strip() for text in texts or () for word in text.split(","))))


def parse_pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    """Parse KEY=VALUE arguments. Raises ConfigError for a malformed pair or a key with two values."""
    pairs: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise ConfigError(f"{option} {word!r} is not of the form KEY=VALUE", f"write {option} KEY=VALUE")
        if pairs.setdefault(key, value) != value:
            raise ConfigError(f"{option} gives {key!r} two values", "give it once")
    return pairs


def executor_settings(executor: str | None, ray_address: str | None) -> list[str]:
    """The settings for `--executor` and `--ray-address`; an address alone implies `ray`."""
    if executor is None and ray_address is not None:
        executor = "ray"
    named = {"executor": executor, "ray_address": ray_address}
    return [f"runner.{key}={value}" for key, value in named.items() if value is not None]


def chosen_dataset(
    name: str | None,
    docs: Path | None,
    questions: Path | None,
    include: list[str] | None,
    field: list[str] | None,
) -> "DatasetChoice":
    """The data set that `--dataset`, `--docs`, `--questions`, `--include` and `--field` name."""
    from harness.api.config_building import DatasetChoice

    return DatasetChoice(name, docs, questions, tuple(include or ()), parse_pairs("--field", field or ()))
