"""The evaluators `kg` and `kg_nlp`: scripted triplets, and the real parser."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from judges import WordEmbedder, quoted_in
from runtimes import Asked, Chat
from scoring import BareEvaluation, answered, build_scorer, passages, reference, score_all, score_one

from harness.core import errors
from harness.core.errors import MissingDependency
from harness.core.records import Context, Prediction, Score, Triplet
from harness.evaluators.kg.evaluator import NLP_SPEC, SPEC
from harness.evaluators.kg.measures import KgParams
from harness.protocols import EvaluatorSpec

Triplets = list[tuple[str, str, str]]
Scores = Mapping[str, Score]

QUESTION = "Who is the chief executive of Acme?"
ANSWER = "Ann Smith leads Acme."
PASSAGES = ("Ann Smith runs Acme Corp.", "Bob cooks soup.")
REFERENCE = "Bob leads Acme."
STATED: Mapping[str, Triplets] = {
    QUESTION: [("Acme", "is led by", "chief executive")],
    ANSWER: [("Ann Smith", "leads", "Acme")],
    PASSAGES[0]: [("Ann Smith", "runs", "Acme Corp")],
    PASSAGES[1]: [("Bob", "cooks", "soup")],
    REFERENCE: [("Bob", "leads", "Acme")],
}
PAIRS = {"context_relevancy", "answer_relevancy", "faithfulness", "factual_correctness"}


def judge(stated: Mapping[str, Triplets] = STATED) -> Chat:
    """Lists the triplets of the text that it is shown."""
    return Chat(lambda asked: json.dumps({"triplets": stated.get(text_of(asked), [])}))


def text_of(asked: Asked) -> str:
    return quoted_in(asked.text, "text")


def score(
    answer: str | None,
    *texts: str,
    spec: EvaluatorSpec = SPEC,
    chat: Any = None,
    embedder: Any = None,
    params: KgParams | None = None,
) -> Scores:
    """The scores of QUESTION by measure."""
    runtime = BareEvaluation(chat or judge(), embedder or WordEmbedder())
    said = Prediction(answer=answer, contexts=passages(*texts))
    return score_one(spec, said, question=QUESTION, answers=(REFERENCE,), params=params, runtime=runtime)


def test_each_pair_as_counted_by_hand_and_explained() -> None:
    expected = {
        # `chief executive` is only the end of a triplet: nothing leads on from there, unless read backwards.
        # Acme is as near to Acme Corp as 1/sqrt(2), which costs 0.29, and 0.49 from there.
        "context_relevancy": (0.5, 1.0, 0.5, 1),
        "answer_relevancy": (0.5, 1.0, 0.5, 1),
        "faithfulness": (1.0, 1.0, 1.0, 1),
        # Ann Smith is not in the reference, but leads to Acme, which is.
        "factual_correctness": (1.0, 1.0, 0.5, 1),
    }
    scores = score(ANSWER, *PASSAGES)
    for pair, values in expected.items():
        kinds = ("multi_hop", "multi_hop_undirected", "direct", "measurable")
        assert tuple(scores[f"kg_{kind}_{pair}"].value for kind in kinds) == values, pair
    names = ("multi_hop", "direct", "measurable")
    assert {name: scores[f"kg_{name}_context_relevancy"].explanation for name in names} == {
        "multi_hop": "1 of 2 entities reach a context entity within 0.5; not: chief executive",
        "direct": "1 of 2 entities are similar to a context entity; not: chief executive",
        "measurable": "triplets: 1 of the question, 2 of the contexts",
    }


def test_parameters_choose_measures_and_constants() -> None:
    params = KgParams(pairs=("context_relevancy",), scores=("multi_hop_undirected", "direct"), delta=0.4, tau=0.8)
    found = {name: one.value for name, one in score(ANSWER, *PASSAGES, params=params).items()}
    assert found == {
        "kg_multi_hop_undirected_context_relevancy": 0.0,
        "kg_direct_context_relevancy": 0.0,
    }
    reached = score(ANSWER, *PASSAGES, params=KgParams(delta=0.4))["kg_multi_hop_undirected_context_relevancy"]
    assert reached.value == 0.5


@pytest.mark.parametrize(("tau", "near"), [(0.66, 1.0), (0.68, 0.0)])
def test_whole_triplets_are_compared_where_the_parameters_say_so(tau: float, near: float) -> None:
    # "Ann Smith leads Acme" and "Ann Smith runs Acme Corp" share 3 words: a cosine of 3 / sqrt(4 * 5).
    params = KgParams(pairs=("faithfulness",), scores=("triplet_similarity",), tau=tau)
    (found,) = score(ANSWER, *PASSAGES, params=params).values()
    assert (found.value, found.explanation) == (near, f"{near:g} of 1 triplets are near one there")
    assert score("Acme", *PASSAGES, params=params)[found.measure].status == "not_applicable"


def test_measures_come_by_pair_and_then_by_score_and_the_parsed_ones_name_their_twins() -> None:
    names = [measure.name for measure in SPEC.measures(KgParams())]
    assert len(set(names)) == 36
    assert names[:2] == ["kg_multi_hop_context_relevancy", "kg_multi_hop_undirected_context_relevancy"]
    assert names[5:7] == ["kg_measurable_context_relevancy", "kg_multi_hop_context_relevancy_published"]
    alone = {name for name in names if "measurable" in name or name.endswith("_published")}
    twins = [measure.twin_of for measure in NLP_SPEC.measures(KgParams())]
    assert twins == ["" if name in alone else name for name in names]


def test_a_side_without_triplets_is_not_applicable_and_zero_as_published() -> None:
    embedder = WordEmbedder()
    params = KgParams(pairs=("context_relevancy", "faithfulness"))
    scores = score(ANSWER, *PASSAGES, chat=judge({ANSWER: STATED[ANSWER]}), embedder=embedder, params=params)

    pair = {name: one for name, one in scores.items() if "faithfulness" in name}
    published = {name for name in pair if name.endswith("_published")}
    assert len(pair) == 9
    assert len(published) == 3
    assert {one.explanation for one in pair.values()} == {"the contexts have no triplets"}
    assert {pair[name].value for name in published} == {0.0}
    assert pair["kg_measurable_faithfulness"].value == 0.0
    assert [one.status for one in pair.values() if one.value is None] == ["not_applicable"] * 5
    assert scores["kg_direct_context_relevancy"].explanation == (
        "the question has no triplets; the contexts have no triplets"
    )
    assert embedder.embedded == []


def test_a_vector_that_is_none_fails_the_scores_that_need_vectors() -> None:
    class Broken(WordEmbedder):
        async def embed_documents(self, texts: Sequence[str]) -> Any:
            rows = await super().embed_documents(texts)
            rows[list(texts).index("Acme")] = np.nan
            return rows

    scores = score(ANSWER, *PASSAGES, embedder=Broken())

    for name, one in scores.items():
        assert one.status == ("scored" if "measurable" in name else "failed"), name
    assert scores["kg_direct_faithfulness"].explanation == "ValueError: the vector of 'Acme' holds NaN or infinity"


def test_a_text_that_the_judge_cannot_read_fails_its_pairs_alone() -> None:
    def reply(asked: Asked) -> str:
        return "sorry" if text_of(asked) == REFERENCE else json.dumps({"triplets": STATED[text_of(asked)]})

    scores = score(ANSWER, *PASSAGES, chat=Chat(reply))

    failed = {name for name, one in scores.items() if one.status == "failed"}
    assert failed == {name for name in scores if "factual_correctness" in name}
    assert "no JSON object" in scores["kg_measurable_factual_correctness"].explanation


def test_each_text_is_read_once_and_each_pair_embedded_once() -> None:
    chat, embedder = judge(), WordEmbedder()
    score(ANSWER, *PASSAGES, PASSAGES[0], chat=chat, embedder=embedder)
    assert sorted(map(text_of, chat.calls)) == sorted(STATED)
    # Two labels on the one side and four on the other, `Acme` and `Ann Smith` on both.
    assert len(embedder.embedded) == 6 + 3 + 5 + 3


def test_the_sentence_behind_a_triplet_is_read_and_a_bare_triplet_asks_nobody() -> None:
    led = Triplet("Acme", "LED_BY", "Carl")

    def faithfulness(text: str) -> tuple[float | None, list[str]]:
        runtime = BareEvaluation(chat := judge(), WordEmbedder())
        context = Context(text=text, doc_ids=("d",), kind="triplet", triplets=(led,))
        params, said = KgParams(pairs=("faithfulness",)), Prediction(answer=ANSWER, contexts=(context,))
        found = score_one(SPEC, said, question=QUESTION, params=params, runtime=runtime)
        return found["kg_direct_faithfulness"].value, [text_of(asked) for asked in chat.calls]

    # Ann Smith stands in the sentence alone.
    bare = "(Acme)-[LED_BY]->(Carl)"
    assert faithfulness(bare) == (0.5, [ANSWER])
    assert faithfulness(f"{bare}: {PASSAGES[0]}") == (1.0, [ANSWER, PASSAGES[0]])


def test_without_igraph_it_is_refused_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SPEC.preflight
    SPEC.preflight(KgParams())
    monkeypatch.setattr(errors, "find_spec", lambda _name: None)
    for spec in (SPEC, NLP_SPEC):
        with pytest.raises(MissingDependency, match=r"igraph .* 'rag-bench-harness\[evaluator-kg(-nlp)?\]'"):
            assert spec.preflight
            spec.preflight(KgParams())


@pytest.mark.slow
class TestParsed:
    """`kg_nlp` with the real parser."""

    def test_rules_find_triplets_of_answer_and_contexts(self) -> None:
        contexts = "Google bought YouTube. Bob left.", "Apple sued Samsung."
        scores = score("Google bought YouTube.", *contexts, spec=NLP_SPEC)
        assert scores["kg_nlp_multi_hop_faithfulness"].value == 1.0
        said = scores["kg_nlp_measurable_faithfulness"].explanation
        assert said == "triplets: 1 of the answer, 2 of the contexts"

    def test_texts_of_all_cases_are_parsed_together_and_once_for_all_runs(self) -> None:
        runtime = BareEvaluation(None, WordEmbedder())
        scorer = build_scorer(NLP_SPEC, KgParams(pairs=("faithfulness",)), runtime)
        records = {
            (f"q{number}", 0): answered(f"q{number}", "Apple sued Samsung.", *PASSAGES) for number in (1, 2)
        }
        rows = [reference("q1"), reference("q2")]
        first = score_all(scorer, rows, records)
        assert [told for told in runtime.told if told[2] == "parsing"] == [(3, 3, "parsing")]
        assert score_all(scorer, rows, records) == first
        assert len([told for told in runtime.told if told[2] == "parsing"]) == 1
