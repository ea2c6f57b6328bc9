"""Retrieval metrics as MultiHop-RAG's script computes them (Tang and Yang 2024, `retrieval_evaluate.py`).

For comparison with published tables. Differences from the metrics without `compat` in their name:

- Only spaces and line feeds are removed before a fact is searched; other white space counts.
- `hits_compat@k` is 1 if *any* fact is in the first k contexts: a hit, not the share of facts found.
- `map_compat@10` is not average precision: each fact found in the first 10 contexts adds 1/rank of the first
  context that contains it, and the sum is divided by min(facts, 10). Two facts at ranks 1 and 2 give 0.75, where
  average precision is 1. Two facts in one context at rank 1 give 1. With more than ten facts it can exceed 1.
- A fact that the reference states twice counts twice in the divisor and once when found.

Null queries are left out, as in the script.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from harness.evaluators.gold_ranks import Cut, FactFinder, FoundFacts
from harness.protocols import Measure, Sides

SECTION = "Retrieval"
READS: Sides = frozenset({"contexts", "reference"})
_SAID = "as MultiHop-RAG's script computes it"
MEASURES: dict[Measure, Cut] = {
    Measure(
        name="hits_compat@4",
        summary=f"share of queries with a gold fact in the first 4 contexts, {_SAID}",
        failure_value=0.0,
        section=SECTION,
        reads=READS,
        binary=True,
    ): Cut("Hit", 4),
    Measure(
        name="hits_compat@10",
        summary=f"share of queries with a gold fact in the first 10 contexts, {_SAID}",
        failure_value=0.0,
        section=SECTION,
        reads=READS,
        binary=True,
    ): Cut("Hit", 10),
    Measure(
        name="mrr_compat@10",
        summary=f"1/rank of the first of 10 contexts with a gold fact, {_SAID}",
        failure_value=0.0,
        section=SECTION,
        reads=READS,
        range=(0.0, 1.0),
    ): Cut("MRR", 10),
    Measure(
        name="map_compat@10",
        summary=f"sum of 1/rank over the gold facts found in 10 contexts, by their number, {_SAID}",
        failure_value=0.0,
        section=SECTION,
        reads=READS,
        range=(0.0, math.inf),
    ): Cut("MAP_compat", 10),
}


class CompatFinder:
    """Finds facts as the script does; normalised texts are cached."""

    def __init__(self) -> None:
        self._finder = FactFinder(lambda text: text.replace(" ", "").replace("\n", ""))

    def find(self, facts: Sequence[str], texts: Sequence[str]) -> FoundFacts:
        """Each fact in the first text that contains it; `gold` counts repeated facts repeatedly."""
        return replace(self._finder.find(facts, texts), gold=len(facts))
