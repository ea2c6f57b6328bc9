"""A finished index, opened for answers."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.core.records import Context
from systems.common.headings import MOST_CITED, listed
from systems.common.token_estimate import count_tokens
from systems.common.wrapped_libraries import SEPARATOR, plain
from systems.community import library
from systems.community.text_units import UnitRow, doc_ids_of


@dataclass(frozen=True)
class ReportedRelation:
    """A relation of a community: the case-folded names of its entities, and the documents that state it."""

    ends: tuple[str, str]
    doc_ids: tuple[str, ...]

    def n_named(self, text: str) -> int:
        """How many of its entities a case-folded text names as whole words."""
        return sum(1 for end in self.ends if re.search(rf"(?<!\w){re.escape(end)}(?!\w)", text))


@dataclass(frozen=True)
class Report:
    community_id: str
    level: int
    text: str
    """The text below the sources of the cited documents."""
    rating: float
    occurrence: float
    """Number of text units of its entities, relative to the community with most."""
    doc_ids: tuple[str, ...]
    """The cited documents: the MOST_CITED that state most of its content."""
    stated: tuple[ReportedRelation, ...] = ()

    @property
    def as_context(self) -> Context:
        return Context(text=self.text, doc_ids=self.doc_ids, kind="summary")

    def cited_for(self, text: str) -> tuple[str, ...]:
        """The documents behind a text about this report: those with a relation of which it names both entities,
        otherwise one; if it names none, all cited ones.
        """
        words = text.casefold()
        counted = [(one.n_named(words), one) for one in self.stated]
        for least in (2, 1):
            if meant := [one for number, one in counted if number >= least]:
                return _most_stating(meant)
        return self.doc_ids


class StoredIndex:
    """nano-graphrag's stores, read into memory; no file stays open."""

    def __init__(self, folder: Path) -> None:
        nano, storages = library.load(), library.storages()
        config = {"working_dir": str(folder)}
        self.graph = storages.LeidenGraph("chunk_entity_relation", config)
        self.vectors = storages.EntityVectors("entities", config, embedding_func=None)
        self.reports = nano.graphrag.JsonKVStorage("community_reports", config)
        self.units = nano.graphrag.JsonKVStorage("text_chunks", config)
        self._records: dict[str, UnitRow] = {}
        self._origins: dict[str, str] = {}
        self._ranked: list[Report] = []
        self._by_title: dict[str, Report] = {}

    @classmethod
    async def open(cls, folder: Path) -> "StoredIndex":
        index = cls(folder)
        index._records = await _all_rows(index.units)
        units = sorted(index._records.values(), key=lambda unit: unit["chunk_order_index"])
        index._origins = {place["doc_id"]: place["origin"] for unit in units for place in unit["places"]}
        for key, data in (await _all_rows(index.reports)).items():
            index._by_title[data["title"]] = index._report(key, data)
        index._ranked = sorted(index._by_title.values(), key=_most_important_first)
        return index

    def _report(self, community_id: str, data: UnitRow) -> Report:
        stated = tuple(self._stated(*ends) for ends in data["edges"])
        doc_ids = _most_stating(stated)
        sources, text = self.origins(doc_ids, MOST_CITED), data["report_string"].strip()
        return Report(
            community_id=community_id,
            level=data["level"],
            text=f"Sources: {sources}\n{text}" if sources else text,
            rating=data["report_json"]["rating"],
            occurrence=data["occurrence"],
            doc_ids=doc_ids,
            stated=stated,
        )

    def _stated(self, source: str, target: str) -> ReportedRelation:
        ends = (plain(source).casefold(), plain(target).casefold())
        return ReportedRelation(ends, self.sources(self.graph.edge(source, target)))

    def ranked_reports(self, level: int, limit: int) -> list[Report]:
        """Reports of communities no finer than `level`: by number of text units, then by rating."""
        return [report for report in self._ranked if report.level <= level][:limit]

    @cached_property
    def longest_report(self) -> int:
        return max((count_tokens(report.text) for report in self._ranked), default=0)

    def report_titled(self, title: str) -> Report:
        return self._by_title[title]

    def origins(self, doc_ids: Iterable[str], most: int | None = None) -> str:
        origins = [self._origins[doc_id] for doc_id in doc_ids]
        return listed(origins) if most is None else listed(origins, most)

    def sources(self, data: UnitRow) -> tuple[str, ...]:
        """The distinct documents of a node or an edge, in corpus order."""
        units = [self._records[unit_id] for unit_id in set(data["source_id"].split(SEPARATOR))]
        return doc_ids_of(sorted(units, key=lambda unit: unit["chunk_order_index"]))


def _most_stating(stated: Sequence[ReportedRelation]) -> tuple[str, ...]:
    counted = Counter(doc_id for one in stated for doc_id in one.doc_ids)
    return tuple(doc_id for doc_id, _ in counted.most_common(MOST_CITED))


async def _all_rows(store: Any) -> dict[str, UnitRow]:
    keys = await store.all_keys()
    return dict(zip(keys, await store.get_by_ids(keys), strict=True))


def _most_important_first(report: Report) -> tuple[float, float, int]:
    return -report.occurrence, -report.rating, int(report.community_id)
