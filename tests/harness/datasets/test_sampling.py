import dataclasses
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.errors import ConfigError, DataError
from harness.core.records import Document, Evidence, Query, Reference
from harness.datasets import Dataset, QuerySample, load_dataset, multihop_rag, select, select_queries
from harness.protocols import DatasetRow, DatasetSpec, RawDataset

from .conftest import LoadReal


def make_raw(types: list[str]) -> RawDataset:
    """One query of each of these types, citing every third document of a corpus of its own."""
    documents = tuple(Document(doc_id=f"d{n}", text=f"text {n}") for n in range(len(types) + 3))
    rows = []
    for n, query_type in enumerate(types):
        evidence = (Evidence(doc_id=f"d{n}", fact="text"),)
        reference = Reference(query_id=f"q{n}", query_type=query_type, answers=("a",), evidence=evidence)
        rows.append(DatasetRow(Query(query_id=f"q{n}", text=f"question {n}"), reference, (f"d{n}",)))
    return RawDataset(documents, tuple(rows), ("a note of the loader",))


def make_spec(raw: RawDataset) -> DatasetSpec:
    return DatasetSpec(name="toy", summary="", load=lambda subset: raw, subsets=("small", "large"))


def draw(raw: RawDataset, sample: QuerySample | None, *, cited: bool = False) -> Dataset:
    return select(make_spec(raw), raw, subset="small", sample=sample, corpus="cited" if cited else "full")


TYPES = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=40)
SEEDS = st.integers(min_value=0, max_value=2**32)
EXAMPLES = settings(max_examples=50, deadline=None)


@EXAMPLES
@given(TYPES, st.integers(1, 12), SEEDS)
def test_a_sample_is_stratified_repeatable_in_order_and_a_part_of_a_larger_one(
    types: list[str], size: int, seed: int
) -> None:
    raw = make_raw(types)
    got = draw(raw, QuerySample(size, seed))
    everything = Counter(types)
    assert Counter(reference.query_type for reference in got.references) == {
        name: min(size, count) for name, count in everything.items()
    }
    numbers = [int(query.query_id[1:]) for query in got.queries]
    assert numbers == sorted(set(numbers))
    assert [query.query_id for query in got.queries] == [reference.query_id for reference in got.references]
    assert got.type_mix == everything
    assert got == draw(raw, QuerySample(size, seed))
    assert {*got.queries} <= {*draw(raw, QuerySample(size + 1, seed)).queries}
    cited = draw(raw, QuerySample(size, seed), cited=True)
    assert [document.doc_id for document in cited.documents] == [f"d{query.query_id[1:]}" for query in got.queries]
    assert got.documents == raw.documents


@EXAMPLES
@given(TYPES, st.integers(1, 12) | st.none(), SEEDS, st.sampled_from([0.1, 0.3, 0.5]))
def test_queries_are_asked_or_held_out_and_a_larger_sample_holds_out_the_same(
    types: list[str], size: int | None, seed: int, share: float
) -> None:
    raw = make_raw([*types, "a", "a", "b", "b"] * 5)

    def ids(size: int | None, *, is_opened: bool) -> set[str]:
        return {one.query_id for one in draw(raw, QuerySample(size, seed, share, is_opened=is_opened)).queries}

    size = None if size is None else size + 10
    asked, held_out = ids(size, is_opened=False), ids(size, is_opened=True)
    everything = {one.query_id for one in draw(raw, QuerySample(size, seed)).queries}
    assert (asked | held_out, asked & held_out) == (everything, set())
    assert held_out
    assert held_out <= ids(None, is_opened=True)


@EXAMPLES
@given(TYPES, st.integers(1, 12), SEEDS)
def test_a_further_type_leaves_the_draws_of_the_others_alone(types: list[str], size: int, seed: int) -> None:
    with_more = make_raw(types + ["aa", "z"] * 5)
    before = draw(make_raw(types), QuerySample(size, seed)).queries
    after = draw(with_more, QuerySample(size, seed))
    kept = tuple(
        query
        for query, reference in zip(after.queries, after.references, strict=True)
        if reference.query_type not in {"aa", "z"}
    )
    assert kept == before


def test_the_draw_is_the_same_on_every_machine_and_another_one_for_another_seed() -> None:
    got = draw(make_raw(["a", "b"] * 20), QuerySample(3, 42))
    assert [query.query_id for query in got.queries] == ["q4", "q6", "q13", "q27", "q30", "q37"]
    raw = make_raw(["a"] * 200)
    assert len({draw(raw, QuerySample(10, seed)).queries for seed in range(20)}) == 20


def test_all_queries_are_taken_without_a_sample_and_of_a_type_with_too_few() -> None:
    raw = make_raw(["a", "b", "a"])
    got = draw(raw, None)
    assert got.queries == tuple(row.query for row in raw.rows)
    assert got.references == tuple(row.reference for row in raw.rows)
    assert (got.documents, got.notes) == (raw.documents, raw.notes)
    assert (got.name, got.subset) == ("toy", "small")
    got = draw(make_raw(["a"] * 5 + ["b"] * 2), QuerySample(3, 1))
    assert [note.rpartition(": ")[2] for note in got.notes if "type" in note] == ["2 b"]
    assert got.notes[0] == "a note of the loader"


def test_the_first_subset_is_the_default_and_an_unknown_one_is_refused_before_anything_is_read() -> None:
    asked: list[str] = []

    def load(subset: str) -> RawDataset:
        asked.append(subset)
        return make_raw(["a"])

    spec = dataclasses.replace(make_spec(make_raw(["a"])), load=load)
    assert [load_dataset(spec, subset=subset).subset for subset in (None, "large")] == ["small", "large"]
    with pytest.raises(ConfigError, match="did you mean 'small'"):
        load_dataset(spec, subset="smal")
    assert asked == ["small", "large"]
    with pytest.raises(ConfigError, match="per_type"):
        QuerySample(0, 1)
    with pytest.raises(ConfigError, match="did you mean 'large'"):
        select(spec, make_raw(["a"]), subset="larg", sample=None, corpus="full")


def test_a_data_set_that_is_empty_or_contradicts_itself_is_refused() -> None:
    with pytest.raises(DataError, match="leaves no query"):
        draw(dataclasses.replace(make_raw(["a"]), rows=()), None)
    null = Reference(query_id="q0", query_type="null", answers=("x",))
    rows = (DatasetRow(Query(query_id="q0", text="?"), null, ()),)
    with pytest.raises(DataError, match="leaves no document"):
        draw(RawDataset(make_raw(["a"]).documents, rows), None, cited=True)
    raw = make_raw(["a", "b"])
    first, second = raw.rows
    other = first.reference.model_copy(update={"query_id": "q9"})
    foreign = first.reference.model_copy(update={"evidence": (Evidence(doc_id="d99", fact="x"),)})
    for broken, word in (
        (dataclasses.replace(raw, rows=(first, first)), "query_id 'q0' occurs twice"),
        (dataclasses.replace(raw, documents=raw.documents * 2), "doc_id 'd0' occurs twice"),
        (dataclasses.replace(raw, rows=(dataclasses.replace(first, reference=other), second)), "'q9'"),
        (dataclasses.replace(raw, rows=(dataclasses.replace(first, reference=foreign),)), "'d99'"),
        (dataclasses.replace(raw, rows=(dataclasses.replace(first, doc_ids=("d77",)),)), "'d77'"),
    ):
        with pytest.raises(DataError, match=word):
            draw(broken, None)


def test_the_digest_changes_with_any_part_and_with_nothing_else() -> None:
    raw = make_raw(["a", "b"])
    base = draw(raw, None).digest
    assert len(base) == 64
    assert draw(make_raw(["a", "b"]), None).digest == base
    assert draw(dataclasses.replace(raw, notes=("other",)), None).digest == base
    document, row = raw.documents[0], raw.rows[0]
    others = [document.model_copy(update=change) for change in ({"text": "text O"}, {"title": "T"})]
    for documents in (*((one, *raw.documents[1:]) for one in others), raw.documents[:-1], raw.documents[::-1]):
        assert draw(dataclasses.replace(raw, documents=documents), None).digest != base
    asked = dataclasses.replace(row, query=Query(query_id="q0", text="?"))
    answered = dataclasses.replace(row, reference=row.reference.model_copy(update={"answers": ("b",)}))
    for rows in (raw.rows[::-1], (asked, *raw.rows[1:]), (answered, *raw.rows[1:])):
        assert draw(dataclasses.replace(raw, rows=rows), None).digest != base
    assert draw(raw, None, cited=True).digest != base
    many = make_raw(["a"] * 30)
    assert draw(many, QuerySample(3, 1)).digest != draw(many, QuerySample(3, 2)).digest


def test_the_benchmark_of_the_source_paper_can_be_drawn(load_real: LoadReal) -> None:
    raw = load_real(multihop_rag.SPEC, "default")
    started = time.process_time()
    got = select(multihop_rag.SPEC, raw, subset="default", sample=QuerySample(50, 42), corpus="cited")
    full = select(multihop_rag.SPEC, raw, subset="default", sample=QuerySample(50, 42), corpus="full")
    assert time.process_time() - started < 2, "609 articles must be hashed in well under a second"
    assert Counter(reference.query_type for reference in got.references) == dict.fromkeys(got.type_mix, 50)
    assert got.queries == full.queries
    assert 100 < len(got.documents) < len(full.documents) == 609


def test_queries_are_selected_by_id_in_data_set_order_over_every_document() -> None:
    whole = draw(make_raw(["a", "b", "a"]), None)
    chosen = select_queries(whole, {"q2", "q0"})
    assert [query.query_id for query in chosen.queries] == ["q0", "q2"]
    assert [reference.query_id for reference in chosen.references] == ["q0", "q2"]
    assert (chosen.documents, chosen.type_mix) == (whole.documents, whole.type_mix)
    assert chosen.digest not in {whole.digest, select_queries(whole, ["q0"]).digest}
    assert select_queries(whole, ["q0", "q1", "q2"]) == whole
    with pytest.raises(DataError, match="has no query 'q9'"):
        select_queries(whole, ["q0", "q9"])
    with pytest.raises(DataError, match="without a query"):
        select_queries(whole, [])
