"""The contract of a data set: what is asked, of which corpus, and the gold side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from harness.records import AnswerStyle, Document, Query, Reference

ClusterBy = Literal["document", "query"]
"""What makes queries of a data set alike, so that they are no independent draws: `document`, the one that their
reference cites most; `query`, nothing."""


@dataclass(frozen=True)
class DatasetRow:
    """One query of a data set with its gold side."""

    query: Query
    reference: Reference
    doc_ids: tuple[str, ...]
    """Every document the data set attaches to this query: what `dataset.corpus=cited` keeps."""


@dataclass(frozen=True)
class RawDataset:
    """A whole data set as its loader read it, before sampling."""

    documents: tuple[Document, ...]
    rows: tuple[DatasetRow, ...]
    notes: tuple[str, ...] = ()
    """What a reader must know, such as queries left out and why; kept in the run."""
    departures: tuple[str, ...] = ()
    """In what it is not what was published under its name, a line for each; reports then say beside the name that
    it is not."""


@dataclass(frozen=True)
class DatasetSpec:
    """How a data set presents itself to the registry."""

    name: str
    summary: str
    load: Callable[[str], RawDataset]
    """load(subset) -> RawDataset; raises DataError with one line that says what is missing and how to get it."""
    subsets: tuple[str, ...] = ("default",)
    """The first is the default."""
    primary_measure: str = ""
    """The measure that ranks systems on it, unless a config or `--measure` names another, such as `token_f1` where
    references are sentences. Empty: the first that every scored run has."""
    answer_style: AnswerStyle = "short"
    """How its references are worded, and so how answers are asked for."""
    cluster_by: ClusterBy = "document"
    """What its queries have in common: documents that many of them cite, or nothing."""
