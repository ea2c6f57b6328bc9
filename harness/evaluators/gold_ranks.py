"""Ranks of the gold evidence in retrieved contexts, and metrics of them; ir_measures computes MAP and nDCG.

Metrics with `compat` in their name are computed as MultiHop-RAG's script does (Tang and Yang 2024,
`retrieval_evaluate.py`), for comparison with published tables:

- Only spaces and line feeds are removed before a fact is searched; other white space counts.
- `hits_compat@k` is 1 if *any* fact is in the first k contexts: a hit, not the share of facts found.
- `map_compat@10` is not average precision: each fact found in the first 10 contexts adds 1/rank of the first
  context that contains it, and the sum is divided by min(facts, 10). Two facts at ranks 1 and 2 give 0.75, where
  average precision is 1. Two facts in one context at rank 1 give 1. With more than ten facts it can exceed 1.
- A fact that the reference states twice counts twice in the divisor and once when found.

Null queries are left out, as in the script.

Metrics with a size (`Recall@4000c`) count evidence within the first N characters of the generator's context:
retrieval at equal prompt size. The text is the contexts in rank order, numbered and separated as in the answer
prompt (`harness.llm_utils.answer_contract.numbered_contexts`). Text that a system's other calls read, such as the
reports of a map step, is not included. The unit is characters, because they are the same for every model.

- A *fact* is within N if all of it is: in the first context that contains it (as `FactFinder` finds it), it ends
  before character N. A fact that N cuts is not found.
- A *document* is within N if a passage or sentence of it begins there: a context of that kind that names this
  document and no other. Contexts that only name documents (a summary, a triplet) do not show their text.
"""

from __future__ import annotations

import functools
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from harness.core.records import Context, Evidence
from harness.core.scripts import is_whole
from harness.llm_utils.answer_contract import BETWEEN, numbered_contexts
from harness.protocols import Measure, Panel, PanelFigure, Sides

Statistic = Literal["Hit", "Recall", "AllHit", "Precision", "Depth", "MRR", "MAP", "nDCG", "MAP_compat"]
"""`Depth`: number of ranks."""


class Cut(NamedTuple):
    statistic: Statistic
    k: int | None
    """None: of all ranks."""

    @property
    def name(self) -> str:
        return self.statistic if self.k is None else f"{self.statistic}@{self.k}"


SECTION = "Retrieval"
READS: Sides = frozenset({"contexts", "reference"})
COMPAT_MEASURES = {
    Measure(
        name=name,
        summary=f"{summary}, as MultiHop-RAG's script computes it",
        failure_value=0.0,
        section=SECTION,
        reads=READS,
        binary=most is None,
        range=None if most is None else (0.0, most),
    ): cut
    for name, cut, most, summary in (
        ("hits_compat@4", Cut("Hit", 4), None, "share of queries with a gold fact in the first 4 contexts"),
        ("hits_compat@10", Cut("Hit", 10), None, "share of queries with a gold fact in the first 10 contexts"),
        ("mrr_compat@10", Cut("MRR", 10), 1.0, "1/rank of the first of 10 contexts with a gold fact"),
        (
            "map_compat@10",
            Cut("MAP_compat", 10),
            math.inf,
            "sum of 1/rank over the gold facts found in 10 contexts, by their number",
        ),
    )
}


@dataclass(frozen=True)
class FoundFacts:
    """The ranks of the gold items of one query in one ranking."""

    gold: int
    """Number of gold items."""
    ranks: tuple[int, ...]
    """The first rank, from 1, of each item that was found, ascending; two facts can share one."""
    depth: int
    """Number of ranks."""
    ends: tuple[int, ...] = ()
    """For items that are texts, in the order of `ranks`: the character, from 1, at which each ends in its text."""

    def within(self, k: int | None) -> int:
        return len(self.ranks) if k is None else sum(rank <= k for rank in self.ranks)

    def value(self, cut: Cut) -> float:
        """A statistic that follows from these ranks; `ir_values` computes MAP and nDCG."""
        return _VALUES[cut.statistic](self, cut.k)

    def explain(self, noun: str, k: int | None, *, by_character: bool = False) -> str:
        """Such as "2 of 3 gold documents in the first 10 (there are 4); first at 4"."""
        where = "" if k is None else f" in the first {k}"
        if by_character:
            where = f" within the first {k or self.depth:,} of {self.depth:,} characters"
        elif k is not None and self.depth < k:
            where = f"{where} (there {'is' if self.depth == 1 else 'are'} {self.depth:,})"
        first = f"; first at {self.ranks[0]:{',' if by_character else ''}}" if self.ranks else ""
        return f"{self.within(k)} of {self.gold} gold {noun}s{where}{first}"


def _map_compat(found: FoundFacts, k: int | None) -> float:
    within = found.ranks[: found.within(k)]
    return sum(1 / rank for rank in within) / min(found.gold, k or found.gold)


_VALUES: dict[Statistic, Callable[[FoundFacts, int | None], float]] = {
    "Hit": lambda found, k: float(found.within(k) > 0),
    "Recall": lambda found, k: found.within(k) / found.gold,
    "AllHit": lambda found, k: float(found.within(k) == found.gold),
    "Precision": lambda found, k: found.within(k) / found.depth if found.depth else 0.0,
    "Depth": lambda found, _: float(found.depth),
    "MRR": lambda found, k: 1 / found.ranks[0] if found.within(k) else 0.0,
    "MAP_compat": _map_compat,
}


def find_documents(contexts: Iterable[Context], evidence: Iterable[Evidence]) -> FoundFacts:
    """The gold documents that the contexts name, each at its first rank; those of one context in its own order."""
    named = dict.fromkeys(doc_id for context in contexts for doc_id in context.doc_ids if doc_id)
    gold = {item.doc_id for item in evidence if item.doc_id}
    ranks = tuple(rank for rank, doc_id in enumerate(named, start=1) if doc_id in gold)
    return FoundFacts(gold=len(gold), ranks=ranks, depth=len(named))


class FactFinder:
    """Finds facts in texts by their forms `without_punctuation`, which are cached.

    A fact is not found inside a longer word or number (`is_whole`), nor one of two words where the text has a
    single one: "the rapist" is not in "therapist".
    """

    def __init__(self) -> None:
        self.squeezed = functools.lru_cache(maxsize=100_000)(without_punctuation)
        self._places = functools.lru_cache(maxsize=64)(_places)

    def find(self, facts: Iterable[str], texts: Sequence[str]) -> FoundFacts:
        distinct = {self.squeezed(fact): fact for fact in facts}
        found: list[tuple[int, int]] = []
        for fact in distinct.values():
            ends = ((rank, self.end_of(fact, text)) for rank, text in enumerate(texts, start=1))
            found += [first] if (first := next((one for one in ends if one[1]), None)) else []
        ranks, at = tuple(rank for rank, _ in sorted(found)), tuple(end for _, end in sorted(found))
        return FoundFacts(gold=len(distinct), ranks=ranks, depth=len(texts), ends=at)

    def end_of(self, fact: str, text: str) -> int:
        """The character, from 1, at which the fact ends for the first time in the text; 0 if it is not there."""
        wanted, squeezed = self.squeezed(fact), self.squeezed(text)
        at = squeezed.find(wanted) if wanted else -1
        while at >= 0:
            places = self._places(text)[at : at + len(wanted)]
            start, end = places[0], places[-1] + 1
            is_signed = wanted[0] != "-" or _SIGN.match(text, start)
            if is_signed and is_whole(text, start, end) and not self._is_one_word(fact, text, places):
                return end
            at = squeezed.find(wanted, at + 1)
        return 0

    def _is_one_word(self, fact: str, text: str, places: Sequence[int]) -> bool:
        """Whether the fact has two words and the text, at these places, one: letters without a capital inside."""
        words = [word for word in map(self.squeezed, fact.split()) if word]
        if len(words) != 2:
            return False
        end, start = places[len(words[0]) - 1 : len(words[0]) + 1]
        last, first = text[end], text[start]
        is_seen = start > end + 1 or is_whole(text, start, len(text)) or (last.islower() and first.isupper())
        return last.isalpha() and first.isalpha() and not is_seen


def find_as_script(facts: Sequence[str], texts: Sequence[str]) -> FoundFacts:
    """The facts that MultiHop-RAG's script finds: also inside words."""

    def bare(text: str) -> str:
        return text.replace(" ", "").replace("\n", "")

    distinct, searched = dict.fromkeys(map(bare, facts)), list(map(bare, texts))
    firsts = (
        next((rank for rank, text in enumerate(searched, start=1) if fact and fact in text), 0)
        for fact in distinct
    )
    return FoundFacts(gold=len(facts), ranks=tuple(sorted(filter(None, firsts))), depth=len(texts))


def without_punctuation(text: str) -> str:
    """The text in lower case without white space and punctuation, which chunking, headings, PDF extraction and
    the sentence splitters of other tools change. Between digits punctuation stays: 3.5 is not 35. So does a sign
    or point in front of a number: -5 is not 5, and .5 neither.
    """
    return _ignored().sub("", text).lower().translate(_MINUS)


def _places(text: str) -> list[int]:
    """The place in the text of each character of its form `without_punctuation`."""
    ignored = {found.start() for found in _ignored().finditer(text)}
    return [place for place, char in enumerate(text) if place not in ignored for _ in char.lower()]


_DASHES = "\u2010\u2011\u2013\u2212\ufe63\uff0d"
_MINUS = str.maketrans(dict.fromkeys(_DASHES, "-"))
_SIGN = re.compile(rf"(?<![\w.)\]])[{_DASHES}-]")


@functools.cache
def _ignored() -> re.Pattern[str]:
    every = (chr(code) for code in range(sys.maxunicode + 1))
    # A percent sign says something, although Unicode counts it among the punctuation.
    punctuation = "".join(char for char in every if unicodedata.category(char)[0] == "P" and char != "%")
    dropped = f"[{re.escape(punctuation)}]"
    leads = rf"{_SIGN.pattern}(?=[$\u00a3\u20ac\u00a5]?\.?\d)|(?<![\w.)\]])\.(?=\d)"
    return re.compile(rf"\s|(?!{leads})(?:(?<!\d){dropped}|{dropped}(?!\d))")


def why_passage(facts: Iterable[str], most: int) -> str:
    """Why no sentence or chunk can contain these gold facts: one exceeds `most` characters; or empty."""
    longest = max(map(len, facts), default=0)
    return f"a gold fact of {longest:,} characters: more than {most:,} is a passage" if longest > most else ""


def ir_values(rankings: Sequence[FoundFacts], k: int) -> list[dict[Cut, float]]:
    """MAP and nDCG at k of each ranking, by ir_measures, all queries at once; {} for one without gold.

    Binary relevance. AP divides by all gold items, however small k is; nDCG has the gain 1, the discount
    1/log2(rank + 1) and the best order of the first k as its ideal.
    """
    import ir_measures as ir

    measures = {ir.AP @ k: Cut("MAP", k), ir.nDCG @ k: Cut("nDCG", k)}
    relevant, run = {}, {}
    for number, found in enumerate(rankings):
        if found.gold:
            missed = (f"missed {one}" for one in range(found.gold - len(found.ranks)))
            relevant[str(number)] = dict.fromkeys([*map(str, found.ranks), *missed], 1)
            # Ranks instead of document ids, which may contain anything; scores without ties.
            run[str(number)] = {str(rank): -float(rank) for rank in range(1, found.depth + 1)}
    values: list[dict[Cut, float]] = [{} for _ in rankings]
    # By name, because ir_measures would take the first provider that happens to be installed.
    for metric in ir.pytrec_eval.iter_calc(list(measures), relevant, run):
        values[int(metric.query_id)][measures[metric.measure]] = float(metric.value)
    return values


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
