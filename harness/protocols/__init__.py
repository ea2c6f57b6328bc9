"""The contracts of plug-ins: systems, data sets, evaluators, models and commands.

To add a system, write a package that exports a `SystemSpec` and register it under the entry-point group
`rag_harness.systems`. Data sets (`rag_harness.datasets`) and evaluators (`rag_harness.evaluators`) work the same
way.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.protocols.commands import AnswerChoice, CommandRuntime, CommandSpec, OpenedAnswer
    from harness.protocols.datasets import (
        ClusterBy,
        DatasetRow,
        DatasetSpec,
        RawDataset,
        ReadingProgress,
        no_progress,
    )
    from harness.protocols.evaluators import (
        ConstantAnswer,
        EvaluationRuntime,
        Evaluator,
        EvaluatorSpec,
        Measure,
        Panel,
        PanelFigure,
        RetrievalTrace,
        RunFacts,
        ScoreLabel,
        ScoringInput,
        Side,
        Sides,
    )
    from harness.protocols.models import (
        ChatModel,
        Embedder,
        Entailment,
        EvaluatorRole,
        LogprobModel,
        Message,
        Reranker,
        Role,
        Tool,
        ToolCall,
        ToolModel,
    )
    from harness.protocols.models import Vectors as Vectors
    from harness.protocols.parameters import KeyVariable, PlainUrl
    from harness.protocols.systems import (
        BY_GENERATOR,
        EMBEDS,
        GENERATES,
        NO_ROLE,
        Corpus,
        ModelProxy,
        Params,
        Roles,
        Route,
        Runtime,
        System,
        SystemSpec,
        Workload,
    )

__all__ = [
    "BY_GENERATOR",
    "EMBEDS",
    "GENERATES",
    "NO_ROLE",
    "AnswerChoice",
    "ChatModel",
    "ClusterBy",
    "CommandRuntime",
    "CommandSpec",
    "ConstantAnswer",
    "Corpus",
    "DatasetRow",
    "DatasetSpec",
    "Embedder",
    "Entailment",
    "EvaluationRuntime",
    "Evaluator",
    "EvaluatorRole",
    "EvaluatorSpec",
    "KeyVariable",
    "LogprobModel",
    "Measure",
    "Message",
    "ModelProxy",
    "OpenedAnswer",
    "Panel",
    "PanelFigure",
    "Params",
    "PlainUrl",
    "RawDataset",
    "ReadingProgress",
    "Reranker",
    "RetrievalTrace",
    "Role",
    "Roles",
    "Route",
    "RunFacts",
    "Runtime",
    "ScoreLabel",
    "ScoringInput",
    "Side",
    "Sides",
    "System",
    "SystemSpec",
    "Tool",
    "ToolCall",
    "ToolModel",
    "Workload",
    "no_progress",
]

_MODULES = ("commands", "datasets", "evaluators", "models", "parameters", "systems")


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: pydantic takes longer to import than `rag-harness --help` may take."""
    if name in __all__:
        for module in _MODULES:
            found = vars(import_module(f"{__name__}.{module}"))
            if name in found:
                globals()[name] = found[name]
                return found[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
