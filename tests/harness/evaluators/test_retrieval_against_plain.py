"""Every retrieval measure against its definition written out once more, on random and on real input.

The plain versions read like the formulas and are slow. That of MultiHop-RAG's script follows its steps one by
one: it walks eleven ranks, marks what it found, and adds precisions up.
"""

import asyncio
import math
import random
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import run_record
from scoring import BareEvaluation

from harness.core.records import Context, Evidence, Prediction, Query, Reference
from harness.datasets import multihop_rag
from harness.datasets.local_files import ENV
from harness.evaluators.retrieval import SPEC, RetrievalParams
from harness.protocols import ScoringInput

PARAMS = RetrievalParams(ks=(1, 3, 4, 10), sizes=(5, 20, 60, 4000))
MEASURES = tuple(one for one in SPEC.measures(PARAMS) if not one.name.startswith("answer_"))
EVALUATOR = SPEC.build(PARAMS, BareEvaluation())
Values = dict[str, float]


def plain_documents(contexts: Sequence[Context], gold: set[str], ks: Sequence[int]) -> Values:
    ranking: list[str] = []
    for doc_id in (doc_id for context in contexts for doc_id in context.doc_ids):
        if doc_id not in ranking:
            ranking.append(doc_id)
    relevant = [doc_id in gold for doc_id in ranking]
    found: Values = {"Recall": sum(relevant) / len(gold), "AllHit": float(sum(relevant) == len(gold))}
    found["Precision"] = sum(relevant) / len(ranking) if ranking else 0.0
    found["documents_named"] = float(len(ranking))
    for k in ks:
        found |= plain_hits("", sum(relevant[:k]), len(gold), k)
    k = max(ks)
    precisions = [sum(relevant[:rank]) / rank for rank in range(1, len(ranking[:k]) + 1) if relevant[rank - 1]]
    gains = [relevant[rank - 1] / math.log2(rank + 1) for rank in range(1, len(ranking[:k]) + 1)]
    ideal = [1 / math.log2(rank + 1) for rank in range(1, min(k, len(gold)) + 1)]
    first = [1 / rank for rank in range(1, len(ranking[:k]) + 1) if relevant[rank - 1]]
    return found | {
        f"MAP@{k}": sum(precisions) / len(gold),
        f"nDCG@{k}": sum(gains) / sum(ideal),
        f"MRR@{k}": first[0] if first else 0.0,
    }


def plain_hits(prefix: str, found: int, gold: int, k: int) -> Values:
    return {
        f"{prefix}Hit@{k}": float(found > 0),
        f"{prefix}Recall@{k}": found / gold,
        f"{prefix}AllHit@{k}": float(found == gold),
    }


def plain_form(text: str) -> str:
    kept, text = "", re.sub("[\u2010\u2011\u2013\u2212]", "-", text)
    for before, char, after in zip(f" {text}", text, f"{text} "[1:], strict=False):
        is_ignored = unicodedata.category(char).startswith("P") and char != "%"
        if not char.isspace() and (not is_ignored or (before.isdecimal() and after.isdecimal())):
            kept += char
    return kept.lower()


def plain_states(text: str, fact: str) -> bool:
    """Its letters in a row, behind and before no other letter; those of two words not as one."""
    form, words = plain_form(fact), [plain_form(word) for word in fact.split()]
    between = r"[\W_]+" if len(words) == 2 else r"[\W_]*"
    spelled = between.join(r"[\W_]*".join(map(re.escape, word)) for word in words)
    return form in plain_form(text) and re.search(rf"(?<!\w){spelled}(?!\w)", text, re.I) is not None


def plain_facts(texts: Sequence[str], facts: Sequence[str], ks: Sequence[int]) -> Values:
    gold = {plain_form(fact): fact for fact in facts}.values()
    stated = [[plain_states(text, fact) for fact in gold] for text in texts]
    found: Values = {}
    for k in ks:
        found |= plain_hits("fact_", sum(map(any, zip(*stated[:k], strict=True))), len(gold), k)
    ranks = [rank for rank, row in enumerate(stated[: max(ks)], 1) if any(row)]
    return found | {f"fact_MRR@{max(ks)}": 1 / ranks[0] if ranks else 0.0}


def plain_script(texts: Sequence[str], facts: Sequence[str]) -> Values:
    bare_facts, bare_texts = ([one.replace(" ", "").replace("\n", "") for one in many] for many in (facts, texts))
    hit_4 = hit_10 = False
    first, total, seen = 0, 0.0, []
    for rank, text in enumerate(bare_texts[:11], 1):
        if rank <= 10 and any(fact in text for fact in bare_facts):
            hit_10, hit_4, first = True, hit_4 or rank <= 4, first or rank
            new = 0
            for fact in bare_facts:
                if fact in text and fact not in seen:
                    new += 1
                    seen.append(fact)
            total += new / rank
    return {
        "hits_compat@4": float(hit_4),
        "hits_compat@10": float(hit_10),
        "mrr_compat@10": 1 / first if first else 0.0,
        "map_compat@10": total / min(len(bare_facts), 10),
    }


def plain_sizes(contexts: Sequence[Context], evidence: Sequence[Evidence], sizes: Sequence[int]) -> Values:
    facts = {plain_form(one.fact): one.fact for one in evidence}.values()
    gold = {one.doc_id for one in evidence}
    found: Values = {}
    for size in sizes:
        said, begun, at = set(), set(), 0
        for rank, context in enumerate(contexts, 1):
            at += len(f"[{rank}] ")
            left = context.text.strip()[: max(size - at, 0)]
            said |= {fact for fact in facts if plain_states(left, fact) and plain_states(context.text, fact)}
            begun |= set(context.doc_ids) if left and len(set(context.doc_ids)) == 1 else set()
            at += len(context.text.strip()) + len("\n\n")
        found[f"fact_Recall@{size}c"] = len(said) / len(facts)
        found[f"fact_AllHit@{size}c"] = float(said == set(facts))
        found[f"Recall@{size}c"] = len(begun & gold) / len(gold)
        found[f"AllHit@{size}c"] = float(gold <= begun)
    shown = "\n\n".join(f"[{rank}] {context.text.strip()}" for rank, context in enumerate(contexts, 1))
    return found | {"context_characters": float(len(shown)), "contexts_shown": float(len(contexts))}


def plain(case: ScoringInput) -> Values:
    contexts, evidence = case.prediction.contexts, case.reference.evidence
    texts, facts = [one.text for one in contexts], [one.fact for one in evidence]
    documents = plain_documents(contexts, {one.doc_id for one in evidence}, PARAMS.ks)
    sizes = plain_sizes(contexts, evidence, PARAMS.sizes)
    return documents | plain_facts(texts, facts, PARAMS.ks) | plain_script(texts, facts) | sizes


def make_case(number: int, contexts: Sequence[Context], evidence: Sequence[Evidence]) -> ScoringInput:
    query_id = f"q{number}"
    record = run_record(query_id, Prediction(answer=None, contexts=tuple(contexts)))
    reference = Reference(query_id=query_id, query_type="x", answers=("x",), evidence=tuple(evidence))
    return ScoringInput(Query(query_id=query_id, text="?"), reference, record, MEASURES)


def scored(cases: Sequence[ScoringInput]) -> Mapping[str, Values]:
    found: dict[str, Values] = {case.query.query_id: {} for case in cases}
    for score in asyncio.run(EVALUATOR.evaluate(cases)):
        assert score.value is not None
        found[score.query_id][score.measure] = score.value
    return found


def assert_equal(cases: Sequence[ScoringInput]) -> None:
    found = scored(cases)
    for case in cases:
        assert found[case.query.query_id] == pytest.approx(plain(case), abs=1e-12)


DOC_IDS = [f"d{number}" for number in range(15)]
FACTS = ["a", "ab", "a b", "a\nb", "b\ta", "ba", "A", "\u00a0a", "aa", "bb", "abab", "B b", "aaa", "bab", "abb"]
TEXTS = ["", " ", "a", "ab", "b\na", "b\ta", "aabb", "A B", "\u00a0", "abab ba", "nothing"]
CONTEXTS = st.builds(
    Context,
    text=st.sampled_from(TEXTS),
    doc_ids=st.lists(st.sampled_from(DOC_IDS), min_size=1, max_size=2).map(tuple),
)
EVIDENCE = st.builds(Evidence, doc_id=st.sampled_from(DOC_IDS), fact=st.sampled_from(FACTS))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(CONTEXTS, max_size=13), st.lists(EVIDENCE, min_size=1, max_size=12))
def test_every_measure_equals_its_plain_definition(contexts: list[Context], evidence: list[Evidence]) -> None:
    assert_equal([make_case(0, contexts, evidence)])


def real_cases(data_dir: Path, n: int) -> list[ScoringInput]:
    """The first n queries with evidence, each with chunks of cited and of other articles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENV, str(data_dir))
        raw = multihop_rag.SPEC.load("default")
    chunks = {
        one.doc_id: [passage(one.doc_id, one.text[at : at + 1200]) for at in range(0, len(one.text), 1100)]
        for one in raw.documents
    }
    rng, ids, cases = random.Random(5), sorted(chunks), []
    for number, row in enumerate([row for row in raw.rows if row.reference.evidence][:n]):
        pool = [context for doc_id in (*row.doc_ids, *rng.sample(ids, 2)) for context in chunks[doc_id]]
        cases.append(make_case(number, rng.sample(pool, min(len(pool), 12)), row.reference.evidence))
    return cases


def passage(doc_id: str, text: str) -> Context:
    return Context(text=text, doc_ids=(doc_id,))


@pytest.mark.slow
def test_every_measure_equals_its_plain_definition_on_real_facts(data_dir: Path) -> None:
    cases = real_cases(data_dir, 60)
    assert_equal(cases)
    found = [values["fact_Recall@10"] for values in scored(cases).values()]
    assert min(found) == 0 < sum(0 < value < 1 for value in found)
    assert max(found) == 1
