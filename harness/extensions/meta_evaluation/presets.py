"""The meta-evaluations of two papers, as presets."""

from dataclasses import dataclass

from harness.core.errors import ConfigError, nearest
from harness.extensions.meta_evaluation.perturbed_runs import BaseAnswer


@dataclass(frozen=True)
class PerturbationPreset:
    """Which metrics are tested with which swaps."""

    evaluators: tuple[str, ...]
    swaps: tuple[str, ...]
    """Empty: all."""
    base: BaseAnswer
    sweeps: tuple[str, ...] = ()
    """Each as `EVALUATOR.PARAMETER=VALUE,VALUE`."""


PRESETS = {
    "kg-eval": PerturbationPreset(
        ("kg", "kg_nlp"),
        (),
        "reference",
        ("kg_nlp.tau=0.5,0.6,0.7,0.8,0.9", "kg_nlp.delta=0.3,0.5,0.8,1.2"),
    ),
    "rag-eval": PerturbationPreset(("rag_eval",), ("query", "generic", "contexts", "wrong_answer"), "own"),
}
"""KG-eval: references against wrong answers, with its two constants varied. RAG-Eval: a system's own answers,
answers to another query, and a generic answer."""


def preset_named(name: str) -> PerturbationPreset:
    """Raises ConfigError if there is none of that name."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset '{name}'", nearest(name, PRESETS))
    return PRESETS[name]
