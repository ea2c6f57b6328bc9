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
