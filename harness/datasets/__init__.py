"""Data sets: queries, documents, reference answers and gold evidence. `load_dataset` is the entry point."""

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
