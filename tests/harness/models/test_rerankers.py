"""Cross-encoders: a real ONNX file, a real one of torch, and what is none."""

import asyncio
import json
from pathlib import Path

import pytest
from cross_encoders import write_onnx, write_torch

from harness.config import load_config
from harness.core.errors import HarnessError, ModelUnavailable
from harness.models.rerankers import check_reranker, open_reranker, reranker_identity
from harness.protocols import Reranker
from harness.runner.executing.execute import check_needs
from harness.runner.plan import Cell, plan_cells

WORTH = {"otter": 3.0, "heron": 1.0, "mud": -2.0}
FAKE = ("models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=1")


def scores(model: Reranker, *passages: str) -> list[float]:
    return asyncio.run(model.scores("an otter?", passages))


def cell(*settings: str) -> Cell:
    (only,) = plan_cells(load_config(None, [*FAKE, "systems=[naive]", *settings]))
    return only


def test_an_onnx_model_scores_each_passage_by_itself(tmp_path: Path) -> None:
    model = open_reranker(str(write_onnx(tmp_path / "model", WORTH)))
    assert scores(model, "Otter, heron and mud", "mud", "") == [2.0, -2.0, 0.0]
    assert scores(model, "mud") == [-2.0]
    assert scores(model) == []


def test_a_score_that_is_no_number_is_no_score(tmp_path: Path) -> None:
    model = open_reranker(str(write_onnx(tmp_path / "model", {"otter": float("nan")})))
    with pytest.raises(ValueError, match="not a number"):
        scores(model, "otter")


def test_what_is_no_cross_encoder_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    several = write_onnx(tmp_path / "vectors", WORTH, sums=False)
    broken = write_onnx(tmp_path / "broken", WORTH)
    (broken / "model.onnx").write_bytes(b"no model")
    (tmp_path / "empty").mkdir()
    for name in (
        several,
        broken,
        tmp_path / "empty",
        tmp_path / "nothing",
        "nobody/no-such-model",
        "no-such-model",
    ):
        with pytest.raises(HarnessError) as refused:
            check_reranker(str(name))
        assert Path(name).name in str(refused.value) or "not installed" in str(refused.value)
        assert "\n" not in str(refused.value)
        assert refused.value.fix


@pytest.mark.parametrize("said", ["{}", "[]", "{", '{"architectures": ["BertModel"]}'])
def test_a_model_without_a_head_is_refused_before_it_is_loaded(tmp_path: Path, said: str) -> None:
    """Its library would give it a head of random weights."""
    (tmp_path / "config.json").write_text(said)
    with pytest.raises(ModelUnavailable):
        check_reranker(str(tmp_path))


def test_the_bytes_of_a_reranker_are_part_of_the_run_and_not_of_the_index(tmp_path: Path) -> None:
    one, other = write_onnx(tmp_path / "one", WORTH), write_onnx(tmp_path / "other", {**WORTH, "mud": 5.0})
    plain, first, second = cell(), cell(f"answer.rerank={one}"), cell(f"answer.rerank={other}")
    assert first.identity["weights"] == {"reranker": reranker_identity(str(one))}
    assert first.identity["weights"] != second.identity["weights"]
    assert "weights" not in plain.identity
    assert len({plain.run_id, first.run_id, second.run_id}) == 3
    assert plain.index_id == first.index_id == second.index_id


def test_a_reranker_that_is_not_there_stops_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("./not/there", "nobody/no-such-model"):
        with pytest.raises(ModelUnavailable):
            cell(f"answer.rerank={name}")


def test_a_folder_that_holds_no_cross_encoder_is_refused_before_the_index(tmp_path: Path) -> None:
    several = write_onnx(tmp_path / "vectors", WORTH, sums=False)
    with pytest.raises(ModelUnavailable, match="a cross-encoder 1"):
        check_needs(cell(f"answer.rerank={several}"), tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_cross_encoder_of_sentence_transformers_is_loaded_from_its_folder(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("sentence_transformers")
    folder = write_torch(tmp_path / "model", WORTH, num_labels=1)
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["BertForSequenceClassification"]
    check_reranker(str(folder))
    model = open_reranker(str(folder))
    assert len(set(scores(model, "otter", "mud heron", "otter"))) == 2
    write_torch(folder, WORTH, num_labels=3)
    with pytest.raises(ModelUnavailable, match="gives 3 numbers"):
        open_reranker(str(folder))
