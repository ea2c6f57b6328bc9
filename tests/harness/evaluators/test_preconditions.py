"""To which queries the metrics of evaluators apply, and the scores that need neither a judge nor a comparison."""

import pytest
from judges import WordEmbedder
from runtimes import Asked, Chat
from scoring import BareEvaluation, build_scorer, passages, score_one

from harness.core.records import Prediction
from harness.evaluators.run_scoring import Scorer
from harness.registry import EVALUATORS

DECLARED = [
    ("kg", "kg_multi_hop_context_relevancy", "question contexts", "answerable"),
    ("kg", "kg_multi_hop_answer_relevancy", "question answer", "all"),
    ("kg", "kg_multi_hop_faithfulness", "answer contexts", "all"),
    ("kg", "kg_multi_hop_factual_correctness", "answer reference", "answerable"),
    ("kg_nlp", "kg_nlp_direct_faithfulness", "answer contexts", "all"),
    ("triplet", "triplet_response_relevancy", "question contexts", "answerable"),
    ("triplet", "triplet_faithfulness", "answer contexts", "all"),
    ("triplet", "triplet_faithfulness_cosine", "answer contexts", "all"),
    ("triplet", "triplet_factual_correctness", "question answer reference", "answerable"),
    ("triplet", "triplet_factual_correctness_cosine", "answer reference", "answerable"),
    ("rag_eval", "rag_eval_confidence", "question answer contexts", "all"),
    ("g_eval", "g_eval_fluency", "answer contexts", "all"),
    ("ragas", "ragas_context_precision_no_reference", "question answer contexts", "answerable"),
    ("ragas", "ragas_context_precision", "question reference contexts", "answerable"),
    ("ragas", "ragas_context_recall", "question reference contexts", "answerable"),
    ("ragas", "ragas_faithfulness", "question answer contexts", "all"),
    ("ragas", "ragas_factual_correctness", "answer reference", "answerable"),
    ("ragas", "ragas_response_relevancy", "question answer", "all"),
    ("ragas", "ragas_context_relevance", "question contexts", "answerable"),
    ("cosine", "cosine_answer_reference", "answer reference", "worded"),
    ("cosine", "cosine_answer_contexts", "answer contexts", "answerable"),
    ("cosine", "cosine_contexts_question", "contexts question", "answerable"),
    ("novel_tokens", "novel_token_f1", "question answer reference", "worded"),
    ("rouge", "rouge_l", "answer reference", "answerable"),
    ("support", "support_words", "answer contexts", "answerable"),
    ("answer", "hallucination_rate", "answer reference", "null"),
    ("answer", "false_abstention_rate", "answer reference", "answerable"),
]


@pytest.mark.parametrize(("evaluator", "name", "reads", "queries"), DECLARED, ids=[row[1] for row in DECLARED])
def test_a_metric_declares_what_it_reads_and_to_which_queries_it_applies(
    evaluator: str, name: str, reads: str, queries: str
) -> None:
    spec = EVALUATORS.load(evaluator)
    (measure,) = (one for one in spec.measures(spec.params()) if one.name == name)
    assert sorted(measure.reads) == sorted(reads.split())
    assert measure.queries == queries


def refuse(_asked: Asked) -> str:
    raise AssertionError("the judge was asked")


@pytest.mark.parametrize("name", ["cosine", "g_eval", "kg", "novel_tokens", "rag_eval", "rouge", "support"])
@pytest.mark.parametrize(
    ("answer", "context", "side", "status", "reason"),
    [
        (" \n\u200b", "text", "answer", "scored", "the answer is empty"),
        ("Ann did.", " ", "contexts", "scored", "no contexts were retrieved"),
        ("Insufficient information.", "text", "answer", "not_applicable", "the answer abstains"),
    ],
)
def test_an_empty_text_has_the_worst_value_and_an_abstention_none_without_a_judge(
    name: str, answer: str, context: str, side: str, status: str, reason: str
) -> None:
    whole = build_scorer(EVALUATORS.load(name), None, BareEvaluation(Chat(refuse), WordEmbedder()))
    scorer = Scorer(name, tuple(one for one in whole.measures if side in one.reads), whole.evaluator)
    found = score_one(scorer, Prediction(answer=answer, contexts=passages(context)), answers=["Ann Smith"])
    assert {(one.status, one.explanation) for one in found.values()} <= {(status, reason)}
    worst = {one.name: one.failure_value if status == "scored" else None for one in scorer.measures}
    assert {measure: one.value for measure, one in found.items()} == worst
