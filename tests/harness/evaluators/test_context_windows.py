"""Contexts as judges read them: all of them, in windows, as the generator saw them."""

from hypothesis import given
from hypothesis import strategies as st

from harness.core.records import Context
from harness.evaluators.context_windows import reading_of
from harness.llm_utils.answer_contract import answer_messages


def contexts_of(*texts: str) -> list[Context]:
    return [Context(text=text, doc_ids=("d",)) for text in texts]


def test_what_fits_is_one_window_and_reads_as_the_prompt_of_the_generator() -> None:
    contexts = contexts_of("one", " two\n", "three")
    reading = reading_of(contexts, 1_000)
    assert [window.text for window in reading.windows] == ["[1] one\n\n[2] two\n\n[3] three"]
    assert reading.windows[0].text in answer_messages("?", contexts, "short")[1].content
    assert reading.share_read == 1.0


def test_a_context_that_does_not_fit_any_more_begins_the_next_window_under_its_own_number() -> None:
    reading = reading_of(contexts_of("a" * 90, "b" * 90, "c" * 90), 200)
    assert [sorted(window.ranks) for window in reading.windows] == [[1, 2], [3]]
    assert reading.windows[1].text == f"[3] {'c' * 90}"


def test_a_mean_over_windows_counts_each_by_how_much_of_the_contexts_it_holds() -> None:
    reading = reading_of(contexts_of("a" * 190, "b" * 90), 200)
    assert reading.mean([1.0, 0.0]) == 190 / 280
    assert reading_of(contexts_of("a" * 7), 200).mean([0.1]) == 0.1


@given(st.lists(st.text(max_size=700), max_size=8), st.integers(200, 500))
def test_every_letter_is_read_once_in_order_and_no_window_is_too_long(texts: list[str], longest: int) -> None:
    reading = reading_of(contexts_of(*texts), longest)
    assert all(0 < len(window.text) <= longest for window in reading.windows)
    for rank, text in enumerate(texts, start=1):
        read = [unit.text.removeprefix(f"[{rank}] ") for unit in reading.units if unit.rank == rank]
        assert "".join("".join(read).split()) == "".join(text.split())
    assert reading.share_read == 1.0
    assert [unit.rank for unit in reading.units] == sorted(unit.rank for unit in reading.units)
