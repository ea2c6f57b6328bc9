"""Builds the manifest of a run, before it starts."""

from datetime import UTC, datetime

from harness.display.page_and_section import has_places
from harness.registry import DATASETS
from harness.runner.machine_info import describe_machine, git_commit, package_versions
from harness.runner.plan import Cell
from harness.store import SCHEMA_VERSION, Manifest, SampleRow


def build_manifest(cell: Cell) -> Manifest:
    """The manifest of the cell's run."""
    dataset, spec = cell.dataset, DATASETS.load(cell.dataset.name)
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=cell.run_id,
        identity=cell.identity,
        config=cell.config.model_dump(mode="json"),
        dataset={
            "name": dataset.name,
            "subset": dataset.subset,
            "digest": dataset.digest,
            "corpus_digest": cell.corpus_digest,
            "n_queries": len(dataset.queries),
            "n_documents": len(dataset.documents),
            "type_mix": dataset.type_mix,
            "sample": cell.config.dataset.model_dump(mode="json")["sample"],
            "corpus": cell.config.dataset.corpus,
            "primary_measure": dataset.primary_measure,
            "cluster_by": spec.cluster_by,
            "title": dataset.title,
            "is_as_published": dataset.is_as_published,
            "has_places": any(has_places(document.text) for document in dataset.documents),
            "notes": list(dataset.notes),
        },
        index_id=cell.index_id,
        baseline=cell.spec.baseline,
        notes=cell.spec.notes,
        machine=describe_machine(),
        packages=package_versions(),
        git_commit=git_commit(),
        created_at=datetime.now(UTC).isoformat(),
    )


def sample_of(cell: Cell) -> list[SampleRow]:
    """The queries that the cell answers, with their references."""
    pairs = zip(cell.dataset.queries, cell.dataset.references, strict=True)
    return [SampleRow(query=query, reference=reference) for query, reference in pairs]
