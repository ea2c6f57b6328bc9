"""From a config to cells: everything resolved, hashed and checked before anything is paid for."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from harness.config import BenchConfig, DatasetConfig, EmbedderConfig, GeneratorConfig, SampleConfig, expand
from harness.config.load import explain
from harness.datasets import Dataset, Sample, load_dataset
from harness.errors import ConfigError, nearest
from harness.identity import digest, short_digest
from harness.models.identity import embedder_identity, generator_identity, server_digests
from harness.models.providers import resolve_embedder, resolve_generator
from harness.protocols import Params, SystemSpec
from harness.registry import load_dataset_spec, load_system
from harness.runner.evaluating.plan import plan_evaluation

IDENTITY_SCHEMA = 1


@dataclass(frozen=True)
class Cell:
    """One point of a benchmark, resolved: what to run, and the ids it will have."""

    config: BenchConfig
    spec: SystemSpec
    index_params: Params
    answer_params: Params
    generator: GeneratorConfig
    embedder: EmbedderConfig
    dataset: Dataset
    corpus_digest: str
    identity: dict[str, Any]
    run_id: str
    index_id: str

    @property
    def servers(self) -> dict[str, str]:
        """Role -> digest of what serves it; how it decodes stands in each request."""
        return server_digests(self.identity["models"])


def plan_cells(config: BenchConfig) -> list[Cell]:
    """Every cell of the config, in order; any mistake in any of them raises before the first one runs."""
    plan_evaluation(config)
    points = expand(config)
    _refuse_unknown_params(config)
    # The same cell named twice is one run.
    return list({cell.run_id: cell for cell in map(_resolve, points)}.values())


def _refuse_unknown_params(config: BenchConfig) -> None:
    """A shared key that none of the selected systems knows is a typo, not a wish."""
    specs = [load_system(name) for name in config.systems]
    for name in config.per_system:
        load_system(name)
    for half in ("index", "answer"):
        known = {key for spec in specs for key in _params_type(spec, half).model_fields}
        swept = [key.removeprefix(f"{half}.") for key in config.matrix if key.startswith(f"{half}.")]
        for key in [*getattr(config, half), *swept]:
            if key not in known:
                raise ConfigError(f"unknown key '{half}.{key}'", nearest(key, known))


def _resolve(config: BenchConfig) -> Cell:
    spec = load_system(config.systems[0])
    index_params = _params(spec, "index", config)
    answer_params = _params(spec, "answer", config)
    generator = resolve_generator(config.models.generator)
    embedder = resolve_embedder(config.models.embedder)
    if "generator" in spec.roles_of(index_params) and generator.provider == "none":
        raise ConfigError(
            f"'{spec.name}' builds its index with a generator, and models.generator.provider is none",
            "choose a provider, or an index parameter that needs none (see its README)",
        )
    dataset, corpus_digest = load_selected(config.dataset)
    models = {"generator": generator_identity(generator), "embedder": embedder_identity(embedder)}
    identity: dict[str, Any] = {
        "schema": IDENTITY_SCHEMA,
        "dataset": {"name": dataset.name, "subset": dataset.subset, "digest": dataset.digest},
        "system": {
            "name": spec.name,
            "version": spec.version,
            "index": index_params.model_dump(mode="json"),
            "answer": answer_params.model_dump(mode="json"),
        },
        "models": models,
        "seed": config.seed,
        "repeats": config.repeats,
        "limits": config.limits.model_dump(mode="json"),
    }
    index_identity = {
        "kind": spec.stored_index_kind,
        "corpus": corpus_digest,
        "params": identity["system"]["index"],
        "models": {role: models[role] for role in sorted(spec.roles_of(index_params))},
        "seed": config.seed,
    }
    return Cell(
        config=config,
        spec=spec,
        index_params=index_params,
        answer_params=answer_params,
        generator=generator,
        embedder=embedder,
        dataset=dataset,
        corpus_digest=corpus_digest,
        identity=identity,
        run_id=f"{dataset.name}--{spec.name}--{short_digest(identity)}",
        index_id=short_digest(index_identity),
    )


@lru_cache(maxsize=2)
def load_selected(config: DatasetConfig) -> tuple[Dataset, str]:
    """The sampled data set and the digest of its documents alone; cells of a sweep share it."""
    sample = config.sample
    dataset = load_dataset(
        load_dataset_spec(config.name),
        subset=config.subset,
        sample=Sample(sample.per_type, sample.seed) if isinstance(sample, SampleConfig) else None,
        corpus=config.corpus,
    )
    return dataset, digest([document.model_dump() for document in dataset.documents])


def _params(spec: SystemSpec, half: str, config: BenchConfig) -> Params:
    kind = _params_type(spec, half)
    shared = {key: value for key, value in getattr(config, half).items() if key in kind.model_fields}
    own = config.per_system.get(spec.name)
    try:
        return kind.model_validate({**shared, **(getattr(own, half) if own else {})})
    except ValidationError as error:
        raise ConfigError(*explain(error, kind, prefix=half)) from error


def _params_type(spec: SystemSpec, half: str) -> type[Params]:
    return spec.index_params if half == "index" else spec.answer_params
