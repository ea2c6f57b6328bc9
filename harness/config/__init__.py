"""Reads YAML and `--set` into a validated `BenchConfig`, and expands a matrix into single configs."""

from harness.config.load import expand, load_config
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
