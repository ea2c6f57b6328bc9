"""Requirements of runs: checks them, downloads weights, starts local model servers, and calls each model once
before anything else is paid, so that a bad key or model name fails early.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from harness.config import GeneratorConfig, ModelConfig
from harness.llm_utils.concurrency import run_to_end
from harness.models.cross_encoders import InferenceModel, RerankingModel
from harness.models.huggingface_hub_files import WeightFile
from harness.models.llama_server import LocalServer
from harness.models.model_endpoint import server_digests
from harness.models.probe import ask_once, is_asked
from harness.models.providers import check_reachable, provider_of
from harness.models.transport import CallContext
from harness.models.weights import cached_path, fetch
from harness.protocols import BY_GENERATOR, Role
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.plan import Cell, Configuration, models_left
from harness.runner.progress import Reporter
from harness.store import Dialects, IndexDir, Journal, RunDir, RunFile
from harness.store.asked_calls import PREFLIGHT


def fetch_weights(reporter: Reporter, *models: ModelConfig) -> None:
    """Download the weight files of these models that are missing, with a progress bar."""
    fetch_files(reporter, (weights for model in models for weights in provider_of(model).weights(model)))


def fetch_files(reporter: Reporter, files: Iterable[WeightFile]) -> None:
    """Download those of the files that are missing, with a progress bar."""
    for weights in {file.name: file for file in files}.values():
        if cached_path(weights) is None:
            reporter.say(f"fetching {weights.name} ({weights.size_bytes / 1e6:,.0f} MB)")
            with reporter.aside():
                fetch(weights, None if reporter.quiet else reporter.bar)


def check_needs(configuration: Configuration, results: Path) -> None:
    """HarnessError if a server, package or weight file that is still needed is missing. Makes no paid call."""
    for one in configuration.systems:
        if one.spec.preflight:
            one.spec.preflight(one.index_params, one.answer_params)
        if reranker := one.spec.reranker(one.answer_params):
            RerankingModel(reranker).check()
        if (entailment := one.spec.entailment(one.answer_params)) not in {None, BY_GENERATOR}:
            InferenceModel(str(entailment)).check()
    for model in models_left(configuration, results).values():
        check_reachable(model)


def fetch_models(configuration: Configuration, results: Path, reporter: Reporter) -> dict[Role, ModelConfig]:
    """Download the weights of the models that are still needed; returns these models."""
    models = models_left(configuration, results)
    fetch_weights(reporter, *models.values())
    for one in configuration.systems:
        fetch_files(reporter, RerankingModel(one.spec.reranker(one.answer_params) or "").files)
    return models


def model_server(model: ModelConfig | None, folder: Path) -> AbstractContextManager[LocalServer | None]:
    """The local server of a generator that needs one; it logs to `folder`."""
    if not isinstance(model, GeneratorConfig):
        return nullcontext()
    serve = provider_of(model).serve
    return serve(model, folder / RunFile.SERVER_LOG) if serve else nullcontext()


def ask_models(
    cells: Sequence[Cell],
    evaluation: EvaluationPlan | None,
    results: Path,
    reporter: Reporter,
    spending: BudgetTracker,
) -> None:
    """Call each model of these unfinished configurations once, and their judges, if it is behind a server.
    ModelUnavailable if a model, its key or a parameter is rejected.

    Each call is journaled, counts against the budget and is paid by the first run that needs the model, not by its
    system. It is repeated on another day only.
    """
    asked = set[str]()
    # A server may load the model first. That time does not count as minutes of the budget.
    with spending.paused():
        for models, payer, identities, path in _askable(cells, evaluation, results):
            # Several configurations can use a model.
            named = {f"{model.role} {model.model_dump_json()}": model for model in models if is_asked(model)}
            new = [model for name, model in named.items() if name not in asked]
            asked |= named.keys()
            if not new:
                continue
            spending.count()
            with closing(Journal(path, payer=payer.run_id, shared=True, tell=reporter.warn)) as journal:
                for model in new:
                    call_context = CallContext(
                        journal,
                        server_digests(identities),
                        dialects=Dialects.under(results),
                        begun_in=RunDir(results / payer.run_id).dialects(),
                        budget=spending.budget(identities),
                        say=reporter.say,
                    )
                    scope = f"{PREFLIGHT}/{datetime.now(UTC).date()}"
                    if warning := run_to_end(partial(ask_once, model, call_context, scope)):
                        reporter.warn(f"warning: {warning}")


def _askable(
    cells: Sequence[Cell], evaluation: EvaluationPlan | None, results: Path
) -> Iterator[tuple[Sequence[ModelConfig], Cell, Mapping[str, Any], Path]]:
    """Models, who pays for their calls, the identities of the models, and the journal."""
    for cell in cells:
        journal = IndexDir(results, cell.index_id).journal_path
        yield list(cell.models.values()), cell, cell.identity["models"], journal
    if cells and evaluation is not None:
        judging = [one for one in (evaluation.judge, evaluation.embedder) if evaluation.needs(one.role)]
        yield judging, cells[0], evaluation.models, results / "judge" / "calls.sqlite"
