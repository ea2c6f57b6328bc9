"""The contracts: what a system, a data set, an evaluator and a model promise each other.

A stranger adds a system by one folder that exports a `SystemSpec`, registered under the entry-point group
`rag_harness.systems`; data sets (`rag_harness.datasets`) and evaluators (`rag_harness.evaluators`) likewise.
"""

from typing import TYPE_CHECKING

from harness.protocols.commands import AnswerChoice, CommandRuntime, CommandSpec, OpenedAnswer
from harness.protocols.datasets import ClusterBy, DatasetRow, DatasetSpec, RawDataset, ReadingProgress, untold
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
    LetterModel,
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
    LentModels,
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
    "LentModels",
    "LetterModel",
    "Measure",
    "Message",
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
    "untold",
]
