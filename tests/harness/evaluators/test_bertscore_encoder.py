"""BERTScore by the real encoder on real texts, held against the bert-score package."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scoring import BareEvaluation, passages, score_one

from harness.core.errors import ConfigError, ModelUnavailable
from harness.core.records import Prediction
from harness.evaluators.answer_normalisation import abstains, is_verdict
from harness.evaluators.bertscore.evaluator import MEASURES, BertScoreEvaluator
from harness.evaluators.bertscore.loading import TokenEncoder, load, minilm_folder
from harness.evaluators.bertscore.matching import TokenTable
from harness.evaluators.run_scoring import Scorer
from harness.models.providers.minilm import MiniLM

pytestmark = pytest.mark.slow
PARTS = ("precision", "recall", "f1")
Pair = tuple[str, str]
"""Candidate and reference."""


@pytest.fixture(scope="module")
def package() -> Any:
    """The bert-score package itself."""
    with warnings.catch_warnings(action="ignore"):
        import bert_score
    return bert_score


@pytest.fixture(scope="module")
def encoder(package: Any) -> Iterator[TokenEncoder]:
    encoder = TokenEncoder(load("minilm-torch", None))
    yield encoder
    encoder.close()


@pytest.fixture(scope="module")
def scorer(encoder: TokenEncoder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scorer]:
    evaluator = BertScoreEvaluator(TokenTable(encoder, tmp_path_factory.mktemp("vectors")), BareEvaluation())
    yield Scorer("bertscore", MEASURES, evaluator)
    evaluator.close()


@pytest.fixture(scope="module")
def corpus(data_dir: Path) -> dict[str, str]:
    """Article texts by url."""
    entries = json.loads(gzip.decompress((data_dir / "multihop_rag" / "corpus.json.gz").read_bytes()))
    return {entry["url"]: entry["body"] for entry in entries}


@pytest.fixture(scope="module")
def context_pairs(data_dir: Path, corpus: dict[str, str]) -> list[Pair]:
    """(a passage of 1,200 characters of an article that a query cites, a fact of that query), 20 times."""
    queries = json.loads(gzip.decompress((data_dir / "multihop_rag" / "MultiHopRAG.json.gz").read_bytes()))
    facts = [(corpus[one["url"]], one["fact"]) for query in queries for one in query["evidence_list"]]
    # Half of the passages hold their fact, half stand elsewhere in its article.
    starts = [max(0, text.find(fact) - 200) if number % 2 else 0 for number, (text, fact) in enumerate(facts)]
    return [(text[at : at + 1200], fact) for (text, fact), at in zip(facts, starts, strict=True)][:20]


@pytest.fixture(scope="module")
def answer_pairs(data_dir: Path) -> list[Pair]:
    """(recorded answer of gpt-4o-mini, reference), 20 different ones that are no verdict and no refusal."""
    lines = (data_dir / "multihop_rag" / "recorded_answers.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    pairs = [(row["model_answer"], row["gold_answer"]) for row in rows]
    worded = [(said, gold) for said, gold in pairs if said.strip() and not (is_verdict(gold) or abstains(gold))]
    return list(dict.fromkeys(pair for pair in worded if not abstains(pair[0])))[:20]


def by_package(package: Any, pairs: list[Pair]) -> list[tuple[float, ...]]:
    """(precision, recall, f1) of each pair by the package's public function, pair by pair.

    Where texts of unequal length share a batch, the package pads with cosines of 0, which hides negative ones.
    """
    candidates, references = zip(*pairs, strict=True)
    settings = {"model_type": str(minilm_folder()), "num_layers": 6, "device": "cpu", "batch_size": 1}
    found = package.score(list(candidates), list(references), **settings)
    return list(zip(*(part.tolist() for part in found), strict=True))


def score_pairs(scorer: Scorer, pairs: list[Pair], side: str) -> list[tuple[float, ...]]:
    """The same by the evaluator; the candidates are answers or contexts."""
    names = [f"bertscore_{side}_{part}" for part in PARTS]
    found = []
    for candidate, reference in pairs:
        said = Prediction(answer=candidate, contexts=passages(candidate))
        scores = score_one(scorer, said, answers=[reference], evidence=[("d", reference)])
        found.append(tuple(scores[name].value or 0.0 for name in names))
    return found


# The package


def test_forty_real_pairs_score_as_the_package_scores_them(
    package: Any, scorer: Scorer, context_pairs: list[Pair], answer_pairs: list[Pair]
) -> None:
    assert len(context_pairs) + len(answer_pairs) == 40
    for side, pairs in (("text", context_pairs), ("answer", answer_pairs)):
        ours, theirs = np.array(score_pairs(scorer, pairs, side)), np.array(by_package(package, pairs))
        assert np.abs(ours - theirs).max() < 1e-4
        assert ours.std(axis=0).min() > 0.01


def test_any_script_scores_as_the_package_scores_it(package: Any, scorer: Scorer) -> None:
    pairs = [
        ("天空是蓝色的。", "天空很蓝,没有云。"),
        ("Die Straße ist naß: ÄÖÜ äöü ß.", "Die Strasse ist nass."),
        ("السماء زرقاء", "السماء صافية"),
        ("🙂🙂 ok", "ok 👍"),
        ("same text", "same text"),
    ]
    assert np.array(score_pairs(scorer, pairs, "answer")) == pytest.approx(
        np.array(by_package(package, pairs)), abs=1e-4
    )


# Windows


def pooled_by_hand(package: Any, candidate: str, reference: str) -> tuple[float, float]:
    """Precision and recall of a long candidate, in plain words of the package and torch."""
    import torch
    from bert_score.utils import bert_encode, get_model, get_tokenizer

    folder = str(minilm_folder())
    tokenizer, model = get_tokenizer(folder), get_model(folder, 6)

    def vectors(text: str) -> Any:
        ids = tokenizer.encode(text.strip(), add_special_tokens=False)
        count = -(-len(ids) // 510)
        small, larger = divmod(len(ids), count)
        sizes = [small + 1] * larger + [small] * (count - larger)
        ends = list(itertools.accumulate(sizes))
        windows = [[101, *ids[end - size : end], 102] for size, end in zip(sizes, ends, strict=True)]
        found = [bert_encode(model, torch.tensor([one]), torch.ones(1, len(one)))[0] for one in windows]
        weights = torch.tensor([float(token not in (101, 102)) for one in windows for token in one])
        return torch.nn.functional.normalize(torch.cat(found), dim=-1), weights

    (mine, my_weights), (theirs, their_weights) = vectors(candidate), vectors(reference)
    cosines = mine @ theirs.T
    precision = (cosines.max(dim=1).values * my_weights).sum() / my_weights.sum()
    recall = (cosines.max(dim=0).values * their_weights).sum() / their_weights.sum()
    return precision.item(), recall.item()


def test_a_long_text_scores_as_its_windows_pooled_by_hand_and_its_end_counts(
    package: Any, scorer: Scorer, corpus: dict[str, str]
) -> None:
    fact = "The lighthouse keeper of Vardø counted eleven grey seals on the ice before breakfast."
    long = " ".join(" ".join(corpus.values()).split(" ")[:3000])
    pairs = [(long, fact), (f"{long} {fact}", fact)]
    without, with_it = score_pairs(scorer, pairs, "text")
    assert without[:2] == pytest.approx(pooled_by_hand(package, long, fact), abs=1e-4)
    assert with_it[1] > without[1] + 0.2
    # The package cuts both off where they are still the same.
    theirs = by_package(package, pairs)
    assert theirs[0] == pytest.approx(theirs[1])


# Models


def test_minilm_is_the_model_that_the_harness_embeds_with(
    encoder: TokenEncoder, context_pairs: list[Pair]
) -> None:
    """The written configuration is right: the mean of its token vectors is the vector of the ONNX export."""
    import torch
    from bert_score.utils import bert_encode

    (ids,) = (torch.from_numpy(window)[None] for window in encoder.split(context_pairs[0][1]))
    mean = bert_encode(encoder._model, ids, torch.ones_like(ids))[0].numpy().mean(axis=0)
    (exported,) = asyncio.run(MiniLM().embed([context_pairs[0][1]]))
    assert float(mean @ exported / np.linalg.norm(mean)) > 0.995


@pytest.fixture(scope="module")
def tiny_roberta(package: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa of two random layers and 64 tokens: another tokenizer, other marks, more positions than tokens."""
    from tokenizers import pre_tokenizers
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizer

    words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    folder = tmp_path_factory.mktemp("roberta")
    vocabulary = {word: number for number, word in enumerate(words)}
    RobertaTokenizer(vocab=vocabulary, merges=[], model_max_length=64).save_pretrained(folder)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = RobertaConfig(vocab_size=len(words), max_position_embeddings=66, **sizes)
    RobertaModel(config).save_pretrained(folder)
    return folder


def test_any_model_in_a_folder_scores_as_the_package_scores_it(
    package: Any, tiny_roberta: Path, tmp_path: Path
) -> None:
    encoder = TokenEncoder(load(str(tiny_roberta), 1))
    scorer = Scorer("bertscore", MEASURES, BertScoreEvaluator(TokenTable(encoder, tmp_path), BareEvaluation()))
    pair = ("The sky is blue.", "A sky of grey.")
    theirs = package.score([pair[0]], [pair[1]], model_type=str(tiny_roberta), num_layers=1, device="cpu")
    assert score_pairs(scorer, [pair], "answer")[0] == pytest.approx([float(one) for one in theirs], abs=1e-4)
    assert [len(window) for window in encoder.split("a " * 70)] == [49, 48, 48]
    scorer.evaluator.close()


def test_a_layer_that_no_one_knows_is_one_line(package: Any, tiny_roberta: Path) -> None:
    with pytest.raises(ConfigError, match=r"does not say which layer .*: set per_evaluator.bertscore.num_layers"):
        load(str(tiny_roberta), None)
    with pytest.raises(ConfigError, match="Invalid num_layers: num_layers should be between 0 and 6"):
        load("minilm-torch", 7)


def test_a_model_that_is_nowhere_is_one_line(
    package: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelUnavailable) as refused:
        load("nobody/no-such-model", 3)
    assert str(refused.value).startswith("cannot load the BERTScore model 'nobody/no-such-model' (OSError): ")
    assert len(str(refused.value).splitlines()) == 1
    assert capfd.readouterr() == ("", "")


def test_a_bert_whose_path_the_package_takes_for_a_t5_is_refused(package: Any, tmp_path: Path) -> None:
    folder = tmp_path / "at5"
    folder.mkdir()
    for file in minilm_folder().iterdir():
        (folder / file.name).symlink_to(file)
    with pytest.raises(
        ModelUnavailable, match=r"takes '.*at5' for a T5 model because of its name, but it is bert"
    ):
        load(str(folder), 6)
