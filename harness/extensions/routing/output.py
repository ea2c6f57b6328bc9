"""The result of `rag-harness route` as tables, sentences and JSON, on the terminal and on a page with a figure;
and the learnt table as a config.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from numpy.typing import NDArray

from harness.cli.console import open_console
from harness.core.errors import ConfigError
from harness.display import Content, Entry, Quantity, Section, Table, counted
from harness.display.plotting import GREY, PALETTE, WIDTH_IN, plotting, save
from harness.display.text_format import printable, type_name
from harness.display.types import NumberForm
from harness.extensions.routing.gains import (
    FEWEST_CLUSTERS,
    FEWEST_QUERIES,
    PolicyGain,
    mean_under,
)
from harness.extensions.routing.study import LABELS, RULES, RouteStudy
from harness.llm_utils.query_classifier import known_type
from harness.registry import SYSTEMS
from harness.report.figures.marks import dress_rows, wrapped
from harness.report.folder import files_together
from harness.report.formats import prose, section_lines
from harness.report.terminal import WIDTH, plain, print_table
from harness.report.view import RunView
from harness.statistics.confidence_intervals import Array, mean_interval
from harness.store import RunDir
from harness.store.atomic_files import write_atomic
from harness.store.run_lookup import with_typed_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TOLD = {LABELS: "types as the data set labels them", RULES: "types told by rules"}
_COSTS = {"tokens": ("tokens", "1,000 tokens"), "usd": ("USD", "cent"), "latency_s": ("seconds", "second")}
"""What a column of costs, and a weighted unit of `COST_UNITS`, are called."""


def route_sections(study: RouteStudy) -> list[Section]:
    tables = [_gains_table(study), *(_routes_table(study, told) for told in (RULES, LABELS)), _types_table(study)]
    gains = Content(paragraphs=[verdict(study), _about_luck(study)], tables=tables)
    notes = [Section("notes", "Notes", Content(items=study.notes))] if study.notes else []
    return [Section("route", "What routing would gain", gains), *notes]


def named_gains(study: RouteStudy) -> dict[str, PolicyGain]:
    gains = study.gains
    return {
        "best single system": gains.single,
        **{f"learnt table, {_TOLD[told]}": gains.learnt[told] for told in (RULES, LABELS)},
        "best of each type, known before": gains.by_type,
        "best of each query, known before": gains.by_query,
    }


def _gains_table(study: RouteStudy) -> Table:
    gains, measure, weight = study.gains, study.compared.measure, study.choice.cost_weight
    cost, unit = _COSTS[study.choice.cost]
    header = ("policy", "mean", "gain over the best single", "gain by luck", f"{cost} a query")
    rows = [
        (
            name,
            _mean(study, _on_tests(study, one, study.values)),
            None if one is gains.single else _gain(study, gains.over_splits(one.gains)),
            None if one.by_luck is None else _gain(study, Quantity(one.by_luck)),
            None if study.costs is None else Quantity(_on_tests(study, one, study.costs).value),
        )
        for name, one in named_gains(study).items()
    ]
    kept = [at for at in range(len(header)) if any(row[at] is not None for row in rows)]
    filled = tuple(tuple(row[at] for at in kept) for row in rows)
    mix = ", types weighted as in the data set" if study.compared.weights is not None else ""
    price = f" less {weight:g} points for each {unit}" if weight else ""
    n_queries = counted(len(study.compared.query_ids), "query", "queries")
    first = study.choice.seed
    note = (
        f"{printable(measure.title or measure.name)}{mix}{price}, over {n_queries}: half of the documents for "
        f"learning, the others for testing; splits {first} to {first + len(gains.teaches) - 1}, "
        "corrected resampled t. By luck: the gain of the best choice if types, or queries, were unrelated to "
        "systems."
    )
    return Table("route-gains", "Gains", tuple(header[at] for at in kept), filled, note=note)


def _routes_table(study: RouteStudy, told: str) -> Table:
    table, types = study.tables[told], np.array(study.told[told])
    single = table.otherwise
    rows = []
    for name in sorted(set(study.told[told])):
        own, to = types == name, table.systems.get(name, single)
        rows.append(
            (
                type_name(name),
                Quantity(int(own.sum()), unit="count"),
                study.names[to],
                _mean_of(study, study.values[own, to]),
                _mean_of(study, study.values[own, single]),
                Quantity(_agreeing(study, study.gains.learnt[told], own, to), unit="%"),
            )
        )
    note = (
        f"All other queries go to {study.names[single]}, the best single system. A type gets another "
        "system only if that is better by more than one standard error. Halves that agree: share of the splits in "
        "which its queries went to the same system."
    )
    header = ("type", "n", "goes to", "mean there", "of the best single", "halves that agree")
    return Table(f"route-{told}", f"Routes, {_TOLD[told]}", header, tuple(rows), note=note)


def _types_table(study: RouteStudy) -> Table:
    types = dict(study.recorded.by_type())
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (label, *(_mean_of(study, study.values[own, at]) for own in types.values()))
        for at, label in enumerate(study.names)
    )
    header = ("system", *(f"{type_name(name)} ({own.sum()})" for name, own in types.items()))
    note = "Intervals hold for other queries on these documents."
    return Table("route-types", "Systems by type", header, rows, note=note)


def verdict(study: RouteStudy) -> str:
    single = study.names[study.tables[RULES].otherwise]
    learnt = study.gains.learnt[RULES]
    gain = study.gains.over_splits(learnt.gains)
    if not np.any(learnt.gains):
        return f"Choose {single}: a table gains nothing over it on any split."
    if gain.low is None or gain.high is None:
        return (
            f"Inconclusive: {_points(study, gain)} over the best single system ({single}), and fewer than "
            f"{FEWEST_QUERIES} queries or {FEWEST_CLUSTERS} documents give no interval."
        )
    between = _points(study, gain)
    if gain.low > 0:
        gains = f"a table from types to systems gains {between} over the best single ({single})"
        return f"Route: {gains} on held-out queries."
    if gain.high < 0:
        return f"Choose {single}: a table from types to systems loses, {between} on held-out queries."
    return f"Choose {single}: no significant gain of routing by type, {between} on held-out queries."


def _about_luck(study: RouteStudy) -> str:
    """Compares the gain of the best system of each query with the gain expected by chance."""
    gained, luck = float(study.gains.by_query.gains.mean()), study.gains.by_query.by_luck or 0.0
    points, by_luck = (_points(study, Quantity(one)) for one in (gained, luck))
    said = f"The best of each query would gain {points}; systems as good on each type but right on independent "
    said += f"queries would gain {by_luck} by luck"
    return f"{said}: this is no evidence that routing can help." if gained <= luck else f"{said}."


def _on_tests(study: RouteStudy, one: PolicyGain, what: Array) -> Quantity:
    """The mean of `what` on the test halves under the policy."""
    tests = ((~teaches, choice) for teaches, choice in zip(study.gains.teaches, one.choices, strict=True))
    means = [mean_under(choice, what[rows], study.recorded.weights[rows]) for rows, choice in tests]
    return study.gains.over_splits(np.array(means))


def _agreeing(study: RouteStudy, learnt: PolicyGain, own: NDArray[np.bool_], to: int) -> float | None:
    """The share of splits in which the test queries of a type went to that system."""
    went = [
        bool(choice[own[~teaches]][0] == to)
        for teaches, choice in zip(study.gains.teaches, learnt.choices, strict=True)
        if own[~teaches].any()
    ]
    return float(np.mean(went)) if went else None


def _mean_of(study: RouteStudy, values: Array) -> Quantity:
    interval = mean_interval(list(values), proportion=study.compared.measure.is_share)
    return _mean(study, Quantity(float(values.mean()), *interval))


def _mean(study: RouteStudy, found: Quantity) -> Quantity:
    """The interval is cut to the range of the metric."""
    low, high = found.low, found.high
    ends = study.compared.measure.range or ((0.0, 1.0) if study.compared.measure.is_share else None)
    if ends is not None and low is not None and high is not None:
        low, high = max(low, ends[0]), min(high, ends[1])
    return Quantity(found.value, low, high, unit=_unit(study))


def _gain(study: RouteStudy, found: Quantity) -> Quantity:
    return replace(found, unit=_unit(study), signed=True)


def _unit(study: RouteStudy) -> NumberForm:
    span = study.compared.measure.span
    return "share" if span is not None and span <= 1 else ""


def _points(study: RouteStudy, found: Quantity) -> str:
    """Such as `+1.2 [-0.3, +2.7] points`; in the unit of the metric if it has no range."""
    span = study.compared.measure.span
    known = [one for one in (found.value, found.low, found.high) if one is not None]
    shown = [f"{one:+.3g}" if span is None else f"{100 * one / span:+.1f}" for one in known]
    between = f" [{', '.join(shown[1:])}]" if shown[1:] else ""
    return f"{shown[0]}{between}" if span is None else f"{shown[0]}{between} points"


def route_json(study: RouteStudy) -> dict[str, Any]:
    """All tables, splits and notes. Gains are in the unit of the metric, minus weighted costs."""
    gains, choice = study.gains, study.choice
    means = np.average(study.values, axis=0, weights=study.recorded.weights)
    policies = []
    for name, one in named_gains(study).items():
        gain = gains.over_splits(one.gains)
        found = {"gain": gain.value, "ci_low": gain.low, "ci_high": gain.high, "gain_by_luck": one.by_luck}
        policies.append({"policy": name, "worth": float(one.values.mean()), **found})
    return {
        "dataset": study.title,
        "measure": printable(study.compared.measure.name),
        "cost": choice.cost,
        "cost_weight": choice.cost_weight,
        "mix": study.compared.mix,
        "n_queries": len(study.compared.query_ids),
        "n_documents": gains.n_clusters,
        "systems": [
            {"run_id": printable(one.run.run_id, 200), "system": one.label, "mean": mean}
            for one, mean in zip(study.runs, means.tolist(), strict=True)
        ],
        "verdict": verdict(study),
        "is_shown": (gains.over_splits(gains.learnt[RULES].gains).low or 0.0) > 0,
        "policies": policies,
        "routes": {
            told: {
                "otherwise": study.names[table.otherwise],
                "types": {printable(name): study.names[at] for name, at in table.systems.items()},
            }
            for told, table in study.tables.items()
        },
        "splits": [
            {
                "split": choice.seed + at,
                "n_teaching": int(teaches.sum()),
                "n_testing": int((~teaches).sum()),
                "gains": {told: float(one.gains[at]) for told, one in gains.learnt.items()},
            }
            for at, teaches in enumerate(gains.teaches)
        ],
        "notes": list(study.notes),
    }


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
        gain = study.gains.over_splits(one.gains)
        color = PALETTE[0] if one.by_luck is None else GREY
        if gain.low is not None and gain.high is not None:
            axes.plot([gain.low, gain.high], [row, row], color=color)
        face = color if gain.low is not None and gain.low > 0 else "white"
        axes.plot(gain.value or 0.0, row, marker="o", markersize=5, color=color, markerfacecolor=face)
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
    dress_rows(axes, len(names), below=0.5)
    axes.set_title(title, fontsize=8)


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
