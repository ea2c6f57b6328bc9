"""What a system is handed in a worker: the models that its spec names for the phase, and the answer contract."""

from pathlib import Path

import pytest
from runtimes import Chat, Embedder

from harness.core.records import AnswerStyle, Context
from harness.llm_utils.answer_contract import answer_messages
from harness.models.metering import Meter, metered
from harness.runner.executing.system_runtime import Unnamed, WorkerRuntime

CONTEXTS = [Context(text="The heron lives in the marsh.", doc_ids=("d",))]
QUESTION = "Where does the heron live?"


def test_a_model_that_the_phase_names_is_the_one_it_gets(tmp_path: Path) -> None:
    chat, embedder = Chat(), Embedder()
    assert WorkerRuntime(tmp_path, 0, chat, Unnamed("embedder")).chat is chat
    assert WorkerRuntime(tmp_path, 0, Unnamed("generator"), embedder).embedder is embedder


@pytest.mark.parametrize("style", ["short", "sentence"])
async def test_an_answer_is_one_generation_under_the_contract_in_the_style_of_the_run(
    tmp_path: Path, style: AnswerStyle
) -> None:
    chat = Chat()
    runtime = WorkerRuntime(tmp_path, 0, chat, Unnamed("embedder"), answer_style=style)
    with metered(Meter("answer/q/0/1")) as meter:
        assert await runtime.answer(QUESTION, CONTEXTS) == "reply"
    assert chat.prompts == [answer_messages(QUESTION, CONTEXTS, style)]
    assert list(meter.stages_s) == ["generate"]


async def test_retrieval_alone_has_no_generator_and_answers_none(tmp_path: Path) -> None:
    runtime = WorkerRuntime(tmp_path, 0, None, Embedder())
    assert runtime.chat is None
    assert await runtime.answer(QUESTION, CONTEXTS) is None
