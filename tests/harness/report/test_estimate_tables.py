"""What runs were expected to take, against what they took."""

from collections.abc import Callable

import pytest

from harness.core.records import Estimate, PhaseEstimate, Range, Usage
from harness.display import Entry, Quantity, Table, format_value
from harness.report.tables.estimates import estimate_tables
from harness.report.view import load_groups
from harness.statistics.prices import load_prices
from harness.store import RunDir

MakeRun = Callable[..., RunDir]


def span(value: float | None) -> Range | None:
    return None if value is None else Range(low=value, high=value)


def estimated(run: RunDir, **answer: float | None) -> RunDir:
    values: dict[str, float | None] = {
        "calls": 20,
        "input_tokens": 22_000,
        "output_tokens": 320,
        "usd": 0.01,
        "seconds": 80.0,
        **answer,
    }
    ranges = {name: value if name == "calls" else span(value) for name, value in values.items()}
    phase = PhaseEstimate(**ranges, basis="formula")  # type: ignore[arg-type]
    nothing = Range(low=0, high=0)
    index = PhaseEstimate(
        calls=0,
        input_tokens=nothing,
        output_tokens=nothing,
        embedder_tokens=span(1_324_800),
        usd=nothing,
        seconds=span(85),
    )
    run.write_estimate(Estimate(run_id=run.run_id, index=index, answer=phase, n_answers=20, n_left=20))
    return run


def tables(*runs: RunDir) -> list[Table]:
    (group,) = load_groups(list(runs), load_prices())
    return estimate_tables(group)


def rows(table: Table, phase: str) -> list[tuple[Entry, ...]]:
    return [row for row in table.rows if row[1] == phase]


def error(share: float) -> Quantity:
    return Quantity(share, unit="%", signed=True)


def test_runs_that_nobody_estimated_have_no_table(make_run: MakeRun) -> None:
    assert tables(make_run()) == []


def test_the_error_is_that_of_the_estimate_in_per_cent_of_the_actual(make_run: MakeRun) -> None:
    errors, figures = tables(estimated(make_run()))
    ((_, _, calls, read, said, *_),) = rows(errors, "answers")
    # 20 answers of 2,200 tokens in and 8 out.
    assert (calls, read, said) == (error(0.0), error(-0.5), error(1.0))
    assert [format_value(one) for one in (calls, read, said)] == ["0.0", "-50.0", "+100.0"]
    ((_, _, _, embedded, _, _, minutes, _),) = rows(errors, "index")
    assert (embedded, minutes) == (error(0.0), error(1.0))
    assert ("tokens in", Quantity(22_000), Quantity(22_000), Quantity(44_000)) in [
        row[2:] for row in rows(figures, "answers")
    ]
    assert all(len(row) == len(table.header) for table in (errors, figures) for row in table.rows)


def test_an_amount_within_its_range_is_no_error(make_run: MakeRun) -> None:
    run = make_run()
    phase = PhaseEstimate(calls=20, input_tokens=Range(low=30_000, high=50_000), basis="prompt templates")
    run.write_estimate(Estimate(run_id=run.run_id, index=phase, answer=phase, n_answers=20, n_left=20))
    assert rows(tables(run)[0], "answers")[0][3] == error(0.0)


def test_what_was_not_known_or_not_measured_is_no_number(make_run: MakeRun) -> None:
    run = estimated(make_run(), seconds=None, usd=None)
    errors, _ = tables(run)
    assert rows(errors, "answers")[0][5:7] == (None, None)


def test_of_tokens_that_were_not_all_counted_no_dollars_are_compared(make_run: MakeRun) -> None:
    blind = Usage(calls=2, input_tokens=2_200, output_tokens=8, unmetered_calls=1)
    errors, figures = tables(estimated(make_run(usage=blind)))
    ((_, _, calls, *unknown, _, _),) = rows(errors, "answers")
    assert calls == error(-0.5)
    assert unknown == [None, None, None]
    assert ("USD", Quantity(0.01), Quantity(0.01), None) in [row[2:] for row in rows(figures, "answers")]
    ((_, _, _, _, _, usd, *_),) = rows(tables(estimated(make_run(system="kg")))[0], "answers")
    assert usd is not None


def test_a_run_that_is_not_finished_is_compared_in_nothing(make_run: MakeRun) -> None:
    errors, figures = tables(estimated(make_run(missing=3)))
    assert set(rows(errors, "answers")[0][2:7]) == {None}
    assert [row[5] for row in rows(figures, "answers")] == [None] * 5


@pytest.mark.parametrize("basis", ["<b>", "a\u202eb"])
def test_a_basis_is_printable(make_run: MakeRun, basis: str) -> None:
    run = make_run()
    phase = PhaseEstimate(calls=1, basis=basis)
    run.write_estimate(Estimate(run_id="r", index=phase, answer=phase, n_answers=20, n_left=20))
    assert "\u202e" not in str(tables(run)[0].rows)
