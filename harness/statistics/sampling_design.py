"""How the queries of a comparison were sampled: the mix of types, and clusters of dependent queries."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.core.records import Reference

Mix = Literal["natural", "as sampled"]
"""Weights of query types: as in the whole data set, or equal for each query."""
_SAME = 1e-9


@dataclass(frozen=True)
class SamplingDesign:
    """The design of a sample of queries. By default unknown: queries have equal weight and are independent."""

    types: Mapping[str, str] = field(default_factory=dict)
    """Query id -> type."""
    type_mix: Mapping[str, int] = field(default_factory=dict)
    """Queries of each type in the whole data set."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Query id -> the document that it shares with others, see `clusters_of`. Empty: queries are independent."""
    repeated: Mapping[str, str] = field(default_factory=dict)
    """See `repeated_questions`: these queries have no values of their own."""

    def weights(
        self, query_ids: Sequence[str], asked: Collection[str], applying: Collection[str]
    ) -> NDArray[np.float64] | None:
        """The weight of each of these queries in the natural mix, 1 on average; None if unknown.

        A type's weight is the number of its queries in the data set to which the metric applies, estimated from
        `applying` of those `asked`. Unknown: no mix, or no query with a value in a type with weight.
        """
        if not self.type_mix or not query_ids or not all(one in self.types for one in (*query_ids, *asked)):
            return None
        asked = set(asked) - self.repeated.keys()
        groups = (asked, set(applying) & asked, query_ids)
        n_asked, n_applying, n = (Counter(self.types[query_id] for query_id in ids) for ids in groups)
        weighted = {
            name for name, count in self.type_mix.items() if count and (n_applying[name] or not n_asked[name])
        }
        if weighted != set(n):
            return None
        each = {name: self.type_mix[name] * n_applying[name] / n_asked[name] / n[name] for name in n}
        found = np.array([each[self.types[query_id]] for query_id in query_ids], dtype=np.float64)
        return found * (len(found) / float(found.sum()))

    def cluster_numbers(self, query_ids: Sequence[str]) -> NDArray[np.int64] | None:
        """A number for each query, equal within a cluster; None: queries are independent."""
        if not self.clusters:
            return None
        return numbers_of([self.clusters.get(query_id, f"query/{query_id}") for query_id in query_ids])

    def type_numbers(self, query_ids: Sequence[str]) -> NDArray[np.int64] | None:
        """A number for each query, the same for queries of one type; None if a type is unknown."""
        if not all(query_id in self.types for query_id in query_ids):
            return None
        return numbers_of([self.types[query_id] for query_id in query_ids])


def numbers_of(names: Sequence[Hashable]) -> NDArray[np.int64]:
    """A number for each name, equal for equal ones, from 0 without gaps."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


def are_equal(weights: NDArray[np.float64]) -> bool:
    return bool(np.ptp(weights) <= _SAME * weights.max(initial=0.0))


def repeated_questions(queries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Query id -> id of the first query with the same text (ignoring case, punctuation and spaces), for every
    later one. `queries`: id and text. Copies are one observation.
    """
    first: dict[str, str] = {}
    found = {}
    for query_id, text in queries:
        key = " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())) or text
        earlier = first.setdefault(key, intern(query_id))
        if earlier != query_id:
            found[intern(query_id)] = earlier
    return found


ABOUT = "document/"
"""Before the document in the name of a cluster; a query without evidence has another name."""


def clusters_of(references: Iterable[Reference]) -> dict[str, str]:
    """Query id -> the document cited by most of these queries among those in its evidence, ties by id; a query
    without evidence is alone. Empty if no evidence names a document.
    """
    named = {
        intern(one.query_id): tuple(sorted({intern(item.doc_id) for item in one.evidence})) for one in references
    }
    cited = Counter(doc_id for doc_ids in named.values() for doc_id in doc_ids)
    if not cited:
        return {}
    return {
        query_id: intern(f"{ABOUT}{max(doc_ids, key=lambda one: cited[one])}" if doc_ids else f"query/{query_id}")
        for query_id, doc_ids in named.items()
    }
