"""Reasoning is no part of an answer, whichever marks a model uses."""

import pytest

from harness.core.records import REASONING, Prediction
from harness.llm_utils.reasoning import separate_reasoning, with_reasoning_apart

THOUGHT, ANSWER = "Perhaps Jon Berg.", "Marta Lind"
FORMATS = [
    "<think>\n{}\n</think>\n\n{}",
    "<THINK>{}</THINK>{}",
    "{}\n</think>\n\n{}",
    "<thinking>{}</thinking>\n{}",
    "<thought>{}</thought>{}",
    "<reasoning>{}</reasoning>{}",
    "<seed:think>{}</seed:think>{}",
    "[THINK]{}[/THINK]{}",
    "◁think▷{}◁/think▷{}",
    "<|begin_of_thought|>{}<|end_of_thought|><|begin_of_solution|>{}<|end_of_solution|>",
    "<unused94>{}<unused95>{}",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "Here is my thought process:{}Here is my response:{}",
    "<think>{}</think>{}<|im_end|>",
]


@pytest.mark.parametrize("form", FORMATS)
def test_every_family_of_models_gives_the_same_answer(form: str) -> None:
    found = separate_reasoning(form.format(THOUGHT, ANSWER))
    assert (found.reasoning.strip(), found.answer, found.is_complete) == (THOUGHT, ANSWER, True)


@pytest.mark.parametrize(
    "text", ["Marta Lind", "  two\nlines ", "5 < 6 and 7 > 6", "<b>Marta</b>", "I think: yes", "", "a [THINKER]"]
)
def test_a_text_without_reasoning_stays_as_it_is(text: str) -> None:
    assert separate_reasoning(text) == ("", text, True)


@pytest.mark.parametrize(
    "text", ["<think>Perhaps Jon", "<|channel|>analysis<|message|>Perhaps Jon", "[THINK]Perhaps Jon"]
)
def test_a_reply_that_ends_within_its_reasoning_has_no_answer(text: str) -> None:
    assert separate_reasoning(text) == ("Perhaps Jon", "", False)


def test_reasoning_between_two_parts_of_an_answer_is_taken_out_of_both() -> None:
    assert separate_reasoning("<think>a</think>Marta <think>b</think>Lind") == ("a\nb", "Marta Lind", True)


def test_an_answer_keeps_its_reasoning_in_the_trace() -> None:
    found = with_reasoning_apart(Prediction(answer="<think>a</think>Marta"), ["of an earlier call"])
    assert found.answer == "Marta"
    assert [(step.name, step.content) for step in found.trace] == [
        (REASONING, "of an earlier call"),
        (REASONING, "a"),
    ]


def test_a_prediction_of_reasoning_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="reasoning only"):
        with_reasoning_apart(Prediction(answer="<think>Perhaps"))


def test_a_run_without_a_generator_has_no_answer_still() -> None:
    nothing = Prediction(answer=None)
    assert with_reasoning_apart(nothing) is nothing
