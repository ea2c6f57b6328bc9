"""`rag-harness import`: creates a run from answers of another tool."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.console import open_console
from harness.cli.options import (
    DatasetOption,
    DocsOption,
    EvaluatorsOption,
    IncludeOption,
    QuestionsOption,
    ResultsOption,
    parse_pairs,
    words,
)
from harness.display.text_format import counted


def import_command(
    file: Annotated[Path, typer.Argument(help="Answers: JSON Lines, JSON, CSV or Parquet.", metavar="FILE")],
    name: Annotated[str, typer.Option("--name", "-n", help="Name of the system that answered.")],
    dataset: DatasetOption = None,
    docs: DocsOption = None,
    questions: QuestionsOption = None,
    include: IncludeOption = None,
    subset: Annotated[str | None, typer.Option("--subset", help="Name of a part of the data set.")] = None,
    where: Annotated[
        list[str] | None, typer.Option("--where", metavar="FIELD=VALUE", help="Import only rows with this value.")
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="OURS=THEIRS", help="Map a field, e.g. answer=reply."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="PROVIDER/NAME", help="Model for prices, e.g. openai/gpt-4o-mini."),
    ] = None,
    like: Annotated[
        str | None, typer.Option("--like", metavar="RUN", help="Use the sample of this run, to compare with it.")
    ] = None,
    evaluators: EvaluatorsOption = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Skip rows whose query is not in the data set.")
    ] = False,
    only_answered: Annotated[
        bool, typer.Option("--only-answered", help="The sample is the queries that the file answers.")
    ] = False,
    results: ResultsOption = Path("results"),
) -> None:
    """Import answers of another tool, to score them here.

    FILE is JSON Lines, JSON, CSV or Parquet, also with .gz. Names of ragas, DeepEval, TruLens, LangSmith, AutoRAG
    and promptfoo are known; fields that are not read are listed. Result files of lm-eval (samples_*.jsonl),
    inspect_ai (.eval, .json) and promptfoo have the questions too, and need no data set.

    Each row has `query` (the text) or `query_id`, and `answer` or `error`. Optional: `contexts` (texts, or objects
    with text, doc_ids, score, kind), `input_tokens`, `output_tokens`, `cached_tokens`, `model_calls`, `latency_s`,
    `repeat` (from 0) and `started_at`. A missing number is unknown, not 0.

    Examples:

      rag-harness import answers.jsonl -d multihop_rag -n my-agent --field answer=reply

      rag-harness import answers.jsonl --docs papers --questions asked.jsonl -n my-agent
    """
    from harness.runner.importing.imported_run import ImportRequest
    from harness.runner.importing.importer import import_run
    from harness.store import find_runs, name_for

    request = ImportRequest(
        file=file,
        label=name,
        dataset=dataset,
        subset=subset,
        docs=docs,
        questions=questions,
        include=tuple(include or ()),
        fields=parse_pairs("--field", field or ()),
        where=parse_pairs("--where", where or ()),
        model=model,
        like=find_runs(results, [like])[0] if like else None,
        evaluators=words(evaluators),
        skip_unknown=skip_unknown,
        only_answered=only_answered,
    )
    result = import_run(request, results)
    run_id, failed = result.run.run_id, ""
    if result.n_failed:
        failed = f", {counted(result.n_failed, 'query', 'queries')} failed"
    headline = f"imported {counted(result.n_answers, 'answer')} of {name}{failed}: {run_id}"
    if result.was_complete:
        headline = f"{run_id} already has these answers: nothing to do"
    notes = (*result.mended, *(() if result.was_complete else result.notes))
    console = open_console()
    for line in (
        headline,
        *(f"  note: {note}" for note in notes),
        f"next: rag-harness evaluate {name_for(result.run)}",
    ):
        console.print(line, soft_wrap=True)
