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
    "\ufeff \n<think>{}</think>\n{}",
    "<think>{}</think>\n<answer>\n{}\n</answer>",
    "<think>{}</think><response>{}</response>",
    "<think>{}</think><answer>{}",
    "<think>{}</think>\n<|begin_of_box|>{}<|end_of_box|>",
    "<|START_THINKING|>{}<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
    "<|inner_prefix|>{}<|inner_suffix|>{}",
    "<|channel>thought\n{}<channel|>{}<turn|>",
    "analysis{}assistantfinal{}",
    "**Here's my thought process:** {}**Here's my response:** {}",
    '<details type="reasoning" done="true">\n<summary>Thought for 3 seconds</summary>\n{}\n</details>\n{}',
    "Thinking...\n{}\n...done thinking.\n\n{}",
    "<longcat_think>{}</longcat_think>{}",
    "<inner_monologue>{}</inner_monologue><final_answer>{}</final_answer>",
    "<|im_start|>assistant\n<think>{}</think>{}<|im_end|>\n<|im_start|>user\nWho else?<|im_end|>",
    "<think>{}</think>{}<|user|>",
    "<think>{}</think>{}[|endofturn|]",
    "<think>{}</think>{}<\uff5cend\u2581of\u2581sentence\uff5c>",
]


@pytest.mark.parametrize("form", FORMATS)
def test_every_family_of_models_gives_the_same_answer(form: str) -> None:
    found = separate_reasoning(form.format(THOUGHT, ANSWER))
    assert (found.reasoning.strip(" *"), found.answer.strip("* "), found.is_complete) == (THOUGHT, ANSWER, True)


@pytest.mark.parametrize(
    "text", ["Marta Lind", "  two\nlines ", "5 < 6 and 7 > 6", "<b>Marta</b>", "I think: yes", "", "a [THINKER]"]
)
def test_a_text_without_reasoning_stays_as_it_is(text: str) -> None:
    assert separate_reasoning(text) == ("", text, True)


@pytest.mark.parametrize(
    "text",
    [
        "A model writes `<think>` first and `</think>` last.",
        "`<think>hm</think>` is reasoning.",
        'The tag "<think>" opens, and "</think>" closes.',
        "“<think>hm</think>” is an example, and '</think>' its end.",
        "Its template:\n```xml\n<think>\nhm\n</think>\n```\nThat is all.",
        "ChatML: `<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant` and so on.",
        '<details type="example"><summary>More</summary>Jon</details>',
        '{"tag": "<think>", "end": "</think>"}',
        "`[THINK]` is Magistral's, `<|channel|>analysis<|message|>` is of gpt-oss.",
        "analysis of the data: final",
        "Here is my thought process: it is Marta.",
    ],
)
def test_an_answer_about_such_marks_remains_whole(text: str) -> None:
    assert separate_reasoning(text) == ("", text, True)
    # After reasoning, an answer may still speak of it.
    about = separate_reasoning(f"<think>They ask of `</think>`.</think>\n\n{text}")
    assert (about.reasoning, about.answer, about.is_complete) == ("They ask of `</think>`.", text, True)


@pytest.mark.parametrize(
    "text",
    [
        'He wrote "yes</think>"Marta"',
        "He asks about `<think>`.</think>Marta",
        "Of the <think> tag:\nit is Marta.\n</think>\nMarta",
        "Nested <think>one</think> in it.\n</think>Marta",
        "```\nopen code\n</think>\nMarta",
    ],
)
def test_reasoning_about_such_marks_is_reasoning_still(text: str) -> None:
    assert separate_reasoning(f"<think>{text}").answer.strip('"') == "Marta"


@pytest.mark.parametrize("text", ["analysisThe user asks", "Here is my thought process: The user asks"])
def test_reasoning_without_special_tokens_that_max_tokens_ended_has_no_answer(text: str) -> None:
    assert separate_reasoning(text, is_cut=True) == ("The user asks", "", False)
    assert separate_reasoning(text).answer == text


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
