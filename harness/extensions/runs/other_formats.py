"""Runs in the formats of other tools: which there are, what each needs, and where it is written."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.core.errors import ConfigError, explained_io, need
from harness.extensions.runs import export_collections, export_spans, export_tables, export_tracking
from harness.extensions.runs.exported_runs import ExportedRuns
from harness.extensions.runs.hand_on import cleaned_copies
from harness.store import RunDir

FORMATS: Mapping[str, tuple[Callable[[ExportedRuns, Path], None], tuple[str, ...]]] = {
    "parquet": (export_tables.write_parquet, ("pyarrow",)),
    "hf": (export_tables.write_leaderboard, ("huggingface_hub",)),
    "trec": (export_collections.write_trec, ()),
    "beir": (export_collections.write_beir, ()),
    "ragas": (export_collections.write_ragas, ()),
    "otel": (export_spans.write_spans, ("opentelemetry", "opentelemetry.proto")),
}
"""Name -> what writes its files into an empty folder, and the packages of the extra `exports` that it needs."""


def export_as(name: str, runs: Sequence[RunDir], out: str) -> int:
    """Write runs into the new folder `out`, or with `mlflow` into that database or server. Returns in how many
    texts a key or an absolute path was shortened. HarnessError: a package is missing, `out` exists, or a run lacks
    what the format holds, is damaged or being written.
    """
    write, packages = FORMATS.get(name, (None, ("mlflow", "sqlalchemy", "alembic")))
    for package in packages:
        need("exports", package)
    with cleaned_copies(runs) as (copies, n_changed):
        exported = ExportedRuns(copies, {copy.run_id: run for copy, run in zip(copies, runs, strict=True)})
        if write is None:
            export_tracking.log_runs(exported, out)
        else:
            with _new_folder(Path(out)) as folder:
                write(exported, folder)
        return n_changed


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """A folder that becomes `out` unless something fails."""
    if out.exists() or out.is_symlink():
        raise ConfigError(f"{out} exists, and is not overwritten", "name another folder with --out")
    partial = out.with_name(f".{out.name}.{secrets.token_hex(6)}.partial")
    with explained_io("write", out):
        partial.mkdir(parents=True)
        try:
            yield partial
            partial.rename(out)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
