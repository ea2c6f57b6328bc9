import pytest

from harness.core.records import Context, ContextKind, Triplet
from harness.evaluators.triplet_extraction import TextContent, content_of_contexts, texts_of

LEADS = Triplet("Ann", "leads", "Acme")
OWNS = Triplet("Ann", "leads", "Acme Bank")


def passage(text: str) -> Context:
    return Context(text=text, doc_ids=("d1",))


def test_each_passage_is_a_text_and_all_triplets_are_one_with_a_line_each() -> None:
    a, blank, b, again = (Context(text=text, doc_ids=(), kind="triplet") for text in ("a", " ", "b", "a"))
    assert texts_of([a, passage("one"), blank, b, passage(" "), passage("two"), again]) == ("one", "two", "a\nb")


@pytest.mark.parametrize(
    ("text", "triplets", "to_read"),
    [
        ("(Ann)-[leads]->(Acme)", (LEADS,), ()),
        (" (Ann)-[leads]->(Acme) : ", (LEADS,), ()),
        # The sentence begins as the triplet in words does.
        ("(Ann)-[leads]->(Acme): Ann leads Acme Tools.", (LEADS,), ("Ann leads Acme Tools.",)),
        ("Ann leads Acme. Ann leads Acme Bank", (LEADS, OWNS), ()),
        ("(Ann)-[leads]->(Acme): It thrives.", (LEADS,), ("It thrives.",)),
        # Kinds, sources and names are no sentence.
        ("(Ann)-[leads]->(Acme) (The Post, 2023-10-05)", (LEADS,), ()),
        ("Ann (person): Ann leads Acme (The Post, 2023). Ann leads Acme Bank (The Post)", (LEADS, OWNS), ()),
        ("Ann leads Acme (The Post). She was born in Rome.", (LEADS,), ("(The Post). She was born in Rome.",)),
        # Another wording of what it carries.
        ("Ann -> leads -> Acme", (LEADS,), ()),
        ("Ann runs it.", (LEADS,), ()),
        ("Ann runs it:", (), ("Ann runs it:",)),
    ],
)
def test_the_sentences_of_a_context_beside_its_triplets_are_read(
    text: str, triplets: tuple[Triplet, ...], to_read: tuple[str, ...]
) -> None:
    context = Context(text=text, doc_ids=("d",), kind="triplet", triplets=triplets)
    assert content_of_contexts([context]) == TextContent(to_read, triplets)


@pytest.mark.parametrize("kind", ["passage", "sentence"])
def test_a_passage_is_read_whole_whatever_triplets_it_carries_since_others_retrieve_it_too(
    kind: ContextKind,
) -> None:
    text = "Ann leads Acme. Bob left."
    bare = Context(text=text, doc_ids=("d",), kind=kind)
    carrying = bare.model_copy(update={"triplets": (LEADS,)})
    assert content_of_contexts([carrying, bare]) == TextContent((text, text), (LEADS,))
