from hypothesis import given
from hypothesis import strategies as st

from systems.common.graph_search.triplet_ranking import rank_triplets
from systems.common.graph_stores.contract import StoredTriplet


def triplet(head: str, relation: str, tail: str, n_chunks: int = 1) -> StoredTriplet:
    chunks = tuple(f"c{number}" for number in range(n_chunks))
    return StoredTriplet(head, relation, tail, head, tail, chunks, ("d",))


QUESTION = "Who did Tidewright Power pay to replace Ondrevik?"
FOUND = {"tidewright power": 0, "ondrevik": 1}
BOTH = triplet("tidewright power", "HIRED", "ondrevik")
WORDS = triplet("tidewright power", "REPLACE", "brennick")
OFTEN = triplet("alder", "KNOWS", "tidewright power", n_chunks=3)
PLAIN = triplet("tidewright power", "BUILT", "gull sound")
OTHER = triplet("gannets", "PLAY", "ondrevik")
ORDER = [BOTH, WORDS, OTHER, OFTEN, PLAIN]


def test_both_ends_first_then_the_best_of_each_entity_by_the_question_s_words_and_support() -> None:
    assert rank_triplets(QUESTION, FOUND, ORDER[::-1]) == ORDER


def test_an_entity_with_hundreds_of_relations_leaves_room_for_the_others() -> None:
    hub = [triplet("tidewright power", f"R{number}", "x") for number in range(300)]
    assert rank_triplets(QUESTION, FOUND, [*hub, OTHER])[1] == OTHER


def test_words_of_an_entity_that_was_found_count_nothing() -> None:
    assert rank_triplets("Tidewright Power?", FOUND, [WORDS, PLAIN]) == [PLAIN, WORDS]


@given(st.permutations(ORDER))
def test_the_order_they_came_in_does_not_matter(shuffled: list[StoredTriplet]) -> None:
    assert rank_triplets(QUESTION, FOUND, shuffled) == ORDER


def test_nothing_gives_nothing() -> None:
    assert rank_triplets(QUESTION, {}, []) == []
