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


class CostName(StrEnum):
    """What a query may cost, where costs count."""

    tokens = "tokens"
    usd = "usd"
    latency_s = "latency_s"
