"""Dollars from tokens: published totals, and what has no price."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
import yaml

from harness.core.errors import ConfigError
from harness.core.records import Usage
from harness.statistics.prices import Prices, default_prices_path, load_prices


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
