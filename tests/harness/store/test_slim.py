"""Records that are held by the hundred thousand, and what they say afterwards."""

from harness.records import Cost, Evidence, Prediction, Query, Reference, RunRecord, Usage
from harness.store import SampleRow
from harness.store.slim import slimmed


def _record(query_id: str) -> RunRecord:
    cost = Cost(wall_s=1.0, usage={"generator": Usage(calls=1, input_tokens=9)}, stages_s={"retrieve": 0.5})
    said = Prediction(answer="Yes")
    return RunRecord(
        query_id=query_id, repeat=0, status="ok", prediction=said, cost=cost, attempt=1, started_at=""
    )


def _row(query_id: str) -> SampleRow:
    reference = Reference(
        query_id=query_id, query_type="t", answers=("Yes",), evidence=(Evidence(doc_id="a", fact="b"),)
    )
    return SampleRow(query=Query(query_id=query_id, text="Is it so?"), reference=reference)


def test_a_slimmed_record_says_and_writes_what_it_said_before() -> None:
    for one, other in ((_record("q1"), _record("q1")), (_row("q1"), _row("q1"))):
        assert slimmed(one) == other
        assert one.model_dump_json() == other.model_dump_json()


def test_objects_of_a_kind_share_what_was_given_of_them() -> None:
    first, second = slimmed(_record("q1")), slimmed(_record("q2"))
    assert first.model_fields_set is second.model_fields_set
    assert first.cost.usage["generator"].model_fields_set is second.cost.usage["generator"].model_fields_set
    one, other = slimmed(_row("q1")), slimmed(_row("q2"))
    assert one.reference.evidence[0].model_fields_set is other.reference.evidence[0].model_fields_set
