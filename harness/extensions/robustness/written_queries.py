"""Queries as a model writes them: in other words, or in another language."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pydantic import BaseModel

from harness.api.config_building import bench_config, price_table
from harness.core.errors import ConfigError
from harness.core.hashing import short_digest
from harness.core.records import Query
from harness.extensions.robustness.dataset import perturbation_named
from harness.extensions.robustness.saved_effects import FOLDER
from harness.llm_utils.answer_contract import RULE, quoted
from harness.llm_utils.concurrency import map_bounded, run_to_end
from harness.models.model_endpoint import model_identity
from harness.protocols import Message
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.plan import Cell
from harness.runner.progress import Reporter
from harness.runner.writer_models import WriterModels, check_models, plan_models
from harness.store import RunDir
from harness.store.atomic_files import write_jsonl

_KEEP = (
    "Keep every name, number and quotation exactly as it is, in the same letters. Do not answer it. Reply with "
    f"the question alone. {RULE}"
)


class _Text(BaseModel):
    query_id: str
    text: str


def written_queries(
    name: str,
    cell: Cell,
    *,
    language: str,
    config_file: Path | None,
    settings: Sequence[str],
    prices: Path | None,
    results: Path,
    quiet: bool,
) -> Path | None:
    """A file with the queries of a run as the configured model writes them, asked once for each query; None: no
    model writes the perturbation of this name.

    ConfigError: no model is named. BudgetExhausted: what was paid is kept, and the same command resumes.
    """
    if not perturbation_named(name).is_written:
        return None
    if not (config_file or any("models.generator" in one for one in settings)):
        fix = "name one: --set models.generator.provider=openai, or --config FILE"
        raise ConfigError(f"'{name}' is written by a model", fix)
    config = bench_config(config_file, settings=settings)
    plan = plan_models(config.models)
    said = language if name == "translation" else ""
    asked = [one.model_dump() for one in cell.dataset.queries]
    folder = (results / FOLDER / "texts").resolve()
    path = folder / f"{name}-{short_digest([name, said, _KEEP, model_identity(plan.writer), asked])}.jsonl"
    if not path.exists():
        check_models(plan)
        folder.mkdir(parents=True, exist_ok=True)
        reporter = Reporter(quiet=quiet)
        payers, table = [CostOwner(RunDir(folder), plan.identities)], price_table(prices or config.prices)
        spending = BudgetTracker(config.budget, table, folder, payers, warn=reporter.warn)
        spending.check_prices(plan.identities)
        spending.count()
        task = f"Translate the question between the tags into {said}." if said else "Write it in other words."

        async def written() -> list[_Text]:
            with ExitStack() as stack, reporter.bar("queries by a model") as bar:
                models = WriterModels(plan, folder, reporter, stack, spending)

                async def one(query: Query) -> _Text:
                    text = quoted("question", query.text)
                    async with models.charge():
                        reply = await models.writer.complete(
                            [Message("system", f"{task} {_KEEP}"), Message("user", text)], max_tokens=512
                        )
                    return _Text(query_id=query.query_id, text=" ".join(reply.split()))

                try:
                    return await map_bounded(one, cell.dataset.queries, models.concurrency, bar.update)
                finally:
                    await models.disconnect()

        write_jsonl(path, run_to_end(written))
    return path
