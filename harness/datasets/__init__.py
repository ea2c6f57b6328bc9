"""Data sets: what is asked, of which corpus, and the gold side. `load_dataset` is the way in."""

from harness.datasets.sampling import (
    CorpusChoice,
    Dataset,
    QuerySample,
    checked_subset,
    load_dataset,
    select,
    select_queries,
)

__all__ = [
    "CorpusChoice",
    "Dataset",
    "QuerySample",
    "checked_subset",
    "load_dataset",
    "select",
    "select_queries",
]
