"""The harness from Python: what the commands do, with pandas frames instead of prints.

```python
import harness.api as rag

runs = rag.run(systems=["naive", "recursive"], dataset="demo", settings={"models.generator.provider": "none"})
runs.scores.groupby(["label", "measure"])["value"].mean()
rag.compare(runs)
```

Paths and names are as on the command line, and a name alone is a list of one; `settings` are dotted keys of a
config. What the user can put right is a `HarnessError` of one line. What ends an interrupted command resumes
here, too: call it again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.api.runs import Runs
    from harness.config import BenchConfig
    from harness.store import RunDir

    ConfigSource = str | Path | Mapping[str, Any] | None
    """A YAML file, or a mapping of its keys; None: all defaults."""
    RunNames = Runs | str | Path | RunDir | Iterable[str | Path | RunDir]
    """`Runs`, or run ids, unique parts of them, paths or run directories."""

__all__ = ["Runs", "compare", "estimate", "evaluate", "load", "plan", "report", "run"]


def __getattr__(name: str) -> object:
    # Every command passes here on its way to a module of this room, and needs but a part of what the others need.
    if name != "Runs":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from harness.api.runs import Runs

    return Runs


def plan(
    config: ConfigSource = None,
    *,
    systems: Sequence[str] = (),
    dataset: str | None = None,
    docs: str | Path | None = None,
    questions: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    results: str | Path = "results",
) -> DataFrame:
    """A row for each cell of a config: run id, what is done, partial or missing, its parameters. Costs nothing."""
    from dataclasses import asdict, fields

    from harness.api.frames import data_frame
    from harness.api.planning import PlannedCell, planned_cells

    cells = planned_cells(_config(config, systems, (dataset, docs, questions), settings), Path(results))
    return data_frame(map(asdict, cells), [field.name for field in fields(PlannedCell)])


def estimate(
    config: ConfigSource = None,
    *,
    systems: Sequence[str] = (),
    dataset: str | None = None,
    docs: str | Path | None = None,
    questions: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    results: str | Path = "results",
) -> DataFrame:
    """A row for each phase that a cell still takes (`index`, `answer`) and for each evaluator that asks a judge
    (`judging: <name>`): calls, tokens, dollars, seconds, and what that is from. Costs nothing.
    """
    from harness.api.config_building import price_table
    from harness.api.frames import ESTIMATE_COLUMNS, Row, data_frame, estimate_rows
    from harness.runner.estimating.estimate import Estimator
    from harness.runner.plan import plan_cells
    from harness.statistics.estimates.remaining_cost import named_phases_left

    resolved = _config(config, systems, (dataset, docs, questions), settings)
    rows: list[Row] = []
    for one in Estimator(Path(results), price_table(resolved.prices)).estimate_all(plan_cells(resolved)):
        judging = {f"judging: {name}": phase for name, phase in one.judging.items()}
        rows += estimate_rows(one, named_phases_left(one) | judging)
    return data_frame(rows, ESTIMATE_COLUMNS)


def run(
    config: ConfigSource = None,
    *,
    systems: Sequence[str] = (),
    dataset: str | None = None,
    docs: str | Path | None = None,
    questions: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    results: str | Path = "results",
    retry_failed: bool = False,
    fresh_index: bool = False,
    records_only: bool = False,
    quiet: bool = False,
) -> Runs:
    """Run every cell of a config and score it (unless `records_only`); what is there already is not run again.

    `fresh_index`: indexes are built, and paid, with nothing that an earlier build left, so that their seconds are
    measured. What went wrong and ends nothing is a warning: a cell that failed, a budget that was reached, scores
    that an evaluator could not give. An evaluator that cannot work at all raises, after everything else is done.
    """
    from harness.api.running import RunOptions, run_bench
    from harness.api.runs import Runs
    from harness.api.scoring_errors import refused, troubles

    resolved = _config(config, systems, (dataset, docs, questions), settings)
    options = RunOptions(Path(results), retry_failed, fresh_index, records_only=records_only, quiet=quiet)
    bench = run_bench(resolved, options)
    outcomes = [(bench.outcome, resolved)] if bench.outcome else []
    _warn([*troubles(outcomes), *bench.troubles])
    _raise(refused(outcomes))
    return Runs(bench.runs)


def evaluate(
    runs: RunNames,
    evaluators: Sequence[str] = (),
    *,
    config: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    prices: str | Path | None = None,
    results: str | Path = "results",
    quiet: bool = False,
) -> Runs:
    """Score saved records (again) by each run's evaluators, or the config of a file; judgements are kept, and paid
    once. Judges, their keys and prices are never those that a run names: give `config` or `settings`.

    Warnings and errors as in `run`. Returns the runs, to be read anew.
    """
    from harness.api.config_building import as_names, as_settings
    from harness.api.evaluating import EvaluateOptions, evaluate_all
    from harness.api.runs import Runs
    from harness.api.scoring_errors import refused, troubles

    found = _found(runs, results)
    options = EvaluateOptions(
        config=_path(config),
        evaluators=as_names(evaluators),
        settings=tuple(as_settings(settings or {})),
        prices=_path(prices),
        results=Path(results),
        quiet=quiet,
    )
    evaluation = evaluate_all(found, options)
    _warn(troubles(evaluation.outcomes))
    _raise(refused(evaluation.outcomes))
    return Runs(found)


def compare(
    runs: RunNames,
    measures: Sequence[str] = (),
    *,
    query_type: str | None = None,
    against: str | Path | RunDir | None = None,
    margin: float | None = None,
    prices: str | Path | None = None,
    results: str | Path = "results",
) -> DataFrame:
    """A row for each measure and pair of runs: difference with interval, p (Holm), what it says, what could have
    been detected, and which of the two is as good within `margin` points. The columns are those of comparison.csv.
    """
    from harness.api.config_building import as_names, prices_of_runs
    from harness.api.frames import comparison_frame
    from harness.report.comparison import Choice, compare_runs

    others = _found(against, results)[:1] if against is not None else []
    choice = Choice(as_names(measures), query_type, next(iter(others), None), margin)
    found = _found(runs, results)
    table = prices_of_runs([*found, *others], _path(prices))
    return comparison_frame(compare_runs(found, table, choice))


def report(
    runs: RunNames,
    out: str | Path,
    *,
    measure: str | None = None,
    margin: float | None = None,
    prices: str | Path | None = None,
    results: str | Path = "results",
) -> Path:
    """Write the report of runs into a folder; the path of its page. `margin`: in points, by how much a run may be
    worse and count as good (default: what the configs say, or 5).
    """
    from harness.api.config_building import prices_of_runs
    from harness.report import check_report, load_chapters, write_report

    check_report()
    found = _found(runs, results)
    chapters = load_chapters(found, prices_of_runs(found, _path(prices)), measure, margin)
    return write_report(chapters, Path(out))


def load(path: str | Path = "results", names: Sequence[str] = ()) -> Runs:
    """The runs under a folder of results, all of them or those of these names; or the one run at a path.

    ConfigError: there is no such folder, no run in it, or a name that fits none.
    """
    from harness.api.config_building import as_names
    from harness.api.runs import Runs
    from harness.store import RunDir, find_runs

    folder = Path(path)
    if not folder.is_dir():
        raise ConfigError(f"no folder {folder}", "name a folder of results, or a run directory")
    if (folder / "manifest.json").exists() and not names:
        return Runs([RunDir(folder.resolve())])
    found = find_runs(folder, as_names(names))
    if not found:
        raise ConfigError(f"no runs under {folder}", "name a folder of results, or make some: rag-harness run")
    for one in found:
        one.manifest()  # One of a newer version is refused here, not at the first frame.
    return Runs(found)


def _config(
    source: ConfigSource,
    systems: Sequence[str],
    dataset: tuple[str | None, str | Path | None, str | Path | None],
    settings: Mapping[str, Any] | None,
) -> BenchConfig:
    """`dataset`: its name, its documents, its questions."""
    from harness.api.config_building import DatasetChoice, as_names, as_settings, bench_config

    if isinstance(source, str):
        source = Path(source)
    chosen = DatasetChoice(*dataset)
    return bench_config(source, systems=as_names(systems), dataset=chosen, settings=as_settings(settings or {}))


def _found(runs: RunNames, results: str | Path) -> list[RunDir]:
    from harness.api.runs import Runs
    from harness.store import RunDir, find_runs

    if isinstance(runs, Runs):
        runs = runs.directories
    listed = [runs] if isinstance(runs, str | Path | RunDir) else list(runs)
    if not listed:
        raise ConfigError("no run is named", "name run ids, unique parts of them, or paths")
    return [one if isinstance(one, RunDir) else find_runs(Path(results), [str(one)])[0] for one in listed]


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _warn(lines: Iterable[str]) -> None:
    for line in lines:
        warnings.warn(line, UserWarning, stacklevel=3)


def _raise(error: Exception | None) -> None:
    if error:
        raise error
