"""The contracts of plug-ins: systems, data sets, evaluators, models and commands.

To add a system, write a package that exports a `SystemSpec` and register it under the entry-point group
`rag_harness.systems`. Data sets (`rag_harness.datasets`) and evaluators (`rag_harness.evaluators`) work the same
way.
"""

from typing import TYPE_CHECKING

from harness.protocols.commands import AnswerChoice, CommandRuntime, CommandSpec, OpenedAnswer
from harness.protocols.datasets import ClusterBy, DatasetRow, DatasetSpec, RawDataset, ReadingProgress, no_progress
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
)
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

if TYPE_CHECKING:
    from harness.protocols.models import Vectors as Vectors

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
    "Workload",
    "no_progress",
]
