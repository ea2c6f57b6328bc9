"""Values of options that accept one of a fixed set."""

from enum import StrEnum


class Listed(StrEnum):
    """Kinds of plug-ins that `list` accepts."""

    systems = "systems"
    datasets = "datasets"
    evaluators = "evaluators"
    measures = "measures"
    providers = "providers"


class Creatable(StrEnum):
    """Kinds of plug-ins that `new` can create."""

    system = "system"
    dataset = "dataset"
    evaluator = "evaluator"


def executor_settings(executor: str | None, ray_address: str | None) -> list[str]:
    """The settings for `--executor` and `--ray-address`; an address alone implies `ray`."""
    if executor is None and ray_address is not None:
        executor = "ray"
    named = {"executor": executor, "ray_address": ray_address}
    return [f"runner.{key}={value}" for key, value in named.items() if value is not None]


class FigureFormat(StrEnum):
    """Formats of figures besides SVG."""

    png = "png"
    pdf = "pdf"


class CostName(StrEnum):
    """Costs of a query that a command can weigh."""

    tokens = "tokens"
    usd = "usd"
    latency_s = "latency_s"
