"""Dollars from tokens: published totals, and what has no price."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import ConfigError
from harness.core.records import Usage
from harness.statistics.break_even import (
    CostLine,
    QueryRange,
    cheaper,
    crossing,
    crossing_interval,
)
from harness.statistics.confidence_intervals import UNKNOWN, Interval
from harness.statistics.prices import Prices, default_prices_path, load_prices
from harness.statistics.resource_usage import Resources, load_resources


@pytest.fixture(scope="module")
def prices() -> Prices:
    return load_prices()


@pytest.mark.parametrize(
    ("tokens_in", "tokens_out", "usd"),
    [(2_178_000, 620_508, "0.6990"), (8_496_200, 1_768_000, "2.3352")],
)
def test_the_index_costs_of_the_thesis_are_reproduced(
    prices: Prices, tokens_in: int, tokens_out: int, usd: str
) -> None:
    spent = prices.usd("gpt-4o-mini", Usage(calls=1, input_tokens=tokens_in, output_tokens=tokens_out))
    assert f"{spent:.4f}" == usd


def test_an_unknown_model_has_no_price_and_a_local_one_costs_nothing(prices: Prices) -> None:
    used = Usage(calls=3, input_tokens=1000)
    assert prices.usd("gpt-7", used, provider="openai") is None
    assert prices.usd("qwen2.5-coder-0.5b", used, provider="local") == 0.0


def test_the_name_of_a_paid_model_on_ones_own_server_is_not_the_paid_model(prices: Prices) -> None:
    used = Usage(calls=3, input_tokens=1000)
    assert prices.usd("gpt-4o-mini", used, provider="ollama") is None
    assert prices.usd("gpt-4o-mini", used, provider="local") == 0.0
    assert prices.usd("gpt-4o-mini", used, provider="openai-compatible") == prices.usd("gpt-4o-mini", used)


def test_every_shipped_price_has_a_date_and_a_source(prices: Prices) -> None:
    assert default_prices_path().name == "prices.yaml"
    for entry in prices.entries:
        assert entry.source
        assert entry.as_of.year >= 2024
        assert entry.cached_input is None or entry.cached_input <= entry.input


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("prices: [", "cannot read the prices"),
        ("[]", "valid dictionary"),
        ("prices: [{provider: x, model: y, input: 1, output: 1, as_of: 2026-01-01}]", "prices.0.source"),
        (
            "prices: [{provider: x, model: y, input: -1, output: 1, as_of: 2026-01-01, source: z}]",
            "prices.0.input",
        ),
        (
            "prices: [{provider: x, model: y, input: .nan, output: 1, as_of: 2026-01-01, source: z}]",
            "prices.0.input",
        ),
        ("prices: [{provider: x, modle: y}]", "prices.0"),
        (
            "prices: [{provider: x, model: y, input: 1, output: 1, as_of: 2026-13-45, source: z}]",
            r"cannot read the prices .*month must be in 1..12",
        ),
        ("[" * 3000, r"cannot read the prices .*nested too deeply"),
        ("", r"prices.yaml: input should be a valid dictionary"),
    ],
)
def test_a_mistake_in_the_table_is_one_line_that_names_it(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=complaint) as caught:
        load_prices(path)
    assert "\n" not in str(caught.value)


# A table of one's own


Write = Callable[..., Prices]


@pytest.fixture
def with_own(tmp_path: Path) -> Write:
    """with_own("openai/gpt-4o-mini=3", ...): the prices with a file of these entries, in dollars of input."""

    def load(*entries: str, **more: object) -> Prices:
        prices = []
        for entry in entries:
            name, usd = entry.split("=")
            provider, model = name.split("/")
            one = {"provider": provider, "model": model, "input": float(usd), "output": 0.0}
            prices.append({**one, "as_of": date(2026, 1, 1), "source": "mine", **more})
        path = tmp_path / "own.yaml"
        path.write_text(yaml.safe_dump({"prices": prices}))
        return load_prices(path)

    return load


MILLION = Usage(calls=1, input_tokens=1_000_000)


def test_ones_own_price_of_a_model_wins_and_the_others_stay(prices: Prices, with_own: Write) -> None:
    own = with_own("openai/gpt-4o-mini=3")
    assert own.usd("gpt-4o-mini", MILLION, provider="openai") == 3.0
    assert own.usd("gpt-4o-mini", MILLION) == 3.0
    for model in ("gpt-4o", "text-embedding-3-small"):
        assert own.find(model, "openai") == prices.find(model, "openai") is not None


def test_a_named_price_goes_before_one_of_any_model_whoever_says_it(with_own: Write) -> None:
    own = with_own("openai/*=9", "local/*=7")
    assert own.usd("gpt-4o-mini", MILLION, provider="openai") == 0.15
    assert own.usd("gpt-9", MILLION, provider="openai") == 9.0
    assert own.usd("any", MILLION, provider="local") == 7.0


def test_an_unknown_key_in_ones_own_table_is_one_line_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("pricse: []\n")
    with pytest.raises(ConfigError) as caught:
        load_prices(path)
    assert str(caught.value) == f"{path}: unknown key 'pricse': did you mean 'prices'?"


# resources.csv as crashes and resumed runs leave it.


HEADER = (
    "time_s,phase,machine_cpu_percent,machine_ram_bytes,system_cpu_percent,system_rss_bytes,"
    "server_cpu_percent,server_rss_bytes,database_cpu_percent,database_rss_bytes\n"
)


def load(tmp_path: Path, body: str) -> Resources:
    path = tmp_path / "resources.csv"
    path.write_text(HEADER + body)
    return load_resources(path)


def line(time_s: float, phase: str = "answer", rss: int = 100) -> str:
    return f"{time_s:.3f},{phase},10.0,4000,50.0,{rss},,,,\n"


def test_what_was_not_measured_is_unknown_and_not_zero(tmp_path: Path) -> None:
    resources = load(tmp_path, line(1000) + line(1002, rss=300))
    assert resources.values("system_rss_bytes", "answer") == [100.0, 300.0]
    assert resources.values("server_rss_bytes", "answer") == []
    assert resources.values("system_rss_bytes", "index") == []


@pytest.mark.parametrize(
    "torn",
    [
        "10",
        "1004.000,answer,1",
        "1004.000,answer,10.0,4000,50.0,1,,,,," + line(1006),
        "17" + line(1_763_632_800),
        "nan,answer,10.0,4000,50.0,100,,,,\n",
        "1004.000,answer,inf,4000,50.0,100,,,,\n",
        "1004.000,ans,10.0,4000,50.0,100,,,,\n",
        '1004.000,"answer,10.0',
        "\x00\x00\x00",
    ],
)
def test_a_torn_line_is_passed_over_and_counted(tmp_path: Path, torn: str) -> None:
    resources = load(tmp_path, line(1000) + torn)
    assert [sample.time_s for sample in resources.samples] == [1000.0]
    assert resources.n_damaged == 1


def test_a_line_appended_to_a_torn_one_is_lost_with_it_and_nothing_else_is(tmp_path: Path) -> None:
    resources = load(tmp_path, line(1000) + "1002.0,ans" + line(1004) + line(1006))
    assert [sample.time_s for sample in resources.samples] == [1000.0, 1006.0]
    assert resources.n_damaged == 1


def test_a_header_without_samples_is_no_samples(tmp_path: Path) -> None:
    resources = load(tmp_path, "")
    assert resources == Resources((), 0)
    assert resources.sessions() == []


def test_a_resumed_run_is_two_sessions(tmp_path: Path) -> None:
    times = [1000, 1002, 1004, 5000, 5002]
    sessions = load(tmp_path, "".join(line(time_s) for time_s in times)).sessions()
    assert [[sample.time_s for sample in session] for session in sessions] == [[1000, 1002, 1004], [5000, 5002]]


def test_a_clock_that_goes_back_begins_a_new_session(tmp_path: Path) -> None:
    times = [1000, 1002, 900, 902]
    assert len(load(tmp_path, "".join(line(time_s) for time_s in times)).sessions()) == 2


def test_a_slow_interval_is_not_taken_for_an_interruption(tmp_path: Path) -> None:
    times = [1000, 1060, 1120, 1180]
    assert len(load(tmp_path, "".join(line(time_s) for time_s in times)).sessions()) == 1


# When an index pays.


LINES = st.builds(CostLine, st.integers(0, 10**6), st.integers(0, 10**4))


def test_the_index_is_paid_once_and_shared_by_the_queries() -> None:
    line = CostLine(1_000, 20, Interval(18, 25))
    assert line.amortised(10) == 120
    assert line.band(10) == Interval(118, 125)
    assert CostLine(1_000, 20).band(10) == UNKNOWN


@pytest.mark.parametrize(
    ("one", "other", "span"),
    [
        # 1,000 more for the index, 10 less a query: equal at 100, cheaper from 101 on.
        (CostLine(1_000, 20), CostLine(0, 30), QueryRange(101, None)),
        (CostLine(0, 30), CostLine(1_000, 20), QueryRange(1, 99)),
        (CostLine(995, 20), CostLine(0, 30), QueryRange(100, None)),
        (CostLine(0, 30), CostLine(995, 20), QueryRange(1, 99)),
        (CostLine(0, 20), CostLine(0, 30), QueryRange(1, None)),
        (CostLine(0, 30), CostLine(0, 20), None),
        (CostLine(5, 20), CostLine(9, 20), QueryRange(1, None)),
        (CostLine(9, 20), CostLine(5, 20), None),
        (CostLine(5, 20), CostLine(5, 20), None),
        # Cheaper for less than one query is never.
        (CostLine(0, 30), CostLine(5, 20), None),
    ],
)
def test_when_one_is_cheaper(one: CostLine, other: CostLine, span: QueryRange | None) -> None:
    assert cheaper(one, other) == span


@given(one=LINES, other=LINES, n=st.integers(1, 10**7))
def test_a_span_holds_exactly_the_numbers_at_which_the_total_is_lower(
    one: CostLine, other: CostLine, n: int
) -> None:
    span = cheaper(one, other)
    inside = span is not None and span.first <= n and (span.last is None or n <= span.last)
    assert inside == (one.index + n * one.per_query < other.index + n * other.per_query)


def test_means_that_differ_in_the_last_bit_do_not_cross() -> None:
    one, other = CostLine(1_000, 0.1 + 0.2), CostLine(0, 0.3)
    assert cheaper(one, other) is None
    assert crossing(one, other) is None


def test_the_crossing_is_less_certain_than_the_means() -> None:
    one, other = CostLine(1_000, 20, Interval(17, 23)), CostLine(0, 30, Interval(26, 34))
    # The saving is 10 with limits 5 away: hypot(3, 4).
    assert crossing(one, other) == 100
    assert crossing_interval(one, other) == pytest.approx((1_000 / 15, 200))
    assert crossing_interval(other, one) == crossing_interval(one, other)


def test_where_the_saving_may_be_none_the_crossing_has_no_upper_limit() -> None:
    one, other = CostLine(1_000, 20, Interval(10, 30)), CostLine(0, 30, Interval(20, 40))
    assert crossing_interval(one, other).high is None
    assert crossing_interval(one, CostLine(0, 30)) == UNKNOWN
    lopsided = CostLine(1_000, 20, Interval(19, 80))
    assert crossing_interval(lopsided, CostLine(0, 30, Interval(29, 31))).low == pytest.approx(
        1_000 / (10 + 2**0.5)
    )
