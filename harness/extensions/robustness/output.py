"""Prints the effects of perturbations, and shows them in the report."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from harness.cli.console import open_console
from harness.display import Content, Drawing, Entry, Quantity, Table, counted, printable
from harness.display.plotting import GREY, NewFigure
from harness.display.text_format import short_number
from harness.display.types import NumberForm
from harness.extensions.robustness.saved_effects import Effect, Robustness, saved_robustness
from harness.report.figures import marks
from harness.report.labels import shortened
from harness.report.sections import Reported, SectionSpec, saved_beside_runs
from harness.report.terminal import print_table
from harness.report.view import Group
from harness.statistics.difference_tests import ALPHA, holm

_WIDTH, _MOST_ROWS = 80, 20
_HEADER = ("perturbation", "before", "after", "drop", "n", "found", "obeyed", "wrong")
_LEGEND = (
    "Drop: how much worse the mean is over the same queries, with its paired 95 % interval; *: significant after "
    "Holm's correction. Found: queries with a planted text in their contexts. Obeyed: wrong answers that follow "
    "it and did not before. Wrong: right answers that are wrong now, without abstaining."
)

_Judged = Sequence[tuple[Robustness, Effect, bool]]
"""The effects on each run, and whether they are significant drops."""


def print_effects(found: Sequence[Robustness], notes: Sequence[str], *, as_json: bool) -> None:
    """As JSON, or in at most 30 lines of 80 columns; of many rows the largest drops."""
    console = open_console()
    if as_json:
        console.print(json.dumps([one.model_dump(mode="json") for one in found], indent=2), soft_wrap=True)
        return

    def say(text: str, most_lines: int = 2) -> None:
        for line in textwrap.wrap(text, _WIDTH)[:most_lines]:
            console.print(line, soft_wrap=True)

    judged = _judged(found)
    measures = ", ".join(dict.fromkeys(printable(one.title) for one in found))
    points = "in points; " if all(one.is_share for one in found) else ""
    say(headline(judged), 3)
    say(f"By {measures}, {points}typos in {100 * found[0].share:.0f} % of the words, seed {found[0].seed}.", 1)
    room = max(1, _MOST_ROWS - 3 * len(found))
    shown = sorted(judged, key=lambda each: -each[1].drop)[:room]
    for one in found:
        if rows := tuple(tuple(_cells(*each)) for each in judged if each[0] is one and each in shown):
            print_table(Table("robustness", _name(one), _HEADER, rows), console, _WIDTH)
    say(_LEGEND, 6)
    graded = [(one, judge) for one, effect, _ in judged for judge in effect.judges]
    for one, judge in sorted(graded, key=lambda each: -each[1].n_raised)[:1]:
        raised = f"of {counted(judge.n_wrong, 'wrong answer')} with a notice to judges"
        say(f"{_name(one)}: {raised}, {judge.n_raised:,} graded higher by {printable(judge.measure)}.")
    left_out = {effect.title: sum(effect.dropped.values()) for one in found for effect in one.effects}
    said = [f"{title} {n:,}" for title, n in left_out.items() if n]
    reasons = "; reasons" if len(shown) == len(judged) else "; reasons and all rows"
    say(f"Queries left out: {', '.join(said) or 'none'}{reasons}: --json.")
    for note in notes[:1]:
        say(printable(note, 2 * _WIDTH))


def headline(judged: _Judged) -> str:
    """`kg loses 12 points under typos; naive loses 3.`"""
    one, worst, is_shown = max(judged, key=lambda each: (each[2], each[1].drop))
    n = counted(len({effect.perturbation for _, effect, _ in judged}), "perturbation")
    said = f"{_name(one)} loses {_amount(one, worst.drop)} under {printable(worst.title)}"
    if not is_shown:
        seen = (
            f"No significant loss under {n}. The largest: {said}" if worst.drop > 0 else f"No loss seen under {n}"
        )
        # Few queries rule out little.
        limits = [(effect.high, own, effect) for own, effect, _ in judged if effect.high is not None]
        high, own, effect = max(limits, key=lambda each: each[0], default=(None, one, worst))
        most = (
            "" if high is None else f"; {_name(own)} may lose {_amount(own, high)} under {printable(effect.title)}"
        )
        return f"{seen}{most}."
    others = (each for each in judged if each[0] is not one and each[1].perturbation == worst.perturbation)
    changes = [f"{_name(other)} {_change(other, effect)}" for other, effect, _ in others]
    return f"{'; '.join([said, *changes[:3]])}."


def _change(one: Robustness, effect: Effect) -> str:
    size = (100 if one.is_share else 1) * effect.drop
    if abs(size) < (0.5 if one.is_share else 0.005):
        return "loses nothing"
    return f"{'loses' if size > 0 else 'gains'} {short_number(abs(size))}"


def _amount(one: Robustness, drop: float) -> str:
    return f"{short_number(100 * drop)} points" if one.is_share else short_number(drop)


def _name(one: Robustness) -> str:
    return shortened(one.system)


def _judged(found: Sequence[Robustness]) -> _Judged:
    """Holm's correction is over all effects of all runs."""
    effects = [(one, effect) for one in found for effect in one.effects]
    adjusted = holm([effect.p for _, effect in effects])
    return [
        (one, effect, p <= ALPHA and effect.drop > 0) for (one, effect), p in zip(effects, adjusted, strict=True)
    ]


def _runs(judged: _Judged) -> list[Robustness]:
    return list({id(one): one for one, *_ in judged}.values())


def _cells(one: Robustness, effect: Effect, is_shown: bool) -> list[Entry]:
    unit: NumberForm = "points" if one.is_share else "two"
    return [
        printable(effect.title),
        Quantity(effect.before, unit=unit),
        Quantity(effect.after, unit=unit),
        Quantity(effect.drop, effect.low, effect.high, unit=unit, mark="*" if is_shown else ""),
        Quantity(effect.n, unit="count"),
        _of(effect.n_reached, effect.n_planted),
        _of(effect.n_followed, effect.n_attacked),
        _of(effect.n_wrong, effect.n_right),
    ]


def _of(n: int | None, whole: int | None) -> str | None:
    """`13/15`, of many in per cent."""
    if n is None or whole is None:
        return None
    return f"{n}/{whole}" if whole < 1_000 else f"{100 * n / whole:.0f} %"


def content(reported: Reported) -> Content:
    judged, damage = _of_group(reported.group)
    if not judged:
        return Content(items=damage)
    rows = [
        (f"{_name(one)}: {printable(effect.title)}", *_cells(one, effect, is_shown)[1:])
        for one, effect, is_shown in judged
    ]
    left_out = [
        f"{printable(effect.title)}: {counted(sum(effect.dropped.values()), 'query', 'queries')} left out ("
        f"{printable('; '.join(f'{why}: {n:,}' for why, n in sorted(effect.dropped.items())), 200)})."
        for _, effect, _ in judged
        if effect.dropped
    ]
    said = [headline(judged), f"By {', '.join(dict.fromkeys(printable(one.title) for one, *_ in judged))}."]
    header = ("system, perturbation", *_HEADER[1:-4], "queries", *_HEADER[-3:-1], "confident wrong")
    tables = [Table("robustness", "Before and after each perturbation", header, tuple(rows), _LEGEND)]
    graded = [
        (
            f"{_name(one)}: {printable(judge.measure)}",
            Quantity(judge.before, unit="two"),
            Quantity(judge.after, unit="two"),
            Quantity(judge.n, unit="count"),
            _of(judge.n_raised, judge.n_wrong),
        )
        for one, effect, _ in judged
        for judge in effect.judges
    ]
    if graded:
        columns = ("system, judged metric", "before", "after", "queries", "wrong answers graded higher")
        note = (
            "Over queries whose contexts hold a notice to whoever grades. Their answers may have changed as well."
        )
        tables.append(Table("robustness-judges", "A notice to the judge", columns, tuple(graded), note))
    return Content(paragraphs=said, items=[*damage, *dict.fromkeys(left_out)], tables=tables)


def draw(reported: Reported, new_figure: NewFigure) -> Iterable[Drawing]:
    judged, _ = _of_group(reported.group)
    titles = list(dict.fromkeys(effect.title for _, effect, _ in judged))
    if not titles:
        return
    runs = _runs(judged)
    names = [marks.wrapped(printable(title)) for title in titles]
    figure, (axes,) = marks.row_figure(new_figure, names, besides_in=0.9, row_in=0.12 + 0.1 * len(runs))
    axes.axvline(0, color=GREY, linewidth=0.8)
    positions = {view.label: view.position for view in reported.group.views}
    for at, one in enumerate(runs):
        look, unit = marks.style_of(positions[one.system]), 100 if one.is_share else 1
        shift = 0.6 * ((at + 0.5) / len(runs) - 0.5)
        for effect, is_shown in ((effect, is_shown) for own, effect, is_shown in judged if own is one):
            row = titles.index(effect.title) + shift
            if effect.low is not None and effect.high is not None:
                axes.plot([unit * effect.low, unit * effect.high], [row, row], color=look.color, linewidth=1.1)
            fill = look.color if is_shown else "white"
            style: dict[str, Any] = {"marker": look.marker, "markersize": 4.5, "markerfacecolor": fill}
            axes.plot(unit * effect.drop, row, color=look.color, **style)
        axes.plot([], [], color=look.color, marker=look.marker, markersize=4.5, label=f" {_name(one)}")
    sizes = [effect.n for _, effect, _ in judged]
    axes.set_xlabel("points lost (95 % CI)" if all(one.is_share for one in runs) else "loss (95 % CI)")
    figure.legend(loc="outside upper left", ncols=3, fontsize=marks.LETTERS_PT)
    n = " to ".join(f"{end:,}" for end in sorted({min(sizes), max(sizes)}))
    caption = (
        f"What each system loses under each perturbation, paired by query (n = {n}). Filled: a significant loss "
        "after Holm's correction."
    )
    spoken = (
        f"{_name(one)} under {printable(effect.title)}: {_change(one, effect)}." for one, effect, _ in judged
    )
    yield Drawing("robustness", "Loss under perturbations", caption, marks.alt_of(spoken), figure)


def notes(group: Group) -> Iterator[str]:
    """Where a run breaks: a significant loss of the margin at least, or attacks that it follows."""
    judged, _ = _of_group(group)
    n_others = sum(not view.is_baseline for view in group.views) - len(_runs(judged))
    others = f" ({counted(n_others, 'other run')} not tested)" if n_others > 0 else ""
    for one in _runs(judged):
        scale, own = 100 if one.is_share else 1, [each for each in judged if each[0] is one]
        broken = [effect for _, effect, is_shown in own if is_shown and scale * effect.drop >= group.margin]
        if broken:
            worst = max(broken, key=lambda effect: effect.drop)
            yield f"{_name(one)} loses {_amount(one, worst.drop)} under {printable(worst.title)}{others}."
        for _, effect, _ in own:
            if effect.n_attacked and (effect.n_followed or 0) >= max(1, 0.05 * effect.n_attacked):
                share = f"{effect.n_followed:,} of {effect.n_attacked:,}"
                yield f"{_name(one)} follows {share} attacks by {printable(effect.title)}{others}."


def _of_group(group: Group) -> tuple[_Judged, list[str]]:
    """The saved effects on its runs, under their names in this report; and what could not be read."""
    found, damage = saved_beside_runs(group, saved_robustness)
    named = [saved.model_copy(update={"system": view.label}) for view, saved in found if saved.effects]
    return _judged(named), damage


SECTION = SectionSpec("robustness", "Under perturbations", content, draw, question="stress", notes=notes)
