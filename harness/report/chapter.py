"""One chapter per group of runs: its sections, in the order that page, Markdown and terminal share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.display import Content, Picture, Section, Table, counted, file_name, printable
from harness.display.text_format import type_name
from harness.report.sections import NOTES, Reported, SectionSpec, sections_of
from harness.report.verdict.findings import Findings, find
from harness.report.view import Group, load_groups
from harness.statistics import Prices
from harness.store import RunDir


@dataclass(frozen=True)
class Chapter:
    """A group of runs, and everything that is shown of it."""

    group: Group
    findings: Findings
    specs: tuple[SectionSpec, ...]
    """Every section that may have something to show."""
    sections: tuple[Section, ...]
    """In the same order; one with nothing to show is left out."""

    @property
    def description(self) -> str:
        """Over which queries and documents the runs were made."""
        return describe(self.group)

    def tables(self) -> list[Table]:
        """Of all sections, in order; no two share a name."""
        return [table for section in self.sections for table in section.content.tables]

    def section(self, key: str) -> Section | None:
        """The section of that key, if it has anything to show."""
        return next((section for section in self.sections if section.key == key), None)

    def illustrated(self, pictures: Mapping[str, Sequence[Picture]]) -> Chapter:
        """The same with pictures, by section key."""
        sections = (self.section(spec.name) or Section(spec.name, spec.title) for spec in self.specs)
        shown = (replace(section, pictures=tuple(pictures.get(section.key, ()))) for section in sections)
        return replace(self, sections=_filled(shown))


def load_chapters(
    runs: Sequence[RunDir], prices: Prices, measure: str | None = None, margin: float | None = None
) -> list[Chapter]:
    """A chapter, without pictures, for each data set selection; see `load_groups`.

    `measure`: the metric that ranks; None: from the configs or the data set. `margin`: by how many points a run
    may be worse and still count as good; None: from the configs.
    """
    return [build_chapter(group, measure, margin) for group in load_groups(runs, prices)]


def build_chapter(group: Group, measure: str | None = None, margin: float | None = None) -> Chapter:
    """The sections of a group, as words and tables."""
    reported = Reported(group, find(group, measure, margin))
    specs, refusals = sections_of(group)
    taken: set[str] = set()
    sections = []
    for spec in specs:
        content = spec.content(reported)
        tables = [_distinct(table, taken) for table in content.tables]
        sections.append(Section(spec.name, spec.title, replace(content, tables=tables)))
    return Chapter(group, reported.findings, tuple(specs), _filled(_noted(sections, refusals)))


def _noted(sections: Sequence[Section], refusals: Sequence[str]) -> Iterable[Section]:
    """With what keeps plug-ins from having a section, among the notes."""
    for section in sections:
        if section.key == NOTES and refusals:
            items = (*section.content.items, *(printable(f"Left out: {line}", 400) for line in refusals))
            yield replace(section, content=Content(items=items))
        else:
            yield section


def _filled(sections: Iterable[Section]) -> tuple[Section, ...]:
    return tuple(section for section in sections if not section.is_empty)


def describe(group: Group) -> str:
    """`8 queries over 10 documents (corpus: full): inference 4, null 4. Digest 0123456789ab.`"""
    view = group.widest
    types = Counter(view.frame.query_types.values())
    shown = ", ".join(f"{type_name(name)} {count:,}" for name, count in sorted(types.items()))
    documents = view.manifest.dataset.get("n_documents")
    searched = f" over {counted(documents, 'document')}" if isinstance(documents, int) else ""
    corpus = view.manifest.dataset.get("corpus")
    kept = f" (corpus: {printable(str(corpus))})" if corpus else ""
    queries = counted(len(view.frame.query_types), "query", "queries")
    return f"{queries}{searched}{kept}: {shown}. Digest {printable(group.digest[:12])}."


def _distinct(table: Table, taken: set[str]) -> Table:
    """Two names may have become one file name, and no file system tells upper from lower case everywhere."""
    own = file_name(table.name)
    name, number = own, 2
    while name.lower() in taken:
        name, number = f"{own}-{number}", number + 1
    taken.add(name.lower())
    return replace(table, name=name)
