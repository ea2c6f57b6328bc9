import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.records import Triplet
from harness.extraction.text_windows import Extractions, windows_of
from harness.llm_utils.structured_output import Unreadable


class Reading:
    """Reads a window as one triplet for each of its words, and remembers the windows."""

    def __init__(self) -> None:
        self.windows: list[str] = []

    async def __call__(self, window: str) -> tuple[Triplet, ...]:
        self.windows.append(window)
        await asyncio.sleep(0)
        if "garbage" in window:
            raise Unreadable("the model's reply is not what was asked for")
        return tuple(Triplet(word, "is", "said") for word in window.split())


def heads(triplets: tuple[Triplet, ...]) -> list[str]:
    return [triplet.head for triplet in triplets]


async def test_a_text_is_read_once_however_often_it_is_asked_for() -> None:
    read = Reading()
    extractions = Extractions(read, 100)
    await asyncio.gather(extractions.of("one two"), extractions.of("one two", "three"), extractions.of("three"))
    assert read.windows == ["one two", "three"]


async def test_triplets_come_in_the_order_of_the_texts_each_once() -> None:
    assert heads(await Extractions(Reading(), 100).of("b a", "a c")) == ["b", "a", "c"]


async def test_a_long_text_is_read_in_windows() -> None:
    read = Reading()
    found = await Extractions(read, 12).of("one two. three four. five")
    assert read.windows == ["one two.", "three four.", "five"]
    assert len(found) == 5


async def test_a_text_that_repeats_itself_is_not_read_twice() -> None:
    read = Reading()
    await Extractions(read, 10).of("the same.\n\nthe same.\n\nthe same.")
    assert read.windows == ["the same."]


async def test_one_window_that_cannot_be_read_fails_the_text_and_no_other() -> None:
    read = Reading()
    extractions = Extractions(read, 12)
    with pytest.raises(Unreadable):
        await extractions.of("one two. garbage. five six.")
    assert "five six." in read.windows
    assert heads(await extractions.of("one two.")) == ["one", "two."]


async def test_a_blank_text_states_nothing_and_is_not_read() -> None:
    read = Reading()
    assert await Extractions(read, 12).of("", " \n ") == ()
    assert read.windows == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a paragraph\n\nand another one", ["a paragraph", "and another one"]),
        ("a line\nand another line", ["a line", "and another line"]),
        ("One sentence. And another.", ["One sentence.", "And another."]),
        ("words without any full stop", ["words without any", "full stop"]),
        ("x" * 40, ["x" * 18, "x" * 18, "x" * 4]),
    ],
)
def test_a_text_is_cut_where_it_hurts_least(text: str, expected: list[str]) -> None:
    assert list(windows_of(text, 18)) == expected


@given(text=st.text(alphabet="ab. \n", max_size=200), longest=st.integers(1, 40))
def test_windows_are_within_bounds_and_lose_only_white_space(text: str, longest: int) -> None:
    windows = list(windows_of(text, longest))
    assert all(0 < len(window) <= longest and window == window.strip() for window in windows)
    assert "".join("".join(windows).split()) == "".join(text.split())
