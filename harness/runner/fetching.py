"""Weights, before anything needs them."""

from harness.config import ModelConfig
from harness.models.providers import provider_of
from harness.models.weights import cached_path, fetch
from harness.runner.progress import Reporter


def fetch_weights(reporter: Reporter, *models: ModelConfig) -> None:
    """Have every weight file of these models here; a download shows its progress."""
    needed = {weights.name: weights for model in models for weights in provider_of(model).weights(model)}
    for weights in needed.values():
        if cached_path(weights) is None:
            reporter.say(f"fetching {weights.name} ({weights.size_bytes / 1e6:,.0f} MB)")
            with reporter.aside():
                fetch(weights, None if reporter.quiet else reporter.bar)
