"""The contract of a data set: what is asked, of which corpus, and the gold side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from harness.core.records import AnswerStyle, Document, Query, Reference
from harness.protocols.systems import Params

ClusterBy = Literal["document", "query"]
"""What makes queries of a data set alike, so that they are no independent draws: `document`, the one that their
reference cites most; `query`, nothing."""


class ReadingProgress(Protocol):
    """Who is told how far the reading of a data set is."""

    def __call__(self, done: int, total: int, doing: str) -> None:
        """Such as (120, 10000, "documents")."""
        ...


def untold(done: int, total: int, doing: str) -> None:
    """Nobody is told."""


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
    title: str = ""
    """What a report calls it, where the name of its spec is that of many; empty: that name."""
    answer_style: AnswerStyle | None = None
    """How its references are worded, and so how answers are asked for; None: as the spec says."""
    primary_measure: str = ""
    """The measure that ranks systems on it; empty: that of the spec."""
    skipped: tuple[str, ...] = ()
    """Files or rows that were left out, each with why: a line for each, which `rag-harness plan` shows. In no run:
    the notes count them."""


@dataclass(frozen=True)
class DatasetSpec:
    """How a data set presents itself to the registry."""

    name: str
    summary: str
    load: Callable[..., RawDataset]
    """load(subset) -> RawDataset; raises DataError with one line that says what is missing and how to get it. With
    `params`: load(subset, params, progress), where `progress(done, total, doing)` may be called while it reads."""
    subsets: tuple[str, ...] = ("default",)
    """The first is the default."""
    primary_measure: str = ""
    """The measure that ranks systems on it, unless a config or `--measure` names another, such as `token_f1` where
    references are sentences. Empty: the first that every scored run has."""
    answer_style: AnswerStyle = "short"
    """How its references are worded, and so how answers are asked for."""
    cluster_by: ClusterBy = "document"
    """What its queries have in common: documents that many of them cite, or nothing."""
    params: type[Params] | None = None
    """What a config may say of it besides a subset; None: nothing. Its fields `path` and `questions` are the keys
    `dataset.path` and `dataset.questions` (a place and a file of questions: `--docs`, `--questions`), any other
    field is a key under `dataset.options`. None of it is in a run id: the digest of what was read is."""

    def read(self, subset: str, params: Params | None = None, progress: ReadingProgress = untold) -> RawDataset:
        """The whole data set; `params` is an instance of `self.params`, None: its defaults."""
        if self.params is None:
            return self.load(subset)
        given: Any = self.params() if params is None else params
        return self.load(subset, given, progress)
