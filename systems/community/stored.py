"""A finished index, opened to answer from."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from systems.community import library
from systems.community.fields import SEPARATOR
from systems.community.units import UnitRow, doc_ids_of


@dataclass(frozen=True)
class Report:
    """One community's report."""

    community_id: str
    level: int
    text: str
    rating: float
    occurrence: float
    """Text units of its entities, as a share of those of the community that has most."""
    doc_ids: tuple[str, ...]


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
        self._ranked: list[Report] = []

    @classmethod
    async def open(cls, folder: Path) -> "StoredIndex":
        """The index that was built in `folder`."""
        index = cls(folder)
        index._records = await _everything(index.units)
        reports = [index._report(key, data) for key, data in (await _everything(index.reports)).items()]
        index._ranked = sorted(reports, key=_most_important_first)
        return index

    def _report(self, community_id: str, data: UnitRow) -> Report:
        return Report(
            community_id=community_id,
            level=data["level"],
            text=data["report_string"].strip(),
            rating=data["report_json"]["rating"],
            occurrence=data["occurrence"],
            doc_ids=self.doc_ids(data["chunk_ids"]),
        )

    def ranked_reports(self, level: int, limit: int) -> list[Report]:
        """Reports of communities no finer than `level`: those in most text units first, then the best rated."""
        return [report for report in self._ranked if report.level <= level][:limit]

    def doc_ids(self, unit_ids: Iterable[str]) -> tuple[str, ...]:
        """The documents of these text units, in corpus order, each once."""
        units = [self._records[unit_id] for unit_id in set(unit_ids)]
        return doc_ids_of(sorted(units, key=lambda unit: unit["chunk_order_index"]))

    def sources(self, data: UnitRow) -> tuple[str, ...]:
        """The documents of a node or an edge."""
        return self.doc_ids(data["source_id"].split(SEPARATOR))


async def _everything(store: Any) -> dict[str, UnitRow]:
    keys = await store.all_keys()
    return dict(zip(keys, await store.get_by_ids(keys), strict=True))


def _most_important_first(report: Report) -> tuple[float, float, int]:
    return -report.occurrence, -report.rating, int(report.community_id)
