"""Public sets of answers with human labels, each read from the data directory."""

from collections.abc import Callable
from dataclasses import dataclass

from harness.core.errors import ConfigError, nearest
from harness.extensions.meta_evaluation.labelled_sets import clapnq, hard_negatives, neural_bridge, ragchecker
from harness.extensions.meta_evaluation.labelled_sets.types import LabelledSet


@dataclass(frozen=True)
class HumanSetSpec:
    """A set, its name and its loader."""

    name: str
    summary: str
    load: Callable[[], LabelledSet]
    """load() raises DataError, one line, if its file is missing or has other content."""


SETS = {
    spec.name: spec
    for spec in (
        HumanSetSpec("ragchecker", "280 pairs of answers, which is better by two people", ragchecker.load),
        HumanSetSpec("clapnq", "300 answers of three models, graded by three people each", clapnq.load),
        HumanSetSpec("neural_bridge", "100 answers, graded by one person", neural_bridge.load),
        HumanSetSpec("ms_marco_hard", "400 passages, relevant or a hard negative", hard_negatives.load),
    )
}


def load_set(name: str) -> LabelledSet:
    """ConfigError: no set of that name."""
    if name not in SETS:
        raise ConfigError(f"--set-name: no set is called '{name}'", nearest(name, SETS))
    return SETS[name].load()
