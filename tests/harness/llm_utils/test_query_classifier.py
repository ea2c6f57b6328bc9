import pytest

from harness.llm_utils.query_classifier import (
    REPLY_TOKENS,
    known_type,
    type_by_model,
    type_by_rules,
    type_messages,
)
from harness.llm_utils.structured_output import Unreadable
from harness.protocols import Message


class Replying:
    """A model that gives these replies, one after the other."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = list(replies), []  # type: ignore[var-annotated]

    async def complete(self, messages: list[Message], **options: object) -> str:
        self.asked.append((messages, options))
        return self.replies.pop(0)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which company is accused by two papers of hiding its losses?", "inference"),
        ("Who, according to the Courier and the Post, bought the mill?", "inference"),
        ("Considering what the Courier and the Post report, which town lost its bridge?", "inference"),
        ("Do the Courier and the Post name the same price for the mill?", "comparison"),
        ("Is the budget that the Post reports higher than that of the Courier?", "comparison"),
        (
            "Between the Post's report in May and the Courier's in June, did the date of opening change?",
            "temporal",
        ),
        ("Has the mayor's view of the bridge changed since the Post's interview?", "temporal"),
        ("Did the Post report on the flood before the Courier mentioned the dam?", "temporal"),
        ("", "comparison"),
        ("?" * 10_000, "comparison"),
    ],
)
def test_rules_tell_what_a_question_asks_for_from_its_words(question: str, kind: str) -> None:
    assert type_by_rules(question) == kind


def test_a_data_sets_name_for_a_type_is_known_with_and_without_its_ending() -> None:
    assert [known_type(name) for name in ("temporal_query", "temporal", "null_query")] == [
        "temporal",
        "temporal",
        None,
    ]


async def test_a_model_is_asked_once_and_held_to_the_three_names() -> None:
    model = Replying('{"type": "temporal"}')
    assert await type_by_model(model, "What came first?") == "temporal"  # type: ignore[arg-type]
    ((messages, options),) = model.asked
    assert messages == type_messages("What came first?")
    assert options["max_tokens"] == REPLY_TOKENS
    assert options["json_schema"]["properties"]["type"]["enum"] == ["inference", "comparison", "temporal"]


async def test_a_reply_that_names_no_type_is_asked_for_once_more_and_never_guessed() -> None:
    model = Replying("comparison, I think", '{"type": "opinion"}')
    with pytest.raises(Unreadable, match="none of the types"):
        await type_by_model(model, "Which is best?")  # type: ignore[arg-type]
