"""Did the system retrieve the evidence? By document, by fact, and as in MultiHop-RAG's script. No model call.

*Document*: the ranking is the distinct documents that the contexts name (`doc_ids`), in rank order, so triplets
and summaries are scored by their sources. k counts documents. `Recall` and `AllHit` have no cutoff and grow with
the number of named documents: a summary that names every document gets 1.0 in both. Read them together with
`Precision` and `documents_named`.

*Fact*: a gold fact is found in a context whose text contains it, ignoring case, white space and punctuation, but
not inside a longer word or number. k counts contexts. A paraphrase (a summary, a triplet) does not contain the
fact, and a fact that a chunk border cuts is not found.

*Equal prompt size*: facts and documents within the first N characters of the generator's context
(`harness.evaluators.gold_ranks`). *Evidence found* is the recall of facts within `evidence_within` characters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field, field_validator

from harness.core.errors import need
from harness.core.records import Reference, Score
from harness.evaluators.answer_normalisation import is_verdict
from harness.evaluators.gold_ranks import (
    CHARACTERS,
    COMPAT_MEASURES,
    READS,
    SECTION,
    Cut,
    FactFinder,
    FoundFacts,
    Kind,
    Share,
    Statistic,
    answer_measure,
    documents_within,
    facts_within,
    find_as_script,
    find_documents,
    ir_values,
    prompt_contexts,
    size_measure,
    why_passage,
    without_punctuation,
)
from harness.evaluators.run_scoring import NAMES_EVIDENCE, NO_CONTEXTS
from harness.evaluators.score_preconditions import CaseEvaluator, is_null, stated_answers
from harness.evaluators.scores import not_applicable, scored
from harness.protocols import (
    EvaluationRuntime,
    EvaluatorSpec,
    Measure,
    Panel,
    PanelFigure,
    Params,
    RunFacts,
    ScoringInput,
)

Level = Literal["document", "fact", "compat", "document_within", "fact_within", "answer_within"]
_BY_DOCUMENT: frozenset[Level] = frozenset({"document", "document_within"})
_EVERY_K: tuple[Statistic, ...] = ("Hit", "Recall", "AllHit")
_LARGEST_K: dict[Level, tuple[Statistic, ...]] = {"document": ("MRR", "MAP", "nDCG"), "fact": ("MRR",)}
_BINARY: tuple[Statistic, ...] = ("Hit", "AllHit")
_AT_K = PanelFigure(
    "retrieval_at_k",
    "Evidence among the first k",
    "Evidence among the first k retrieved: Hit: any of it; AllHit: all of it; Recall: the share of it (null "
    "queries have no evidence)",
    along="k",
)
_RANKING = PanelFigure("retrieval_ranking", "Rank of the evidence", "Rank of the evidence in the retrieval")
_NO_CUTOFF = (Cut("Recall", None), Cut("AllHit", None), Cut("Precision", None))
_NAMED = Measure(
    name="documents_named",
    summary="number of documents that the contexts name",
    failure_value=None,
    title="documents named",
    section=SECTION,
    reads=READS,
    higher_is_better=False,
    range=(0.0, math.inf),
)
_SHOWN = replace(
    _NAMED,
    name="contexts_shown",
    summary="number of contexts that the generator saw",
    title="contexts shown",
    reads=frozenset({"contexts"}),
)
_CHARACTERS = replace(
    _SHOWN,
    name=CHARACTERS,
    summary="length of the contexts that the generator saw, in characters",
    title="characters of contexts",
)
_SHORTEST_ANSWER = 4
"""Characters; shorter answers are in many texts by chance."""
_SUMMARIES: dict[Statistic, str] = {
    "Hit": "share of queries with a gold {gold} in {ranks}",
    "Recall": "share of the gold {gold}s in {ranks}",
    "AllHit": "share of queries with every gold {gold} in {ranks}",
    "Precision": "share of {ranks} that are gold",
    "MRR": "1/rank of the first gold {gold} in {ranks}",
    "MAP": "average precision over the gold {gold}s in {ranks}",
    "nDCG": "discounted gain of the gold {gold}s in {ranks}, relative to the best order",
}


class RetrievalParams(Params):
    """Cutoffs of rankings, and the minimum length of a fact."""

    ks: tuple[Annotated[int, Field(ge=1, le=1000)], ...] = Field((1, 4, 10), min_length=1)
    """Hit, Recall and AllHit are taken at each, MRR, MAP and nDCG at the largest."""
    longest_fact: int = Field(1000, ge=1)
    """Characters. A longer fact is a passage or a whole document (rag_12000, some of uda_qa) that no chunk
    can contain: fact metrics and compat do not apply to its query."""
    sizes: tuple[Annotated[int, Field(ge=1)], ...] = (1000, 2000, 4000, 8000, 16000)
    """Sizes of context, in characters, within which recall is computed; empty: none."""

    evidence_within: int = Field(4000, ge=1)
    """Characters within which a fact counts as found in the leaderboard; one of `sizes`, or added to them."""

    @field_validator("ks", "sizes")
    @classmethod
    def _distinct(cls, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(cutoffs)) != len(cutoffs):
            raise ValueError("a cutoff is listed twice")
        return tuple(sorted(cutoffs))


@dataclass(frozen=True)
class Rule:
    measure: Measure
    level: Level
    cut: Cut


def rules(params: RetrievalParams) -> tuple[Rule, ...]:
    """The metrics for these parameters, in the order of the table."""
    shown = params.evidence_within
    sizes = sorted({*params.sizes, shown}) if params.sizes else []
    # Facts before documents, which count as found if any part is. AllHit before Recall: a question over two
    # documents needs both.
    levels: dict[Kind, Level] = {"fact": "fact_within", "document": "document_within"}
    shares: tuple[Share, ...] = ("AllHit", "Recall")
    within = [
        Rule(size_measure(level, share, size, ranks=share == "Recall" and size == shown), place, Cut(share, size))
        for level, place in levels.items()
        for share in shares
        for size in sizes
    ]
    if sizes:
        within.append(Rule(answer_measure(shown), "answer_within", Cut("Hit", shown)))
    return (
        *(_rule("document", cut) for cut in (*_cuts("document", params.ks), *_NO_CUTOFF)),
        Rule(_NAMED, "document", Cut("Depth", None)),
        *(_rule("fact", cut) for cut in _cuts("fact", params.ks)),
        *within,
        Rule(_CHARACTERS, "fact_within", Cut("Depth", None)),
        Rule(_SHOWN, "fact", Cut("Depth", None)),
        *(Rule(measure, "compat", cut) for measure, cut in COMPAT_MEASURES.items()),
    )


def _cuts(level: Level, ks: Sequence[int]) -> list[Cut]:
    """The largest k first: if only a few fit, those are shown."""
    largest, *others = sorted(ks, reverse=True)
    main = [Cut(statistic, largest) for statistic in (*_EVERY_K, *_LARGEST_K[level])]
    return main + [Cut(statistic, k) for k in others for statistic in _EVERY_K]


def _rule(level: Level, cut: Cut) -> Rule:
    ranked = "documents" if level == "document" else "contexts"
    ranks = f"all retrieved {ranked}" if cut.k is None else f"the first {cut.k} {ranked}"
    binary = cut.statistic in _BINARY
    grows = cut in _NO_CUTOFF and cut.statistic != "Precision"
    summary = _SUMMARIES[cut.statistic].format(gold=level, ranks=ranks)
    if grows:
        summary += ", which grows with the number of named documents: see documents_named"
    panel = None
    if cut.statistic in _EVERY_K and cut.k is not None:
        panel = Panel(_AT_K, cut.name, row=f"{level}s", curve=f"{cut.statistic}@k", at=cut.k)
    elif cut.k is not None:
        panel = Panel(_RANKING, cut.name, row=f"{level}s")
    measure = Measure(
        name=cut.name if level == "document" else f"{level}_{cut.name}",
        summary=summary,
        failure_value=0.0,
        title=f"{cut.name} of {'all named ' if grows else ''}{level}s",
        section=SECTION,
        reads=READS,
        unit="%" if binary or cut.statistic in {"Recall", "Precision"} else "",
        binary=binary,
        range=None if binary else (0.0, 1.0),
        panel=panel,
    )
    return Rule(measure, level, cut)


class RetrievalEvaluator(CaseEvaluator):
    def __init__(self, params: RetrievalParams, _runtime: EvaluationRuntime) -> None:
        need("evaluator-retrieval", "ir_measures")
        self._longest_fact = params.longest_fact
        self._rules = {rule.measure.name: rule for rule in rules(params)}
        self._largest_k = max(params.ks)

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        """No contexts or no texts of them, or no gold of the measure's level: null queries have none."""
        level = self._rules[measure.name].level
        if not run.has_contexts and not (run.names_alone and level == "document"):
            return NO_CONTEXTS
        if not run.names_documents and level in _BY_DOCUMENT:
            return "no context names a document"
        return "" if measure in {_CHARACTERS, _SHOWN} else self._without_gold(reference, level)

    def _without_gold(self, reference: Reference, level: Level) -> str:
        if level == "answer_within":
            if reference.evidence:
                return NAMES_EVIDENCE
            return "" if self._findable(reference) else "no expected answer that can be found in a text"
        if not reference.evidence:
            return "the reference names no evidence"
        if level in _BY_DOCUMENT:
            return "" if any(item.doc_id for item in reference.evidence) else "the evidence names no document"
        facts = _facts(reference)
        return why_passage(facts, self._longest_fact) if any(facts) else "the evidence states no fact"

    def _findable(self, reference: Reference) -> list[str]:
        """The expected answers that a text can contain: no verdicts or abstentions, and none too short."""
        if is_null(reference):
            return []
        written = [answer for answer in stated_answers(reference) if not is_verdict(answer)]
        return [one for one in written if _SHORTEST_ANSWER <= len(without_punctuation(one)) <= self._longest_fact]

    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        documents = [find_documents(case.prediction.contexts, case.reference.evidence) for case in cases]
        by_ir = ir_values(documents, self._largest_k)
        facts = FactFinder()
        scores: list[Score] = []
        for case, found, values in zip(cases, documents, by_ir, strict=True):
            contexts, gold = case.prediction.contexts, _facts(case.reference)
            what = prompt_contexts(contexts)
            by_fact = facts.find(gold, what.texts)
            expected = [] if gold else self._findable(case.reference)
            levels: dict[Level, FoundFacts] = {
                "document": found,
                "fact": by_fact,
                "compat": find_as_script(gold, [context.text for context in contexts]),
                "document_within": documents_within(contexts, case.reference.evidence, what),
                "fact_within": facts_within(by_fact, what),
                "answer_within": facts_within(facts.find(expected, what.texts), what),
            }
            scores += [self._score(case, measure, levels, values) for measure in case.measures]
        return scores

    def _score(
        self, case: ScoringInput, measure: Measure, levels: Mapping[Level, FoundFacts], by_ir: Mapping[Cut, float]
    ) -> Score:
        rule = self._rules[measure.name]
        found, cut = levels[rule.level], rule.cut
        document = rule.level in _BY_DOCUMENT
        if document and case.prediction.contexts and not levels["document"].depth:
            return not_applicable(case, measure, "no context names a document")
        value = by_ir[cut] if cut in by_ir else found.value(cut)
        return scored(case, measure, value, _explained(rule, found, "document" if document else "fact"))


def _explained(rule: Rule, found: FoundFacts, noun: str) -> str:
    if rule.measure in {_CHARACTERS, _SHOWN}:
        return ""
    if rule.level == "answer_within":
        return f"first at character {found.ranks[0]:,}" if found.ranks else "in no context"
    if rule.level in {"document_within", "fact_within"}:
        return found.explain(noun, rule.cut.k, by_character=True)
    if rule.cut.statistic in {"Precision", "Depth"}:
        return f"{len(found.ranks)} gold of {found.depth:,} {noun}s named"
    return found.explain(noun, rule.cut.k)


def _facts(reference: Reference) -> list[str]:
    """The non-blank facts, with repetitions."""
    return [item.fact for item in reference.evidence if item.fact.strip()]


SPEC = EvaluatorSpec(
    name="retrieval",
    version="8",
    summary="retrieval of the evidence, by document and by fact (no model call)",
    params=RetrievalParams,
    measures=lambda params: tuple(rule.measure for rule in rules(params)),
    build=RetrievalEvaluator,
    preflight=lambda _params: need("evaluator-retrieval", "ir_measures"),
)
