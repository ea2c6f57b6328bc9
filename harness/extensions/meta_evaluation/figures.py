"""Figures of correlations, of sensitivity and of a card, and the folder of findings that holds them."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.display import Drawing, Quantity, Section, format_value, printable
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, NewFigure, publish, tell
from harness.display.text_format import file_name
from harness.extensions.meta_evaluation.correlations import CorrelatedPair, CorrelationFindings
from harness.extensions.meta_evaluation.sensitivity import PerturbationEffect, SweptValue, by_measure
from harness.extensions.meta_evaluation.validity_card import SHOWN, Card, DimensionCard, MeasureValidity
from harness.protocols import Measure
from harness.report.figures.marks import panel_grid, wrapped
from harness.report.folder import report_folder
from harness.report.formats import prose, section_lines, table_csv
from harness.statistics.correlation import Coefficient

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

DrawnSection = tuple[Section, Sequence[Drawing]]

_MOST_SCATTERS, _MOST_NAMES = 12, 30
_DOT, _LARGEST_DOT = 9.0, 60.0
_MOST_MEASURES, _MOST_ROWS, _MOST_SWEEPS = 12, 45, 24
_OURS, _JUDGED, _STORED = PALETTE[0], PALETTE[5], GREY


def draw_correlations(findings: CorrelationFindings, new_figure: NewFigure) -> list[Drawing]:
    """Scatter plots of the first pairs and, of three columns and more, a heat map for each coefficient."""
    shown = sorted(findings.measurable, key=lambda pair: -abs(_value(pair, "spearman") or 0.0))[:_MOST_SCATTERS]
    drawings = [_scatters(findings, shown, new_figure)]
    if 3 <= len(findings.names) <= _MOST_NAMES:
        drawings += [_heat(findings, kind, new_figure) for kind in ("pearson", "spearman", "kendall")]
    return drawings


def _scatters(findings: CorrelationFindings, pairs: Sequence[CorrelatedPair], new_figure: NewFigure) -> Drawing:
    figure, panels = panel_grid(new_figure, len(pairs), min(3, len(pairs)), 0.3, 2.5)
    if len(pairs) == 1:
        figure.set_size_inches(4.6, 3.9)
    for axes, pair in zip(panels, pairs, strict=True):
        shared = findings.columns.having(pair.one, pair.other)
        places = Counter((row.values[pair.one], row.values[pair.other]) for row in shared)
        points = sorted(places)
        step = (_LARGEST_DOT - _DOT) / max(1, max(places.values()) - 1)
        sizes = [_DOT + step * (places[point] - 1) for point in points]
        x, y = zip(*points, strict=True)
        axes.scatter(x, y, sizes, color=PALETTE[0], alpha=0.55, linewidths=0)
        axes.set_title(_said(pair), fontsize=7)
        axes.set_xlabel(_name(pair.one), fontsize=7)
        axes.set_ylabel(_name(pair.other), fontsize=7)
        axes.margins(0.06)
        axes.grid(color=LIGHT, linewidth=0.5)
        axes.locator_params(nbins=4)
    caption = "Each dot is an answer, larger if several answers share a position; rho is Spearman's."
    n = len(findings.measurable)
    caption += f" The {len(pairs)} strongest of {n} pairs." if len(pairs) < n else ""
    alt = "; ".join(f"{pair.one} and {pair.other}: {_said(pair)}" for pair in pairs[:4])
    return Drawing("scatter", "Answer by answer", caption, alt, figure)


def _heat(findings: CorrelationFindings, kind: str, new_figure: NewFigure) -> Drawing:
    """Labels against measures, or all measures against each other."""
    values: dict[tuple[str, str], float] = {}
    names, labels = findings.names, findings.columns.labels
    for pair in findings.measurable:
        if (value := _value(pair, kind)) is not None:
            values[pair.one, pair.other] = value
            if not labels:
                values[pair.other, pair.one] = value
    rows = [name for name in names if name not in labels]
    columns = [name for name in names if name in labels] or rows
    inch = min(0.55, max(0.24, 4.6 / len(columns)))
    size = (min(WIDTH_IN, 2.6 + inch * len(columns)), 1.7 + min(inch, 0.42) * len(rows))
    figure = new_figure(figsize=size, layout="constrained")
    drawn = [[values.get((row, column), math.nan) for column in columns] for row in rows]
    letters = 7 if inch > 0.4 else 5
    axes, written = _value_map(figure, drawn, (-1, 1), 0.6, letters)
    for (y, x), label in written.items():
        tell(label, f"{rows[y]} and {columns[x]}: {label.get_text()}")
    axes.set_xticks(range(len(columns)), map(_name, columns), rotation=60, ha="right", fontsize=letters)
    axes.set_yticks(range(len(rows)), map(_name, rows), fontsize=letters)
    strongest = sorted(values.items(), key=lambda one: -abs(one[1]))
    alt = "; ".join(f"{one} and {other} {value:.2f}" for (one, other), value in strongest[:6])
    caption = f"{kind.capitalize()}'s coefficient; empty: too few answers, or a column that never varies."
    return Drawing(f"heat_{kind}", f"{kind.capitalize()}", caption, alt, figure)


def _value_map(
    figure: Figure, values: Sequence[Sequence[float]], ends: tuple[float, float], dark_from: float, letters: int
) -> tuple[Axes, dict[tuple[int, int], Text]]:
    """Coloured cells with their values; white letters where one is further than `dark_from` from the middle."""
    axes = figure.subplots()
    image = axes.imshow(values, cmap="RdBu", vmin=ends[0], vmax=ends[1], aspect="auto")
    written = {}
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            shade = "white" if abs(value - sum(ends) / 2) > dark_from else "black"
            text = "" if math.isnan(value) else f"{value:.2f}"
            written[y, x] = axes.text(x, y, text, ha="center", va="center", fontsize=letters, color=shade)
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, shrink=0.8).outline.set_edgecolor(GREY)
    return axes, written


def _value(pair: CorrelatedPair, kind: str) -> float | None:
    coefficient: Coefficient | None = getattr(pair.found, kind) if pair.found else None
    return coefficient.value if coefficient else None


def _said(pair: CorrelatedPair) -> str:
    if pair.found is None:
        return pair.why_not
    rho = pair.found.spearman
    return f"rho {format_value(Quantity(rho.value, *rho.interval, n=pair.n, unit='coefficient'))}"


def _name(name: str) -> str:
    return wrapped(printable(name, 60).replace("_", " "), 26)


def draw_sensitivity(effects: Sequence[PerturbationEffect], new_figure: NewFigure) -> list[Drawing]:
    """The values of the most sensitive measures, and an overview of all."""
    groups = [
        (measure, [one for one in own if one.verdict not in {"cannot notice", "too few"}])
        for measure, own in by_measure(effects)
    ]
    shown = _in_turns([one for one in groups if one[1]])[:_MOST_MEASURES]
    if not shown:
        return []
    return [_distributions(shown, new_figure), _auc_map(groups[:_MOST_ROWS], new_figure)]


_Group = tuple[Measure, list[PerturbationEffect]]


def _in_turns(groups: Sequence[_Group]) -> list[_Group]:
    """The most sensitive first, of each evaluator in turn, so that they stand beside each other."""
    sources: dict[str, list[_Group]] = {}
    for group in sorted(groups, key=lambda one: -max(map(_area, one[1]))):
        panel = group[0].panel
        sources.setdefault(panel.figure.stem if panel else "", []).append(group)
    return [group for turn in zip_longest(*sources.values()) for group in turn if group]


def _area(effect: PerturbationEffect) -> float:
    return effect.auc.value or 0.0


def _distributions(groups: Sequence[_Group], new_figure: NewFigure) -> Drawing:
    most = max(len(own) for _, own in groups)
    figure, panels = panel_grid(new_figure, len(groups), min(3, len(groups)), 0.4, 0.75 + 0.24 * (most + 1))
    for axes, (measure, own) in zip(panels, groups, strict=True):
        _values_panel(axes, measure, own)
    caption = "Each dot is an answer, each line a mean: above the original, below with one change."
    first, own = groups[0]
    alt = f"{first.name}: " + "; ".join(f"{one.swap.title}, mean {one.mean_after or 0:.2f}" for one in own[:5])
    return Drawing("distributions", "Values before and after", caption, alt, figure)


def _values_panel(axes: Axes, measure: Measure, effects: Sequence[PerturbationEffect]) -> None:
    longest = max(effects, key=lambda effect: effect.n)
    rows = [("as it was", longest.before), *((effect.swap.title, effect.after) for effect in effects)]
    jitter = random.Random(0)  # noqa: S311 - the same picture every time
    for place, (_, values) in enumerate(rows):
        colour = PALETTE[2] if place == 0 else PALETTE[5]
        heights = [place + jitter.uniform(-0.28, 0.28) for _ in values]
        axes.scatter(values, heights, 3, color=colour, alpha=0.35, linewidths=0)
        mean = sum(values) / len(values)
        (line,) = axes.plot([mean, mean], [place - 0.4, place + 0.4], color="black", linewidth=1.4)
        tell(line, f"{measure.name}: mean {mean:.3f} of {len(values)}")
    axes.set_yticks(range(len(rows)), [wrapped(printable(name), 20) for name, _ in rows], fontsize=6)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_title(wrapped(measure.name.replace("_", " "), 30), fontsize=7)
    axes.grid(axis="x", color=LIGHT, linewidth=0.5)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)


def _auc_map(groups: Sequence[_Group], new_figure: NewFigure) -> Drawing:
    kept = [(measure, own) for measure, own in groups if own]
    titles = list(dict.fromkeys(effect.swap.title for _, own in kept for effect in own))
    areas = [{effect.swap.title: _area(effect) for effect in own} for _, own in kept]
    values = [[own.get(title, math.nan) for title in titles] for own in areas]
    figure = new_figure(figsize=(WIDTH_IN, 1.4 + 0.22 * len(kept)), layout="constrained")
    axes, _ = _value_map(figure, values, (0, 1), 0.35, 6)
    changes = [wrapped(title, 16) for title in titles]
    axes.set_xticks(range(len(titles)), changes, rotation=45, ha="right", fontsize=7)
    axes.set_yticks(range(len(kept)), [printable(measure.name, 48) for measure, _ in kept], fontsize=6)
    best = max((effect for _, own in kept for effect in own), key=_area)
    area = format_value(Quantity(best.auc.value, *best.auc.interval))
    alt = f"best: {best.measure.name} on {best.swap.title}, {area}"
    caption = "AUC of each measure on each change; 0.5 is chance. Empty: too few answers, or an unread input."
    return Drawing("auc", "What each measure notices", caption, alt, figure)


def draw_sweeps(swept: Sequence[SweptValue], new_figure: NewFigure) -> list[Drawing]:
    """A panel for each metric and parameter with at least two values."""
    lines: dict[tuple[str, str], list[tuple[str, PerturbationEffect]]] = {}
    for one in swept:
        for effect in one.comparable:
            lines.setdefault((effect.measure.name, one.parameter), []).append((one.value, effect))
    drawn = [(key, points) for key, points in sorted(lines.items()) if len(points) > 1][:_MOST_SWEEPS]
    if not drawn:
        return []
    columns = min(4, len(drawn))
    figure, panels = panel_grid(new_figure, len(drawn), columns, 0.4, 1.75)
    for number, (axes, ((measure, parameter), points)) in enumerate(zip(panels, drawn, strict=True)):
        if number:
            axes.sharey(panels[0])
        axes.tick_params(labelleft=number % columns == 0)
        places = range(len(points))
        before = [effect.mean_before or 0.0 for _, effect in points]
        after = [effect.mean_after or 0.0 for _, effect in points]
        (upper,) = axes.plot(places, before, color=PALETTE[2], marker="o", markersize=3)
        (lower,) = axes.plot(places, after, color=PALETTE[5], marker="s", markersize=3, linestyle="--")
        tell(upper, "as it was")
        tell(lower, "wrong answer")
        axes.set_xticks(places, [printable(value, 8) for value, _ in points], fontsize=6)
        axes.grid(axis="y", color=LIGHT, linewidth=0.5)
        axes.set_title(wrapped(printable(measure, 60).replace("_", " "), 22), fontsize=6)
        axes.set_xlabel(printable(parameter), fontsize=7)
    caption = "Means of original answers (upper, solid) and of wrong ones (lower, dashed)."
    (measure, parameter), first = drawn[0]
    said = ", ".join(f"{value}: {effect.mean_before or 0:.2f}" for value, effect in first)
    alt = f"{measure} along {parameter}: {said}"
    return [Drawing("sweep", "A parameter moved", caption, alt, figure)]


def card_drawing(card: Card, new_figure: NewFigure) -> Drawing | None:
    """A panel for each dimension; None if no metric has a coefficient. Call it inside `plotting()`."""
    known = [(one, [w for w in one.measures if _card_value(one, w).value is not None]) for one in card.dimensions]
    shown = [(one, worths[:SHOWN]) for one, worths in known if worths]
    if not shown:
        return None
    heights = [1.0 + 0.21 * len(worths) for _, worths in shown]
    figure = new_figure(figsize=(WIDTH_IN, sum(heights)), layout="constrained")
    panels = figure.subplots(len(shown), 1, squeeze=False, sharex=True, gridspec_kw={"height_ratios": heights})
    for panel, (one, worths) in zip(panels[:, 0], shown, strict=True):
        _card_panel(panel, one, worths)
    people = any(one.has_people for one, _ in shown)
    panels[-1, 0].set_xlabel("Pearson's correlation with one person" if people else "Pearson's correlation")
    best = "; ".join(f"{one.name}: {w[0].measure.name} {_formatted(_card_value(one, w[0]))}" for one, w in shown)
    held = "one person at a time" if people else "the person who labelled"
    caption = (
        f"{card.values.title}. Pearson's correlation with {held}, 95 % intervals by question; the {SHOWN} "
        "strongest of each. The grey band is one person with another. Grey marks came with the set, orange "
        "ones are judged."
    )
    title = f"{card.values.title}: measures and people"
    return Drawing("correlations", title, caption, f"{caption} {best}.", figure)


def _card_value(one: DimensionCard, worth: MeasureValidity) -> Coefficient:
    return worth.one if one.has_people else worth.mean.pearson


def _card_panel(panel: Axes, one: DimensionCard, worths: list[MeasureValidity]) -> None:
    people = one.people.pearson if one.has_people else None
    if people is not None and people.value is not None:
        if people.interval.low is not None and people.interval.high is not None:
            panel.axvspan(people.interval.low, people.interval.high, color=GREY, alpha=0.15, linewidth=0)
        panel.axvline(people.value, color=GREY, linewidth=1)
    for place, worth in enumerate(worths):
        found = _card_value(one, worth)
        if found.value is None:
            continue
        colour = _JUDGED if worth.measure.is_judged else _OURS if worth.measure.evaluator else _STORED
        low, high = found.interval
        if low is not None and high is not None:
            panel.plot([low, high], [place, place], color=colour, linewidth=1.2)
        (mark,) = panel.plot([found.value], [place], "o", color=colour, markersize=4)
        tell(mark, f"{worth.measure.name}: {_formatted(found)}, n = {worth.n}")
    panel.axvline(0, color=GREY, linewidth=0.5)
    panel.set_yticks(range(len(worths)), [worth.measure.name for worth in worths])
    panel.invert_yaxis()
    panel.set_title(f"{one.name}: {one.asked}", loc="left")


def _formatted(found: Coefficient) -> str:
    return format_value(Quantity(found.value, *found.interval))


def write_folder(
    out: Path, stem: str, title: str, sections: Sequence[DrawnSection], data: Mapping[str, Any]
) -> Path:
    """Write `stem`.md, `stem`.json, tables/ and figures/ into `out`, replacing earlier ones; returns the path of
    the page. Call it inside `plotting()` if there are drawings. The same findings give the same bytes.
    """
    with report_folder(out) as partial:
        lines = [f"# {prose(title)}", ""]
        for section, drawings in sections:
            pictures = tuple(publish(drawing, partial) for drawing in drawings)
            lines += section_lines(replace(section, pictures=pictures))
            for table in section.content.tables:
                path = partial / "tables" / f"{file_name(table.name)}.csv"
                path.parent.mkdir(exist_ok=True)
                path.write_text(table_csv(table), encoding="utf-8")
        (partial / f"{stem}.md").write_text("\n".join(lines), encoding="utf-8")
        text = json.dumps(data, indent=1, allow_nan=False)
        (partial / f"{stem}.json").write_text(text + "\n", encoding="utf-8")
    return out / f"{stem}.md"
