"""Asks the held-out queries of runs, and logs each time.

A share of the sample (`dataset.sample.holdout`) is asked by no run, so no choice can be made by it. The gate asks
it with the configurations of the runs to check. Each opening is logged: one that is repeated after changes is no
longer independent of them. The runs over held-out queries are kept in a folder of their own, where neither reports
nor names of runs find them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from harness.api.running import RunOptions, run_apart
from harness.api.untrusted_config import config_to_run_again
from harness.cli.evaluate import resumable
from harness.config import BenchConfig
from harness.core.errors import ConfigError, HarnessError, explained_io
from harness.core.records import Record
from harness.runner.dataset_loading import DatasetReader
from harness.runner.plan import Cell, plan_cells
from harness.store import RunDir
from harness.store.atomic_files import append_bytes, iter_jsonl, repair_tail
from harness.store.score_files import refuse_link

FOLDER = "holdout"
"""In the results folder: the runs over held-out queries, and the log."""
LOG = "openings.jsonl"


class Opening(Record):
    opened_at: str
    command: str
    runs: tuple[str, ...]
    """The runs over the held-out queries."""
    queries: tuple[str, ...]


def open_holdout(
    runs: Sequence[RunDir], command: str, *, trust: bool, quiet: bool
) -> tuple[list[RunDir], tuple[Opening, ...]]:
    """The configurations of these runs over their held-out queries, and every opening of any of them so far. The
    opening is logged before the first query is asked. Answers that are there already are not asked again.

    `trust`: use the servers, keys, code and files that the runs name. ConfigError if a run has no held-out
    queries, would be another run today, or names such and is not trusted; or if another run of the folder was
    asked a held-out query.
    """
    configs = [config_to_run_again(run, trust=trust)[0] for run in runs]
    cells = [_held_out(run, config) for run, config in zip(runs, configs, strict=True)]
    digests = {cell.dataset.digest for cell in cells}
    if len(digests) > 1:
        raise ConfigError("the runs hold different queries out", "run both with the same dataset.sample")
    queries = tuple(query.query_id for query in cells[0].dataset.queries)
    _refuse_asked(runs[0], frozenset(queries))
    folder = runs[0].path.parent / FOLDER
    refuse_link(folder)
    with explained_io("prepare", folder):
        folder.mkdir(exist_ok=True)
    log = folder / LOG
    repair_tail(log)
    opening = Opening(
        opened_at=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command,
        runs=tuple(cell.run_id for cell in cells),
        queries=queries,
    )
    append_bytes(log, (opening.model_dump_json() + "\n").encode())
    opened = []
    with resumable("all answers are kept"):
        for run, config, cell in zip(runs, configs, cells, strict=True):
            results = run.path.parent
            options = RunOptions(results, quiet=quiet, opens_holdout=True)
            opened.append(run_apart(config, options, cell.run_id, results / FOLDER))
    openings = iter_jsonl(log, Opening, "move it away")
    return opened, tuple(one for one in openings if not set(queries).isdisjoint(one.queries))


def put_away(results: Path) -> None:
    """Move runs over held-out queries to their folder, which an opening that was killed left beside the others."""
    for opening in iter_jsonl(results / FOLDER / LOG, Opening, "move it away"):
        for run_id in opening.runs:
            if (results / run_id).is_dir() and not (results / FOLDER / run_id).exists():
                (results / run_id).rename(results / FOLDER / run_id)


def _refuse_asked(run: RunDir, queries: frozenset[str]) -> None:
    """ConfigError if a run over the same data set was asked one of these queries."""
    data = run.manifest().dataset["name"]
    for folder in sorted(run.path.parent.glob("*--*")):
        try:
            other = RunDir(folder)
            rows = other.iter_sample() if other.manifest().dataset["name"] == data else ()
            asked = queries & {row.query.query_id for row in rows}
        except HarnessError:
            continue
        if asked:
            raise ConfigError(
                f"{len(asked):,} of the {len(queries):,} held-out queries were asked by {other.run_id}",
                "hold other queries out (dataset.sample.seed), or give that run another results folder",
            )


def _held_out(run: RunDir, config: BenchConfig) -> Cell:
    if config.dataset.sample == "full" or not config.dataset.sample.holdout:
        what = f"{run.run_id} was asked all queries of its sample: none is held out"
        raise ConfigError(what, "run its config with --set dataset.sample.holdout=0.3")
    return plan_cells(config, reader=DatasetReader(opens_holdout=True))[0]
