"""A card as tables, sentences, JSON and files. All files except values.json can be recreated from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from harness.core.bounded_files import read_plain
from harness.core.errors import ConfigError, DataError
from harness.core.hashing import digest
from harness.core.records import Record
from harness.display import Drawing, Entry, Picture, Quantity, Table, format_value
from harness.display.plotting import GREY, PALETTE, WIDTH_IN, NewFigure, plotting, publish, tell
from harness.display.text_format import number
from harness.display.types import NumberForm
from harness.extensions.meta_evaluation.correlations import coefficient_data
from harness.extensions.meta_evaluation.validity_card import (
    SHOWN,
    Card,
    CardValues,
    DimensionCard,
    MeasureValidity,
)
from harness.report.folder import files_together
from harness.report.formats import table_csv
from harness.statistics.correlation import Coefficient

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORM: NumberForm = "share"
_VALUES = "values.json"
_MOST_BYTES = 200_000_000
_OURS, _JUDGED, _STORED = PALETTE[0], PALETTE[5], GREY


class StoredValues(Record):
    digest: str
    values: CardValues


def card_sentences(card: Card) -> Iterator[str]:
    for one in card.dimensions:
        yield f"{one.name}: {_people_said(one)}"
    many = max((len(one.measures) for one in card.dimensions), default=0)
    if many > 1:
        yield (
            f"the first of {many} measures was selected on these labels: expect less on others; the order "
            "of measures with overlapping intervals is uncertain"
        )
    constant = sorted({w.measure.name for one in card.dimensions for w in one.measures if w.is_constant})
    if constant:
        yield f"the same score for every row, so no correlation: {', '.join(constant)}"
    costs = []
    for own in {own.evaluator: own for own in card.values.measures if own.evaluator}.values():
        items = max(1, own.n_items)
        parts = [] if own.evaluator_wall_s is None else [f"{number(own.evaluator_wall_s / items)} s"]
        if own.is_judged:
            parts.append(f"{own.evaluator_tokens / items:,.0f} tokens")
            parts.append("no price" if own.evaluator_usd is None else f"${own.evaluator_usd / items:.5f}")
        costs.append(f"{own.evaluator} {', '.join(parts)}")
    if costs:
        yield f"cost per item: {'; '.join(costs)}"
    failed = [f"{one.name} ({one.n_failed} of {one.n_items})" for one in card.values.measures if one.n_failed]
    if failed:
        yield f"scores that failed: {', '.join(failed)}"
    scored = {one.measure.name for dimension in card.dimensions for one in dimension.measures}
    if unscored := [one for one in card.values.measures if one.name not in scored]:
        yield f"without any score on this set: {len(unscored)} measures"
    yield from card.values.notes


def card_json(card: Card) -> dict[str, Any]:
    return {
        "set": card.values.name,
        "notes": list(card.values.notes),
        "models": card.values.models,
        "dimensions": [
            {
                "name": one.name,
                "asked": one.asked,
                "rows": one.n,
                "questions": one.questions,
                "people": coefficient_data(one.people.pearson) if one.has_people else None,
                "measures": [_measure_data(validity) for validity in one.measures],
            }
            for one in card.dimensions
        ],
    }


def _people_said(one: DimensionCard) -> str:
    of = f"{one.n:,} rows of {one.questions:,} questions"
    if not one.has_people:
        return f"{of}, one person each: the agreement of people is unknown"
    found = one.people.pearson
    if found.value is None:
        return f"{of}; people who never differ have no correlation"
    low, high = found.interval
    limits = "" if low is None else f" [{low:.3f}, {high:.3f}]"
    return f"{of}; one person with another {found.value:.3f}{limits}, to compare with the column 'one person'"


def card_tables(card: Card, most: int | None = None) -> tuple[Table, ...]:
    """A table per dimension, the strongest measures first; `most`: maximum rows."""
    return tuple(_table(card, one, most) for one in card.dimensions)


def _table(card: Card, one: DimensionCard, most: int | None) -> Table:
    """Columns without content are left out."""
    rows = [_row(worth, has_people=one.has_people) for worth in one.measures]
    kept = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
    shown = rows[:most]
    left = len(rows) - len(shown)
    more = f"; {left} weaker measures are only in the files" if left else ""
    return Table(
        name=f"{card.values.name}_{one.name}",
        title=f"{card.values.title}: {one.asked}",
        header=tuple(kept),
        rows=tuple(tuple(row[name] for name in kept) for row in shown),
        details=frozenset({"Kendall", "s an item"}),
        note=(
            "Pearson, Spearman, Kendall: with the mean of the people; 'one person': Pearson's with each person "
            f"alone; 'all rows': unscored rows count as the worst; intervals by question{more}."
        ),
    )


def _row(worth: MeasureValidity, *, has_people: bool) -> dict[str, Entry]:
    measure = worth.measure
    each = None if measure.evaluator_wall_s is None else measure.evaluator_wall_s / max(1, measure.n_items)
    return {
        "measure": measure.name if measure.evaluator else f"{measure.name} (came with the set)",
        "Pearson": _quantity(worth.mean.pearson),
        "one person": _quantity(worth.one) if has_people else None,
        "Spearman": _quantity(worth.mean.spearman),
        "Kendall": _quantity(worth.mean.kendall),
        "n": Quantity(worth.n, unit="count", of=worth.of),
        "all rows": _quantity(worth.filled) if worth.n < worth.of else None,
        "AUC": None if worth.auc is None else Quantity(worth.auc.value, *worth.auc.interval, unit=_FORM),
        "s an item": None if each is None else Quantity(each),
        "tokens": Quantity(measure.evaluator_tokens, unit="count") if measure.is_judged else None,
    }


def _quantity(found: Coefficient) -> Quantity | None:
    return None if found.value is None else Quantity(found.value, *found.interval, unit=_FORM)


def _measure_data(worth: MeasureValidity) -> dict[str, Any]:
    measure = worth.measure
    return {
        "measure": measure.name,
        "evaluator": measure.evaluator or None,
        "n": worth.n,
        "of": worth.of,
        "constant": worth.is_constant,
        "pearson": coefficient_data(worth.mean.pearson),
        "spearman": coefficient_data(worth.mean.spearman),
        "kendall": coefficient_data(worth.mean.kendall),
        "pearson_one_person": coefficient_data(worth.one),
        "pearson_all_rows": coefficient_data(worth.filled),
        "auc": None if worth.auc is None else coefficient_data(worth.auc),
        "failed": measure.n_failed,
        "evaluator_wall_s": measure.evaluator_wall_s,
        "evaluator_tokens": measure.evaluator_tokens,
        "evaluator_usd": measure.evaluator_usd,
    }


def write_card(card: Card, out: Path) -> Picture | None:
    """Write values.json, card.json, a table per dimension and the figure to `out`; None: nothing to draw."""
    with files_together(out) as folder:
        (folder / _VALUES).write_text(_sealed(card.values).model_dump_json(indent=1) + "\n", encoding="utf-8")
        (folder / "card.json").write_text(json.dumps(card_json(card), indent=2) + "\n", encoding="utf-8")
        for table in card_tables(card):
            (folder / f"{table.name}.csv").write_text(table_csv(table), encoding="utf-8")
        with plotting() as new_figure:
            drawing = card_drawing(card, new_figure)
            return publish(drawing, folder) if drawing else None


def read_values(folder: Path) -> CardValues:
    """The values of a card in `folder`; an error of one line if they are missing or changed."""
    path = folder / _VALUES
    try:
        text = read_plain(path, _MOST_BYTES)
    except OSError as error:
        what = f"{path} cannot be read ({error.strerror or error})"
        raise ConfigError(what, "name the folder of a card") from error
    fix = "make the card again without --from"
    try:
        found = StoredValues.model_validate_json(text)
    except ValidationError as error:
        raise DataError(f"{path} has no valid values of a card", fix) from error
    if found != _sealed(found.values):
        raise DataError(f"{path} was changed after it was written", fix)
    return found.values


def _sealed(values: CardValues) -> StoredValues:
    return StoredValues(digest=digest(values.model_dump(mode="json")), values=values)


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
