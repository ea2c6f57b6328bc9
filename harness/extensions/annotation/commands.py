"""`rag-harness annotate`: human labels of saved answers."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from harness.cli.options import JsonOption, ResultsOption, RunsArgument
from harness.protocols import CommandSpec


def annotate(
    runs: RunsArgument,
    fraction: Annotated[
        float, typer.Option("--fraction", min=0.0, max=1.0, help="Share of the queries, e.g. --fraction 0.25.")
    ] = 0.1,
    annotator: Annotated[
        str | None, typer.Option("--annotator", "-a", help="Who labels, e.g. -a ada; default: your login.")
    ] = None,
    scales: Annotated[
        Literal["kg-eval", "rag-eval"],
        typer.Option("--scales", help="Which questions: those of kg-eval, or of rag-eval."),
    ] = "kg-eval",
    seed: Annotated[int, typer.Option("--seed", help="Selects the queries, e.g. --seed 1.")] = 0,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the page, e.g. --port 8123.")] = 0,
    to_csv: Annotated[
        Path | None, typer.Option("--csv", help="Write a sheet instead of a page, e.g. --csv sheet.csv.")
    ] = None,
    from_csv: Annotated[
        Path | None, typer.Option("--import", help="Read labels from that sheet, e.g. --import sheet.csv.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="Write everybody's labels as a table, e.g. --labels labels.csv."),
    ] = None,
    agreement: Annotated[bool, typer.Option("--agreement", help="Print how far annotators agree.")] = False,
    as_json: JsonOption = False,
    results: ResultsOption = Path("results"),
) -> None:
    """Label saved answers by hand, on a page or in a sheet.

    A random share of the answers, from 1 to 5 on four scales, or on the six of --scales rag-eval.

    The page is served on 127.0.0.1 only; its address contains its token. It shows question, reference, answer and
    contexts, but neither system nor scores. Labels are saved at once in the runs' folders; the same command
    resumes. Annotators with the same --fraction and --seed see the same answers.

    Examples:

      rag-harness annotate RUN --fraction 0.1 --annotator ada

      rag-harness annotate RUN RUN --annotator ada --csv sheet.csv

      rag-harness annotate RUN RUN --annotator ada --import sheet.csv

      rag-harness annotate RUN --annotator ada --scales rag-eval

      rag-harness annotate RUN --agreement
    """
    from harness.core.current_process import user_name
    from harness.core.errors import ConfigError
    from harness.extensions.annotation.label_scales import SCALE_SETS
    from harness.extensions.annotation.labelling_session import draw_answers
    from harness.extensions.annotation.terminal import label_answers, print_agreement, write_everybodys_labels
    from harness.store import find_runs

    modes = {"--csv": to_csv, "--import": from_csv, "--labels": labels, "--agreement": agreement}
    given = [name for name, value in modes.items() if value]
    if len(given) > 1:
        raise ConfigError(" and ".join(given), "use them one after the other")
    if as_json and not agreement:
        raise ConfigError("--json", "use it with --agreement")
    found = find_runs(results, runs)
    if agreement:
        print_agreement(found, as_json=as_json)
    elif labels:
        write_everybodys_labels(found, labels)
    else:
        name = annotator or user_name()
        if name is None:
            raise ConfigError("your login name is unknown", "name who labels: --annotator NAME")
        drawn = draw_answers(found, fraction, seed, name, SCALE_SETS[scales])
        label_answers(drawn, name, port=port, to_csv=to_csv, from_csv=from_csv)


ANNOTATE = CommandSpec("annotate", lambda _runtime: annotate, "understand")
