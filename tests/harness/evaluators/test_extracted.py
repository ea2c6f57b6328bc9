from runtimes import Chat

from harness.evaluators.extracted import judged_extractions, texts_of
from harness.records import Context


def passage(text: str) -> Context:
    return Context(text=text, doc_ids=("d1",))


def test_each_passage_is_a_text_of_its_own_so_that_systems_share_its_extraction() -> None:
    assert texts_of([passage("one"), passage(" "), passage("two")]) == ("one", "two")


def test_the_triplets_of_a_graph_are_one_text_a_line_each() -> None:
    triplets = [Context(text=f"a -> b{number}", doc_ids=(), kind="triplet") for number in range(3)]
    assert texts_of([triplets[0], passage("one"), *triplets[1:]]) == ("one", "a -> b0\na -> b1\na -> b2")


async def test_contexts_that_queries_share_are_extracted_once() -> None:
    chat = Chat(lambda _: '{"triplets": [["a", "is", "b"]]}')
    extractions = judged_extractions(chat)
    for question in ("who?", "when?"):
        await extractions.of(question, *texts_of([passage("one"), passage("two")]))
    assert len(chat.calls) == 4
