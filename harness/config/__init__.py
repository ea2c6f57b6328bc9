"""Reads YAML and `--set` into a validated `BenchConfig`, and expands a matrix into single configs."""

from harness.config.load import load_config
from harness.config.matrix import expand
from harness.config.schema import (
    DATASET_PLACES,
    LOCAL_EXECUTOR,
    NO_MODEL,
    OWN_DOCUMENTS,
    BenchConfig,
    BudgetConfig,
    DatasetConfig,
    EmbedderConfig,
    GeneratorConfig,
    JudgeConfig,
    JudgeEmbedderConfig,
    LimitsConfig,
    ModelConfig,
    ModelsConfig,
    RunnerConfig,
    SampleConfig,
    SystemOverrides,
)

__all__ = [
    "DATASET_PLACES",
    "LOCAL_EXECUTOR",
    "NO_MODEL",
    "OWN_DOCUMENTS",
    "BenchConfig",
    "BudgetConfig",
    "DatasetConfig",
    "EmbedderConfig",
    "GeneratorConfig",
    "JudgeConfig",
    "JudgeEmbedderConfig",
    "LimitsConfig",
    "ModelConfig",
    "ModelsConfig",
    "RunnerConfig",
    "SampleConfig",
    "SystemOverrides",
    "expand",
    "load_config",
]
