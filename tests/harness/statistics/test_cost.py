"""Tokens, dollars, seconds, CPU and memory of a run."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.records import (
    Cost,
    EvaluationRecord,
    IndexRecord,
    IndexStats,
    Query,
    Reference,
    RunRecord,
    Usage,
)
from harness.statistics.cost import (
    attempt_costs,
    evaluation_costs,
    fails_too_often,
    index_costs,
    is_lower_bound,
    latencies,
    peak_memory,
    query_costs,
    query_scores,
    resource_use,
    run_costs,
    without_price,
)
from harness.statistics.prices import load_prices
from harness.statistics.resource_usage import load_resources
from harness.statistics.run_frame import Aggregate, Frame
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow

from .conftest import find, frame, record

MODELS = {
    "generator": {"provider": "openai", "model": "gpt-4o-mini"},
    "embedder": {"provider": "minilm", "model": "minilm"},
}
USED = {
    "generator": Usage(calls=2, input_tokens=1_000_000, output_tokens=100_000, cached_tokens=200_000),
    "embedder": Usage(calls=1, input_tokens=500),
}
PRICES = load_prices()
# 0.8 * 0.15 + 0.2 * 0.075 + 0.1 * 0.60
USD = 0.195


def costs_of(frame: Frame, records: list[RunRecord]) -> list[Aggregate]:
    return query_costs(frame, query_scores(frame, records, MODELS, PRICES))


def costs_of_run(run: RunDir) -> list[Aggregate]:
    frame, attempts = Frame.of(run), list(run.iter_records())
    return run_costs(run, frame, attempts, query_scores(frame, [*run.records().values()], MODELS, PRICES), PRICES)


def means(rows: list[Aggregate], query_type: str = "overall") -> dict[str, float | None]:
    return {row.measure: row.mean for row in rows if row.query_type == query_type}


def counts(row: Aggregate) -> tuple[int, int, int]:
    return row.n_scored, row.n_failed, row.n_expected


def test_tokens_are_summed_over_roles_and_given_for_the_generator_alone() -> None:
    found = means(costs_of(frame({"t": 1}), [record("t0", usage=USED)]))
    assert found["input_tokens"] == 1_000_500
    assert found["generator_input_tokens"] == 1_000_000
    assert (found["output_tokens"], found["cached_tokens"], found["model_calls"]) == (100_000, 200_000, 3)
    assert found["usd"] == pytest.approx(USD)


def test_latency_is_without_throttling_and_only_of_live_answers() -> None:
    records = [
        record("t0", wall_s=5.0, throttled_s=2.0),
        record("t1", wall_s=1.0),
        record("t2", wall_s=600.0, ok=False),
        record("t3", wall_s=0.01, replayed_calls=1),
        record("t4", wall_s=0.01, cached_texts=3),
    ]
    rows = costs_of(frame({"t": 6}), records)
    assert find(rows, "latency_s").mean == 2.0
    assert find(rows, "latency_s_p50").mean == 2.0
    assert find(rows, "throttled_s").mean == 1.0
    assert find(rows, "wall_s").mean == find(rows, "wall_s_p50").mean == 3.0
    assert counts(find(rows, "latency_s")) == counts(find(rows, "wall_s")) == (2, 4, 6)
    assert {row.measure for row in rows if row.measure.startswith("latency")} == {
        *("latency_s", "latency_s_p50", "latency_s_p90", "latency_s_p95", "latency_s_p99")
    }


def bounds(rows: list[Aggregate]) -> set[str]:
    return {row.measure for row in rows if row.query_type == "overall" and is_lower_bound(row)}


def test_tokens_that_the_server_did_not_count_make_a_lower_bound() -> None:
    partly = {"generator": Usage(calls=2, input_tokens=500_000, unmetered_calls=1)}
    records = [record("t0", usage=USED), record("t1", usage=partly)]
    rows = costs_of(frame({"t": 2}), records)
    assert find(rows, "generator_input_tokens").mean == 750_000
    assert find(rows, "usd").mean == pytest.approx((USD + 0.075) / 2)
    assert counts(find(rows, "input_tokens")) == (1, 0, 2)
    assert find(rows, "input_tokens").n_imputed == 1
    assert counts(find(rows, "model_calls")) == (2, 0, 2)
    (total,) = attempt_costs(frame({"t": 2}), [one.cost for one in records], MODELS, PRICES)
    assert total.mean == pytest.approx(USD + 0.075)
    assert bounds([*rows, total]) >= {"tokens", "input_tokens", "generator_tokens", "usd", "answer_usd_total"}
    assert not bounds([*rows, total]) & {"model_calls", "latency_s", "latency_s_p50"}


def test_tokens_of_a_server_that_never_counts_are_unknown_and_not_at_least_zero() -> None:
    blind = {"generator": Usage(calls=1, unmetered_calls=1)}
    records = [record("t0", usage=blind), record("t1", usage=blind)]
    rows = costs_of(frame({"t": 2}), records)
    (total,) = attempt_costs(frame({"t": 2}), [one.cost for one in records], MODELS, PRICES)
    assert [find(rows, name).mean for name in ("tokens", "generator_input_tokens", "usd")] == [None] * 3
    assert total.mean is None
    assert counts(find(rows, "tokens")) == (0, 2, 2)
    index = index_costs(frame({"t": 2}), index_record(usage=blind), MODELS, PRICES)
    assert (find(index, "index_tokens").mean, find(index, "index_usd").mean) == (None, None)


def test_an_index_whose_tokens_were_not_all_counted_took_at_least_those() -> None:
    partly = {"generator": Usage(calls=9, input_tokens=1_000_000, unmetered_calls=2)}
    rows = index_costs(frame({"t": 1}), index_record(usage=partly), MODELS, PRICES)
    assert find(rows, "index_tokens").mean == 1_000_000
    assert find(rows, "index_usd").mean == pytest.approx(0.15)
    assert bounds(rows) >= {"index_tokens", "index_usd", "index_input_tokens"}
    assert not bounds(rows) & {"index_wall_s", "index_model_calls", "index_bytes"}


def test_calls_that_nobody_counted_are_unknown_and_not_zero() -> None:
    tokens_alone = {"generator": Usage(input_tokens=1_000_000, output_tokens=0), "embedder": Usage(calls=1)}
    records = [record("t0", usage=USED), record("t1", usage={"generator": Usage(unmetered_calls=1)})]
    rows = costs_of(frame({"t": 3}), [*records, record("t2", usage=tokens_alone)])
    assert counts(find(rows, "model_calls")) == (1, 2, 3)
    assert counts(find(rows, "generator_model_calls")) == (1, 2, 3)
    assert bounds(rows) >= {"input_tokens", "usd"}
    assert find(rows, "usd").mean == pytest.approx((USD + 0.15) / 3)


# Who times out


def timed_out(made: RunRecord, wall_s: float | None) -> RunRecord:
    cost = Cost(wall_s=wall_s)
    return made.model_copy(update={"status": "timeout", "cost": cost})


def test_a_query_that_timed_out_took_at_least_its_limit() -> None:
    """Seven of ten answers took 1 to 7 s; the three slowest were cut off: nobody knows more than 9 s of them."""
    limited = replace(frame({"t": 11}), query_limit_s=9.0)
    records = [record(f"t{place}", wall_s=float(place)) for place in range(1, 8)]
    records += [timed_out(record(f"t{place}", ok=False), 9.5 if place == 8 else None) for place in (8, 9, 10)]
    records.append(record("t0", wall_s=0.1, ok=False))
    rows = costs_of(limited, records)
    for measure in ("latency_s", "wall_s"):
        row = find(rows, measure)
        assert row.mean == pytest.approx((28 + 9.5 + 9 + 9) / 10)
        assert (row.n_scored, row.n_imputed, row.n_failed) == (7, 3, 1)
        assert find(rows, f"{measure}_p50").mean == 5.5
    assert bounds(rows) & {f"latency_s{end}" for end in ("", "_p50", "_p90", "_p95", "_p99")} == {
        *("latency_s", "latency_s_p90", "latency_s_p95", "latency_s_p99")
    }
    assert latencies(query_scores(limited, records, MODELS, PRICES)) == [1, 2, 3, 4, 5, 6, 7, 9, 9, 9.5]


@pytest.mark.parametrize(("failed", "answered", "too_often"), [(0, 0, False), (1, 100, False), (2, 150, True)])
def test_more_than_one_failure_in_a_hundred_is_too_many(failed: int, answered: int, too_often: bool) -> None:
    assert fails_too_often(failed, answered) is too_often


def test_a_model_that_may_have_been_called_and_has_no_price_gives_no_dollars() -> None:
    models = {"generator": {"provider": "imported", "model": "theirs"}}
    cost = record("t0", usage={"generator": Usage(unmetered_calls=1)}).cost
    assert without_price(cost.called_roles, models, PRICES) == ["generator"]
    assert attempt_costs(frame({"t": 1}), [cost], models, PRICES) == []


def test_time_that_was_not_measured_is_unknown_and_a_run_without_any_has_no_latency() -> None:
    untimed = record("t0", wall_s=None, throttled_s=None)
    assert (
        not {"latency_s", "latency_s_p50", "wall_s", "throttled_s"}
        & means(costs_of(frame({"t": 1}), [untimed])).keys()
    )
    rows = costs_of(frame({"t": 2}), [untimed, record("t1", wall_s=3.0, throttled_s=1.0)])
    assert find(rows, "latency_s").mean == 2.0
    assert counts(find(rows, "latency_s")) == counts(find(rows, "throttled_s")) == (1, 1, 2)


def test_the_peak_memory_of_answering_is_the_most_that_any_attempt_saw() -> None:
    peaks: list[int | None] = [3_000, None, 5_000]
    costs = [record("t0").cost.model_copy(update={"peak_rss_bytes": peak}) for peak in peaks]
    (row,) = peak_memory(frame({"t": 1}), costs)
    assert (row.measure, row.mean) == ("answer_peak_rss_bytes", 5_000)
    assert peak_memory(frame({"t": 1}), costs[1:2]) == []


def test_the_total_pays_for_attempts_that_do_not_count() -> None:
    attempts = [record("t0", usage=USED, ok=False).cost, record("t0", usage=USED).cost]
    (row,) = attempt_costs(frame({"t": 1}), attempts, MODELS, PRICES)
    assert row.measure == "answer_usd_total"
    assert row.mean == pytest.approx(2 * USD)


def test_a_vector_that_answers_share_is_in_each_of_them_and_in_the_total_once() -> None:
    computed = record("t0", usage=USED)
    found = record("t1", usage=USED)
    found = found.model_copy(update={"cost": found.cost.model_copy(update={"cached_usage": {"this": USED}})})
    records = [computed, found]
    assert find(costs_of(frame({"t": 2}), records), "usd").mean == pytest.approx(USD)
    (row,) = attempt_costs(frame({"t": 2}), [one.cost for one in records], MODELS, PRICES)
    assert row.mean == pytest.approx(USD)


def test_what_other_runs_computed_of_an_index_is_called_shared() -> None:
    shared = {"another": {"embedder": Usage(calls=2, input_tokens=70)}, "builder": USED}
    index = index_record(usage={"embedder": Usage(calls=3, input_tokens=100)}, cached_usage=shared)
    rows = index_costs(frame({"t": 1}), index.model_copy(update={"built_by": "builder"}), MODELS, PRICES)
    assert find(rows, "index_input_tokens").mean == 100
    assert find(rows, "index_shared_input_tokens").mean == 70


def index_record(**cost: object) -> IndexRecord:
    return IndexRecord(
        index_id="i",
        stats=IndexStats(documents=157, chunks=1200, nodes=None),
        cost=Cost.model_validate({"wall_s": 30.0, "usage": USED, "peak_rss_bytes": 5_000, **cost}),
        bytes_on_disk=9_000,
        built_by="run-1",
    )


def test_an_index_is_described_and_priced() -> None:
    found = means(index_costs(frame({"t": 1}), index_record(), MODELS, PRICES))
    assert found["index_documents"] == 157
    assert found["index_chunks"] == 1200
    assert "index_nodes" not in found
    assert (found["index_wall_s"], found["index_bytes"], found["index_peak_rss_bytes"]) == (30.0, 9_000, 5_000)
    assert found["index_usd"] == pytest.approx(USD)
    assert (found["index_input_tokens"], found["index_output_tokens"]) == (1_000_500, 100_000)


@pytest.mark.parametrize("saved", ["replayed_calls", "cached_texts"])
def test_an_index_built_with_help_from_an_earlier_build_has_no_seconds(saved: str) -> None:
    rows = index_costs(frame({"t": 1}), index_record(**{saved: 1}), MODELS, PRICES)
    assert find(rows, "index_wall_s").mean is None
    assert counts(find(rows, "index_wall_s")) == (0, 1, 1)
    assert find(rows, "index_usd").mean == pytest.approx(USD)


@pytest.mark.parametrize("saved", ["replayed_calls", "cached_texts"])
def test_the_seconds_of_an_index_are_rebuilt_from_what_earlier_builds_noted(saved: str) -> None:
    rebuilt, unknown = (
        index_costs(frame({"t": 1}), index_record(saved_s=seconds, **{saved: 1}), MODELS, PRICES)
        for seconds in (70.0, None)
    )
    live = index_costs(frame({"t": 1}), index_record(), MODELS, PRICES)
    assert [find(rows, "index_alone_s").mean for rows in (rebuilt, unknown, live)] == [100.0, None, 30.0]
    assert [find(rows, "index_spent_s").mean for rows in (rebuilt, unknown, live)] == [30.0] * 3


def test_resources_have_a_mean_and_a_maximum_for_each_phase(tmp_path: Path) -> None:
    path = tmp_path / "resources.csv"
    path.write_text("1000.0,index,10,100,50,7,,,,\n1002.0,index,30,200,70,9,,,,\n1004.0,answer,20,300,60,8,,,,\n")
    rows = resource_use(frame({"t": 1}), load_resources(path))
    assert find(rows, "index_machine_cpu_percent_mean").mean == 20.0
    assert find(rows, "index_machine_cpu_percent_max").mean == 30.0
    assert find(rows, "answer_system_rss_bytes_max").mean == 8.0
    assert counts(find(rows, "index_machine_ram_bytes_mean")) == (2, 0, 2)
    assert not [row for row in rows if "server" in row.measure]


def test_everything_of_a_run_directory_is_collected(tmp_path: Path) -> None:
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        run_id="demo--naive--0123456789ab",
        identity={"system": {"name": "naive"}, "models": MODELS, "repeats": 1},
        config={},
        dataset={"name": "demo", "type_mix": {"t": 3}},
        index_id="i",
        machine={},
        packages={},
        git_commit="",
        created_at="2026-11-20T10:00:00+00:00",
    )
    reference = Reference(query_id="t0", query_type="t", answers=("x",))
    run = RunDir.create(tmp_path, manifest, [SampleRow(query=Query(query_id="t0", text="?"), reference=reference)])
    assert costs_of_run(run) == []

    failed: RunRecord = record("t0", usage=USED, ok=False)
    run.append_record(failed)
    run.append_record(record("t0", usage=USED, wall_s=4.0).model_copy(update={"attempt": 2}))
    run.write_index(index_record())
    run.append_resources("time_s,", "1000.0,answer,10,100,50,7,,,,")
    rows = costs_of_run(run)
    assert Frame.of(run) == Frame("demo--naive--0123456789ab", "naive", "demo", {"t0": "t"}, {"t": 3}, 1)
    assert {row.run_id for row in rows} == {"demo--naive--0123456789ab"}
    assert find(rows, "latency_s").mean == 4.0
    assert find(rows, "usd").mean == pytest.approx(USD)
    assert find(rows, "answer_usd_total").mean == pytest.approx(2 * USD)
    assert find(rows, "index_chunks").mean == 1200
    assert find(rows, "answer_system_cpu_percent_mean").mean == 50.0


OPENAI: dict[str, dict[str, object]] = {"judge": {"provider": "openai", "model": "gpt-4o-mini"}}
ASKED = Usage(calls=4, input_tokens=2_000_000, output_tokens=100_000)


def evaluation(
    models: dict[str, dict[str, object]], usage: dict[str, Usage], replayed: int = 0
) -> EvaluationRecord:
    cost = Cost(wall_s=9.0, usage=usage, replayed_calls=replayed)
    return EvaluationRecord.model_validate(
        {"evaluator": "ragas", "version": "1", "models": models, "measures": ("ragas_faithfulness",), "cost": cost}
    )


def found(record: EvaluationRecord) -> dict[str, float | None]:
    return {row.measure: row.mean for row in evaluation_costs(frame({"t": 1}), [record], PRICES)}


def test_a_judges_tokens_and_dollars_are_rows_of_their_evaluator() -> None:
    rows = found(evaluation(OPENAI, {"judge": ASKED}, replayed=1))
    assert rows == {
        "evaluation_ragas_spent_s": 9.0,
        "evaluation_ragas_model_calls": 4,
        "evaluation_ragas_replayed_calls": 1,
        "evaluation_ragas_input_tokens": 2_000_000,
        "evaluation_ragas_output_tokens": 100_000,
        "evaluation_ragas_usd": pytest.approx(0.36),
    }


def test_tokens_that_a_judges_server_did_not_count_are_unknown() -> None:
    rows = found(evaluation(OPENAI, {"judge": Usage(calls=1, unmetered_calls=1)}))
    assert rows["evaluation_ragas_input_tokens"] is None
    assert rows["evaluation_ragas_usd"] is None
