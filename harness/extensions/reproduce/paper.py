"""What a paper consists of, and the runs from which its tables and figures are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from harness.api.evaluating import EvaluateOptions, open_answer
from harness.core.errors import ConfigError, nearest
from harness.display import Entry, Quantity, Table
from harness.extensions.meta_evaluation.correlation_columns import ValueColumns
from harness.extensions.meta_evaluation.correlations import correlated_pair
from harness.extensions.meta_evaluation.perturbed_runs import PerturbationChoice
from harness.extensions.meta_evaluation.sensitivity import SensitivityResult, measure_sensitivity
from harness.protocols import AnswerChoice, OpenedAnswer
from harness.report.published import is_run_of
from harness.report.view import Group, RunView
from harness.store import RunDir

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure

    Draw = Callable[[Table, "PaperRuns", NewFigure], Figure]
    """draw(table, runs, new_figure): the figure of a table's numbers."""

Settings = Mapping[str, object]
"""Dotted keys of a config, as `--set` has them."""

PAPERS = ("thesis", "kg_eval", "llm_eval", "ge_chat", "rag_eval")
"""Modules of this package, which are also the names of the papers."""

_LOCAL_MODEL = {"provider": "local", "model": "qwen2.5-coder-1.5b", "temperature": 0, "max_tokens": 256}
MODELS: Mapping[str, Settings] = {
    "published": {},
    "local": {
        "models.generator": {**_LOCAL_MODEL, "max_tokens": 64},
        "models.embedder": {"provider": "minilm"},
        "models.judge": _LOCAL_MODEL,
        # It answers one call at a time: waiting for the others counts towards a query's time limit.
        "limits.concurrency": 1,
    },
    "scripted": {
        "models.generator": {"provider": "fake"},
        "models.embedder": {"provider": "fake"},
        "models.judge": {"provider": "fake"},
    },
}
"""The models to use -> settings. Scripted: shows that every file is made; its numbers mean nothing."""


class NotMade(Exception):
    """A table or figure cannot be made; the message is the reason."""


@dataclass(frozen=True, eq=False)
class PaperRuns:
    groups: Sequence[Group]
    """The runs, those over the same queries together."""
    models: str
    """A key of `MODELS`."""
    evaluation: EvaluateOptions
    """For experiments: the paper's config with its settings, and the folder of runs, so that nothing is paid
    twice."""

    def views_of(self, system: str, **parameters: object) -> list[RunView]:
        """The runs of a system with these parameters (`answer_mode="global"` is `answer.mode`)."""
        wanted = {key.replace("_", ".", 1): str(value) for key, value in parameters.items()}
        return [view for group in self.groups for view in group.views if is_run_of(view, system, wanted)]

    def view(self, system: str, **parameters: object) -> RunView:
        """The first run of a system with these parameters. NotMade: there is none."""
        found = self.views_of(system, **parameters)
        if not found:
            said = ", ".join(f"{key.replace('_', '.', 1)}={value}" for key, value in parameters.items())
            raise NotMade(f"no run of {system}{f' with {said}' if said else ''}")
        return found[0]

    def open(self, run: RunDir, query: str, evaluator: str) -> AbstractContextManager[OpenedAnswer]:
        """The first answer to a query, to examine it with an evaluator as the paper's config sets it."""
        own = self.evaluation
        choice = AnswerChoice(str(run.path), query, evaluator, 0, own.config, own.settings, own.results, own.quiet)
        return open_answer(choice)


@cache
def changed_answers(
    runs: PaperRuns, run: RunDir, evaluators: tuple[str, ...], changes: PerturbationChoice
) -> SensitivityResult:
    """The scores of a run's answers after these changes. NotMade: too few can be changed, or it was stopped."""
    try:
        found = measure_sensitivity(run, changes, replace(runs.evaluation, evaluators=evaluators))
    except ConfigError as error:
        raise NotMade(error.what) from error
    if found.evaluation.stopped:
        raise NotMade("the scoring of changed answers was interrupted")
    return found


def spearman(columns: ValueColumns, one: str, other: str) -> Entry:
    """The correlation of two metrics with its interval, or why there is none."""
    if not {one, other} <= set(columns.names):
        return "not scored"
    pair = correlated_pair(columns, one, other)
    if pair.found is None:
        return pair.why_not
    rho = pair.found.spearman
    return Quantity(rho.value, *rho.interval, n=pair.n, unit="coefficient")


@dataclass(frozen=True)
class Item:
    number: str
    """The paper's own, and the name of its files: `table-5.2`, `figure-1a`."""
    title: str
    """What it shows, in our words."""
    table: Callable[[PaperRuns], Table]
    """Its numbers; the name and title of the table are replaced. NotMade: why there are none."""
    draw: Draw | None = None
    """None: a table."""
    may_be_equal: bool = False
    """Whether equal numbers throughout are a possible result (a constant figure is otherwise not written)."""


@dataclass(frozen=True)
class Paper:
    """A paper: which configs to run, and what to make of them."""

    name: str
    citation: str
    items: tuple[Item, ...]
    configs: tuple[str, ...]
    """Files of `configs/reproduce`."""
    settings: Mapping[str, Settings] = field(default_factory=dict)
    """A key of `MODELS` -> settings beside those, such as a smaller sample."""


def load_paper(name: str) -> Paper:
    if name not in PAPERS:
        raise ConfigError(f"no paper called {name!r}", f"{nearest(name, PAPERS)}; papers: {', '.join(PAPERS)}")
    paper: Paper = import_module(f"harness.extensions.reproduce.{name}").PAPER
    return paper


def item_table(header: Sequence[str], rows: Iterable[Sequence[Entry]], note: str = "") -> Table:
    """A table of an item, which gives it its name and title."""
    return Table("", "", tuple(header), tuple(map(tuple, rows)), note)


def numbers_of(entries: Iterable[Entry]) -> list[float]:
    return [entry.value for entry in entries if isinstance(entry, Quantity) and entry.value is not None]
