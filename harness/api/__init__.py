"""The harness from Python: the commands as functions that return pandas frames.

```python
import harness.api as rag

runs = rag.run(systems=["naive", "recursive"], dataset="demo", settings={"models.generator.provider": "none"})
runs.scores.groupby(["label", "measure"])["value"].mean()
rag.compare(runs)
```

Paths and names are as on the command line; a single name is accepted for a list. `settings` are dotted keys of a
config. A mistake that the user can fix is a `HarnessError` of one line. To resume an interrupted function, call it
again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.api.frames import Runs
    from harness.api.loaded_system import LoadedSystem
    from harness.config import BenchConfig
    from harness.report.verdict.types import Verdict
    from harness.store import RunDir

    ConfigSource = str | Path | Mapping[str, Any] | None
    """A YAML file or a mapping of its keys. None: all defaults."""
    RunNames = Runs | str | Path | RunDir | Iterable[str | Path | RunDir]
    """`Runs`, or run ids, unique parts of them, paths or run directories."""

__all__ = ["Runs", "compare", "estimate", "evaluate", "load", "load_system", "plan", "report", "run", "verdicts"]


def __getattr__(name: str) -> object:
    # Lazy, because every command imports this package on the way to one of its modules.
    if name != "Runs":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from harness.api.frames import Runs

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
    """One row per run of a config: run id, status (done, partial or missing) and parameters. Calls no model."""
    from dataclasses import asdict, fields

    from harness.api.frames import data_frame
    from harness.api.run_status import PlannedCell, planned_cells

    resolved = _config(config, systems, settings, dataset=dataset, docs=docs, questions=questions)
    cells = planned_cells(resolved, Path(results))
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
    """One row per unfinished phase of a run (`index`, `answer`) and per evaluator with a judge (`judging:
    <name>`): expected calls, the bounds of tokens, dollars and seconds, and their basis. Calls no model: the
    speed of models is the one that a run or `rag-harness estimate` measured.
    """
    from harness.api.config_building import price_table
    from harness.api.frames import ESTIMATE_COLUMNS, Row, data_frame, estimate_rows
    from harness.runner.estimating.estimate import Estimator
    from harness.runner.plan import plan_cells
    from harness.statistics.estimate import phases_left

    resolved = _config(config, systems, settings, dataset=dataset, docs=docs, questions=questions)
    rows: list[Row] = []
    for one in Estimator(Path(results), price_table(resolved.prices)).estimate_all(plan_cells(resolved)):
        judging = {f"judging: {name}": phase for name, phase in one.judging.items()}
        rows += estimate_rows(one, phases_left(one) | judging)
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
    """Run every system of a config and score the answers (unless `records_only`). Finished work is not repeated.

    `fresh_index`: build the indexes again, without replayed calls or cached vectors, so that the build time is
    measured. Problems that do not stop the benchmark are warnings: a failed run, an exhausted budget, missing
    scores. The error of an evaluator that cannot run is raised at the end.
    """
    from harness.api.frames import Runs
    from harness.api.running import RunOptions, run_bench

    resolved = _config(config, systems, settings, dataset=dataset, docs=docs, questions=questions)
    options = RunOptions(Path(results), retry_failed, fresh_index, records_only=records_only, quiet=quiet)
    bench = run_bench(resolved, options)
    _warn([*(bench.outcome.troubles if bench.outcome else ()), *bench.troubles])
    if bench.outcome and bench.outcome.refused:
        raise bench.outcome.refused
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
    """Score saved records, with the evaluators of each run or those of a config file. Judgements are kept, so each
    is paid only once. Judges, keys and prices named by a run are never used: give `config` or `settings`.

    Warnings and errors as in `run`. Returns the runs to read the scores from.
    """
    from harness.api.config_building import as_names, as_settings
    from harness.api.evaluating import EvaluateOptions, evaluate_all
    from harness.api.frames import Runs

    run_dirs = _run_dirs(runs, results)
    options = EvaluateOptions(
        config=_path(config),
        evaluators=as_names(evaluators),
        settings=tuple(as_settings(settings or {})),
        prices=_path(prices),
        results=Path(results),
        quiet=quiet,
    )
    outcomes = evaluate_all(run_dirs, options).outcomes
    _warn([line for outcome in outcomes for line in outcome.troubles])
    for outcome in outcomes:
        if outcome.refused:
            raise outcome.refused
    return Runs(run_dirs)


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
    """One row per metric and pair of runs: difference with interval, p (Holm), finding, smallest detectable
    difference, and which run is as good within `margin` points. The columns are those of comparison.csv.
    """
    from harness.api.config_building import as_names, prices_of_runs
    from harness.api.frames import comparison_frame
    from harness.report.comparison.compare import ComparisonChoice
    from harness.report.verdict.findings import compare_runs

    others = _run_dirs(against, results)[:1] if against is not None else []
    choice = ComparisonChoice(as_names(measures), query_type, next(iter(others), None), margin)
    run_dirs = _run_dirs(runs, results)
    table = prices_of_runs([*run_dirs, *others], _path(prices))
    return comparison_frame(compare_runs(run_dirs, table, choice))


def verdicts(
    runs: RunNames,
    *,
    measure: str | None = None,
    margin: float | None = None,
    prices: str | Path | None = None,
    results: str | Path = "results",
) -> list[Verdict]:
    """For each data set: which run to choose, how sure that is, what would change it. `margin` as in `report`."""
    from harness.api.config_building import prices_of_runs
    from harness.report import load_chapters

    run_dirs = _run_dirs(runs, results)
    chapters = load_chapters(run_dirs, prices_of_runs(run_dirs, _path(prices)), measure, margin)
    return [chapter.findings.verdict for chapter in chapters]


def report(
    runs: RunNames,
    out: str | Path,
    *,
    measure: str | None = None,
    margin: float | None = None,
    prices: str | Path | None = None,
    results: str | Path = "results",
) -> Path:
    """Write the report of runs into a folder and return the path of its page. `margin`: by how many points a run
    may be worse and still count as good (default: from the configs, or 5).
    """
    from harness.api.config_building import prices_of_runs
    from harness.report import check_report, load_chapters, write_report

    check_report()
    run_dirs = _run_dirs(runs, results)
    chapters = load_chapters(run_dirs, prices_of_runs(run_dirs, _path(prices)), measure, margin)
    return write_report(chapters, Path(out))


def load(path: str | Path = "results", names: Sequence[str] = ()) -> Runs:
    """All runs in a results folder, or those with these names, or the one run at a path.

    ConfigError: no such folder, no run in it, or a name without a match.
    """
    from harness.api.config_building import as_names
    from harness.api.frames import Runs
    from harness.store import RunDir, find_runs

    folder = Path(path)
    if not folder.is_dir():
        raise ConfigError(f"no folder {folder}", "name a results folder or a run directory")
    if (folder / "manifest.json").exists() and not names:
        return Runs([RunDir(folder.resolve())])
    run_dirs = find_runs(folder, as_names(names))
    if not run_dirs:
        raise ConfigError(f"no runs under {folder}", "name a results folder, or create runs: rag-harness run")
    for one in run_dirs:
        one.manifest()  # Rejects a run of a newer version early.
    return Runs(run_dirs)


def load_system(
    source: str | Path | Mapping[str, Any],
    *,
    settings: Mapping[str, Any] | None = None,
    results: str | Path = "results",
    trust: bool = False,
) -> LoadedSystem:
    """The system of a finished run, with its index and models, to answer questions in your own program.

    `source`: a config of one configuration that has been run, such as the `winner.yaml` of a report (a path that
    ends in .yaml, or a mapping), or a run id, name or path. `trust`: use the servers, keys, code and files that a
    run names; those of a config are used anyway.

    HarnessError if it was not run yet, its index or a model has changed, or a server, key or package is missing.
    """
    from harness.api.loaded_system import LoadedSystem, live_source

    return LoadedSystem(live_source(source, settings or {}, Path(results), trust=trust))


def _config(
    source: ConfigSource,
    systems: Sequence[str],
    settings: Mapping[str, Any] | None,
    *,
    dataset: str | None,
    docs: str | Path | None,
    questions: str | Path | None,
) -> BenchConfig:
    from harness.api.config_building import DatasetChoice, as_names, as_settings, bench_config

    if isinstance(source, str):
        source = Path(source)
    chosen = DatasetChoice(dataset, docs, questions)
    return bench_config(source, systems=as_names(systems), dataset=chosen, settings=as_settings(settings or {}))


def _run_dirs(runs: RunNames, results: str | Path) -> list[RunDir]:
    from harness.api.frames import Runs
    from harness.store import RunDir, find_runs

    if isinstance(runs, Runs):
        runs = runs.directories
    listed = [runs] if isinstance(runs, str | Path | RunDir) else list(runs)
    if not listed:
        raise ConfigError("no runs given", "name run ids, unique parts of them, or paths")
    return [one if isinstance(one, RunDir) else find_runs(Path(results), [str(one)])[0] for one in listed]


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _warn(lines: Iterable[str]) -> None:
    for line in lines:
        warnings.warn(line, UserWarning, stacklevel=3)
