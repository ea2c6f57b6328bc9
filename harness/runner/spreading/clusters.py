"""The cluster of one command, joined when the first config needs it."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from harness.config import BenchConfig
from harness.core.errors import ConfigError
from harness.runner.progress import Reporter

if TYPE_CHECKING:
    from harness.runner.spreading.ray_cluster import RayCluster


class Clusters:
    """As a context: at its end the cluster is left."""

    def __init__(self, configs: Sequence[BenchConfig], results: Path, reporter: Reporter) -> None:
        """ConfigError where these configs cannot be spread, or not together."""
        self._results, self._reporter = results, reporter
        self._stack = ExitStack()
        self._joined: RayCluster | None = None
        spread = [config for config in configs if config.runner.executor == "ray"]
        if len({config.runner.ray_address for config in spread}) > 1:
            raise ConfigError("these configs name different clusters (runner.ray_address)", "run them apart")
        if any(config.race is not None or config.schedule != "cells" for config in spread):
            raise ConfigError(
                "cells that take turns, or race, do so on one machine",
                "leave out runner.executor: ray, or the turns",
            )

    def __enter__(self) -> "Clusters":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def joined(self, config: BenchConfig) -> "RayCluster | None":
        """That of a config, every machine of it looked at; None where it runs here."""
        if config.runner.executor == "local":
            return None
        if self._joined is None:
            from harness.runner.spreading.ray_cluster import ray_cluster

            self._joined = self._stack.enter_context(
                ray_cluster(config.runner.ray_address, self._results, self._reporter.say)
            )
        return self._joined
