"""Prints the result of `rag-harness route`, and writes it as a page, JSON, a figure and a config."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from harness.cli.console import open_console
from harness.core.errors import ConfigError
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, plotting, save
from harness.display.text_format import counted, printable, type_name
from harness.extensions.routing.study import RULES, RouteStudy
from harness.extensions.routing.tables import gains_of, named_gains, route_json, route_sections, verdict
from harness.llm_utils.query_classifier import known_type
from harness.registry import SYSTEMS
from harness.report.figures.marks import wrapped
from harness.report.folder import files_together
from harness.report.formats import prose, section_lines
from harness.report.terminal import WIDTH, plain, print_table
from harness.report.view import RunView
from harness.store import RunDir
from harness.store.atomic_files import write_atomic
from harness.store.run_lookup import with_typed_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def print_routes(
    study: RouteStudy, runs: Sequence[RunDir], written: Mapping[str, Path | None], *, as_json: bool
) -> None:
    """Never wider than the console or 100 columns. `written`: the files, by what is in them."""
    console = open_console()
    if as_json:
        console.print(json.dumps(route_json(study), indent=2), soft_wrap=True)
        return
    width = min(console.width, WIDTH)
    console.print(plain(_title(study), "bold"), width=width)
    for section in route_sections(study):
        for paragraph in section.content.paragraphs:
            console.print(plain(paragraph), width=width)
            console.print()
        for table in section.content.tables:
            print_table(table, console, width)
        for note in section.content.items:
            console.print(plain(f"! {with_typed_names(note, runs)}", "yellow"), width=width)
    for name, path in written.items():
        if path:
            console.print(f"{name}: {path}", soft_wrap=True)


def write_routes(study: RouteStudy, out: Path) -> Path:
    """Write routes.md, routes.json and the figure to `out`, the same bytes for the same runs. Returns the page."""
    with files_together(out) as folder:
        (folder / "routes.json").write_text(json.dumps(route_json(study), indent=2) + "\n", encoding="utf-8")
        lines = [f"# {prose(_title(study))}", "", f"![routes]({_draw_routes(study, folder).name})", ""]
        lines += [line for section in route_sections(study) for line in section_lines(section)]
        (folder / "routes.md").write_text("\n".join(lines), encoding="utf-8")
    return out / "routes.md"


def _title(study: RouteStudy) -> str:
    return f"Routing among {counted(len(study.runs), 'run')} over {study.title}"


def _draw_routes(study: RouteStudy, folder: Path) -> Path:
    with plotting() as new_figure:
        figure = new_figure(figsize=(WIDTH_IN, 1.2 + 0.34 * max(5, len(study.names))), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(5, 4))
        _draw_gains(left, study)
        _draw_types(right, study)
        return save(figure, folder, "routes")


def _draw_gains(axes: Axes, study: RouteStudy) -> None:
    """The gain of each policy over the best single system, with its interval and the gain expected by chance."""
    shown = {name: one for name, one in named_gains(study).items() if one is not study.gains.single}
    axes.axvline(0, color=GREY, linewidth=0.8)
    for row, one in enumerate(shown.values()):
        mean, (low, high) = gains_of(study, one)
        color = PALETTE[0] if one.by_luck is None else GREY
        if low is not None and high is not None:
            axes.plot([low, high], [row, row], color=color)
        face = color if low is not None and low > 0 else "white"
        axes.plot(mean, row, marker="o", markersize=5, color=color, markerfacecolor=face)
        if one.by_luck is not None:
            axes.plot(one.by_luck, row, marker="x", markersize=6, color=PALETTE[5], linestyle="none")
    names = [wrapped(name, 26) for name in shown]
    _dress(axes, names, "gain over the best single system\n(cross: by luck alone)")
    axes.locator_params(axis="x", nbins=4)


def _draw_types(axes: Axes, study: RouteStudy) -> None:
    """The mean of each system on each query type, of as many as there are colours."""
    types = dict(study.recorded.by_type())
    for at, label in list(enumerate(study.names))[:8]:
        means = [float(study.values[own, at].mean()) for own in types.values()]
        rows = np.arange(len(types)) + 0.08 * (at - (len(study.names) - 1) / 2)
        look: dict[str, Any] = {"marker": "o", "markersize": 4, "linestyle": "none", "color": PALETTE[at]}
        axes.plot(means, rows, label=wrapped(label, 24), **look)
    names = [f"{type_name(name)}\n({own.sum()})" for name, own in types.items()]
    _dress(axes, names, f"mean {wrapped(study.compared.measure.name, 30)}")
    axes.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)


def _dress(axes: Axes, names: Sequence[str], title: str) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_title(title, fontsize=8)
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)


def write_policy(study: RouteStudy, path: Path) -> None:
    """Write the table for types found by rules as a config of the routing system. It contains only systems and
    their parameters; models, data and keys are left to the user.

    ConfigError if the file exists, if the chosen runs used different models (one run has one of each role), or if
    no routing system is installed.
    """
    table = study.tables[RULES]
    chosen = {kind: study.runs[at] for name, at in table.systems.items() if (kind := known_type(name)) is not None}
    otherwise = study.runs[table.otherwise]
    _refuse_unroutable([*chosen.values(), otherwise])

    def route(run: RunView) -> dict[str, Any]:
        own = run.manifest.system
        return {"system": own.get("name", ""), "index": own.get("index", {}), "answer": own.get("answer", {})}

    answer = {
        "classifier": RULES,
        "routes": {kind: route(run) for kind, run in chosen.items() if run is not otherwise},
        "otherwise": route(otherwise),
    }
    name = next((spec.name for spec in SYSTEMS.load_all()[0] if spec.routes is not None), None)
    if name is None:
        raise ConfigError("no system that routes queries is installed", "see: rag-harness list systems")
    text = yaml.safe_dump({"systems": [name], "per_system": {name: {"answer": answer}}}, sort_keys=False)
    if path.exists():
        raise ConfigError(f"{path} already exists", "name another file: --policy FILE")
    n = counted(len(study.compared.query_ids), "query", "queries")
    source = (
        f"Learnt by `rag-harness route` from {n} of {study.title}, by {printable(study.compared.measure.name)}.",
        verdict(study),
        "Models, data set and evaluators come from your command line or from another config.",
    )
    write_atomic(path, "".join(f"# {printable(line, 1000)}\n" for line in source) + text)


def _refuse_unroutable(runs: Sequence[RunView]) -> None:
    first, *others = runs
    for one in others:
        if one.manifest.identity.get("models") != first.manifest.identity.get("models"):
            what = f"{first.label} and {one.label} used different models, and a run has one of each role"
            raise ConfigError(what, "name runs with the same models, or omit --policy")
    known = {spec.name: spec for spec in SYSTEMS.load_all()[0]}
    for one in runs:
        name = str(one.manifest.system.get("name", ""))
        spec = known.get(name)
        if one.manifest.is_imported or spec is None or spec.own_models or spec.sees_gold:
            what = f"queries cannot be routed to {one.label}: '{printable(name)}' cannot be run from a config"
            raise ConfigError(what, "name runs of systems that are installed here, or omit --policy")
