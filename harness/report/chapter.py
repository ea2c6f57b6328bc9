"""One chapter per group of runs: its sections, in the one order that page, Markdown and terminal share."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.display import Content, Drawing, Picture, Section, Table, file_name, format_value, printable
from harness.display.plotting import WIDTH_IN, NewFigure
from harness.display.text_format import NOTHING, type_name
from harness.report.labels import dataset_title
from harness.report.published import Published
from harness.report.sections import (
    AFTER_MEASURES,
    ANCHORS,
    BEFORE_MEASURES,
    NOTES,
    SECTIONS,
    Reported,
    SectionSpec,
    distinct,
    measured_sections,
)
from harness.report.verdict.findings import Findings, find
from harness.report.view import Group, RunView, load_groups
from harness.statistics.prices import Prices
from harness.store import RunDir


@dataclass(frozen=True)
class Chapter:
    group: Group
    findings: Findings
    specs: tuple[SectionSpec, ...]
    sections: tuple[Section, ...]
    """In the same order; one with nothing to show is left out."""

    @property
    def facts(self) -> dict[str, str]:
        """Models, queries by type and documents; where the runs differ, every value."""
        group, dataset = self.group, self.group.widest.manifest.dataset
        types = Counter(group.widest.frame.query_types.values())
        by_type = ", ".join(f"{count:,} {type_name(name)}" for name, count in sorted(types.items()))
        found = {
            "Generator": _alternatives(view.model("generator") for view in group.views),
            "Embedder": _alternatives(view.model("embedder") for view in group.views),
            "Queries": f"{sum(types.values()):,}{f' ({by_type})' if len(types) > 1 else ''}",
        }
        repeats = {view.frame.repeats for view in group.views}
        if repeats != {1}:
            found["Answers to each"] = _alternatives(map(str, sorted(repeats)))
        documents, corpus = dataset.get("n_documents"), dataset.get("corpus")
        if isinstance(documents, int):
            kept = f" (corpus: {printable(str(corpus))})" if corpus else ""
            found["Documents"] = f"{documents:,}{kept}"
        return {**found, "Digest": printable(group.digest[:12]) or NOTHING}

    @property
    def recommended(self) -> RunView | None:
        run_id = self.findings.verdict.recommended_run
        return next((view for view in self.group.views if view.run.run_id == run_id), None)

    def tables(self) -> list[Table]:
        return [table for section in self.sections for table in section.content.tables]

    def section(self, key: str) -> Section | None:
        return next((section for section in self.sections if section.key == key), None)

    def illustrated(self, pictures: Mapping[str, Sequence[Picture]]) -> Chapter:
        """The same with pictures, by section key."""
        sections = (self.section(spec.name) or Section(spec.name, spec.title) for spec in self.specs)
        shown = (replace(section, pictures=tuple(pictures.get(section.key, ()))) for section in sections)
        return replace(self, sections=_filled(shown))


def load_chapters(
    runs: Sequence[RunDir],
    prices: Prices,
    measure: str | None = None,
    margin: float | None = None,
    published: Published | None = None,
) -> list[Chapter]:
    """A chapter, without pictures, for each group of runs. `measure`, `margin` (points): None as configs say."""
    return [build_chapter(group, measure, margin, published) for group in load_groups(runs, prices)]


def build_chapter(
    group: Group, measure: str | None = None, margin: float | None = None, published: Published | None = None
) -> Chapter:
    specs, refusals = sections_of(group)
    group = replace(group, notes=(*(note for spec in specs for note in spec.notes(group)), *group.notes))
    reported = Reported(group, find(group, measure, margin), published)
    taken: set[str] = set()
    sections = []
    for spec in specs:
        content = spec.content(reported)
        tables = [replace(table, name=distinct(file_name(table.name), taken)) for table in content.tables]
        content = replace(content, tables=tables)
        if spec.name == NOTES and refusals:
            # What keeps plug-ins from having a section.
            left = (printable(f"Left out: {line}", 400) for line in refusals)
            content = Content(items=(*content.items, *left))
        sections.append(Section(spec.name, spec.title, content))
    return Chapter(group, reported.findings, tuple(specs), _filled(sections))


def what_differs(chapters: Sequence[Chapter]) -> str:
    """Why chapters cannot be compared with each other: `5 or 18 questions, with and without a generator`."""
    groups = [chapter.group for chapter in chapters]
    manifests = [group.views[0].manifest for group in groups]
    if len({dataset_title(manifest) for manifest in manifests}) > 1:
        return "different data sets"
    sizes = sorted({len(group.widest.sample) for group in groups})
    shown = f"{' or '.join(f'{size:,}' for size in sizes)} questions" if len(sizes) > 1 else "different questions"
    differing: dict[str, set[object]] = {
        shown: {frozenset(group.widest.sample) for group in groups},
        "different documents": {manifest.dataset.get("corpus_digest") for manifest in manifests},
        "with and without a generator": {group.has_answers for group in groups},
    }
    found = [what for what, values in differing.items() if len(values) > 1]
    return ", ".join(found or ["different texts or references of the same questions"])


def _alternatives(values: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(values))


def _filled(sections: Iterable[Section]) -> tuple[Section, ...]:
    return tuple(section for section in sections if not section.is_empty)


def sections_of(group: Group) -> tuple[list[SectionSpec], list[str]]:
    """Every section of a chapter on these runs, and why plug-ins have none."""
    plugged, refusals = SECTIONS.load_all()
    ordered = [*BEFORE_MEASURES, *measured_sections(group), *AFTER_MEASURES]
    names = [spec.name for spec in ordered]
    end_of_measures = names.index(AFTER_MEASURES[0].name)
    reasons = [_why_refused(spec, names) for spec in plugged]
    refused = [f"{spec.name}: {why}" for spec, why in zip(plugged, reasons, strict=True) if why]
    for spec in reversed([spec for spec, why in zip(plugged, reasons, strict=True) if not why]):
        place = names.index(spec.after) + 1 if spec.after in names else end_of_measures
        ordered.insert(place, _guarded(spec))
        names.insert(place, spec.name)
    return ordered, [*map(str, refusals), *refused]


def _why_refused(spec: SectionSpec, names: Collection[str]) -> str:
    if not re.fullmatch(r"[a-z0-9-]+", spec.name):
        return "the name of a section is small letters, digits and dashes"
    return "a section of that name is there already" if spec.name in {*names, *ANCHORS} else ""


def _guarded(spec: SectionSpec) -> SectionSpec:
    """If a plug-in fails, its section shows the error; the rest of the report is not affected."""

    def said(error: Exception) -> str:
        return printable(f"{type(error).__name__}: {error}", 300)

    def notes(group: Group) -> Iterable[str]:
        try:
            return [printable(note, 400) for note in spec.notes(group)]
        except Exception as error:
            return [f"The notes of the plug-in '{spec.name}' could not be made ({said(error)})."]

    def content(reported: Reported) -> Content:
        try:
            return _checked(spec.content(reported))
        except Exception as error:
            return Content(items=[f"This section of a plug-in could not be made ({said(error)})."])

    def draw(reported: Reported, new_figure: NewFigure) -> Iterable[Drawing]:
        try:
            drawings = list(spec.draw(reported, new_figure))
            for drawing in drawings:
                drawing.figure.draw_without_rendering()
            return drawings
        except Exception as error:
            why = f"The figures of the plug-in '{spec.name}' could not be drawn ({said(error)})."
            figure = new_figure(figsize=(WIDTH_IN, 0.6))
            figure.text(0.01, 0.5, textwrap.fill(why, 130), va="center")
            return [Drawing(spec.name, "Not drawn", why, why, figure)]

    return replace(spec, content=content, draw=draw, notes=notes)


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
