"""Records that are held by the hundred thousand, and what they say afterwards."""

import pytest
from records import run_record

from harness.core.records import Cost, Evidence, Prediction, Query, Reference, RunRecord, Usage
from harness.store import CompressedByKey, SampleRow
from harness.store import compressed_memory as packing
from harness.store.compressed_memory import BLOCK, CompressedRecords


@pytest.fixture(params=[0, BLOCK + 5], autouse=True)
def _kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "KEPT", request.param)


def _record(query_id: str, attempt: int = 1) -> RunRecord:
    cost = Cost(wall_s=1 / 3, usage={"generator": Usage(calls=1, input_tokens=10**15)}, stages_s={"retrieve": 0.5})
    return run_record(query_id, Prediction(answer="Yes"), attempt=attempt, cost=cost)


def _row(query_id: str) -> SampleRow:
    evidence = (Evidence(doc_id="a", fact="so\nit is é \x00"),)
    reference = Reference(query_id=query_id, query_type="t", answers=("Yes",), evidence=evidence)
    return SampleRow(query=Query(query_id=query_id, text="Is it so?"), reference=reference)


def test_compressed_records_are_read_back_as_they_were() -> None:
    for n in (0, 1, BLOCK, 2 * BLOCK + 3):
        records = [_record(f"q{number}") for number in range(n)]
        rows = [_row(f"q{number}") for number in range(n)]
        for kind, listed in ((RunRecord, records), (SampleRow, rows)):
            packed: CompressedRecords[RunRecord | SampleRow] = CompressedRecords(kind, listed)
            assert len(packed) == n
            assert list(packed) == listed
            assert [packed[number] for number in range(n)] == listed
    texts: CompressedRecords[str | None] = CompressedRecords(str | None, [None, "", "é"] * BLOCK)
    assert list(texts) == [None, "", "é"] * BLOCK


def test_of_two_records_under_one_key_the_later_counts_at_its_own_place() -> None:
    records: CompressedByKey[str, RunRecord] = CompressedByKey(RunRecord)
    for number in range(BLOCK + 1):
        records.put(f"q{number}", _record(f"q{number}"))
    records.put("q0", _record("q0", attempt=2))
    records.put("q1", _record("q1", attempt=0), counts=False)
    assert (len(records), len(records.all)) == (BLOCK + 1, BLOCK + 3)
    assert list(records)[-1] == "q0"
    assert [record.query_id for record in records.values()] == list(records)
    assert [records["q0"].attempt, records["q1"].attempt] == [2, 1]
    assert "q2" in records
    assert records.get("x") is None


def test_equal_records_are_the_same_in_any_order() -> None:
    def packed(ids: list[str]) -> CompressedByKey[str, SampleRow]:
        rows: CompressedByKey[str, SampleRow] = CompressedByKey(SampleRow)
        for query_id in ids:
            rows.put(query_id, _row(query_id))
        return rows

    ids = [f"q{number}" for number in range(BLOCK + 9)]
    assert packed(ids).is_same(packed(ids))
    assert packed(ids).is_same(packed(ids[::-1]))
    assert not packed(ids).is_same(packed([*ids[:-1], "other"]))
    assert not packed(ids).is_same(packed(ids[:-1]))
