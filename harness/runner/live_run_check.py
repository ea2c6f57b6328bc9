"""Checks whether the system of a finished run can be opened here, unchanged, to ask it questions."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.config.load import build_config
from harness.core.errors import ConfigError, HarnessError, StoreError
from harness.models.model_endpoint import model_identity
from harness.protocols import Params, SystemSpec
from harness.registry import SYSTEMS
from harness.runner.executing.system_loader import check_version
from harness.runner.plan import Configuration, index_dirs, models_of, params_of
from harness.store import IndexDir, Manifest, RunDir, find_runs

_AGAIN = "run its config again (`rag-harness run`): the index is built, and no call is paid twice"


@dataclass(frozen=True)
class LiveRun:
    run: RunDir
    configuration: Configuration

    @property
    def results(self) -> Path:
        """The results folder, which also holds its index."""
        return self.run.path.parent


def live_run(run: RunDir, planned: Configuration | None = None) -> LiveRun:
    """The run with everything needed to open its system. Nothing is opened, downloaded or paid yet. `planned`: its
    configuration, if a config of the user was planned to it; None: that of the manifest.

    HarnessError if the run was imported; if its system reads the gold evidence, is not installed or has another
    version; if a model differs; if its index is missing, damaged or of another version.
    """
    manifest = run.manifest()
    if manifest.is_imported:
        what = f"the answers of {run.run_id} were imported: its system is not available here"
        raise ConfigError(what, "name a run that was made here")
    configuration = planned or _recorded(manifest)
    if configuration.spec.sees_gold:
        what = f"'{configuration.spec.name}' answers from the gold evidence, which a new question does not have"
        raise ConfigError(what, "name a run of another system")
    then = configuration.identity["models"]
    for model in configuration.models_in("answer").values():
        if model_identity(model) != then.get(model.role):
            # With another model, or other weights, the answers would not be those of the run.
            what = f"the {model.role} of {run.run_id} differs from the one available now"
            raise ConfigError(what, "restore the model of the run, or run its config again")
    if configuration.index_id != manifest.index_id:
        what = f"the index of {run.run_id} does not match the installed '{configuration.spec.name}'"
        raise ConfigError(what, _AGAIN)
    live = LiveRun(run, configuration)
    for index in index_dirs(configuration, live.results):
        if index.record() is None:
            raise StoreError(f"the index of {run.run_id} is not under {index.path.parent}", _AGAIN)
        if damage := index.damage():
            raise StoreError(f"the index of {run.run_id} cannot be used: {damage}", _AGAIN)
    return live


def _recorded(manifest: Manifest) -> Configuration:
    """The configuration of a run that was made here, with the parameters that it had then."""
    system = manifest.identity["system"]
    found = _recorded_system(manifest, system["name"], system)
    generator, embedder = models_of(build_config(manifest.config), found.spec, found.roles, found.index_params)
    return replace(found, generator=generator, embedder=embedder)


def _recorded_system(manifest: Manifest, name: str, system: Mapping[str, Any]) -> Configuration:
    """The run's system, or one to which it routes, without models. `system`: its identity."""
    spec = SYSTEMS.load(name)
    check_version(spec, str(system.get("version")))
    index_params = params_of(spec, "index", system["index"])
    answer_params = params_of(spec, "answer", system["answer"])
    identity = {**manifest.identity, "system": system}
    return Configuration(
        spec=spec,
        index_params=index_params,
        answer_params=answer_params,
        generator=None,
        embedder=None,
        answer_style=identity.get("answers", {}).get("style", "short"),
        corpus_digest=str(manifest.dataset.get("corpus_digest") or ""),
        identity=identity,
        run_id=manifest.run_id,
        routed=_routed(manifest, spec, answer_params, system),
    )


def _routed(
    manifest: Manifest, spec: SystemSpec, answer_params: Params, system: Mapping[str, Any]
) -> tuple[Configuration, ...]:
    routes = zip(spec.own_routes(answer_params), system.get("routed", ()), strict=True)
    return tuple(_recorded_system(manifest, route.system, one) for route, one in routes)


def index_ids(manifest: Manifest) -> list[str]:
    """The ids of its stored indexes: its own, or its routed systems'. HarnessError if these are not installed."""
    system = manifest.system
    if not system.get("routed"):
        return [manifest.index_id]
    spec = SYSTEMS.load(system["name"])
    return [one.index_id for one in _routed(manifest, spec, params_of(spec, "answer", system["answer"]), system)]


def run_named(results: Path, name: str) -> RunDir:
    """The run of that name, or the run that built the index of that id. ConfigError if neither exists."""
    try:
        return find_runs(results, [name])[0]
    except ConfigError:
        record = None
        with suppress(HarnessError):
            record = IndexDir(results, name).record() if name.isalnum() else None
        if record is None:
            raise
        return find_runs(results, [record.built_by])[0]
