"""What follows from a sentence: by a real ONNX file, a real one of torch, and a letter of a language model."""

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path

import openai
import pytest
from cross_encoders import write_onnx, write_torch

from harness.core.errors import ModelUnavailable
from harness.core.records import Usage
from harness.llm_utils.logprob_entailment import LogprobEntailment
from harness.models.clients import OpenAIChat
from harness.models.entailment import check_entailment, open_entailment
from harness.models.fake_faults import Reply
from harness.models.fake_server import FakeServer
from harness.models.metering import Meter, metered

from .conftest import Connect, Serve

MNLI = {"CONTRADICTION": -1.0, "NEUTRAL": 0.0, "ENTAILMENT": 1.0}
WORTH = {"otter": 2.0, "mud": -2.0}


def shares(folder: Path, *premises: str, of: str = "otter") -> list[float]:
    return asyncio.run(open_entailment(str(folder)).shares(premises, of))


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
    folder = write_onnx(tmp_path / "nli", WORTH, labels=MNLI)
    check_entailment(str(folder))
    e = math.exp
    expected = e(2) / (e(2) + 1 + e(-2))
    assert shares(folder, "any", "any other") == pytest.approx([expected, expected])
    assert shares(folder, "any", of="mud") == pytest.approx([e(-2) / (e(2) + 1 + e(-2))])
    assert shares(folder) == []


@pytest.mark.parametrize("labels", [None, {"LABEL_0": 1.0, "LABEL_1": 0.0}, {"entails": 1.0, "entailment": 2.0}])
def test_a_model_that_does_not_say_which_number_is_entailment_is_refused(
    tmp_path: Path, labels: dict[str, float] | None
) -> None:
    folder = write_onnx(tmp_path / "model", WORTH, labels=labels)
    with pytest.raises(ModelUnavailable, match="no label that is entailment"):
        check_entailment(str(folder))


def test_numbers_that_are_none_are_no_shares(tmp_path: Path) -> None:
    folder = write_onnx(tmp_path / "model", {"otter": math.nan}, labels=MNLI)
    with pytest.raises(ValueError, match="not numbers"):
        shares(folder, "any")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_model_of_torch_is_loaded_from_its_folder(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = write_torch(tmp_path / "model", WORTH, id2label=dict(enumerate(MNLI)))
    check_entailment(str(folder))
    found = shares(folder, "otter", "mud")
    assert all(0 < share < 1 for share in found)
    assert found[0] != found[1]


async def test_a_letter_s_share_is_of_the_letters_alone_and_costs_a_call_a_premise(
    serve: Serve, connect: Connect
) -> None:
    server = serve(respond=likely(A=math.log(0.35), B=math.log(0.12), D=math.log(0.4), **{" A": math.log(0.13)}))
    found, usage = await by_letter(connect(server.base_url), "It pours.", "It is dry.")
    assert found == pytest.approx([0.8, 0.8])
    assert (usage.calls, usage.cut_calls) == (2, 0)


@pytest.mark.parametrize("letters", [{}, {"A": -17.0, "B": -19.5}, {"A": math.nan}])
async def test_a_model_that_probably_says_none_of_the_letters_says_nothing(
    serve: Callable[..., FakeServer], connect: Callable[..., OpenAIChat], letters: dict[str, float]
) -> None:
    server = serve(respond=likely(The=-0.1, **letters))
    with pytest.raises(ValueError, match="none of A, B, C"):
        await by_letter(connect(server.base_url), "It pours.")


async def test_a_server_without_log_probabilities_is_one_line_that_says_so(serve: Serve, connect: Connect) -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": "A"}}], "usage": {"prompt_tokens": 9}}
    server = serve(respond=lambda _path, _body: Reply(200, json.dumps(body).encode()))
    with pytest.raises(ModelUnavailable, match="gives no log probabilities") as error:
        await by_letter(connect(server.base_url), "It pours.")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["logprobs", "top_logprobs"])
async def test_a_server_that_refuses_log_probabilities_is_the_same_line(
    serve: Serve, connect: Connect, name: str
) -> None:
    said = {"message": f"Unsupported parameter: '{name}' is not supported with this model.", "param": name}
    server = serve(respond=lambda _path, _body: Reply(400, json.dumps({"error": said}).encode()))
    with pytest.raises(ModelUnavailable, match="gives no log probabilities"):
        await by_letter(connect(server.base_url), "It pours.")


async def test_another_refusal_of_that_call_is_its_own(
    serve: Callable[..., FakeServer], connect: Callable[..., OpenAIChat]
) -> None:
    body = json.dumps({"error": {"message": "the prompt is too long"}}).encode()
    server = serve(respond=lambda _path, _body: Reply(400, body))
    with pytest.raises(openai.BadRequestError, match="too long"):
        await by_letter(connect(server.base_url), "It pours.")
