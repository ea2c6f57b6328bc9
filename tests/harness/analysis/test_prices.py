"""Dollars from tokens: published totals, and what has no price."""

from pathlib import Path

import pytest

from harness.analysis.prices import Prices, default_prices_path, load_prices, usage_usd
from harness.errors import ConfigError
from harness.records import Usage

OPENAI = {"generator": {"provider": "openai", "model": "gpt-4o-mini"}}


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


def test_cached_input_has_its_own_price(prices: Prices) -> None:
    usage = Usage(calls=1, input_tokens=1_000_000, cached_tokens=400_000, output_tokens=0)
    assert prices.usd("gpt-4o-mini", usage) == pytest.approx(0.6 * 0.15 + 0.4 * 0.075)
    assert prices.usd("text-embedding-3-small", usage) == pytest.approx(0.02)


def test_a_dated_name_is_the_same_model(prices: Prices) -> None:
    assert prices.find("gpt-4o-mini-2024-07-18", "openai") == prices.find("gpt-4o-mini", "openai")


def test_an_unknown_model_has_no_price_and_a_local_one_costs_nothing(prices: Prices) -> None:
    used = Usage(calls=3, input_tokens=1000)
    assert prices.usd("gpt-7", used, provider="openai") is None
    assert prices.usd("qwen2.5-coder-0.5b", used, provider="local") == 0.0


def test_the_name_of_a_paid_model_on_ones_own_server_is_not_the_paid_model(prices: Prices) -> None:
    used = Usage(calls=3, input_tokens=1000)
    assert prices.usd("gpt-4o-mini", used, provider="ollama") is None
    assert prices.usd("gpt-4o-mini", used, provider="local") == 0.0
    assert prices.usd("gpt-4o-mini", used, provider="openai-compatible") == prices.usd("gpt-4o-mini", used)


def test_tokens_that_nobody_counted_have_no_price_unless_they_are_free(prices: Prices) -> None:
    used = Usage(calls=3, input_tokens=1000, unmetered_calls=1)
    assert prices.usd("gpt-4o-mini", used) is None
    assert prices.usd("any", used, provider="local") == 0.0


def test_a_run_pays_for_every_role_it_called(prices: Prices) -> None:
    million = Usage(calls=1, input_tokens=1_000_000)
    models = {**OPENAI, "embedder": {"provider": "openai", "model": "text-embedding-3-large"}}
    assert usage_usd(prices, models, {"generator": million, "embedder": million}) == pytest.approx(0.15 + 0.13)
    assert usage_usd(prices, OPENAI, {"generator": million, "judge": million}) is None
    assert usage_usd(prices, OPENAI, {"generator": million, "judge": Usage()}) == pytest.approx(0.15)
    assert usage_usd(prices, OPENAI, {}) == 0.0


def test_every_shipped_price_has_a_date_and_a_source(prices: Prices) -> None:
    assert default_prices_path().name == "prices.yaml"
    for entry in prices.entries:
        assert entry.source
        assert entry.as_of.year >= 2024
        assert entry.cached_input is None or entry.cached_input <= entry.input


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
    ],
)
def test_a_mistake_in_the_table_is_one_line_that_names_it(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=complaint) as caught:
        load_prices(path)
    assert "\n" not in str(caught.value)


def test_a_missing_table_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the prices"):
        load_prices(tmp_path / "none.yaml")
