"""BERTScore without a model: each word is a vector of its own, so that every score can be worked out by hand."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from records import run_record
from scoring import BareEvaluation, passages, score_all

from harness.core.errors import MissingDependency, StoreError
from harness.core.records import Context, Evidence, Prediction, Reference, RunRecord, Score
from harness.evaluators.bertscore import SPEC, BertScoreParams, loading
from harness.evaluators.bertscore.evaluator import MEASURES, BertScoreEvaluator
from harness.evaluators.bertscore.loading import Encoder
from harness.evaluators.bertscore.matching import Agreement, TokenTable, Window, match
from harness.evaluators.run_scoring import Scorer
from harness.protocols import RunFacts

if TYPE_CHECKING:
    from harness.evaluators.bertscore.loading import TokenIds, Weights
    from harness.protocols import Vectors

MARK = 0


class WordEncoder(Encoder):
    """Four words a window, behind a mark that weighs nothing; equal words are equal vectors, others orthogonal."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {"[CLS]": MARK}
        self.embedded: list[TokenIds] = []

    def _ids(self, text: str) -> TokenIds:
        return np.array([self.words.setdefault(one, len(self.words)) for one in text.split() if one != "\u200b"])

    def _embed(self, window: TokenIds) -> Vectors:
        self.embedded.append(window)
        vectors: Vectors = np.eye(64, dtype=np.float32)[window]
        return vectors

    def split(self, text: str) -> list[TokenIds]:
        ids = self._ids(text)
        return [np.array([MARK, *ids[start : start + 4]]) for start in range(0, len(ids), 4)]

    def weights(self, window: TokenIds) -> Weights:
        weights: Weights = (window != MARK).astype(np.float32)
        return weights

    def embed(self, windows: Iterable[TokenIds]) -> Iterator[Vectors]:
        yield from map(self._embed, windows)

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def runtime() -> BareEvaluation:
    return BareEvaluation()


@pytest.fixture
def scorer(encoder: WordEncoder, runtime: BareEvaluation, tmp_path: Path) -> Iterator[Scorer]:
    evaluator = BertScoreEvaluator(TokenTable(encoder, tmp_path), runtime)
    yield Scorer("bertscore", MEASURES, evaluator)
    evaluator.close()


def gold(*facts: str, answers: tuple[str, ...] = ("blue",)) -> Reference:
    evidence = tuple(Evidence(doc_id="d", fact=fact) for fact in facts)
    return Reference(query_id="q", query_type="inference", answers=answers, evidence=evidence)


def answered(answer: str | None = "blue", contexts: tuple[Context, ...] = ()) -> RunRecord:
    return run_record("q", Prediction(answer=answer, contexts=contexts))


def scores_of(
    scorer: Scorer, reference: Reference, record: RunRecord, facts: RunFacts | None = None
) -> dict[str, Score]:
    found = score_all(scorer, [reference], {("q", 0): record}, facts=facts)
    return {score.measure.removeprefix("bertscore_"): score for score in found}


def values(found: dict[str, Score], side: str) -> tuple[float | None, float | None, float | None]:
    return tuple(found[f"{side}_{part}"].value for part in ("precision", "recall", "f1"))  # type: ignore[return-value]


# Matching


def window(*rows: list[float], weights: list[float] | None = None) -> Window:
    return Window(np.array(rows, np.float32), np.array(weights or [1.0] * len(rows), np.float32))


def test_each_token_is_matched_with_its_nearest_and_the_means_are_taken() -> None:
    candidate = window([1, 0], [0.6, 0.8])
    reference = window([0, 1], [1, 0], [0.8, 0.6])
    # Highest by candidate token: 1, .96; by reference token: .8, 1, .96.
    found = match([candidate], [reference])
    assert found.precision == pytest.approx((1 + 0.96) / 2)
    assert found.recall == pytest.approx((0.8 + 1 + 0.96) / 3)
    assert found.f1 == pytest.approx(2 * 0.98 * 0.92 / (0.98 + 0.92))


def test_a_mark_weighs_nothing_but_may_be_matched() -> None:
    candidate = window([1, 0], [0, 1], weights=[0, 1])
    reference = window([1, 0], [0, -1], weights=[1, 0])
    found = match([candidate], [reference])
    # The candidate's one token is orthogonal to the token; the reference's token is the candidate's mark.
    assert (found.precision, found.recall) == (0.0, 1.0)
    assert (found.candidate_tokens, found.reference_tokens) == (1, 1)


def test_windows_are_pooled_however_they_are_cut() -> None:
    rows = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    whole = match([window(*rows[:8].tolist())], [window(*rows[8:].tolist())])
    cut = match(
        [window(*rows[:3].tolist()), window(*rows[3:8].tolist())],
        [window(*rows[8:9].tolist()), window(*rows[9:].tolist())],
    )
    assert cut.precision == pytest.approx(whole.precision, abs=1e-6)
    assert cut.recall == pytest.approx(whole.recall, abs=1e-6)


@pytest.mark.parametrize("precision, recall", [(0.0, 0.5), (-0.1, 0.5), (0.5, -0.5), (0.0, 0.0)])
def test_f1_is_zero_where_either_is_not_positive(precision: float, recall: float) -> None:
    assert Agreement(precision, recall, 1, 1).f1 == 0.0


def test_nothing_on_one_side_is_zero() -> None:
    assert match([], [window([1, 0])]) == Agreement(0.0, 0.0, 0, 1)
    assert match([window([1, 0])], []) == Agreement(0.0, 0.0, 1, 0)


# What is held against what


def test_all_contexts_together_are_held_against_all_facts(scorer: Scorer) -> None:
    record = answered(contexts=passages("a b c", "d e f g h i j"))
    found = scores_of(scorer, gold("a d", "x j"), record)
    # 3 of 10 context words are in the evidence, 3 of 4 evidence words in a context.
    assert values(found, "context") == (0.3, 0.75, round(2 * 0.3 * 0.75 / 1.05, 6))
    assert found["context_f1"].explanation == "10 tokens of 2 contexts against 4 of 2 facts"


def test_a_fact_named_twice_is_one_and_a_context_retrieved_twice_is_two(scorer: Scorer) -> None:
    record = answered(contexts=passages("a b", "a b", "c"))
    found = scores_of(scorer, gold("c d", " c d "), record)
    assert values(found, "context")[:2] == (0.2, 0.5)


def test_text_leaves_triplets_out(scorer: Scorer) -> None:
    record = answered(contexts=passages("a b c d") + passages("x y", kind="triplet"))
    found = scores_of(scorer, gold("a x"), record)
    assert values(found, "context")[:2] == (round(2 / 6, 6), 1.0)
    assert values(found, "text")[:2] == (0.25, 0.5)


def test_text_does_not_apply_where_every_context_is_a_triplet(scorer: Scorer) -> None:
    found = scores_of(scorer, gold("a"), answered(contexts=passages("a b", kind="triplet")))
    assert found["text_f1"].status == "not_applicable"
    assert found["text_f1"].explanation == "every context is a triplet"
    assert values(found, "context")[0] == 0.5


def test_the_reference_of_the_highest_f1_counts_with_its_own_precision_and_recall(scorer: Scorer) -> None:
    # Against "a": P 1/3, R 1, F1 .5. Against "a b x y z": P 2/3, R .4, F1 .5. Against "a b x": 2/3 each.
    reference = gold(answers=("a", "a b x y z", "a b x"))
    found = scores_of(scorer, reference, answered("a b c"))
    third = round(2 / 3, 6)
    assert values(found, "answer") == (third, third, third)
    assert found["answer_f1"].explanation == "3 tokens against 'a b x'"


def test_no_context_in_a_run_that_has_some_is_zero(scorer: Scorer) -> None:
    found = scores_of(scorer, gold("a"), answered(), RunFacts())
    assert values(found, "context") == values(found, "text") == (0.0, 0.0, 0.0)
    assert found["text_recall"].explanation == "no context was retrieved"


@pytest.mark.parametrize("blank", ["", "  ", "\n\t "])
def test_an_empty_answer_is_zero_and_never_reaches_the_encoder(
    scorer: Scorer, encoder: WordEncoder, blank: str
) -> None:
    found = scores_of(scorer, gold(), answered(blank))
    assert values(found, "answer") == (0.0, 0.0, 0.0)
    assert found["answer_f1"].explanation == "the answer is empty"
    assert len(encoder.embedded) == 1  # the reference


def test_a_text_without_a_token_is_zero_as_a_candidate_and_does_not_apply_as_a_reference(scorer: Scorer) -> None:
    record = answered("\u200b", passages("\u200b", ""))
    found = scores_of(scorer, gold("a"), record)
    assert values(found, "answer") == values(found, "context") == (0.0, 0.0, 0.0)
    assert found["context_f1"].explanation == "0 tokens of 2 contexts against 1 of 1 facts"
    found = scores_of(scorer, gold("\u200b", answers=("\u200b",)), answered("a", passages("a")))
    assert found["answer_f1"].explanation == "the data set gives no reference answer"
    assert found["context_f1"].explanation == "the evidence has no token"
    assert {score.status for score in found.values()} == {"not_applicable"}


# What is missing


@pytest.mark.parametrize(
    "reference, facts, side, reason",
    [
        (gold("a"), RunFacts(has_generator=False), "answer", "the run has no generator"),
        (gold("a"), RunFacts(has_contexts=False), "context", "the contexts are not recorded"),
        (gold("a"), RunFacts(has_contexts=False), "text", "the contexts are not recorded"),
        (gold("a", answers=("Insufficient information.",)), RunFacts(), "context", "the query is a null query"),
        (gold("a", answers=("Insufficient information.",)), RunFacts(), "answer", "the query is a null query"),
        (gold(), RunFacts(), "text", "the data set gives no evidence"),
        (gold(" "), RunFacts(), "context", "the data set gives no evidence"),
        (gold("a", answers=()), RunFacts(), "answer", "the data set gives no reference answer"),
        (gold("a", answers=(" ",)), RunFacts(), "answer", "the data set gives no reference answer"),
        (gold("a", answers=("Yes.", "true")), RunFacts(), "answer", "the right answer is a bare yes or no"),
    ],
)
def test_what_cannot_be_compared_does_not_apply(
    scorer: Scorer, reference: Reference, facts: RunFacts, side: str, reason: str
) -> None:
    found = scores_of(scorer, reference, answered(contexts=passages("a")), facts)
    for part in ("precision", "recall", "f1"):
        assert found[f"{side}_{part}"].status == "not_applicable"
        assert found[f"{side}_{part}"].explanation == reason


def test_an_answer_that_abstains_has_no_score_and_its_contexts_have(scorer: Scorer, encoder: WordEncoder) -> None:
    found = scores_of(scorer, gold("a"), answered("Insufficient information.", passages("a")))
    assert {found[f"answer_{part}"].status for part in ("precision", "recall", "f1")} == {"not_applicable"}
    assert found["answer_f1"].explanation == "the answer abstains"
    assert values(found, "context") == (1.0, 1.0, 1.0)
    assert "Insufficient" not in encoder.words


# Once


def test_a_text_is_embedded_once_across_queries_and_runs(
    scorer: Scorer, encoder: WordEncoder, runtime: BareEvaluation
) -> None:
    reference, record = gold("a b"), answered("blue", passages("a c", "d", "a c"))
    first = scores_of(scorer, reference, record)
    assert len(encoder.embedded) == 4  # "blue" as answer and reference, "a b", "a c", "d"
    assert runtime.told == [(done, 4, "embedding") for done in (1, 2, 3, 4)]
    assert scores_of(scorer, reference, record) == first
    assert scores_of(scorer, gold("a c"), record) != first
    assert len(encoder.embedded) == 4


def test_what_was_embedded_before_a_failure_is_kept(
    scorer: Scorer, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = encoder.split

    def split(text: str) -> list[TokenIds]:
        if text == "broken":
            raise ValueError("no such text")
        return whole(text)

    monkeypatch.setattr(encoder, "split", split)
    broken = scores_of(scorer, gold("a"), answered("broken", passages("a")))
    assert {score.status for score in broken.values()} == {"failed"}
    assert broken["answer_f1"].explanation == "ValueError: no such text"
    assert values(scores_of(scorer, gold("a"), answered("blue", passages("a"))), "context") == (1.0, 1.0, 1.0)


def test_vectors_come_back_from_the_disk_as_they_were_and_nothing_is_left_of_them(tmp_path: Path) -> None:
    table = TokenTable(WordEncoder(), tmp_path)
    assert list(table.add(["a b c d e", " a b c d e ", "", "f"])) == ["a b c d e", "f"]
    assert list(tmp_path.iterdir()) == []
    first, second = table.windows("a b c d e\n")
    assert np.array_equal(first.vectors, np.eye(64, dtype=np.float32)[[0, 1, 2, 3, 4]])
    assert np.array_equal(second.vectors, np.eye(64, dtype=np.float32)[[0, 5]])
    assert second.weights.tolist() == [0.0, 1.0]
    assert list(table.windows(" ")) == []
    table.close()


def test_a_full_disk_ends_the_evaluation_in_one_line(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def seek(self, _place: int) -> None: ...

        def write(self, _bytes: memoryview) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None: ...

    assert isinstance(scorer.evaluator, BertScoreEvaluator)
    monkeypatch.setattr(scorer.evaluator._table, "_file", Full())
    with pytest.raises(StoreError, match=r"cannot write to .*: no space left on the disk"):
        scores_of(scorer, gold("a"), answered())


# The spec


def test_a_missing_package_is_told_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SPEC.preflight is not None
    monkeypatch.setattr(loading, "find_spec", lambda name: None if name == "torch" else name)
    needs = "bertscore with model 'roberta-large' needs torch: run scripts/setup --torch, .*, or use model minilm"
    with pytest.raises(MissingDependency, match=needs):
        SPEC.preflight(BertScoreParams(model="roberta-large"))
    SPEC.preflight(BertScoreParams())


def test_a_layer_that_minilm_does_not_give_is_refused_and_its_last_is_not() -> None:
    assert BertScoreParams(num_layers=6).model == "minilm"
    assert BertScoreParams(model="minilm-torch", num_layers=3).num_layers == 3
    with pytest.raises(ValueError, match="layer 6"):
        BertScoreParams(num_layers=3)


def test_each_encoder_is_told_from_the_others_by_its_weights() -> None:
    assert SPEC.weights is not None
    weights = [SPEC.weights(BertScoreParams(model=model)) for model in ("minilm", "minilm-torch")]
    assert weights[0]["encoder"] != weights[1]["encoder"]
    assert weights[0]["tokenizer"] == weights[1]["tokenizer"]


def test_on_request_the_answer_is_held_against_its_contexts_too(
    encoder: WordEncoder, runtime: BareEvaluation, tmp_path: Path
) -> None:
    evaluator = BertScoreEvaluator(TokenTable(encoder, tmp_path), runtime)
    measures = SPEC.measures(BertScoreParams(summaries=True))
    assert len(measures) == len(MEASURES) + 3
    scorer = Scorer("bertscore", measures, evaluator)
    found = scores_of(scorer, gold("a"), answered("a b x", passages("a b", "c d")))
    assert values(found, "summary") == (round(2 / 3, 6), 0.5, round(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5), 6))
    assert values(scores_of(scorer, gold("a"), answered("a")), "summary") == (0.0, 0.0, 0.0)
    evaluator.close()


def test_truncated_contexts_are_one_text_of_which_the_first_window_counts(
    encoder: WordEncoder, runtime: BareEvaluation, tmp_path: Path
) -> None:
    evaluator = BertScoreEvaluator(TokenTable(encoder, tmp_path, 1), runtime, truncate=True)
    record = answered(contexts=passages("a b c", "d e f"))
    found = scores_of(Scorer("bertscore", MEASURES, evaluator), gold("a d", "e f"), record)
    evaluator.close()
    # "a b c d" against "a d e f"
    assert values(found, "context") == (0.5, 0.5, 0.5)
