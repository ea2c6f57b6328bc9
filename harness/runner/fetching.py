"""Weights, before anything needs them."""

from harness.config import ModelConfig
from harness.models.local_server import weights_needed
from harness.models.weights import fetch
from harness.runner.progress import Reporter


def fetch_weights(reporter: Reporter, *models: ModelConfig) -> None:
    """Have every weight file of these models here; a download shows its progress."""
    for weights in weights_needed(*models):
        with reporter.bar(f"fetching {weights.name}") as bar:
            fetch(weights, lambda _, done, total, bar=bar: bar.update(done, total))  # type: ignore[misc]
