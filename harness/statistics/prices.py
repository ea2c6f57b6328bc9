"""Dollars from token counts and a dated price table (configs/prices.yaml).

usd = ((input_tokens - cached_tokens) * input + cached_tokens * cached_input + output_tokens * output) / 1,000,000
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from harness.config.load import explain
from harness.config.schema import ConfigSection
from harness.config.shipped_files import shipped_configs
from harness.config.yaml_limits import MOST_BYTES, parse_yaml
from harness.core.bounded_files import read_plain
from harness.core.errors import ConfigError
from harness.core.records import Usage

ANY_MODEL = "*"
NO_CALL = "none"
"""The provider of a role without a model."""


class Price(ConfigSection):
    """One entry: US dollars per million tokens, with date and source."""

    provider: str
    model: str
    """A model's name, or `*` for every model of this provider."""
    aliases: tuple[str, ...] = ()
    input: float = Field(ge=0)
    cached_input: float | None = Field(None, ge=0)
    """None: the same as other input tokens."""
    output: float = Field(ge=0)
    as_of: date
    source: str

    @property
    def is_free(self) -> bool:
        """Whether calls are not billed."""
        return not (self.input or self.cached_input or self.output)

    def usd(self, usage: Usage) -> float:
        cached_input = self.input if self.cached_input is None else self.cached_input
        fresh = usage.input_tokens - usage.cached_tokens
        spent = fresh * self.input + usage.cached_tokens * cached_input + usage.output_tokens * self.output
        return spent / 1_000_000


class _PriceFile(ConfigSection):
    prices: tuple[Price, ...]


@dataclass(frozen=True)
class Prices:
    entries: tuple[Price, ...]

    def find(self, model: str | None, provider: str = "") -> Price | None:
        """The price of a model, or None if the table has none.

        With a `provider`, only its own entries count: the named model first, then `*`. Without one, or with
        `openai-compatible` (any server for a model of that name), any entry of that name is used.
        """
        anywhere = provider in {"", "openai-compatible"}
        own = [entry for entry in self.entries if anywhere or entry.provider == provider]
        named = [entry for entry in own if model is not None and model in {entry.model, *entry.aliases}]
        general = [entry for entry in own if entry.model == ANY_MODEL and not anywhere]
        return next(iter((*named, *general)), None)

    def usd(self, model: str | None, usage: Usage, *, provider: str = "") -> float | None:
        """Dollars for these tokens, or None: no price, or calls whose tokens were not counted."""
        price = self.find(model, provider)
        if price is None or (usage.unmetered_calls and not price.is_free):
            return None
        return price.usd(usage)


def usage_usd(prices: Prices, models: Mapping[str, Any], usage: Mapping[str, Usage]) -> float | None:
    """Dollars for the usage of all model roles; None if `Prices.usd` gives None for one that was called.

    `models`: the `models` part of a run's identity, role -> provider, model, ...
    """
    total = 0.0
    for role, used in usage.items():
        played_by = models.get(role) or {}
        provider = str(played_by.get("provider") or NO_CALL)
        usd = prices.usd(played_by.get("model"), used, provider=provider) if used.is_used else 0.0
        if usd is None:
            return None
        total += usd
    return total


def role_price(prices: Prices, models: Mapping[str, Any], role: str) -> Price | None:
    """The price of the model of `role`; `models` as in `usage_usd`."""
    played_by = models.get(role) or {}
    return prices.find(played_by.get("model"), str(played_by.get("provider") or NO_CALL))


def load_prices(own: Path | None = None) -> Prices:
    """The shipped price table, overridden by the entries of the file `own`. ConfigError for a mistake in it."""
    return Prices((*(_entries(own) if own else ()), *_entries(default_prices_path())))


def _entries(path: Path) -> tuple[Price, ...]:
    try:
        tree = parse_yaml(read_plain(path, MOST_BYTES).decode("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"cannot read the prices in {path} ({reason})", "check the path and the file") from error
    try:
        return _PriceFile.model_validate(tree).prices
    except ValidationError as error:
        what, fix = explain(error, _PriceFile)
        raise ConfigError(f"{path}: {what}", fix or "correct that entry") from error


def default_prices_path() -> Path:
    return shipped_configs() / "prices.yaml"
