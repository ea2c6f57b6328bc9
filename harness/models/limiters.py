"""One limiter per server and model for all queries, since a provider has one limit."""

from harness.config import ModelConfig
from harness.models.limiter import AdaptiveLimiter


class Limiters:
    """The limiters of one process, created on first use. Used within one event loop."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, ...], AdaptiveLimiter] = {}

    def of(self, config: ModelConfig, url: str) -> AdaptiveLimiter:
        """The limiter of a model behind a URL, with the limits of the config that named it first."""
        key = (config.provider, url, config.model or "", config.api_key_env or "")
        if key not in self._made:
            self._made[key] = AdaptiveLimiter(
                config.max_concurrency, config.requests_per_minute, config.tokens_per_minute
            )
        return self._made[key]
