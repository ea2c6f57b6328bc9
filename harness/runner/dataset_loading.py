"""Loads and samples the data set of a config, once for all configurations that share it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from pydantic import ValidationError

from harness.config import DATASET_PLACES, DatasetConfig, SampleConfig
from harness.config.load import explain
from harness.core.bounded_files import PlaceStamp, file_stamp, from_home
from harness.core.errors import ConfigError, nearest
from harness.datasets import CorpusChoice, Dataset, QuerySample, checked_subset, select
from harness.datasets.folder import FolderCorpus, read_folder
from harness.datasets.folder.dataset import FilesParams, check_documents
from harness.protocols import DatasetSpec, Params, RawDataset, ReadingProgress, no_progress
from harness.registry import DATASETS
from harness.store.index_dir import corpus_digest


@dataclass(frozen=True)
class _Wanted:
    """Cache key: data set, parameters and file stamps, so that changed files are read again."""

    spec: DatasetSpec
    subset: str
    params: str
    stamps: tuple[PlaceStamp, ...]
    read: Callable[[], RawDataset] = field(compare=False)


class DatasetReader:
    """Reads the data sets of one command, each once. Files are stamped when a data set is first requested."""

    def __init__(self, progress: ReadingProgress = no_progress, *, opens_holdout: bool = False) -> None:
        """`opens_holdout`: select the held-out queries of each sample instead of the others."""
        self._progress = progress
        self._opens_holdout = opens_holdout
        self._stamps: dict[str, PlaceStamp] = {}

    def selected(self, config: DatasetConfig) -> tuple[Dataset, str]:
        spec = DATASETS.load(config.name)
        subset, params = checked_subset(spec, config.subset), dataset_params(spec, config)
        wanted = _Wanted(
            spec=spec,
            subset=subset,
            params=params.model_dump_json() if params else "",
            stamps=tuple(self._stamp(place) for place in (config.path, config.questions) if place is not None),
            read=lambda: spec.read(subset, params, self._progress),
        )
        return _selected(wanted, config.sample, config.corpus, self._opens_holdout)

    def _stamp(self, place: str) -> PlaceStamp:
        if place not in self._stamps:
            self._stamps[place] = file_stamp(from_home(place))
        return self._stamps[place]


class UnaskedDocuments(DatasetReader):
    """Reads folders of documents before there are questions about them."""

    corpus: FolderCorpus | None = None
    """The folder that was read last."""

    def selected(self, config: DatasetConfig) -> tuple[Dataset, str]:
        spec = DATASETS.load(config.name)
        subset, params = checked_subset(spec, config.subset), dataset_params(spec, config)
        if not isinstance(params, FilesParams):
            raise ConfigError(f"{spec.name} is no folder of documents", "name a folder with --docs")
        if self.corpus is None:
            check_documents(params.path)
            self.corpus = read_folder(params.path, self._progress, params.include)
        documents, notes = self.corpus.documents, self.corpus.notes
        dataset = Dataset(spec.name, subset, documents, (), (), {}, notes, "", title=params.path.resolve().name)
        return dataset, corpus_digest(documents)


def load_whole(config: DatasetConfig) -> Dataset:
    """All queries and documents, without the sample of the config."""
    return DatasetReader().selected(config.model_copy(update={"sample": "full", "corpus": "full"}))[0]


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "subset": dataset.subset,
        "digest": dataset.digest,
        "n_queries": len(dataset.queries),
        "n_documents": len(dataset.documents),
        "type_mix": dataset.type_mix,
        "primary_measure": dataset.primary_measure,
        "cluster_by": DATASETS.load(dataset.name).cluster_by,
        "title": dataset.title,
        "is_as_published": dataset.is_as_published,
        "notes": list(dataset.notes),
    }


@lru_cache(maxsize=2)
def _raw(wanted: _Wanted) -> RawDataset:
    return wanted.read()


@lru_cache(maxsize=2)
def _selected(
    wanted: _Wanted, sample: SampleConfig | Literal["full"], corpus: CorpusChoice, opens_holdout: bool
) -> tuple[Dataset, str]:
    drawn = None
    if isinstance(sample, SampleConfig):
        drawn = QuerySample(sample.per_type, sample.seed, sample.holdout, is_opened=opens_holdout)
    dataset = select(wanted.spec, _raw(wanted), subset=wanted.subset, sample=drawn, corpus=corpus)
    return dataset, corpus_digest(dataset.documents)


def dataset_params(spec: DatasetSpec, config: DatasetConfig) -> Params | None:
    """The checked parameters of the data set. ConfigError if one is unknown or missing."""
    places = {key: from_home(place) for key in DATASET_PLACES if (place := getattr(config, key)) is not None}
    known = spec.params.model_fields if spec.params else {}
    options = [key for key in known if key not in DATASET_PLACES]
    for key in places:
        if key not in known:
            fix = f"drop {DATASET_PLACES[key]} or dataset.{key}, or choose a data set with this option"
            if key == "questions":
                fix = f"name the documents that they are about: add {DATASET_PLACES['path']}, without --dataset"
            raise ConfigError(f"{spec.name} has no option dataset.{key}", fix)
    for key in config.options:
        if key not in options:
            fix = nearest(key, options) if options else f"{spec.name} has no options"
            raise ConfigError(f"unknown key 'dataset.options.{key}'", fix)
    if spec.params is None:
        return None
    given = {**config.options, **places}
    for key, kind in known.items():
        if kind.is_required() and key not in given:
            own = f"dataset.{key}" if key in DATASET_PLACES else f"dataset.options.{key}"
            raise ConfigError(f"{spec.name} needs {own}", f"add {DATASET_PLACES.get(key, f'--set {own}=...')}")
    try:
        return spec.params.model_validate(given)
    except ValidationError as error:
        raise ConfigError(*explain(error, spec.params, prefix="dataset.options")) from error
