"""Turns a config into planned configurations (`Cell`): resolved, hashed and checked before anything is paid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from harness.config import BenchConfig, EmbedderConfig, GeneratorConfig, ModelConfig, expand
from harness.config.load import explain, value_at
from harness.config.schema import NO_MODEL
from harness.core.errors import ConfigError, nearest
from harness.core.hashing import digest, short_digest
from harness.core.records import OWN_MODELS, AnswerStyle, Phase
from harness.core.sanitize import path_part
from harness.datasets import Dataset
from harness.llm_utils.answer_contract import CONTRACT
from harness.models.cross_encoders import InferenceModel, RerankingModel
from harness.models.model_endpoint import model_identity, server_digests
from harness.models.providers import provider_of, resolve_embedder, resolve_generator
from harness.models.weights import missing_bytes
from harness.protocols import BY_GENERATOR, Params, ReadingProgress, Role, Roles, SystemSpec, no_progress
from harness.registry import SYSTEMS
from harness.runner.dataset_loading import DatasetReader
from harness.runner.evaluating.plan import plan_evaluation
from harness.runner.routed_systems import config_of, refuse_unroutable, with_roles
from harness.store import IndexDir, RunDir, indexes_of

IDENTITY_SCHEMA = 2
_OF_RUNS = ("index.", "answer.", "per_system.", "dataset.", "models.generator.", "models.embedder.")
"""Config keys that change runs, as prefixes."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """A system with parameters and models, and the ids of its run and index: planned, or read from a manifest."""

    spec: SystemSpec
    index_params: Params
    answer_params: Params
    generator: GeneratorConfig | None
    """None: neither phase calls a generator."""
    embedder: EmbedderConfig | None
    """None: neither phase calls an embedder."""
    answer_style: AnswerStyle
    corpus_digest: str
    identity: dict[str, Any]
    run_id: str
    routed: tuple["Configuration", ...] = ()
    """For a router: the systems to which it sends queries, one for each route of its spec."""

    def __post_init__(self) -> None:
        # Files with weights may change later.
        _ = self.index_id

    @cached_property
    def roles(self) -> Roles:
        own = self.spec.roles(self.index_params, self.answer_params)
        return with_roles(own, [one.roles for one in self.routed])

    @cached_property
    def index_id(self) -> str:
        """The version of the system is part of it, unless `SystemSpec.index_kind` names the kind of its index."""
        models, weights = self.identity["models"], dict(self.spec.weights(self.index_params))
        return short_digest(
            {
                "kind": self.spec.stored_index_kind,
                "corpus": self.corpus_digest,
                "params": self.identity["system"]["index"],
                "models": {role: models[role] for role in sorted(self.roles.index) if role in models},
                "seed": self.identity["seed"],
                **({"weights": weights} if weights else {}),
                **({"routed": sorted({one.index_id for one in self.routed})} if self.routed else {}),
            }
        )

    @property
    def systems(self) -> "list[Configuration]":
        return [self, *self.routed]

    @property
    def models(self) -> dict[Role, ModelConfig]:
        played: dict[Role, ModelConfig | None] = {"generator": self.generator, "embedder": self.embedder}
        return {role: config for role, config in played.items() if config is not None}

    def models_in(self, phase: Phase) -> dict[Role, ModelConfig]:
        roles = self.roles.index if phase == "index" else self.roles.answer
        return {role: model for role, model in self.models.items() if role in roles}

    @property
    def generates(self) -> bool:
        """Whether answers are generated, by the configured model or one of the system's own."""
        return _generates(self.identity["models"])

    @property
    def servers(self) -> dict[str, str]:
        """Role -> digest of provider, model and server. Decoding parameters are part of each request instead."""
        return server_digests(self.identity["models"])


@dataclass(frozen=True, kw_only=True)
class Cell(Configuration):
    """A planned configuration with its sample. Those to which it routes are planned as if a config named them."""

    config: BenchConfig
    dataset: Dataset
    routed: tuple["Cell", ...] = ()

    @property
    def n_answers(self) -> int:
        return len(self.dataset.queries) * self.config.repeats


def plan_cells(
    config: BenchConfig, progress: ReadingProgress = no_progress, reader: DatasetReader | None = None
) -> list[Cell]:
    """All configurations of a config, in order. Any mistake raises before the first one runs. `progress` is called
    while data sets are read, unless `reader` reads them.

    A baseline that is shown the gold evidence is left out beside others if no query has any.
    """
    plan_evaluation(config)
    points = expand(config)
    _refuse_unknown_params(config)
    reader = reader or DatasetReader(progress)
    cells = [_resolve(point, reader) for point in points]
    for axis in config.matrix:
        _refuse_idle(axis, cells)
    # The same configuration named twice is one run.
    distinct = list({cell.run_id: cell for cell in cells}.values())
    return [cell for cell in distinct if _names_evidence(cell) or not cell.spec.sees_gold] or distinct


def left_out_lines(config: BenchConfig, cells: Sequence[Cell]) -> list[str]:
    """A line about the baselines of a config that are not among its planned configurations."""
    if any(_names_evidence(cell) for cell in cells):
        return []
    planned = {cell.spec.name for cell in cells}
    names = [name for name in config.systems if name not in planned and SYSTEMS.load(name).sees_gold]
    return [f"left out: {', '.join(names)}, because no question names its evidence"] if names else []


def _names_evidence(cell: Cell) -> bool:
    return any(reference.evidence for reference in cell.dataset.references)


def _refuse_idle(axis: str, cells: Sequence[Cell]) -> None:
    """Refuse an axis that changes no run, such as a judge: it would silently give one run. Keys of `_OF_RUNS` are
    allowed, since some systems lack a parameter, and two sample sizes of a small data set may be equal.
    """
    if axis.startswith(_OF_RUNS):
        return
    runs: dict[str, set[str]] = {}
    for cell in cells:
        runs.setdefault(digest(value_at(cell.config, axis)), set()).add(cell.run_id)
    first, *others = runs.values()
    if others and all(other == first for other in others):
        what = f"matrix.{axis}: all values give the same runs, because it changes no answer"
        again = f"rag-harness evaluate RUN --set {axis}=VALUE"
        raise ConfigError(what, f"remove it, and score the runs with each value: {again}")


def _refuse_unknown_params(config: BenchConfig) -> None:
    """Refuse a shared parameter that no system has. Systems that `--system` left out are known by `per_system`."""
    specs = [_system(name) for name in [*config.systems, *config.per_system]]
    for half in ("index", "answer"):
        known = {key for spec in specs for key in _params_type(spec, half).model_fields}
        swept = [key.removeprefix(f"{half}.") for key in config.matrix if key.startswith(f"{half}.")]
        for key in [*getattr(config, half), *swept]:
            if key not in known:
                raise ConfigError(f"unknown key '{half}.{key}'", nearest(key, known))


def _system(name: str) -> SystemSpec:
    spec = SYSTEMS.load(name)
    if spec.at is not None:
        raise ConfigError(f"'{name}' is incomplete: it needs a target", f"such as {name}:{spec.target}")
    return spec


def _resolve(config: BenchConfig, reader: DatasetReader) -> Cell:
    spec = _system(config.systems[0])
    answer_params = _configured(spec, "answer", config)
    index_params = spec.settle(_configured(spec, "index", config), answer_params)
    routes = spec.own_routes(answer_params)
    for route in routes:
        refuse_unroutable(_system(route.system))
    routed = tuple(_resolve(config_of(config, route), reader) for route in routes)
    roles = with_roles(spec.roles(index_params, answer_params), [one.roles for one in routed])
    generator, embedder = models_of(config, spec, roles, index_params)
    dataset, documents_digest = reader.selected(config.dataset)
    models = {
        role: model_identity(model)
        for role, model in (("generator", generator), ("embedder", embedder))
        if model is not None
    }
    if spec.own_models and "generator" not in models:
        # If only retrieval is wanted, it has no generator either.
        wants_none = config.models.generator.is_none
        models["generator"] = {"provider": NO_MODEL} if wants_none else {"provider": OWN_MODELS, "model": None}
    style = config.answer_style or dataset.answer_style
    generates = _generates(models)
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
    if generates and not spec.own_models:
        identity["answers"] = {"style": style, "contract": CONTRACT}
    elif generates:  # It uses its own prompts.
        identity["answers"] = {"style": style}
    weights = {**spec.weights(index_params), **_weights_of_answers(spec, answer_params)}
    for one in routed:
        weights |= one.identity.get("weights", {})
    if weights:
        identity["weights"] = weights
    if routed:
        identity["system"]["routed"] = [one.identity["system"] for one in routed]
    # Names that become equal in a path differ in the digest behind it.
    system = path_part(spec.name) if ":" in spec.name else spec.name
    return Cell(
        config=config,
        spec=spec,
        index_params=index_params,
        answer_params=answer_params,
        generator=generator,
        embedder=embedder,
        answer_style=style,
        dataset=dataset,
        corpus_digest=documents_digest,
        identity=identity,
        run_id=f"{dataset.name_in_runs}--{system}--{short_digest(identity)}",
        routed=routed,
    )


def _generates(models: Mapping[str, Mapping[str, Any]]) -> bool:
    """`models`: role -> identity."""
    return bool(models.get("generator", {}).get("provider", NO_MODEL) != NO_MODEL)


def models_of(
    config: BenchConfig, spec: SystemSpec, roles: Roles, index_params: Params
) -> tuple[GeneratorConfig | None, EmbedderConfig | None]:
    """Both resolved; None if neither phase calls it. ConfigError if one is needed and the config says `none`."""
    generator, embedder, called = config.models.generator, config.models.embedder, roles.index | roles.answer
    if generator.is_none and "generator" in roles.index:
        raise ConfigError(
            f"'{spec.name}' builds its index with a generator, and models.generator.provider is none",
            f"choose a provider{_index_without_model(spec, index_params)}",
        )
    # A system with models of its own may embed with one of them.
    embeds = "embedder" in called and not (embedder.is_none and spec.own_models)
    if embeds and embedder.is_none:
        raise ConfigError(f"'{spec.name}' embeds, and models.embedder.provider is none", "choose a provider")
    return (
        resolve_generator(generator) if "generator" in called else None,
        resolve_embedder(embedder) if embeds else None,
    )


def _weights_of_answers(spec: SystemSpec, params: Params) -> dict[str, str]:
    """Reranker and entailment model of the answers: name -> digest."""
    reranker, entailment = spec.reranker(params), spec.entailment(params)
    weights = {"reranker": RerankingModel(reranker).identity()} if reranker else {}
    if entailment and entailment != BY_GENERATOR:
        weights["entailment"] = InferenceModel(entailment).identity()
    return weights


def _index_without_model(spec: SystemSpec, params: Params) -> str:
    """`, or ...`: the setting with which its index needs no generator; empty if no single one does."""
    for name, field in type(params).model_fields.items():
        for value in get_args(field.annotation):
            other = params.model_copy(update={name: value})
            if callable(spec.index_roles) and "generator" not in spec.index_roles(other):
                return f", or --set per_system.{spec.name}.index.{name}={value}"
    return ""


def _configured(spec: SystemSpec, half: str, config: BenchConfig) -> Params:
    known = _params_type(spec, half).model_fields
    shared = {key: value for key, value in getattr(config, half).items() if key in known}
    overrides = [getattr(own, half) for name, own in config.per_system.items() if _system(name).name == spec.name]
    return params_of(spec, half, {key: value for given in (shared, *overrides) for key, value in given.items()})


def params_of(spec: SystemSpec, half: str, values: Mapping[str, Any]) -> Params:
    """The parameters of a phase, `index` or `answer`, from these values. ConfigError if one is invalid."""
    kind = _params_type(spec, half)
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError(*explain(error, kind, prefix=half)) from error


def _params_type(spec: SystemSpec, half: str) -> type[Params]:
    return spec.index_params if half == "index" else spec.answer_params


def is_finished(cell: Cell, results: Path) -> bool:
    run = RunDir(results / cell.run_id)
    return run.is_closed() and is_whole(cell, run)


def is_whole(cell: Cell, run: RunDir) -> bool:
    """Whether done.json says that the run was closed over all queries. Its files are not checked."""
    done = run.done()
    return done is not None and done.n_expected >= cell.n_answers


def index_dirs(configuration: Configuration, results: Path) -> list[IndexDir]:
    """Its own index, or those of its routed systems, without duplicates."""
    return indexes_of(results, configuration.index_id, (one.index_id for one in configuration.routed))


def is_indexed(configuration: Configuration, results: Path) -> bool:
    return all(index.record() is not None for index in index_dirs(configuration, results))


def models_left(configuration: Configuration, results: Path) -> dict[Role, ModelConfig]:
    return configuration.models_in("answer") if is_indexed(configuration, results) else configuration.models


def weights_left(cells: Sequence[Cell], results: Path) -> dict[str, int]:
    """Model -> bytes of weights that these runs will download."""
    sizes = dict[str, int]()
    for cell in cells:
        for model in models_left(cell, results).values():
            sizes[model.label] = missing_bytes(provider_of(model).weights(model))
        for one in cell.systems:
            name = one.spec.reranker(one.answer_params) or ""
            sizes[name] = missing_bytes(RerankingModel(name).files)
    return {name: size for name, size in sizes.items() if size}
