"""The one order of sections that page, Markdown and terminal share."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Collection, Iterable
from dataclasses import replace

from harness.display import Content, Drawing, format_value, printable
from harness.display.plotting import WIDTH_IN, NewFigure
from harness.report.sections.measured import measured_sections
from harness.report.sections.spec import ANCHORS, SECTIONS, Reported, SectionSpec
from harness.report.sections.standing import AFTER_MEASURES, BEFORE_MEASURES
from harness.report.view import Group


def sections_of(group: Group) -> tuple[list[SectionSpec], list[str]]:
    """Every section of a chapter on these runs, and why plug-ins have none."""
    plugged, refusals = SECTIONS.load_all()
    ordered = [*BEFORE_MEASURES, *measured_sections(group), *AFTER_MEASURES]
    names = [spec.name for spec in ordered]
    end_of_measures = names.index(AFTER_MEASURES[0].name)
    refused = [f"{spec.name}: {why}" for spec in plugged if (why := _why_refused(spec, names))]
    for spec in reversed([spec for spec in plugged if not _why_refused(spec, names)]):
        place = names.index(spec.after) + 1 if spec.after in names else end_of_measures
        ordered.insert(place, _guarded(spec))
        names.insert(place, spec.name)
    return ordered, [*map(str, refusals), *refused]


def _why_refused(spec: SectionSpec, names: Collection[str]) -> str:
    """Empty: it may have its section."""
    if not re.fullmatch(r"[a-z0-9-]+", spec.name):
        return "the name of a section is small letters, digits and dashes"
    return "a section of that name is there already" if spec.name in {*names, *ANCHORS} else ""


def _guarded(spec: SectionSpec) -> SectionSpec:
    """If a plug-in fails, its section shows the error; the rest of the report is not affected."""

    def content(reported: Reported) -> Content:
        try:
            return _checked(spec.content(reported))
        except Exception as error:
            said = printable(f"{type(error).__name__}: {error}", 300)
            return Content(items=[f"This section of a plug-in could not be made ({said})."])

    def draw(reported: Reported, new_figure: NewFigure) -> Iterable[Drawing]:
        try:
            drawings = list(spec.draw(reported, new_figure))
            for drawing in drawings:
                drawing.figure.draw_without_rendering()
            return drawings
        except Exception as error:
            return [_failed_drawing(spec, f"{type(error).__name__}: {error}", new_figure)]

    return replace(spec, content=content, draw=draw)


def _checked(content: Content) -> Content:
    """The content with its lists read once; raises an error if a renderer could not show it."""
    if not isinstance(content, Content):
        raise TypeError(f"content() gave {type(content).__name__}, not Content")
    words = [tuple(some) for some in (content.paragraphs, content.items, content.code)]
    tables = list(content.tables)
    texts = [*itertools.chain(*words), *(text for one in tables for text in (one.title, one.note, *one.header))]
    texts += [format_value(entry) for table in tables for row in table.rows for entry in row]
    if wrong := next((text for text in texts if not isinstance(text, str)), None):
        raise TypeError(f"{type(wrong).__name__} where words or a Quantity should be")
    if any(len(row) != len(table.header) for table in tables for row in table.rows):
        raise ValueError("a row of a table is not as long as its header")
    paragraphs, items, code = words
    return Content(paragraphs, items, tables, code)


def _failed_drawing(spec: SectionSpec, why: str, new_figure: NewFigure) -> Drawing:
    """Shown in place of figures that a plug-in failed to draw."""
    said = printable(f"The figures of the plug-in '{spec.name}' could not be drawn ({why}).", 300)
    figure = new_figure(figsize=(WIDTH_IN, 0.6))
    figure.text(0.01, 0.5, textwrap.fill(said, 130), va="center")
    return Drawing(spec.name, "Not drawn", said, said, figure)
