"""The job of a worker, and the servers that its phase uses."""

from pathlib import Path

from harness.config import LimitsConfig
from harness.core.records import Phase
from harness.core.sanitize import secret_names
from harness.models.llama_server import LocalServer
from harness.runner.executing.messages import Job, SystemJob
from harness.runner.executing.resources import Servers
from harness.runner.plan import Configuration


def job_of(configuration: Configuration, results: Path, phase: Phase, server: LocalServer | None) -> Job:
    """The job of a phase, without a budget. `server`: the one that was started for its generator."""
    identity, answers = configuration.identity, phase == "answer"
    models = configuration.models_in(phase)
    routes = configuration.spec.own_routes(configuration.answer_params) if answers else ()
    routed = zip(routes, configuration.routed if answers else (), strict=True)
    return Job(
        phase=phase,
        results=str(results),
        run_id=configuration.run_id,
        system=_system_job(configuration),
        routed={route.key: _system_job(one) for route, one in routed},
        corpus_digest=configuration.corpus_digest,
        retrieves_only=not configuration.generates,
        generator=configuration.generator if "generator" in models else None,
        embedder=configuration.embedder if "embedder" in models else None,
        answer_style=configuration.answer_style,
        server=server.access if server else None,
        seed=identity["seed"],
        servers=configuration.servers,
        limits=LimitsConfig.model_validate(identity["limits"]),
        key_names=secret_names(),
    )


def _system_job(configuration: Configuration) -> SystemJob:
    return SystemJob(
        name=configuration.spec.name,
        version=configuration.spec.version,
        index_id=configuration.index_id,
        index_params=configuration.index_params.model_dump(mode="json"),
        answer_params=configuration.answer_params.model_dump(mode="json"),
    )


def servers_of(configuration: Configuration, phase: Phase, started: LocalServer | None) -> Servers:
    """The servers that a phase uses. `started`: the model server that was started for it."""
    urls = [str(model.base_url) for model in configuration.models_in(phase).values() if model.base_url]
    systems = configuration.systems
    databases = [url for one in systems for url in one.spec.servers(one.index_params)]
    return Servers(urls, databases, started.pid if started else None, configuration.spec.is_elsewhere)
