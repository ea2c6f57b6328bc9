"""Evidence within the first N characters of the generator's context: retrieval at equal prompt size.

The text is the contexts in rank order, numbered and separated as in the answer prompt
(`harness.llm_utils.answer_contract.numbered_contexts`). Text that a system's other calls read, such as the reports
of a map step, is not included. The unit is characters, because they are the same for every model.

- A *fact* is within N if all of it is: in the first context that contains it (as `gold_ranks.FactFinder` finds
  it), it ends before character N. A fact that N cuts is not found.
- A *document* is within N if a passage or sentence of it begins there: a context of that kind that names this
  document and no other. Contexts that only name documents (a summary, a triplet) do not show their text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from harness.core.records import Context, Evidence
from harness.evaluators.gold_ranks import READS, SECTION, FoundFacts
from harness.llm_utils.answer_contract import BETWEEN, numbered_contexts
from harness.protocols import Measure, Panel, PanelFigure

Kind = Literal["fact", "document"]
Share = Literal["Recall", "AllHit"]
CHARACTERS = "context_characters"
"""The metric: length of the contexts that the generator saw."""
_FIGURE = PanelFigure(
    "retrieval_at_size",
    "Evidence at equal prompt size",
    "Recall: share of a query's evidence within the first N characters of the generator's context; All: "
    "whether all of it is (null queries have no evidence)",
    along="N, characters",
)
_FOUND: dict[Kind, str] = {"fact": "evidence found", "document": "gold documents found"}
_ALL: dict[Kind, str] = {"fact": "facts are all", "document": "documents all begin"}
_PART: dict[Kind, str] = {"fact": "facts", "document": "documents that begin"}


def size_measure(level: Kind, statistic: Share, size: int, *, ranks: bool = False) -> Measure:
    """`Recall` or `AllHit` of that level within `size` characters. `ranks`: the metric that every report shows,
    and that ranks runs without answer metrics."""
    every, curve = statistic == "AllHit", "All" if statistic == "AllHit" else "Recall"
    name = f"{statistic}@{size}c"
    what = f"share of queries whose gold {_ALL[level]}" if every else f"share of the gold {_PART[level]}"
    return Measure(
        name=f"fact_{name}" if level == "fact" else name,
        summary=f"{what} within the first {size:,} characters of the generator's context",
        failure_value=0.0,
        title=_FOUND[level] if ranks else f"{'all' if every else 'recall of'} {level}s within {size:,} characters",
        section=SECTION,
        reads=READS,
        unit="%",
        binary=every,
        range=None if every else (0.0, 1.0),
        column=ranks and level == "fact",
        ranks_where_answers_cannot=ranks,
        panel=Panel(_FIGURE, f"{curve} within {size:,}", row=f"{level}s", curve=curve, at=size),
    )


def answer_measure(size: int) -> Measure:
    """The expected answer within `size` characters, for queries whose evidence nobody named."""
    return Measure(
        name=f"answer_Hit@{size}c",
        summary=f"share of queries with an expected answer, as written, within the first {size:,} characters of "
        "the generator's context: a stand-in for evidence, where the reference names none",
        failure_value=0.0,
        title="expected answer in context",
        section=SECTION,
        reads=READS,
        unit="%",
        binary=True,
        column=True,
        ranks_where_answers_cannot=True,
    )


class Seen(NamedTuple):
    texts: tuple[str, ...]
    """Of the contexts, in rank order."""
    starts: tuple[int, ...]
    """Start of each context in characters, after its number."""
    length: int
    """Total length, with numbers and separators."""


def prompt_contexts(contexts: Iterable[Context]) -> Seen:
    texts = tuple(context.text.strip() for context in contexts)
    numbered = numbered_contexts(texts)
    starts, at = [], 0
    for text, unit in zip(texts, numbered, strict=True):
        starts.append(at + len(unit) - len(text))
        at += len(unit) + len(BETWEEN)
    return Seen(texts, tuple(starts), max(at - len(BETWEEN), 0))


def facts_within(found: FoundFacts, what: Seen) -> FoundFacts:
    """The same facts, which were found in `what.texts`; the rank is replaced by the character at which the fact
    ends, counted from 1."""
    ends = (what.starts[rank - 1] + end for rank, end in zip(found.ranks, found.ends, strict=True))
    return FoundFacts(gold=found.gold, ranks=tuple(sorted(ends)), depth=what.length)


def documents_within(contexts: Sequence[Context], evidence: Iterable[Evidence], what: Seen) -> FoundFacts:
    """The gold documents; the rank is replaced by the character at which their first text begins."""
    gold = {item.doc_id for item in evidence if item.doc_id}
    begins: dict[str, int] = {}
    for context, text, start in zip(contexts, what.texts, what.starts, strict=True):
        named = {doc_id for doc_id in context.doc_ids if doc_id}
        if text and context.is_own_text and len(named) == 1:
            begins.setdefault(named.pop(), start + 1)
    places = sorted(place for doc_id, place in begins.items() if doc_id in gold)
    return FoundFacts(gold=len(gold), ranks=tuple(places), depth=what.length)
