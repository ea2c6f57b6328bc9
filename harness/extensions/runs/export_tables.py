"""Runs as Parquet tables, and as the rows of a leaderboard on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.api import frames
from harness.api.frames import ReadRun, Row
from harness.core.errors import DISTRIBUTION, DataError
from harness.display import counted, printable
from harness.display.text_format import markdown
from harness.extensions.runs.exported_runs import ExportedRuns, write_lines

_TABLES: Mapping[str, tuple[Callable[[ReadRun], Iterable[Row]], tuple[str, ...]]] = {
    # Without `path`, which is a place on this machine.
    "runs": (lambda read: [frames.run_row(read)], tuple(name for name in frames.RUN_COLUMNS if name != "path")),
    "records": (frames.record_rows, frames.RECORD_COLUMNS),
    "contexts": (frames.context_rows, frames.CONTEXT_COLUMNS),
    "scores": (frames.score_rows, frames.SCORE_COLUMNS),
}
_NUMBERS = {"score", "value", "share_read", "latency_s", "wall_s", "throttled_s", "cpu_s"}
_WHOLE = {
    *("n_queries", "repeats", "n_expected", "n_ok", "n_failed", "repeat", "n_contexts", "attempt", "rank"),
    *("peak_rss_bytes", "model_calls", "input_tokens", "output_tokens", "cached_tokens", "replayed_calls"),
    *("start", "end"),
}


def write_parquet(exported: ExportedRuns, folder: Path) -> None:
    """`runs`, `records`, `contexts` and `scores`.parquet, with the columns of the frames of `harness.api`."""
    import pyarrow
    import pyarrow.parquet

    texts = pyarrow.list_(pyarrow.string())
    kinds = {
        **dict.fromkeys(_NUMBERS, pyarrow.float64()),
        **dict.fromkeys(_WHOLE, pyarrow.int64()),
        **{"is_finished": pyarrow.bool_(), "references": texts, "doc_ids": texts},
        "triplets": pyarrow.list_(texts),
    }
    for name, (rows_of, columns) in _TABLES.items():
        # With the types given, a column without any value has the same type in every export.
        schema = pyarrow.schema([(column, kinds.get(column, pyarrow.string())) for column in columns])
        with pyarrow.parquet.ParquetWriter(folder / f"{name}.parquet", schema) as writer:
            for read in exported.runs:
                rows = [{column: row[column] for column in columns} for row in rows_of(read)]
                try:
                    writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
                except (pyarrow.ArrowException, OverflowError) as error:  # A stranger's run may have any number.
                    reason = " ".join(str(error).split())[:100]
                    raise DataError(f"{name} of {read.run.run_id} do not fit into Parquet ({reason})") from error


def write_leaderboard(exported: ExportedRuns, folder: Path) -> None:
    """`leaderboard.jsonl`, a row for each run with the means of all metrics and costs by name; and
    `<run>/README.md`, a model card with the means of the metrics as `model-index`, which the hub shows.
    """
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

    write_lines(folder / "leaderboard.jsonl", [_leaderboard_row(exported, read) for read in exported.runs])
    for read in exported.runs:
        view, dataset = exported.views[read.run.run_id], read.manifest.dataset
        results = [
            EvalResult(
                task_type="question-answering",
                dataset_type=str(dataset.get("name")),
                dataset_name=printable(str(dataset.get("title") or dataset.get("name"))),
                dataset_config=str(dataset.get("subset") or "default"),
                dataset_args={"digest": str(dataset.get("digest", "")), "n_queries": len(read.sample)},
                metric_type=measure,
                metric_value=mean.mean,
                metric_args={"ci_low": mean.ci_low, "ci_high": mean.ci_high, "n_scored": mean.n_scored},
            )
            for measure, mean in exported.means(read.run.run_id).items()
            if measure in view.scored
        ]
        card = ModelCardData(model_name=read.run.run_id, eval_results=results, tags=["rag"])
        place = folder / read.run.run_id
        place.mkdir()
        asked = counted(len(read.sample), "question")
        shown = f"# {markdown(read.label)}\n\nMeans over {asked}, measured with {DISTRIBUTION}."
        ModelCard(f"---\n{card.to_yaml()}\n---\n\n{shown}\n").save(place / "README.md")


def _leaderboard_row(exported: ExportedRuns, read: ReadRun) -> dict[str, Any]:
    row = frames.run_row(read)
    kept = (*("run_id", "label", "system", "dataset", "subset", "generator", "embedder", "baseline"),)
    means = {measure: mean.mean for measure, mean in exported.means(read.run.run_id).items()}
    return {**means, **{name: row[name] for name in (*kept, "n_queries", "n_ok", "n_failed")}}
