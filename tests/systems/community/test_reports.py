import importlib.util
import json
from collections.abc import Sequence
from typing import Any

import pytest

from harness.core.errors import MissingDependency
from harness.core.records import Context, Document, Triplet
from harness.extraction.types import FoundEntity, TextGraph
from systems.common.chunking import Chunk, ChunkParams, iter_chunks
from systems.common.knowledge_graph import assemble
from systems.common.token_estimate import count_tokens
from systems.community.global_search import in_batches, map_schema
from systems.community.params import AnswerParams, IndexParams
from systems.community.reports import (
    MAX_HEADLINE,
    MAX_SUMMARY,
    REPORT_SCHEMA,
    bounded_number,
    read_report,
    report_by_rules,
)
from systems.community.stored_index import Report, ReportedRelation
from systems.community.system import SPEC
from systems.community.text_units import TextUnits, within
from systems.community.triplet_extraction import store

WHOLE = {
    "title": "Tidewright",
    "summary": "A builder.",
    "rating": 7,
    "findings": [{"summary": "Built", "explanation": "Gull Sound"}],
}


def test_what_exceeds_the_schema_is_cut_and_what_fails_it_left_out() -> None:
    finding = {"summary": "s" * 500, "explanation": "e" * 500}
    report = read_report(
        {"title": 3, "summary": "long " * 500, "rating": 99, "findings": ["no", None, *[finding] * 9], "more": 1}
    )
    assert report["title"] == "Community"
    assert len(report["summary"]) <= MAX_SUMMARY
    assert report["rating"] == 10
    assert len(report["findings"]) == 3
    assert len(report["findings"][0]["summary"]) == MAX_HEADLINE
    assert report.keys() == WHOLE.keys()


@pytest.mark.parametrize("summary", [None, 3, " \n", "\ud800"])
def test_a_report_that_says_nothing_is_refused(summary: object) -> None:
    with pytest.raises(ValueError, match="no summary"):
        read_report({**WHOLE, "summary": summary})


def test_half_an_emoji_that_no_file_could_hold_is_left_out() -> None:
    report = read_report(json.loads('{"title": "a\\ud83c", "summary": "b\\ud83cc", "findings": "none"}'))
    assert report == {"title": "a", "summary": "bc", "rating": 0, "findings": []}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        (-1, 0),
        (10**400, 10),
        (True, None),
        ("3", 3),
        ("3/5", None),
        ("inf", None),
        (float("nan"), None),
    ],
)
def test_a_number_is_brought_within_its_bounds(value: object, number: float | None) -> None:
    assert bounded_number(value, 10) == number


def report(text: str) -> Report:
    return Report("0", 0, text, 1.0, 1.0, ("d",))


STATED = (
    ReportedRelation(("tidewright power", "gull sound"), ("array", "again")),
    ReportedRelation(("gull sound", "grid"), ("grid", "again")),
    ReportedRelation(("ann", "marten oake"), ("ann",)),
)


@pytest.mark.parametrize(
    ("said", "cited"),
    [
        ("Tidewright Power built Gull Sound.", ("array", "again")),
        ("GULL SOUND feeds the Grid", ("grid", "again")),
        ("Gull Sound", ("again", "array", "grid")),
        ("Marten Oake and an annual report of planning", ("ann",)),
        ("Nobody is named", ("d",)),
    ],
)
def test_a_point_cites_what_states_it_else_what_its_report_cites(said: str, cited: tuple[str, ...]) -> None:
    assert Report("0", 0, "text", 1.0, 1.0, ("d",), STATED).cited_for(said) == cited


def tables(*relations: tuple[str, str, str], entities: tuple[str, ...] = ("Abe", "Zed")) -> str:
    rows = [f'{n},\t"{name}",\t"UNKNOWN",\t"",\t1' for n, name in enumerate(entities)]
    stated = [f'{n},\t"{a}",\t"{b}",\t"{what}",\t2' for n, (a, b, what) in enumerate(relations)]
    return "\n".join(["-----Entities-----", *rows, "-----Relationships-----", "id,\tsource", *stated, "```"])


def test_a_report_by_rules_lists_what_is_stated_best_connected_first() -> None:
    report = report_by_rules(tables(("Abe", "Zed", "Abe owes Zed (Post)"), ("Abe", "Bea", "they met")))
    assert report == {
        "title": "Abe, Zed",
        "summary": "Abe owes Zed (Post). Abe - Bea: they met",
        "rating": 0,
        "findings": [],
    }
    assert read_report(report)["summary"] == report["summary"]


@pytest.mark.parametrize("length", [1, 5000])
def test_a_report_by_rules_is_bounded_and_says_something(length: int) -> None:
    said = report_by_rules(tables(*[("Abe", "Zed", f"Abe owes {n} {'much ' * length}to Zed") for n in range(90)]))
    assert 0 < count_tokens(said["summary"]) <= 400
    assert said["summary"].startswith("Abe owes 0 much")


@pytest.mark.parametrize("budget", [1, 3, 4, 10, 1000])
def test_batches_hold_every_report_in_order_within_the_budget(budget: int) -> None:
    texts = ["one two", "three", "four five six", "seven", "eight nine ten eleven twelve", "thirteen"]
    batches = in_batches([report(text) for text in texts], budget)
    held = [report.text for batch in batches for report in batch]
    assert len(held) == len(texts)
    assert all(text.startswith(kept) and kept for text, kept in zip(texts, held, strict=True))
    assert all(sum(count_tokens(report.text) for report in batch) <= budget for batch in batches)
    assert all(kept == text for text, kept in zip(texts, held, strict=True) if count_tokens(text) <= budget)


def test_every_list_and_string_of_a_schema_is_bounded() -> None:
    def check(schema: Any) -> None:
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
            for inner in schema["properties"].values():
                check(inner)
        elif schema["type"] == "array":
            assert schema["maxItems"] <= 5
            check(schema["items"])
        else:
            assert "maxLength" in schema or "maximum" in schema

    check(REPORT_SCHEMA)
    check(map_schema(7))


@pytest.mark.parametrize(
    ("index", "answer", "roles"),
    [
        ({"extractor": "nlp", "reports": "rules"}, {"mode": "global"}, ("embedder", "generator")),
        ({"extractor": "nlp"}, {"mode": "local"}, ("embedder generator", "embedder generator")),
        ({"reports": "rules"}, {"mode": "global"}, ("embedder generator", "generator")),
    ],
)
def test_a_generator_is_asked_unless_rules_read_and_write_and_only_a_local_search_embeds(
    index: dict[str, Any], answer: dict[str, Any], roles: tuple[str, str]
) -> None:
    params = IndexParams.model_validate(index), AnswerParams.model_validate(answer)
    found = SPEC.roles(*params)
    assert (" ".join(sorted(found.index)), " ".join(sorted(found.answer))) == roles
    # The parser is part of an index that it reads.
    assert SPEC.weights(params[0]).keys() == ({"parser"} if "extractor" in index else set())


def test_a_missing_package_is_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SPEC.preflight is not None
    SPEC.preflight(IndexParams(), AnswerParams())
    there = importlib.util.find_spec
    monkeypatch.setattr(
        "systems.community.library.find_spec", lambda name: None if name == "nano_vectordb" else there(name)
    )
    with pytest.raises(MissingDependency, match="not installed: nano_vectordb: run `make setup`"):
        SPEC.preflight(IndexParams(), AnswerParams())


def test_a_list_is_cut_before_the_first_context_that_is_too_much() -> None:
    contexts = [Context(text=text, doc_ids=("d",)) for text in ("one two", "three four five", "six")]
    assert [len(within(contexts, tokens)) for tokens in (1, 2, 4, 5, 6)] == [0, 1, 1, 2, 3]


CHUNKS = list(iter_chunks([Document(doc_id=str(n), text=f"Text {n}.") for n in range(7)], ChunkParams()))


class Kept:
    """nano-graphrag's stores of a graph and its vectors, in memory."""

    def __init__(self) -> None:
        self.nodes: dict[str, Any] = {}
        self.edges: dict[tuple[str, str], Any] = {}

    async def upsert_node(self, name: str, data: dict[str, Any]) -> None:
        self.nodes[name] = data

    async def upsert_edge(self, source: str, target: str, data: dict[str, Any]) -> None:
        self.edges[source, target] = data

    async def upsert(self, data: dict[str, Any]) -> None:
        self.content = [entry["content"] for entry in data.values()]


async def kept(chunks: Sequence[Chunk], *found: TextGraph) -> tuple[Kept, list[str]]:
    """What is stored of these findings, and the ids of the text units."""
    stores, units = Kept(), TextUnits.of(chunks)
    await store(assemble(chunks[: len(found)], found), units, stores, stores)
    return stores, units.in_order()


def stating(*triplets: tuple[str, str, str]) -> TextGraph:
    return TextGraph(triplets=tuple(Triplet(*triplet) for triplet in triplets))


async def test_a_node_is_described_by_what_is_stated_of_it_most_often_first() -> None:
    built, owns = ("Tidewright", "Built", "Gull Sound"), ("Tidewright", "is owner-of", "Brennick Yard")
    oake = TextGraph(entities=(FoundEntity("Oake", "Person"),))
    stores, (first, second, third, *_) = await kept(CHUNKS, stating(owns, built), stating(built), oake)
    built_it, owns_it = "Tidewright built Gull Sound", "Tidewright is owner of Brennick Yard"
    assert {
        name: (one["entity_type"], one["description"], one["source_id"]) for name, one in stores.nodes.items()
    } == {
        "Brennick Yard": ("UNKNOWN", owns_it, first),
        "Gull Sound": ("UNKNOWN", built_it, f"{first}<SEP>{second}"),
        "Oake": ("Person", "", third),
        "Tidewright": ("UNKNOWN", f"{built_it}. {owns_it}", f"{first}<SEP>{second}"),
    }
    assert stores.content[2:] == ["Oake", f"Tidewright: {built_it}. {owns_it}"]


async def test_an_edge_gathers_both_directions_and_counts_each_chunk_once() -> None:
    found = [stating(("Zed", "pays", "Abe"), ("Abe", "owes", "Zed")), stating(("abe", "owes", "Zed"))]
    stores, (first, second, *_) = await kept(CHUNKS, *found)
    assert stores.edges.keys() == {("Abe", "Zed")}
    edge = stores.edges["Abe", "Zed"]
    assert (edge["weight"], edge["source_id"]) == (2.0, f"{first}<SEP>{second}")
    assert edge["description"] == "Abe owes Zed. Zed pays Abe"
    assert json.loads(edge["triplets"]) == [["Abe", "owes", "Zed"], ["Zed", "pays", "Abe"]]


async def test_a_statement_names_each_document_that_states_it_once_and_no_more_than_three() -> None:
    dates = [("Post", "2024-03-01T09"), ("Post", "2024-03-01T10"), ("", ""), ("Daily\n", ""), ("", "2024-04-01")]
    told = [
        Document(doc_id=str(n), text=f"Text {n}.", title=f"T{n}", metadata={"source": one, "published_at": date})
        for n, (one, date) in enumerate(dates)
    ]
    chunks = list(iter_chunks(told, ChunkParams()))
    stores, _ = await kept(chunks, *[stating(("Abe", "owes", "Zed"))] * len(chunks))
    assert stores.edges["Abe", "Zed"]["description"] == "Abe owes Zed (Post, 2024-03-01; T2; Daily; 1 more)"
