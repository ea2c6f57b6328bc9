"""Prints the result of `rag-harness route`, and writes it as a page, JSON, a figure and a config."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from rich.console import Console

from harness.api.config_building import prices_of_runs
from harness.cli.console import open_console
from harness.core.errors import ConfigError
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, plotting, save
from harness.display.text_format import counted, printable, type_name
from harness.extensions.routing.study import LABELS, RULES, RouteChoice, RouteStudy, study_routes
from harness.extensions.routing.tables import gains_of, named_gains, route_json, route_sections, verdict
from harness.llm_utils.query_classifier import known_type
from harness.registry import SYSTEMS
from harness.report.figures.marks import wrapped
from harness.report.folder import files_together
from harness.report.formats import prose, section_lines
from harness.report.terminal import WIDTH, plain, print_table
from harness.report.view import RunView
from harness.store import find_runs
from harness.store.atomic_files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PAGE = "routes.md"

_NAME_LETTERS = 26
_ROW_IN = 0.34
_MOST_SYSTEMS = 8
"""Limited by the number of colours."""


def print_routes(
    names: Sequence[str],
    choice: RouteChoice,
    *,
    out: Path | None,
    policy: Path | None,
    prices: Path | None,
    results: Path,
    as_json: bool,
) -> None:
    """Study the named runs and print the result; write it to `out` and the learnt table to `policy`, if given."""
    runs = find_runs(results, names)
    study = study_routes(runs, prices_of_runs(runs, prices), choice)
    written = {
        "routes": write_routes(study, out) if out else None,
        "policy": write_policy(study, policy) if policy else None,
    }
    console = open_console()
    if as_json:
        console.print(json.dumps(route_json(study), indent=2), soft_wrap=True)
        return
    render_routes(study, console)
    for name, path in written.items():
        if path:
            console.print(f"{name}: {path}", soft_wrap=True)


def write_routes(study: RouteStudy, out: Path) -> Path:
    """Write routes.md, routes.json and the figure to `out`; returns the path of routes.md. The same runs give the
    same bytes.
    """
    with files_together(out) as folder:
        (folder / "routes.json").write_text(json.dumps(route_json(study), indent=2) + "\n", encoding="utf-8")
        figure = draw_routes(study, folder).name
        lines = [
            f"# {prose(_title(study))}",
            "",
            f"![routes]({figure})",
            "",
        ]
        lines += [line for section in route_sections(study) for line in section_lines(section)]
        (folder / _PAGE).write_text("\n".join(lines), encoding="utf-8")
    return out / _PAGE


def render_routes(study: RouteStudy, console: Console) -> None:
    """Print the verdict, the tables and the notes; never wider than the console or 100 columns."""
    width = min(console.width, WIDTH)
    console.print(plain(_title(study), "bold"), width=width)
    for section in route_sections(study):
        for paragraph in section.content.paragraphs:
            console.print(plain(paragraph), width=width)
            console.print()
        for table in section.content.tables:
            print_table(table, console, width)
        for note in section.content.items:
            console.print(plain(f"! {note}", "yellow"), width=width)


def _title(study: RouteStudy) -> str:
    return f"Routing among {counted(len(study.runs), 'run')} over {study.title}"


def draw_routes(study: RouteStudy, folder: Path) -> Path:
    """Write `routes.svg`. Left: the gain of each policy over the best single system, with its interval and the
    gain expected by chance. Right: the mean of each system on each query type.
    """
    with plotting() as new_figure:
        figure = new_figure(figsize=(WIDTH_IN, 1.2 + _ROW_IN * max(5, len(study.names))), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(5, 4))
        _gains(left, study)
        _by_type(right, study)
        return save(figure, folder, "routes")


def _gains(axes: Axes, study: RouteStudy) -> None:
    gains = study.gains
    shown = {name: one for name, one in named_gains(study).items() if one is not gains.single}
    luck = {id(gains.by_type): gains.by_type_chance, id(gains.by_query): gains.by_query_chance}
    axes.axvline(0, color=GREY, linewidth=0.8)
    for row, one in enumerate(shown.values()):
        found = gains_of(study, one)
        color = GREY if id(one) in luck else PALETTE[0]
        low, high = found.interval
        if low is not None and high is not None:
            axes.plot([low, high], [row, row], color=color)
        is_shown = low is not None and low > 0
        axes.plot(
            found.mean, row, marker="o", markersize=5, color=color, markerfacecolor=color if is_shown else "white"
        )
        if id(one) in luck:
            axes.plot(
                luck[id(one)].gains.mean(), row, marker="x", markersize=6, color=PALETTE[5], linestyle="none"
            )
    axes.set_yticks(range(len(shown)), [wrapped(name, _NAME_LETTERS) for name in shown], fontsize=7)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_title("gain over the best single system\n(cross: by luck alone)", fontsize=8)
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)


def _by_type(axes: Axes, study: RouteStudy) -> None:
    types = np.array(study.told[LABELS])
    names = sorted(set(types.tolist()))
    for at, label in list(enumerate(study.names))[:_MOST_SYSTEMS]:
        means = [float(study.values[types == name, at].mean()) for name in names]
        rows = np.arange(len(names)) + 0.08 * (at - (len(study.names) - 1) / 2)
        axes.plot(
            means, rows, marker="o", markersize=4, linestyle="none", color=PALETTE[at], label=wrapped(label, 24)
        )
    axes.set_yticks(
        range(len(names)), [f"{type_name(name)}\n({(types == name).sum()})" for name in names], fontsize=7
    )
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_title(f"mean {wrapped(study.compared.measure.name, 30)}", fontsize=8)
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    axes.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)


def write_policy(study: RouteStudy, path: Path) -> Path:
    """Write the table for types found by rules as a config of the routing system. It contains only systems and
    their parameters; models, data and keys are left to the user.

    ConfigError if the file exists, if the chosen runs used different models (one run has one of each role), or if
    no routing system is installed.
    """
    table = study.tables[RULES]
    chosen = {kind: study.runs[at] for name, at in table.systems.items() if (kind := known_type(name)) is not None}
    otherwise = study.runs[table.otherwise]
    _refuse_unlike_models([*chosen.values(), otherwise])
    _refuse_unroutable([*chosen.values(), otherwise])
    different = {kind: run for kind, run in chosen.items() if run is not otherwise}
    answer = {
        "classifier": RULES,
        "routes": {kind: _route(run) for kind, run in different.items()},
        "otherwise": _route(otherwise),
    }
    routers = [spec.name for spec in SYSTEMS.load_all()[0] if spec.routes is not None]
    if not routers:
        raise ConfigError("no system that routes queries is installed", "see: rag-harness list systems")
    name = routers[0]
    text = yaml.safe_dump({"systems": [name], "per_system": {name: {"answer": answer}}}, sort_keys=False)
    if path.exists():
        raise ConfigError(f"{path} already exists", "name another file: --policy FILE")
    write_atomic(path, f"{_said(study)}{text}")
    return path


def _route(run: RunView) -> dict[str, Any]:
    system = run.manifest.system
    return {"system": system.get("name", ""), "index": system.get("index", {}), "answer": system.get("answer", {})}


def _refuse_unlike_models(runs: list[RunView]) -> None:
    first, *others = runs
    models = first.manifest.identity.get("models")
    for one in others:
        if one.manifest.identity.get("models") != models:
            what = f"{first.label} and {one.label} used different models, and a run has one of each role"
            raise ConfigError(what, "name runs with the same models, or omit --policy")


def _refuse_unroutable(runs: list[RunView]) -> None:
    known = {spec.name: spec for spec in SYSTEMS.load_all()[0]}
    for one in runs:
        name = str(one.manifest.system.get("name", ""))
        spec = known.get(name)
        if one.manifest.is_imported or spec is None or spec.own_models or spec.sees_gold:
            what = f"queries cannot be routed to {one.label}: '{printable(name)}' cannot be run from a config"
            raise ConfigError(what, "name runs of systems that are installed here, or omit --policy")


def _said(study: RouteStudy) -> str:
    """The comment at the start of the file: the source of the table and its verdict."""
    n = counted(len(study.compared.query_ids), "query", "queries")
    lines = [
        f"Learnt by `rag-harness route` from {n} of {study.title}, by {printable(study.compared.measure.name)}.",
        verdict(study),
        "Models, data set and evaluators come from your command line or from another config.",
    ]
    return "".join(f"# {printable(line, 1000)}\n" for line in lines)
