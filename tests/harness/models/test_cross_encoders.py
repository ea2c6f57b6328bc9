"""Cross-encoders that rank passages and tell what follows from a sentence: real ONNX files, real ones of torch."""

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path

import openai
import pytest
from cross_encoders import write_onnx, write_torch

from harness.config import load_config
from harness.core.errors import HarnessError, ModelUnavailable
from harness.core.records import Usage
from harness.llm_utils.logprob_entailment import LogprobEntailment
from harness.models.clients import OpenAIChat
from harness.models.cross_encoders import InferenceModel, RerankingModel
from harness.models.fake_faults import Reply
from harness.models.metering import Meter, metered
from harness.protocols import Reranker
from harness.runner.model_preflight import check_needs
from harness.runner.plan import Cell, plan_cells

from .conftest import Lab

WORTH = {"otter": 3.0, "heron": 1.0, "mud": -2.0}
FAKE = ("models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=1")


def scores(model: Reranker, *passages: str) -> list[float]:
    return asyncio.run(model.scores("an otter?", passages))


def cell(*settings: str) -> Cell:
    (only,) = plan_cells(load_config(None, [*FAKE, "systems=[naive]", *settings]))
    return only


def test_an_onnx_model_scores_each_passage_by_itself(tmp_path: Path) -> None:
    model = RerankingModel(str(write_onnx(tmp_path / "model", WORTH))).load()
    assert scores(model, "Otter, heron and mud", "mud", "") == [2.0, -2.0, 0.0]
    assert scores(model, "mud") == [-2.0]
    assert scores(model) == []


def test_an_output_that_is_no_number_is_no_score_and_no_share(tmp_path: Path) -> None:
    model = RerankingModel(str(write_onnx(tmp_path / "model", {"otter": math.nan}))).load()
    with pytest.raises(ValueError, match="not a number"):
        scores(model, "otter")
    with pytest.raises(ValueError, match="not numbers"):
        shares(write_onnx(tmp_path / "nli", {"otter": math.nan}, labels=MNLI), "any")


def test_what_is_no_cross_encoder_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    several = write_onnx(tmp_path / "vectors", WORTH, sums=False)
    broken = write_onnx(tmp_path / "broken", WORTH)
    (broken / "model.onnx").write_bytes(b"no model")
    (tmp_path / "empty").mkdir()
    for name in (several, broken, tmp_path / "empty", tmp_path / "nothing", "nobody/no-such-model"):
        with pytest.raises(HarnessError) as refused:
            RerankingModel(str(name)).check()
        assert Path(name).name in str(refused.value) or "not installed" in str(refused.value)
        assert "\n" not in str(refused.value)
        assert refused.value.fix


@pytest.mark.parametrize("said", ["{}", "[]", "{", '{"architectures": ["BertModel"]}'])
def test_a_model_without_a_head_is_refused_before_it_is_loaded(tmp_path: Path, said: str) -> None:
    """Its library would give it a head of random weights."""
    (tmp_path / "config.json").write_text(said)
    with pytest.raises(ModelUnavailable):
        RerankingModel(str(tmp_path)).check()


def test_the_bytes_of_a_reranker_are_part_of_the_run_and_not_of_the_index(tmp_path: Path) -> None:
    one, other = write_onnx(tmp_path / "one", WORTH), write_onnx(tmp_path / "other", {**WORTH, "mud": 5.0})
    plain, first, second = cell(), cell(f"answer.rerank={one}"), cell(f"answer.rerank={other}")
    assert first.identity["weights"] == {"reranker": RerankingModel(str(one)).identity()}
    assert first.identity["weights"] != second.identity["weights"]
    assert "weights" not in plain.identity
    assert len({plain.run_id, first.run_id, second.run_id}) == 3
    assert plain.index_id == first.index_id == second.index_id


def test_a_reranker_that_is_missing_or_unsuitable_is_refused_before_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("./not/there", "nobody/no-such-model"):
        with pytest.raises(ModelUnavailable):
            cell(f"answer.rerank={name}")
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
    RerankingModel(str(folder)).check()
    model = RerankingModel(str(folder)).load()
    assert len(set(scores(model, "otter", "mud heron", "otter"))) == 2
    write_torch(folder, WORTH, num_labels=3)
    with pytest.raises(ModelUnavailable, match="gives 3 numbers"):
        RerankingModel(str(folder)).load()


# What follows from a sentence: by a real ONNX file, a real one of torch, and a letter of a language model.


MNLI = {"CONTRADICTION": -1.0, "NEUTRAL": 0.0, "ENTAILMENT": 1.0}
MEANT = {"otter": 2.0, "mud": -2.0}


def shares(folder: Path, *premises: str, of: str = "otter") -> list[float]:
    return asyncio.run(InferenceModel(str(folder)).load().shares(premises, of))


def likely(**logprobs: float) -> Callable[[str, bytes], Reply]:
    """A server whose reply begins with these tokens as likely as that."""
    told = [{"token": token, "logprob": logprob} for token, logprob in logprobs.items()]
    message = {"role": "assistant", "content": "A"}
    choice = {"message": message, "finish_reason": "length", "logprobs": {"content": [{"top_logprobs": told}]}}
    body = {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    return lambda _path, _body: Reply(200, json.dumps(body).encode())


async def by_letter(chat: OpenAIChat, *premises: str) -> tuple[list[float], Usage]:
    with metered(Meter("q")) as meter:
        found = await LogprobEntailment(chat).shares(premises, "It rains.")
    return found, meter.usage["generator"]


def test_a_model_of_inference_gives_the_share_of_its_label_for_entailment(tmp_path: Path) -> None:
    folder = write_onnx(tmp_path / "nli", MEANT, labels=MNLI)
    InferenceModel(str(folder)).check()
    e = math.exp
    expected = e(2) / (e(2) + 1 + e(-2))
    assert shares(folder, "any", "any other") == pytest.approx([expected, expected])
    assert shares(folder, "any", of="mud") == pytest.approx([e(-2) / (e(2) + 1 + e(-2))])
    assert shares(folder) == []


@pytest.mark.parametrize("labels", [None, {"entails": 1.0, "entailment": 2.0}])
def test_a_model_that_does_not_name_entailment_is_refused(tmp_path: Path, labels: dict[str, float] | None) -> None:
    folder = write_onnx(tmp_path / "model", MEANT, labels=labels)
    with pytest.raises(ModelUnavailable, match="no label that is entailment"):
        InferenceModel(str(folder)).check()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_model_of_torch_is_loaded_from_its_folder(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = write_torch(tmp_path / "model", MEANT, id2label=dict(enumerate(MNLI)))
    InferenceModel(str(folder)).check()
    found = shares(folder, "otter", "mud")
    assert all(0 < share < 1 for share in found)
    assert found[0] != found[1]


async def test_a_letter_s_share_is_of_the_letters_alone_and_costs_a_call_a_premise(lab: Lab) -> None:
    server = lab.serve(
        respond=likely(A=math.log(0.35), B=math.log(0.12), D=math.log(0.4), **{" A": math.log(0.13)})
    )
    found, usage = await by_letter(lab.connect(server.base_url), "It pours.", "It is dry.")
    assert found == pytest.approx([0.8, 0.8])
    assert (usage.calls, usage.cut_calls) == (2, 0)


@pytest.mark.parametrize("letters", [{}, {"A": -17.0, "B": -19.5}, {"A": math.nan}])
async def test_a_model_that_says_none_of_the_letters_says_nothing(lab: Lab, letters: dict[str, float]) -> None:
    server = lab.serve(respond=likely(The=-0.1, **letters))
    with pytest.raises(ValueError, match="none of A, B, C"):
        await by_letter(lab.connect(server.base_url), "It pours.")


@pytest.mark.parametrize("refused", ["", "logprobs", "top_logprobs"])
async def test_a_server_without_log_probabilities_is_one_line_that_says_so(lab: Lab, refused: str) -> None:
    said = {"message": f"Unsupported parameter: '{refused}' is not supported with this model.", "param": refused}
    body = {"choices": [{"message": {"role": "assistant", "content": "A"}}], "usage": {"prompt_tokens": 9}}
    reply = Reply(400, json.dumps({"error": said}).encode()) if refused else Reply(200, json.dumps(body).encode())
    server = lab.serve(respond=lambda _path, _body: reply)
    with pytest.raises(ModelUnavailable, match="gives no log probabilities") as error:
        await by_letter(lab.connect(server.base_url), "It pours.")
    assert "\n" not in str(error.value)


async def test_another_refusal_of_that_call_is_its_own(lab: Lab) -> None:
    body = json.dumps({"error": {"message": "the prompt is too long"}}).encode()
    server = lab.serve(respond=lambda _path, _body: Reply(400, body))
    with pytest.raises(openai.BadRequestError, match="too long"):
        await by_letter(lab.connect(server.base_url), "It pours.")
