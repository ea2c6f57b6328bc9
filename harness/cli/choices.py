"""What some commands let one choose among."""

from enum import StrEnum


class Listed(StrEnum):
    """What `list` can list."""

    systems = "systems"
    datasets = "datasets"
    evaluators = "evaluators"
    measures = "measures"
    providers = "providers"


class Creatable(StrEnum):
    """What `new` can write."""

    system = "system"
    dataset = "dataset"
    evaluator = "evaluator"


class Executor(StrEnum):
    """Where the systems of a run work."""

    local = "local"
    ray = "ray"


def executor_settings(executor: Executor | None, ray_address: str | None) -> list[str]:
    """The settings that these flags stand for; an address alone means the cluster there."""
    if executor is None and ray_address is not None:
        executor = Executor.ray
    named = {"executor": executor, "ray_address": ray_address}
    return [f"runner.{key}={value}" for key, value in named.items() if value is not None]


class CostName(StrEnum):
    """What a query may cost, where costs count."""

    tokens = "tokens"
    usd = "usd"
    latency_s = "latency_s"
