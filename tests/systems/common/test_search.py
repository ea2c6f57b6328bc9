from harness.core.records import Context, Span
from systems.common.search import fuse


def passage(name: str) -> Context:
    return Context(text=name, doc_ids=(name,), kind="passage", span=Span(doc_id=name, start=0, end=1))


def fused(lists: list[str], k: int = 10) -> str:
    return "".join(context.text for context in fuse([[passage(name) for name in each] for each in lists], k))


def test_what_both_lists_hold_comes_before_what_one_holds_higher() -> None:
    assert fused(["abc", "xyc"]) == "caxby"


def test_equal_scores_stand_as_in_the_first_list() -> None:
    assert fused(["ab", "ba"]) == "ab"
    assert fused(["a", "x"]) == "ax"


def test_no_more_come_back_than_asked_for() -> None:
    assert fused(["abc", "xyz"], k=2) == "ax"


def test_a_score_is_the_sum_of_reciprocal_ranks() -> None:
    first, second = fuse([[passage("a"), passage("b")], [passage("a")]], k=2)
    assert (first.score, second.score) == (2 / 61, 1 / 62)


def test_nothing_found_is_nothing() -> None:
    assert fused(["", ""]) == ""
