import functools
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import MissingDependency
from harness.core.records import Document, Span
from harness.extraction import nlp, nlp_phrases, types
from harness.extraction.nlp import NlpExtractor, check_pipeline
from harness.extraction.types import MAX_ENTITIES, MAX_TRIPLETS, TextGraph
from systems.common.chunking import Chunk
from systems.common.knowledge_graph import assemble

LOAD = functools.cache(nlp._load)
"""The real pipelines, each loaded once."""


@pytest.fixture(autouse=True)
def _loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nlp, "_load", LOAD)


def chunks(*texts: str) -> list[Chunk]:
    documents = [Document(doc_id=f"d{number}", text=text) for number, text in enumerate(texts)]
    return [
        Chunk(f"{number:06d}-00000", document.text, Span(doc_id=document.doc_id, start=0, end=1), document)
        for number, document in enumerate(documents)
    ]


def extractor(*, every_phrase: bool = False) -> NlpExtractor:
    return NlpExtractor(pipeline=None, progress=lambda done, total: None, every_phrase=every_phrase)


async def extract(*texts: str) -> list[TextGraph]:
    return await extractor().extract(texts)


async def statements(text: str) -> set[tuple[str, str, str]]:
    (graph,) = await extract(text)
    found = ((triplet.head, triplet.relation, triplet.tail) for triplet in graph.triplets)
    return {triplet for triplet in found if triplet[1] != "co-occurs with"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Microsoft acquired Activision Blizzard.", ("Microsoft", "acquire", "Activision Blizzard")),
        ("FTX was founded by Sam Bankman-Fried.", ("Sam Bankman-Fried", "found", "FTX")),
        ("Sam Bankman-Fried was charged with wire fraud.", ("Sam Bankman-Fried", "charged with", "wire fraud")),
        ("Sam Altman signed a deal with Microsoft.", ("Sam Altman", "sign deal with", "Microsoft")),
        ("Google shut down Stadia.", ("Google", "shut down", "Stadia")),
        ("Microsoft did not buy Yahoo.", ("Microsoft", "not buy", "Yahoo")),
        ("Microsoft plans to buy Yahoo.", ("Microsoft", "plan to buy", "Yahoo")),
        ("Apple sued Samsung and paid Google.", ("Apple", "pay", "Google")),
        ("Apple and Google sued Samsung.", ("Google", "sue", "Samsung")),
        ("Elon Musk, who founded SpaceX, lives in Texas.", ("Elon Musk", "found", "SpaceX")),
        ("Sundar Pichai is the CEO of Google.", ("Sundar Pichai", "is ceo of", "Google")),
        ("Tim Cook, the chief executive of Apple, resigned.", ("Tim Cook", "is executive of", "Apple")),
        ("Apple's chief, Tim Cook, resigned.", ("Tim Cook", "is chief of", "Apple")),
        ("OpenAI CEO Sam Altman resigned.", ("Sam Altman", "is ceo of", "OpenAI")),
        ("Google bought YouTube in November 2006.", ("Google", "buy in", "November 2006")),
        ("Microsoft invested $10 billion.", ("Microsoft", "invest", "$10 billion")),
        ("Apple launched a new headset.", ("Apple", "launch", "new headset")),
    ],
)
async def test_a_sentence_becomes_a_triplet(text: str, expected: tuple[str, str, str]) -> None:
    assert expected in await statements(text)


@pytest.mark.parametrize(
    "text", ["He bought it.", "The team won the game.", "Microsoft bought Microsoft.", "Microsoft grew in 2023."]
)
async def test_a_statement_without_two_entities_is_no_triplet(text: str) -> None:
    assert await statements(text) == set()


async def test_entities_have_plain_kinds_and_neither_article_nor_possessive() -> None:
    (graph,) = await extract("Yesterday the European Union's lawyers met Tim Cook in Berlin for the 3rd time.")
    found = [(entity.name, entity.kind) for entity in graph.entities]
    assert found == [("European Union", "Organisation"), ("Tim Cook", "Person"), ("Berlin", "Place")]


async def test_names_of_one_sentence_co_occur_once_and_in_one_direction() -> None:
    (graph,) = await extract("Berlin, then Paris. Paris, then Berlin.\n\nLondon burned.")
    assert [(each.head, each.relation, each.tail) for each in graph.triplets] == [
        ("Berlin", "co-occurs with", "Paris")
    ]


async def test_a_concept_is_an_entity_only_where_two_texts_name_it() -> None:
    alone, shared, again = await extract(
        "People like ice cream cones.", "An interest rate is a number.", "They fear the interest rate."
    )
    assert alone.entities == ()
    assert [(entity.name, entity.kind) for entity in shared.entities] == [("interest rate", "Concept")]
    assert again.entities == shared.entities


async def test_a_name_does_not_run_across_a_blank_line() -> None:
    (graph,) = await extract("We met Angela\n\nMerkel Apple Berlin spoke.")
    assert not any("Angela Merkel" in entity.name for entity in graph.entities)


async def test_any_text_gives_a_graph_that_can_be_stored() -> None:
    strange = ["\x00\x01\x02", "\u200b\ufeff\u2028", "東京は日本の首都です。", "محمد يعيش في القاهرة", "\n\n \n"]
    texts = [*strange, "🙂🙂🙂 | 12 | 13 |\n|--|--|", "a" * 3000, "half \ud83d an emoji"]
    graphs = await extract(*texts)
    assert [graph.failure for graph in graphs] == [""] * len(texts)
    assert "\ud83d" not in str(assemble(chunks(*texts), graphs).entities)


@pytest.mark.slow
async def test_a_text_that_is_a_list_stays_within_bounds() -> None:
    people = ", ".join(f"John Smith{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(600))
    (graph,) = await extract(f"{people} met {people}.")
    assert 0 < len(graph.triplets) <= MAX_TRIPLETS
    assert MAX_TRIPLETS < len(graph.entities) <= MAX_ENTITIES


def test_a_text_too_long_for_the_parser_is_split_between_words() -> None:
    text = " ".join(f"word{n}" for n in range(120_000))
    pieces = list(nlp._pieces(text))
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 20_000
    assert all(piece.endswith(" ") for piece in pieces[:-1])
    assert list(nlp._pieces("x" * 50_000)) == ["x" * 20_000, "x" * 20_000, "x" * 10_000]


async def test_a_text_that_spacy_fails_on_is_its_failure_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def phrases_of(doc: Any) -> Any:
        if "poison" in doc.text:
            raise RuntimeError("cannot parse")
        return parse(doc)

    parse = nlp_phrases.phrases_of
    monkeypatch.setattr(types, "phrases_of", phrases_of)
    first, second, third = await extract("Apple sued Samsung.", "poison", "Apple sued Samsung.")
    assert second == TextGraph(failure="RuntimeError: cannot parse")
    assert first == third
    assert first.triplets


async def test_batches_are_parsed_in_another_thread_and_progress_is_reported_in_that_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[int, int, int]] = []
    parsing: set[int] = set()

    def progress(done: int, total: int) -> None:
        told.append((done, total, threading.get_ident()))

    def phrases_of(doc: object) -> object:
        parsing.add(threading.get_ident())
        return parse(doc)

    parse = nlp_phrases.phrases_of
    monkeypatch.setattr(types, "phrases_of", phrases_of)
    await NlpExtractor(pipeline=None, progress=progress).extract(["Apple sued Samsung."] * 70)
    assert told == [(done, 70, threading.get_ident()) for done in (32, 64, 70)]
    assert parsing and threading.get_ident() not in parsing


def test_a_missing_package_or_pipeline_is_one_line_with_the_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(MissingDependency, match="en_core_web_xl is not installed: python -m spacy download"):
        check_pipeline("en_core_web_xl")
    with pytest.raises(MissingDependency, match="is not installed"):
        check_pipeline(str(tmp_path))

    monkeypatch.setattr(nlp, "find_spec", {"spacy": True, "en_core_web_sm": True}.get)
    assert check_pipeline(None) == "en_core_web_sm", "the one that spaCy downloads"
    there: Callable[[str], object] = {"spacy": True}.get
    monkeypatch.setattr(nlp, "find_spec", there)
    with pytest.raises(
        MissingDependency, match=r"no English spaCy pipeline .* 'rag-bench-harness\[extractor-nlp\]'"
    ):
        extractor()
    monkeypatch.setattr(nlp, "find_spec", {}.get)
    with pytest.raises(MissingDependency, match=r"spaCy is not installed.* 'rag-bench-harness\[extractor-nlp\]'"):
        extractor()


def test_a_pipeline_that_warns_while_loading_warns_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    import spacy

    pipeline = LOAD(check_pipeline(None))

    def load(_: str) -> Any:
        warnings.warn("[W095] trained with another version", UserWarning, stacklevel=1)
        return pipeline

    monkeypatch.setattr(spacy, "load", load)
    assert nlp._load("en_core_web_sm") is pipeline


async def test_neighbouring_phrases_are_linked_if_every_phrase_is_wanted() -> None:
    expected = {
        "what color is amber urine": [("color", "be", "amber urine")],
        "How much does an average person make for tutoring?": [("average person", "make for", "tutoring")],
        "What does it do to them?": [],
        "The law and the law.": [],
        "The tax that everybody who had ever paid it knew hurts.": [],
    }
    dense = await extractor(every_phrase=True).extract([*expected])
    assert [list(graph.triplets) for graph in dense] == [*expected.values()]
    assert not any(graph.triplets for graph in await extract(*expected))


async def test_every_phrase_adds_to_the_statements_and_changes_none() -> None:
    text = "Apple sued Samsung over the design of a phone in the spring of a bad year."
    (dense,) = await extractor(every_phrase=True).extract([text])
    (sparse,) = await extract(text)
    assert dense.triplets[: len(sparse.triplets)] == sparse.triplets
    assert ("design", "of", "phone") in dense.triplets
    assert len({frozenset((one.head, one.tail)) for one in dense.triplets}) == len(dense.triplets)
