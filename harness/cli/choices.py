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


def executor_settings(executor: str | None, ray_address: str | None) -> list[str]:
    """The settings that these options stand for; an address without an executor means a Ray cluster."""
    if executor is None and ray_address is not None:
        executor = "ray"
    named = {"executor": executor, "ray_address": ray_address}
    return [f"runner.{key}={value}" for key, value in named.items() if value is not None]


class CostName(StrEnum):
    """What a query may cost, where costs count."""

    tokens = "tokens"
    usd = "usd"
    latency_s = "latency_s"
