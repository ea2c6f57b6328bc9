"""BERTScore without a model: each word is a vector of its own, so that every score can be worked out by hand."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scoring import BareEvaluation, passages, score_one

from harness.core.errors import MissingDependency, StoreError
from harness.core.records import Context, Prediction, Score
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
def table(encoder: WordEncoder, tmp_path: Path) -> Iterator[TokenTable]:
    table = TokenTable(encoder, tmp_path)
    yield table
    table.close()


@pytest.fixture
def scorer(table: TokenTable) -> Scorer:
    return Scorer("bertscore", MEASURES, BertScoreEvaluator(table, BareEvaluation()))


def scores_of(
    scorer: Scorer,
    *facts: str,
    answer: str = "blue",
    answers: Sequence[str] = ("blue",),
    contexts: Sequence[Context] = (),
    run: RunFacts | None = None,
) -> dict[str, Score]:
    said, evidence = Prediction(answer=answer, contexts=tuple(contexts)), [("d", fact) for fact in facts]
    found = score_one(scorer, said, answers=answers, evidence=evidence, facts=run)
    return {name.removeprefix("bertscore_"): score for name, score in found.items()}


def values(found: dict[str, Score], side: str) -> tuple[float | None, ...]:
    return tuple(found[f"{side}_{part}"].value for part in ("precision", "recall", "f1"))


# Matching


def window(*rows: list[float], weights: list[float] | None = None) -> Window:
    return Window(np.array(rows, np.float32), np.array(weights or [1.0] * len(rows), np.float32))


def test_each_token_is_matched_with_its_nearest_and_the_means_are_taken() -> None:
    found = match([window([1, 0], [0.6, 0.8])], [window([0, 1], [1, 0], [0.8, 0.6])])
    # Highest by candidate token: 1, .96; by reference token: .8, 1, .96.
    assert found.precision == pytest.approx((1 + 0.96) / 2)
    assert found.recall == pytest.approx((0.8 + 1 + 0.96) / 3)
    assert found.f1 == pytest.approx(2 * 0.98 * 0.92 / (0.98 + 0.92))


def test_a_special_token_weighs_nothing_but_may_be_matched() -> None:
    candidate = window([1, 0], [0, 1], weights=[0, 1])
    reference = window([1, 0], [0, -1], weights=[1, 0])
    # The candidate's one token is orthogonal to the token; the reference's token is the candidate's mark.
    assert match([candidate], [reference]) == Agreement(0.0, 1.0, 1, 1)


def test_windows_are_pooled_however_they_are_split() -> None:
    rows = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cut = [window(*part.tolist()) for part in np.split(rows, [3, 8, 9])]
    whole = match([window(*rows[:8].tolist())], [window(*rows[8:].tolist())])
    found = match(cut[:2], cut[2:])
    assert (found.precision, found.recall) == pytest.approx((whole.precision, whole.recall), abs=1e-6)


def test_f1_is_zero_where_precision_or_recall_is_not_positive_or_a_text_is_empty() -> None:
    assert [Agreement(*pair, 1, 1).f1 for pair in ((0.0, 0.5), (-0.1, 0.5), (0.5, -0.5))] == [0.0] * 3
    assert match([], [window([1, 0])]) == Agreement(0.0, 0.0, 0, 1)
    assert match([window([1, 0])], []) == Agreement(0.0, 0.0, 1, 0)


# The texts that are compared


TRIPLETS = passages("x y", kind="triplet")
TWO_THIRDS = round(2 / 3, 6)
COMPARED: list[tuple[dict[str, Any], str, tuple[float, ...], str]] = [
    # 3 of 10 context words are in the evidence, 3 of 4 evidence words in a context.
    (
        {"facts": ("a d", "x j"), "contexts": passages("a b c", "d e f g h i j")},
        "context",
        (0.3, 0.75, round(2 * 0.3 * 0.75 / 1.05, 6)),
        "10 tokens of 2 contexts against 4 of 2 facts",
    ),
    # A fact named twice is one, a context retrieved twice is two.
    ({"facts": ("c d", " c d "), "contexts": passages("a b", "a b", "c")}, "context", (0.2, 0.5), "5 tokens of 3"),
    ({"facts": ("a x",), "contexts": passages("a b c d") + TRIPLETS}, "context", (round(2 / 6, 6), 1.0), ""),
    ({"facts": ("a x",), "contexts": passages("a b c d") + TRIPLETS}, "text", (0.25, 0.5), ""),
    ({"facts": ("x",), "contexts": TRIPLETS}, "text", (), "every context is a triplet"),
    # Against "a": P 1/3, R 1, F1 .5. Against "a b x y z": P 2/3, R .4, F1 .5. Against "a b x": 2/3 each.
    (
        {"answer": "a b c", "answers": ("a", "a b x y z", "a b x")},
        "answer",
        (TWO_THIRDS,) * 3,
        "3 tokens against 'a b x'",
    ),
    ({"facts": ("a",)}, "text", (0.0, 0.0, 0.0), "no context was retrieved"),
    ({"answer": "\n\t "}, "answer", (0.0, 0.0, 0.0), "the answer is empty"),
    # A text without a token is zero as a candidate and does not apply as a reference.
    ({"facts": ("a",), "contexts": passages("\u200b", "")}, "context", (0.0, 0.0, 0.0), "0 tokens of 2 contexts"),
    ({"facts": ("\u200b",), "contexts": passages("a")}, "context", (), "the evidence has no token"),
    ({"answer": "Insufficient information."}, "answer", (), "the answer abstains"),
]


@pytest.mark.parametrize(("case", "side", "expected", "said"), COMPARED)
def test_each_comparison_by_hand(
    scorer: Scorer, encoder: WordEncoder, case: dict[str, Any], side: str, expected: tuple[float, ...], said: str
) -> None:
    found = scores_of(scorer, *case.pop("facts", ()), **case)
    assert found[f"{side}_f1"].status == ("scored" if expected else "not_applicable")
    assert found[f"{side}_f1"].explanation.startswith(said)
    assert values(found, side)[: len(expected)] == expected
    assert "Insufficient" not in encoder.words


@pytest.mark.parametrize(
    ("fact", "answers", "run", "side", "reason"),
    [
        ("a", ("blue",), RunFacts(has_generator=False), "answer", "the run has no generator"),
        ("a", ("blue",), RunFacts(has_contexts=False), "text", "the contexts are not recorded"),
        ("a", ("Insufficient information.",), RunFacts(), "context", "the query is a null query"),
        ("a", ("Insufficient information.",), RunFacts(), "answer", "the query is a null query"),
        (" ", ("blue",), RunFacts(), "context", "the data set gives no evidence"),
        ("a", (" ",), RunFacts(), "answer", "the data set gives no reference answer"),
        ("a", ("Yes.", "true"), RunFacts(), "answer", "the right answer is a bare yes or no"),
    ],
)
def test_what_cannot_be_compared_does_not_apply(
    scorer: Scorer, fact: str, answers: Sequence[str], run: RunFacts, side: str, reason: str
) -> None:
    found = scores_of(scorer, fact, answers=answers, contexts=passages("a"), run=run)
    for part in ("precision", "recall", "f1"):
        score = found[f"{side}_{part}"]
        assert (score.status, score.explanation) == ("not_applicable", reason)


# The table of vectors


def test_a_text_is_embedded_once_across_queries_and_runs(table: TokenTable, encoder: WordEncoder) -> None:
    contexts, runtime = passages("a c", "d", "a c"), BareEvaluation()
    scorer = Scorer("bertscore", MEASURES, BertScoreEvaluator(table, runtime))
    first = scores_of(scorer, "a b", contexts=contexts)
    assert len(encoder.embedded) == 4  # "blue" as answer and reference, "a b", "a c", "d"
    assert runtime.told == [(done, 4, "embedding") for done in (1, 2, 3, 4)]
    assert scores_of(scorer, "a b", contexts=contexts) == first
    assert scores_of(scorer, "a c", contexts=contexts) != first
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
    broken = scores_of(scorer, "a", answer="broken", contexts=passages("a"))
    assert {score.status for score in broken.values()} == {"failed"}
    assert broken["answer_f1"].explanation == "ValueError: no such text"
    assert values(scores_of(scorer, "a", contexts=passages("a")), "context") == (1.0, 1.0, 1.0)


def test_vectors_come_back_from_the_disk_as_they_were_and_no_file_is_left(
    table: TokenTable, tmp_path: Path
) -> None:
    assert list(table.add(["a b c d e", " a b c d e ", "", "f"])) == ["a b c d e", "f"]
    assert list(tmp_path.iterdir()) == []
    first, second = table.windows("a b c d e\n")
    assert np.array_equal(first.vectors, np.eye(64, dtype=np.float32)[[0, 1, 2, 3, 4]])
    assert np.array_equal(second.vectors, np.eye(64, dtype=np.float32)[[0, 5]])
    assert second.weights.tolist() == [0.0, 1.0]
    assert list(table.windows(" ")) == []


def test_a_full_disk_ends_the_evaluation_in_one_line(
    scorer: Scorer, table: TokenTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def seek(self, _place: int) -> None: ...

        def write(self, _bytes: memoryview) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None: ...

    monkeypatch.setattr(table, "_file", Full())
    with pytest.raises(StoreError, match=r"cannot write to .*: no space left on the disk"):
        scores_of(scorer, "a")


# The spec


def test_a_missing_package_is_reported_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_each_encoder_has_weights_of_its_own() -> None:
    assert SPEC.weights is not None
    weights = [SPEC.weights(BertScoreParams(model=model)) for model in ("minilm", "minilm-torch")]
    assert weights[0]["encoder"] != weights[1]["encoder"]
    assert weights[0]["tokenizer"] == weights[1]["tokenizer"]


def test_on_request_the_answer_is_compared_with_its_contexts_too(table: TokenTable) -> None:
    measures = SPEC.measures(BertScoreParams(summaries=True))
    assert len(measures) == len(MEASURES) + 3
    scorer = Scorer("bertscore", measures, BertScoreEvaluator(table, BareEvaluation()))
    found = scores_of(scorer, "a", answer="a b x", contexts=passages("a b", "c d"))
    assert values(found, "summary") == (round(2 / 3, 6), 0.5, round(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5), 6))
    assert values(scores_of(scorer, "a", answer="a"), "summary") == (0.0, 0.0, 0.0)


def test_truncated_contexts_are_one_text_of_which_the_first_window_counts(
    encoder: WordEncoder, tmp_path: Path
) -> None:
    evaluator = BertScoreEvaluator(TokenTable(encoder, tmp_path, 1), BareEvaluation(), truncate=True)
    scorer = Scorer("bertscore", MEASURES, evaluator)
    found = scores_of(scorer, "a d", "e f", contexts=passages("a b c", "d e f"))
    evaluator.close()
    # "a b c d" against "a d e f"
    assert values(found, "context") == (0.5, 0.5, 0.5)
