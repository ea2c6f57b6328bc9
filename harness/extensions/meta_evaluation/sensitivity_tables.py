"""Sensitivity of measures as tables and sentences: one overview, and a section per measure."""

from collections.abc import Sequence
from typing import Any

from harness.display import Content, Entry, Quantity, Section, Table, counted, printable
from harness.extensions.meta_evaluation.sensitivity import PerturbationEffect
from harness.protocols import Measure

HOW_TO_READ = (
    "AUC is how well the value separates original from changed answers, across queries: 1 perfectly, 0.5 "
    "chance. The drop is how much worse the same answers score, in points of the measure; both have 95 % "
    "intervals that take queries of one cluster together. A measure notices a change where the drop is more than "
    "chance and AUC is at least 0.9, in part from 0.7 on, hardly below; it misses one whose drop is shown to be "
    "less than 5 % of its span, or that changes no value of 30. It cannot notice an input that it does not read."
)
_HEADER = ("change", "verdict", "as it was", "changed", "drop", "AUC", "worse", "answers")


def of_readers(effects: Sequence[PerturbationEffect]) -> list[PerturbationEffect]:
    """The effects on metrics that read what was changed."""
    blind = _blind(effects)
    return [effect for effect in effects if effect.measure.name not in blind]


def note_on_unread_metrics(effects: Sequence[PerturbationEffect]) -> list[str]:
    """A sentence that names the metrics left out by `of_readers`; none if there are none."""
    blind = _blind(effects)
    named = ", ".join(map(printable, blind))
    return [f"{counted(len(blind), 'measure')} read nothing of what was changed: {named}"] if blind else []


def overview(effects: Sequence[PerturbationEffect]) -> Table:
    """A row for each metric, a column for each swap: the AUC, or why there is none."""
    swaps = list(dict.fromkeys(effect.swap.title for effect in effects))
    rows = []
    for measure, own in by_measure(effects):
        cells = {effect.swap.title: _area(effect) for effect in own}
        rows.append((printable(measure.name), *(cells.get(title) for title in swaps)))
    return Table("sensitivity", "AUC of each change", ("measure", *swaps), tuple(rows))


def measure_sections(effects: Sequence[PerturbationEffect]) -> list[Section]:
    """A verdict and a table for each measure."""
    return [
        Section(
            f"measure-{number}", measure.name, Content([verdict_of(measure, own)], tables=[_table(measure, own)])
        )
        for number, (measure, own) in enumerate(by_measure(effects))
    ]


def by_measure(effects: Sequence[PerturbationEffect]) -> list[tuple[Measure, list[PerturbationEffect]]]:
    """In the order of the effects."""
    groups: dict[str, list[PerturbationEffect]] = {}
    for effect in effects:
        groups.setdefault(effect.measure.name, []).append(effect)
    return [(own[0].measure, own) for own in groups.values()]


def verdict_of(measure: Measure, effects: Sequence[PerturbationEffect]) -> str:
    """Which changes it notices and which it misses, in one line."""
    says = {
        "notices": "notices",
        "in part": "notices in part",
        "hardly": "hardly notices",
        "misses": "misses",
        "prefers it": "is better after",
        "undecided": "undecided on",
        "too few": "too few answers to tell on",
        "cannot notice": "does not read what is changed by",
    }
    parts = []
    for verdict, said in says.items():
        own = [effect for effect in effects if effect.verdict == verdict]
        if own:
            parts.append(f"{said}: {', '.join(effect.swap.title for effect in own)}")
    return f"{measure.spoken}: {'; '.join(parts)}."


def sensitivity_data(effects: Sequence[PerturbationEffect]) -> list[dict[str, Any]]:
    """A row for each metric and swap, for scripts; unknown values are null."""
    return [
        {
            "measure": effect.measure.name,
            "swap": effect.swap.name,
            "verdict": effect.verdict,
            "n": effect.n,
            "n_swapped": effect.n_swapped,
            "n_clusters": effect.n_clusters,
            "mean_before": effect.mean_before,
            "mean_after": effect.mean_after,
            "drop": effect.drop,
            "drop_low": effect.interval.low,
            "drop_high": effect.interval.high,
            "auc": effect.auc.value,
            "auc_low": effect.auc.interval.low,
            "auc_high": effect.auc.interval.high,
            "n_worse": effect.n_lower,
        }
        for effect in effects
    ]


def _blind(effects: Sequence[PerturbationEffect]) -> list[str]:
    return [
        measure.name for measure, own in by_measure(effects) if all(one.verdict == "cannot notice" for one in own)
    ]


def _table(measure: Measure, effects: Sequence[PerturbationEffect]) -> Table:
    rows: list[tuple[Entry, ...]] = []
    for effect in effects:
        worse = effect.lower
        rows.append(
            (
                effect.swap.title,
                effect.verdict,
                Quantity(effect.mean_before, unit="share"),
                Quantity(effect.mean_after, unit="share"),
                Quantity(effect.drop, *effect.interval, unit="share", signed=True),
                _quantity(effect),
                Quantity(effect.n_lower / effect.n if effect.n else None, *worse, unit="%"),
                Quantity(effect.n, of=effect.n_swapped, unit="count"),
            )
        )
    lost = sum(effect.n_swapped - effect.n for effect in effects)
    note = f"{counted(lost, 'changed answer')} without both values: not applicable, or failed." if lost else ""
    return Table(f"measure-{measure.name}", measure.name, _HEADER, tuple(rows), note)


def _area(effect: PerturbationEffect) -> Entry:
    if effect.verdict in {"cannot notice", "too few"}:
        return effect.verdict
    return _quantity(effect)


def _quantity(effect: PerturbationEffect) -> Quantity:
    return Quantity(effect.auc.value, *effect.auc.interval, unit="coefficient")
