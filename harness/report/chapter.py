"""What is said of one group of runs, in the one order that the page, the Markdown and the terminal share."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.report.break_even import break_even_tables
from harness.report.estimates import estimate_tables
from harness.report.findings import Findings, find
from harness.report.nouns import Picture, Section, Table
from harness.report.reproduce import run_command
from harness.report.sweeps import sweep_tables
from harness.report.tables import answers, cost, index, judges, measures, runs, significance
from harness.report.text import counted, printable, type_name
from harness.report.view import Group, load_groups
from harness.store import RunDir

TITLES = {
    "answer": "The answer",
    "notes": "To know before comparing",
    "accuracy": "Accuracy",
    "refusals": "Unanswerable queries and refusals",
    "retrieval": "Retrieval",
    "bertscore": "BERTScore",
    "judged": "Judged measures",
    "graph-scores": "Knowledge-graph scores",
    "other": "Other measures",
    "twins": "Measures and what stands in for them",
    "significance": "Is it more than chance?",
    "latency": "Latency",
    "tokens": "Tokens and dollars",
    "index": "Index",
    "break-even": "When an index pays",
    "resources": "CPU and RAM",
    "judges": "Judges",
    "sweep": "Sweep",
    "estimates": "Estimated and measured",
    "runs": "What was run",
    "reproduce": "Run it again",
}
"""Section key -> its title, in the order of a chapter."""
_SECTION_OF = {
    "answer": "accuracy",
    "retrieval": "retrieval",
    "bertscore": "bertscore",
    **dict.fromkeys(("ragas", "triplet", "rag_eval"), "judged"),
    **dict.fromkeys(("kg", "kg_nlp"), "graph-scores"),
}
"""Evaluator -> where its measures stand; of every other one: `other`."""
_COVERED = {"judged", "graph-scores"}


@dataclass(frozen=True)
class Chapter:
    """A group of runs, and everything that is shown of it."""

    group: Group
    findings: Findings
    sections: tuple[Section, ...]
    """In the order of `TITLES`; one with nothing to show is left out."""

    @property
    def description(self) -> str:
        """Over which queries and documents the runs were made."""
        return describe(self.group)

    def tables(self) -> list[Table]:
        """Of all sections, in order; no two share a name."""
        return [table for section in self.sections for table in section.tables]

    def section(self, key: str) -> Section | None:
        """The section of that key, if it has anything to show."""
        return next((section for section in self.sections if section.key == key), None)

    def illustrated(self, pictures: Mapping[str, Sequence[Picture]]) -> Chapter:
        """The same with pictures, by section key."""
        unknown = pictures.keys() - TITLES.keys()
        if unknown:
            raise ValueError(f"no such section: {', '.join(sorted(unknown))}")
        sections = (self.section(key) or Section(key, title) for key, title in TITLES.items())
        shown = (replace(section, pictures=tuple(pictures.get(section.key, ()))) for section in sections)
        return replace(self, sections=_filled(shown))


def load_chapters(runs: Sequence[RunDir]) -> list[Chapter]:
    """A chapter, without pictures, for each data set selection; see `load_groups`."""
    return [build_chapter(group) for group in load_groups(runs)]


def build_chapter(group: Group) -> Chapter:
    """What is to be said of a group, in words and tables."""
    findings = find(group)
    parts, tables = _words(group, findings), _tables(group, findings)
    taken: set[str] = set()
    sections = []
    for key, title in TITLES.items():
        named = tuple(_distinct(table, taken) for table in tables.get(key, ()))
        sections.append(replace(parts.get(key, Section(key, title)), tables=named))
    return Chapter(group, findings, _filled(sections))


def _filled(sections: Iterable[Section]) -> tuple[Section, ...]:
    return tuple(section for section in sections if section != Section(section.key, section.title))


def describe(group: Group) -> str:
    """`8 queries over 10 documents (corpus: full): inference 4, null 4. Digest 0123456789ab.`"""
    view = group.views[0]
    types = Counter(view.frame.query_types.values())
    shown = ", ".join(f"{type_name(name)} {count:,}" for name, count in sorted(types.items()))
    documents = view.manifest.dataset.get("n_documents")
    searched = f" over {counted(documents, 'document')}" if isinstance(documents, int) else ""
    corpus = view.manifest.dataset.get("corpus")
    kept = f" (corpus: {printable(str(corpus))})" if corpus else ""
    queries = counted(len(view.frame.query_types), "query", "queries")
    return f"{queries}{searched}{kept}: {shown}. Digest {printable(group.digest[:12])}."


def note_lines(group: Group) -> list[str]:
    """Every note of the group, those of a single run with its label."""
    own = [f"{printable(view.label)}: {note}" for view in group.views for note in group.own_notes(view)]
    return [*group.notes, *group.shared_notes, *own]


def _words(group: Group, findings: Findings) -> dict[str, Section]:
    """The sections that hold more than tables and pictures, without those."""
    said = tuple(filter(None, (findings.headline, *findings.sentences)))
    # One run alone has nobody to be compared with: that is no warning.
    why_not = [f"Not compared: {findings.why_not}"] if findings.why_not and len(group.views) > 1 else []
    notes = (*why_not, *note_lines(group))
    fine = "Nothing: every run finished, every query was answered and every score was computed."
    parts = (
        Section("answer", TITLES["answer"], paragraphs=said),
        Section("notes", TITLES["notes"], paragraphs=() if notes else (fine,), items=notes),
        Section("reproduce", TITLES["reproduce"], code=_commands(group)),
    )
    return {part.key: part for part in parts}


def _tables(group: Group, findings: Findings) -> dict[str, list[Table]]:
    fixed: dict[str, Iterable[Table | None]] = {
        "answer": [answers.leaderboard(group, findings)],
        "accuracy": [answers.accuracy_table(group)],
        "refusals": [answers.refusals_table(group)],
        "twins": [measures.twin_table(group)],
        "significance": [
            significance.matrix_table(group, findings),
            *significance.pair_tables(group, findings),
        ],
        "latency": [cost.latency_table(group)],
        "tokens": [cost.query_cost_table(group), cost.phases_table(group)],
        "index": [index.index_table(group), index.ledger_table(group)],
        "break-even": break_even_tables(group),
        "resources": [index.resources_table(group)],
        "judges": [judges.judge_table(group)],
        "sweep": sweep_tables(group, findings),
        "estimates": estimate_tables(group),
        "runs": [runs.runs_table(group), runs.differences_table(group), runs.places_table(group)],
    }
    found = {key: [table for table in tables if table] for key, tables in fixed.items()}
    by_evaluator = measures.measures_by_evaluator(group)
    for evaluator, names in by_evaluator.items():
        found.setdefault(section_of(evaluator), []).append(measures.measure_table(group, evaluator, names))
    evaluators = {one.evaluator: None for view in group.views for one in view.evaluations}
    for evaluator in evaluators:
        covered = measures.coverage_table(group, evaluator) if section_of(evaluator) in _COVERED else None
        found.setdefault(section_of(evaluator), []).extend([covered] if covered else [])
    return found


def section_of(evaluator: str) -> str:
    """Where an evaluator's measures stand."""
    return _SECTION_OF.get(evaluator, measures.OTHERS)


def _distinct(table: Table, taken: set[str]) -> Table:
    """Two names may have become one file name, and no file system tells upper from lower case everywhere."""
    name, number = table.name, 2
    while name.lower() in taken:
        name, number = f"{table.name}-{number}", number + 1
    taken.add(name.lower())
    return replace(table, name=name)


def _commands(group: Group) -> tuple[str, ...]:
    names = shlex.join(printable(view.run.run_id, 200) for view in group.views)
    commands = [run_command(view.manifest) for view in group.views]
    return (*commands, f"rag-harness evaluate {names}", f"rag-harness report {names}")
