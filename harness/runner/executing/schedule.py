"""Runs all configurations of a command; first it warns of reused results whose settings or machine changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.config import NO_MODEL
from harness.core.errors import StoreError
from harness.display.text_format import counted, printable
from harness.runner.estimating.estimate import keep_estimate
from harness.runner.executing.execute import CellResult, RunContext, open_run, run_cell
from harness.runner.executing.turns import run_in_turns
from harness.runner.executor import Executor
from harness.runner.machine_info import describe_machine
from harness.runner.plan import Cell, is_finished
from harness.runner.race_plan import PlannedRace
from harness.store import RunDir


def run_cells(
    cells: Sequence[Cell],
    context: RunContext,
    race: PlannedRace | None = None,
    *,
    executor: Executor | None = None,
    in_turns: bool = False,
) -> list[CellResult]:
    """Run configurations on an executor; or `in_turns`, as a race needs; or one by one until the budget stops."""
    if executor or in_turns:
        for number in range(1, len(cells) + 1):
            _announce(cells, number, context)
        return executor.run_cells(cells, context) if executor else run_in_turns(cells, context, race)
    results: list[CellResult] = []
    for number, cell in enumerate(cells, 1):
        _announce(cells, number, context)
        results.append(run_cell(cell, context))
        if results[-1].status == "stopped":
            break
    return results


_LONGEST = 80


def _announce(cells: Sequence[Cell], number: int, context: RunContext) -> None:
    """Print what a run is and what is reused, and save its estimate. Notes of a data set are printed once."""
    reporter, cell = context.reporter, cells[number - 1]
    work = [_work(one) for one in cells[max(0, number - 2) : number]]
    is_told = number > 1 and len({*work}) == 1
    # The answer parameters that the config sets tell the runs of one system from each other.
    given = cell.answer_params.model_dump(mode="json", exclude_unset=True)
    parameters = printable(" ".join(f"{key}={value}" for key, value in given.items()), _LONGEST)
    named = " ".join(filter(None, (cell.run_id, parameters)))
    reporter.say(f"[{number}/{len(cells)}] {named}{'' if is_told else f': {work[-1]}'}")
    for note in cell.dataset.notes:
        reporter.say_once(f"  note: {note}")
    run = open_run(cell, context.results, reporter.warn)
    for line in (*changed_lines(cell, run), *reuse_lines(cell, run, fresh_index=context.fresh_index)):
        reporter.warn(f"  {line}")
    keep_estimate(cell, run, context.spending.prices, reporter, fresh_index=context.fresh_index)


def _work(cell: Cell) -> str:
    dataset, generator = cell.config.dataset, cell.generator
    cited = " that these queries cite" if dataset.corpus == "cited" else ""
    if generator is None and cell.generates:
        named = "its own"
    else:
        named = NO_MODEL if generator is None or generator.is_none else generator.label
    return f"{_queries(cell)} over {counted(len(cell.dataset.documents), 'document')}{cited}, generator {named}"


def _queries(cell: Cell) -> str:
    """How many queries are asked, and of how many they are a sample."""
    n, of, sample = len(cell.dataset.queries), sum(cell.dataset.type_mix.values()), cell.config.dataset.sample
    if n >= of or sample == "full":
        return f"{n:,} queries"
    most = [] if sample.per_type is None else [f"at most {sample.per_type:,} of each type"]
    held = [f"{100 * sample.holdout:g} % are held out"] if sample.holdout else []
    return f"a sample of {n:,} of {of:,} queries ({', '.join([*most, *held])})"


_OF_NO_TIME = {"provider", "model", "api_key_env"}
"""Keys of a model config that do not affect time, or that change the run id."""
_OF_MACHINE = ("processor", "cores")
_ANEW = "use another folder (--results) to measure again"


def reuse_lines(cell: Cell, run: RunDir, *, fresh_index: bool = False) -> Iterator[str]:
    """Warnings that seconds were measured with other settings or elsewhere, or --fresh-index has no effect."""
    try:
        if run.index() is None:
            return
    except StoreError:  # The run repairs or reports it when it starts.
        return
    changed = "; ".join(_changed(cell, run))
    if changed and is_finished(cell, run.path.parent):
        yield f"{run.run_id} is finished, and its seconds were measured with {changed}: {_ANEW}"
    elif changed:
        yield f"{run.run_id} is resumed; earlier seconds were measured with {changed}: do not mix them; {_ANEW}"
    if fresh_index:
        yield f"--fresh-index has no effect on {run.run_id}, which has its index: {_ANEW}"


def changed_lines(cell: Cell, run: RunDir) -> Iterator[str]:
    """A warning if a new run differs from an existing one only because files in the folder changed."""
    place = cell.config.dataset.path
    if place is None or run.intact_statuses():
        return
    identity = {**cell.identity, "dataset": None}
    for path in sorted(run.path.parent.glob(f"{cell.dataset.name_in_runs}--*/manifest.json"), reverse=True):
        other = RunDir(path.parent)
        try:
            manifest = other.manifest()
        except StoreError:
            continue
        then = manifest.config.get("dataset") or {}
        has_changed = manifest.dataset.get("corpus_digest") not in {None, cell.corpus_digest}
        if then.get("path") == place and has_changed and {**manifest.identity, "dataset": None} == identity:
            what = f"the files in {place} have changed since {other.run_id}"
            yield f"{what}: this is a new run, the other one is kept"
            return


def _changed(cell: Cell, run: RunDir) -> Iterator[str]:
    """Such as `models.generator.max_concurrency 8, now 1`."""
    manifest = run.manifest()
    recorded, asked = manifest.config.get("models") or {}, cell.config.model_dump(mode="json")["models"]
    for role in cell.models:
        now = {key: value for key, value in asked[role].items() if key not in _OF_NO_TIME}
        yield from _differing(f"models.{role}.", recorded.get(role) or {}, now)
    here = describe_machine()
    yield from _differing("another machine: ", manifest.machine, {key: here[key] for key in _OF_MACHINE})


def _differing(prefix: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for key, value in now.items():
        if key in then and then[key] != value:
            # Options may hold secrets of the provider, so their values are not printed.
            shown = "" if isinstance(value, dict) else f" {_word(then[key])}, now {_word(value)}"
            yield f"{prefix}{key}{shown or ' (another value)'}"


def _word(value: Any) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
