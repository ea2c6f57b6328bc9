"""A section for each kind of measure, made from what measures say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.display import Content, Drawing, Table, printable
from harness.display.plotting import NewFigure
from harness.protocols import Measure
from harness.report.figures.by_type import draw_by_type
from harness.report.figures.measured import draw_measured
from harness.report.sections import ANCHORS, Reported, SectionSpec
from harness.report.sections.fixed import FIXED_NAMES
from harness.report.tables.scores import advice, by_type_table, coverage_table, kinds_table, measure_table
from harness.report.view import Group

_OTHERS = "Other measures"


@dataclass(frozen=True)
class _Part:
    title: str
    measures: dict[str, list[str]] = field(default_factory=dict)
    """Evaluator -> its metrics in this section; empty name: evaluator unknown."""

    @property
    def names(self) -> list[str]:
        return [name for own in self.measures.values() for name in own]


def measured_sections(group: Group) -> list[SectionSpec]:
    """Sections in order of how many models their metrics need; unknown metrics last."""
    parts = _parts(group)
    homes = {evaluator: part.title for part in reversed(parts) for evaluator in part.measures}
    keys = _keys([part.title for part in parts])
    return [_section(key, part, homes, _sorting(group, part.names)) for key, part in zip(keys, parts, strict=True)]


def _section(key: str, part: _Part, homes: dict[str, str], sorting: Sequence[Measure]) -> SectionSpec:
    """`homes`: evaluator -> the title of its main section; `sorting`: its measures that sort answers."""

    def content(reported: Reported) -> Content:
        return Content(items=advice(reported.group, sorting), tables=list(_tables(part, homes, reported)))

    def draw(reported: Reported, new_figure: NewFigure) -> Iterable[Drawing]:
        group, ranks_by = reported.group, reported.findings.measure
        by_type = draw_by_type(group, ranks_by, new_figure) if ranks_by in part.names else []
        return [*by_type, *draw_measured(group, part.names, new_figure)]

    question = "failures" if sorting else "scores"
    return SectionSpec(key, printable(part.title), content, draw, question=question)


def _parts(group: Group) -> list[_Part]:
    present, found = set(group.measures), dict[str, _Part]()
    evaluations = {one.evaluator: one for one in group.evaluations}
    for evaluation in sorted(evaluations.values(), key=lambda one: (len(one.models), one.evaluator)):
        # In its order, over all runs and parameters.
        alike = (one for one in group.evaluations if one.evaluator == evaluation.evaluator)
        for name in dict.fromkeys(name for one in alike for name in one.measures):
            if name in present:
                known = group.known.get(name)
                title = (known.section or evaluation.evaluator) if known else _OTHERS
                part = found.setdefault(title, _Part(title))
                part.measures.setdefault(evaluation.evaluator, []).append(name)
                present.discard(name)
    for name in sorted(present):
        title = (group.known[name].section if name in group.known else "") or _OTHERS
        found.setdefault(title, _Part(title)).measures.setdefault("", []).append(name)
    last = found.pop(_OTHERS, None)
    return [*found.values(), *([last] if last else [])]


def _tables(part: _Part, homes: dict[str, str], reported: Reported) -> Iterator[Table]:
    """By type what ranks; then the measures of each evaluator, and how many answers they cover."""
    group, ranks_by = reported.group, reported.findings.measure
    if ranks_by in part.names:
        yield by_type_table(group, ranks_by)
    for evaluator, names in part.measures.items():
        at_home, owner = homes[evaluator] == part.title, printable(evaluator) or "other"
        sorting = _sorting(group, names)
        yield from (kinds_table(group, measure) for measure in sorting)
        shown = [name for name in names if name not in {ranks_by, *(one.name for one in sorting)}]
        if shown:
            title = f"{owner}: {'measures' if at_home else printable(part.title)}"
            yield measure_table(group, owner if at_home else f"{owner}-{_key(part.title)}", title, shown)
        covered = coverage_table(group, evaluator) if at_home and _is_learnt(group, evaluator) else None
        if covered:
            yield covered


def _sorting(group: Group, names: Sequence[str]) -> list[Measure]:
    """Those of the measures that sort answers."""
    return [group.known[name] for name in names if name in group.known and group.known[name].labels]


def _is_learnt(group: Group, evaluator: str) -> bool:
    """Whether something that has learnt, a model or weights of its own, made the scores: it may leave some out."""
    return any(one.evaluator == evaluator and (one.models or one.weights) for one in group.evaluations)


def _keys(titles: Sequence[str]) -> list[str]:
    """An anchor for each title, which nothing else has."""
    keys: list[str] = []
    for title in titles:
        key, number = _key(title), 2
        while key in {*keys, *FIXED_NAMES, *ANCHORS}:
            key, number = f"{_key(title)}-measures{'' if number == 2 else f'-{number}'}", number + 1
        keys.append(key)
    return keys


def _key(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "measures"
