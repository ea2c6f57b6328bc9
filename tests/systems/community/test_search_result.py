from harness.core.records import Context
from systems.community.search_result import within


def test_a_list_is_cut_before_the_first_context_that_is_too_much() -> None:
    contexts = [Context(text=text, doc_ids=("d",)) for text in ("one two", "three four five", "six")]
    assert [len(within(contexts, tokens)) for tokens in (1, 2, 4, 5, 6)] == [0, 1, 1, 2, 3]
