"""The data set `perturbed`: another one whose queries or documents are perturbed after sampling. It has a digest
of its own, and the query ids of the other one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue

from harness.config import DatasetConfig
from harness.core.bounded_files import from_home, without_home
from harness.core.errors import ConfigError, DataError, nearest
from harness.core.records import Document
from harness.datasets import Dataset, checked_subset
from harness.datasets.local_files import read_rows
from harness.display import counted, printable
from harness.extensions.robustness.corpus_perturbations import CORPUS_PERTURBATIONS
from harness.extensions.robustness.perturbations import QUERY_PERTURBATIONS, Material, Perturbation, Perturbed
from harness.protocols import DatasetRow, DatasetSpec, Params, RawDataset, ReadingProgress
from harness.registry import DATASETS
from harness.runner.dataset_loading import dataset_params

PERTURBATIONS = {one.name: one for one in (*QUERY_PERTURBATIONS, *CORPUS_PERTURBATIONS)}
NAME = "perturbed"


class PerturbedParams(Params):
    of: str
    """The other data set."""
    by: str
    subset: str | None = None
    options: Mapping[str, JsonValue] = {}
    path: Path | None = None
    questions: Path | None = None
    seed: int = 0
    share: float = Field(0.25, gt=0, le=1)
    """Of the words that get a typo."""
    texts: Path | None = None
    """A file of queries as a model wrote them."""


def perturbation_named(name: str) -> Perturbation:
    if name not in PERTURBATIONS:
        raise ConfigError(f"no perturbation '{printable(name)}'", nearest(name, PERTURBATIONS))
    return PERTURBATIONS[name]


def perturbed_config(config: DatasetConfig, params: PerturbedParams) -> DatasetConfig:
    """The same data set and sample, perturbed."""
    options: dict[str, Any] = {"of": config.name, "by": params.by, "seed": params.seed, "share": params.share}
    options |= {"subset": config.subset, "options": config.options}
    options |= {"texts": without_home(str(params.texts))} if params.texts else {}
    return config.model_copy(update={"name": NAME, "subset": None, "options": options})


def perturbed_sample(dataset: Dataset, params: PerturbedParams) -> Perturbed:
    """The queries and documents of a run over `perturbed_config`, with what was planted."""
    rows = tuple(DatasetRow(*pair, ()) for pair in zip(dataset.queries, dataset.references, strict=True))
    return _perturbed(rows, dataset.documents, params)


def _load(_subset: str, params: PerturbedParams, progress: ReadingProgress) -> RawDataset:
    perturbation = perturbation_named(params.by)
    if params.of == NAME:
        raise ConfigError("a perturbed data set cannot be perturbed again", "name another one: dataset.options.of")
    spec = DATASETS.load(params.of)
    places = {key: str(place) for key in ("path", "questions") if (place := getattr(params, key)) is not None}
    config = DatasetConfig.model_validate({"name": params.of, "options": params.options, **places})
    raw = spec.read(checked_subset(spec, params.subset), dataset_params(spec, config), progress)
    title = raw.title or spec.name

    def changed(rows: tuple[DatasetRow, ...], documents: tuple[Document, ...]) -> RawDataset:
        found = _perturbed(rows, documents, params)
        n, whole = sum(found.dropped.values()), counted(len(rows), "query", "queries")
        why = "; ".join(f"{reason}: {times:,}" for reason, times in sorted(found.dropped.items()))
        if not found.rows:
            raise DataError(f"{title}: no query is left under {perturbation.title} ({why})", "choose another one")
        notes = [f"Perturbed: {title} under {perturbation.title}, seed {params.seed}; same query ids."]
        if n:
            notes.append(f"{n:,} of {whole} left out, which it cannot change or would not keep right ({why}).")
        return replace(raw, rows=found.rows, documents=found.documents, notes=tuple(notes))

    return replace(
        raw,
        title=f"{title} under {perturbation.title}",
        answer_style=raw.answer_style or spec.answer_style,
        primary_measure=raw.primary_measure or spec.primary_measure,
        after_sampling=changed,
    )


def _perturbed(
    rows: tuple[DatasetRow, ...], documents: tuple[Document, ...], params: PerturbedParams
) -> Perturbed:
    perturbation = perturbation_named(params.by)
    if perturbation.is_written and params.texts is None:
        raise ConfigError(
            f"'{params.by}' is written by a model first", f"run: rag-harness robustness RUN --perturb {params.by}"
        )
    written = read_rows(from_home(str(params.texts))) if params.texts else ()
    texts = {row.text("query_id"): row.text("text", blank=True) for row in written}
    return perturbation.make(Material(params.by, rows, documents, params.seed, params.share, texts))


SPEC = DatasetSpec(
    name=NAME,
    summary="another data set (options.of) with perturbed queries or documents (options.by), such as typos",
    load=_load,
    params=PerturbedParams,
)
