"""Downloads model weights before a run starts."""

from collections.abc import Iterable

from harness.config import ModelConfig
from harness.models.providers import provider_of
from harness.models.weight_catalogue import WeightFile
from harness.models.weights import cached_path, fetch
from harness.runner.progress import Reporter


def fetch_weights(reporter: Reporter, *models: ModelConfig) -> None:
    """Download the weight files of these models that are missing, with a progress bar."""
    fetch_files(reporter, (weights for model in models for weights in provider_of(model).weights(model)))


def fetch_files(reporter: Reporter, files: Iterable[WeightFile]) -> None:
    """Download those of the files that are missing, with a progress bar."""
    for weights in {file.name: file for file in files}.values():
        if cached_path(weights) is None:
            reporter.say(f"fetching {weights.name} ({weights.size_bytes / 1e6:,.0f} MB)")
            with reporter.aside():
                fetch(weights, None if reporter.quiet else reporter.bar)
