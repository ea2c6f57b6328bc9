"""Test collections of the package ir_datasets, by name (MacAvaney et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from harness.core.errors import DataError, HarnessError, nearest, need
from harness.core.records import Document
from harness.datasets.judged.collection import PRIMARY_MEASURE, CollectionParams, JudgedPair, build
from harness.protocols import DatasetSpec, RawDataset, ReadingProgress


class NamedParams(CollectionParams):
    """The collection, and the number of distractors."""

    id: str
    """Name in ir_datasets, such as beir/scifact/test."""


def load(_subset: str, params: NamedParams, progress: ReadingProgress) -> RawDataset:
    """Load a collection. ir_datasets downloads it and keeps it in its own folder (IR_DATASETS_HOME)."""
    need("ir-datasets", "ir_datasets")
    found = _find(params.id)
    try:
        judgements = [JudgedPair(one.query_id, one.doc_id, int(one.relevance)) for one in found.qrels_iter()]
        judged = {one.query_id for one in judgements}
        texts = {one.query_id: one.default_text() for one in found.queries_iter() if one.query_id in judged}
        return build(params.id, texts, judgements, _documents(found, progress), params)
    except HarnessError:
        raise
    except Exception as error:  # Each collection has its own parser with its own errors.
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        fix = "connect to the network and try again, or see the ir_datasets page for manual downloads"
        raise DataError(f"ir_datasets could not load {params.id} ({reason})", fix) from error


def _find(name: str) -> Any:
    import ir_datasets

    try:
        found = ir_datasets.load(name)
    except KeyError as error:
        names = list(ir_datasets.registry)
        family = [one for one in names if one.partition("/")[0] == name.partition("/")[0]]
        known = family or [one for one in names if "/" not in one]
        raise DataError(f"ir_datasets has no data set '{name[:200]}'", nearest(name[:200], known)) from error
    missing = _lacking(found)
    if missing:
        parts = (one for one in sorted(ir_datasets.registry) if one.startswith(f"{name}/"))
        whole = list(islice((one for one in parts if not _lacking(ir_datasets.load(one))), 5))
        fix = f"choose a part that has them: {', '.join(whole)}" if whole else "choose another"
        raise DataError(f"{name} of ir_datasets has no {' and no '.join(missing)}", fix)
    return found


def _lacking(found: Any) -> list[str]:
    return [part for part in ("docs", "queries", "qrels") if not getattr(found, f"has_{part}")()]


def _documents(found: Any, progress: ReadingProgress) -> Iterator[Document]:
    total = found.docs_count() or 0
    for number, one in enumerate(found.docs_iter()):
        if total and not number % 1000:
            progress(number, total, "documents")
        text, title = getattr(one, "text", None), getattr(one, "title", None)
        body = text if isinstance(text, str) and text.strip() else one.default_text()
        yield Document(doc_id=one.doc_id, text=body, title=title if isinstance(title, str) else "")


SPEC = DatasetSpec(
    name="ir_datasets",
    summary="a test collection of ir_datasets by name: --set dataset.options.id=beir/scifact/test",
    load=load,
    params=NamedParams,
    primary_measure=PRIMARY_MEASURE,
)
