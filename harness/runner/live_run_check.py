"""Checks whether the system of a finished run can be opened here, unchanged, to ask it questions."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.config.load import build_config, explain
from harness.core.errors import ConfigError, HarnessError, StoreError
from harness.models.model_endpoint import model_identity
from harness.protocols import Params, Role, Roles, Route, SystemSpec
from harness.registry import SYSTEMS
from harness.runner.executing.messages import RoutedJob
from harness.runner.executing.system_loader import check_version
from harness.runner.plan import index_id_of, models_of
from harness.runner.routed_systems import with_roles
from harness.store import IndexDir, Manifest, RunDir, find_runs, indexes_of

_AGAIN = "run its config again (`rag-harness run`): the index is built, and no call is paid twice"


@dataclass(frozen=True)
class RoutedLiveRuns:
    """A system to which the run's system routes queries, with the run's parameters."""

    spec: SystemSpec
    index_params: Params
    answer_params: Params
    roles: Roles
    job: RoutedJob


@dataclass(frozen=True)
class LiveRun:
    """A run whose system can be opened here, unchanged."""

    run: RunDir
    manifest: Manifest
    spec: SystemSpec
    index_params: Params
    answer_params: Params
    roles: Roles
    generator: GeneratorConfig | None
    embedder: EmbedderConfig | None
    routed: tuple[RoutedLiveRuns, ...] = ()
    """The systems to which it routes queries."""

    @property
    def indexes(self) -> list[IndexDir]:
        """Its own index, or those of its routed systems, without duplicates."""
        return indexes_of(self.results, self.manifest.index_id, (one.job.index_id for one in self.routed))

    @property
    def systems(self) -> list[tuple[SystemSpec, Params, Params]]:
        """Its system and its routed systems, with their index and answer parameters."""
        own = (self.spec, self.index_params, self.answer_params)
        return [own, *((one.spec, one.index_params, one.answer_params) for one in self.routed)]

    @property
    def results(self) -> Path:
        """The results folder, which also holds its index."""
        return self.run.path.parent

    @property
    def answering(self) -> dict[Role, ModelConfig]:
        """The models called for an answer, by role."""
        played: dict[Role, ModelConfig | None] = {"generator": self.generator, "embedder": self.embedder}
        return {role: model for role, model in played.items() if role in self.roles.answer and model is not None}


def live_run(run: RunDir) -> LiveRun:
    """The run with everything needed to open its system. Nothing is opened, downloaded or paid yet.

    HarnessError if the run was imported; if its system reads the gold evidence, is not installed or has another
    version; if a model differs; if its index is missing, damaged or of another version.
    """
    manifest = run.manifest()
    if manifest.is_imported:
        what = f"the answers of {run.run_id} were imported: its system is not available here"
        raise ConfigError(what, "name a run that was made here")
    identity = manifest.identity
    system = identity["system"]
    spec = SYSTEMS.load(system["name"])
    check_version(spec, str(system.get("version")))
    if spec.sees_gold:
        what = f"'{spec.name}' answers from the gold evidence, which a new question does not have"
        raise ConfigError(what, "name a run of another system")
    index_params = _params(spec.index_params, system["index"], "index")
    answer_params = _params(spec.answer_params, system["answer"], "answer")
    routes = spec.own_routes(answer_params)
    routed = tuple(_routed_run(manifest, *one) for one in zip(routes, system.get("routed", ()), strict=True))
    roles = with_roles(spec.roles(index_params, answer_params), [one.roles for one in routed])
    generator, embedder = models_of(build_config(manifest.config), spec, roles, index_params)
    live = LiveRun(run, manifest, spec, index_params, answer_params, roles, generator, embedder, routed)
    _check_models(live)
    _check_index(live)
    return live


def index_ids(manifest: Manifest) -> list[str]:
    """The ids of the stored indexes of a run: its own, or those of the systems to which it routes. HarnessError if
    these are not installed as they were.
    """
    system = manifest.system
    if not system.get("routed"):
        return [manifest.index_id]
    spec = SYSTEMS.load(system["name"])
    routes = spec.own_routes(_params(spec.answer_params, system["answer"], "answer"))
    return [_routed_run(manifest, *one).job.index_id for one in zip(routes, system["routed"], strict=True)]


def _routed_run(manifest: Manifest, route: Route, said: dict[str, Any]) -> RoutedLiveRuns:
    spec = SYSTEMS.load(route.system)
    check_version(spec, str(said.get("version")))
    index_params = _params(spec.index_params, said["index"], "index")
    answer_params = _params(spec.answer_params, said["answer"], "answer")
    roles = spec.roles(index_params, answer_params)
    identity = {**manifest.identity, "system": said}
    job = RoutedJob(
        route=route,
        system_version=spec.version,
        index_id=index_id_of(spec, index_params, roles, _corpus(manifest), identity),
        index_params=index_params.model_dump(mode="json"),
        answer_params=answer_params.model_dump(mode="json"),
    )
    return RoutedLiveRuns(spec, index_params, answer_params, roles, job)


def _corpus(manifest: Manifest) -> str:
    return str(manifest.dataset.get("corpus_digest") or "")


def _params(kind: type[Params], said: dict[str, Any], half: str) -> Params:
    try:
        return kind.model_validate(said)
    except ValidationError as error:
        raise ConfigError(*explain(error, kind, prefix=half)) from error


def _check_models(live: LiveRun) -> None:
    """ConfigError if a model or its weights differ: the answers would not be those of the run."""
    then = live.manifest.identity["models"]
    for model in live.answering.values():
        now = model_identity(model)
        if now != then.get(model.role):
            what = f"the {model.role} of {live.run.run_id} differs from the one available now"
            raise ConfigError(what, "restore the model of the run, or run its config again")


def _check_index(live: LiveRun) -> None:
    manifest = live.manifest
    routed = [one.job.index_id for one in live.routed]
    now = index_id_of(live.spec, live.index_params, live.roles, _corpus(manifest), manifest.identity, routed)
    if now != manifest.index_id:
        what = f"the index of {live.run.run_id} does not match the installed '{live.spec.name}'"
        raise ConfigError(what, _AGAIN)
    for index in live.indexes:
        if index.record() is None:
            raise StoreError(f"the index of {live.run.run_id} is not under {index.path.parent}", _AGAIN)
        if damage := index.damage():
            raise StoreError(f"the index of {live.run.run_id} cannot be used: {damage}", _AGAIN)


def run_named(results: Path, name: str) -> RunDir:
    """The run of that name, or the run that built the index of that id. ConfigError if neither exists."""
    try:
        return find_runs(results, [name])[0]
    except ConfigError:
        record = _index_record(results, name)
        if record is None:
            raise
        return find_runs(results, [record])[0]


def _index_record(results: Path, name: str) -> str | None:
    """The id of the run that built that index."""
    if not name.isalnum():
        return None
    try:
        record = IndexDir(results, name).record()
    except HarnessError:
        return None
    return record.built_by if record else None
