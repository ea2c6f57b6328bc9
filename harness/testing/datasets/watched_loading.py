"""Loads a data set in a watched process: `python -m harness.testing.datasets.watched_loading <folder>`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import BaseModel, JsonValue

from harness.core.errors import HarnessError
from harness.datasets.local_files import ENV
from harness.protocols import DatasetSpec, RawDataset
from harness.registry import DATASETS
from harness.testing.guarding import Watched, finish, start, watched_main

_CACHE = "RAG_HARNESS_CACHE"
"""Environment variable with the only folder that loading may write to."""


class DatasetTask(BaseModel):
    """The data set that a process loads."""

    name: str
    subset: str
    given: dict[str, JsonValue] = {}
    """Values for the fields of its `params`."""


class DatasetFindings(Watched):
    """The result of loading a data set in a process."""

    digest: str = ""
    """Digest of the loaded data, made by `digest_of`."""
    refusal: str = ""
    """The message of a HarnessError, if it raised one."""
    fix: str = ""
    """The fix that the message names."""
    broken: str = ""
    """Any other exception."""


def load_watched(task: DatasetTask, work: Path, data: Path | None = None) -> DatasetFindings:
    """Load it in a process without network; `data`: the data directory, if not that of this process."""
    own = os.environ.get(ENV) if data is None else str(data)
    settings: Mapping[str, str] = {_CACHE: str(work / "cache"), **({ENV: own} if own is not None else {})}
    process = start(__name__, task, work, settings)
    return finish(process, work, DatasetFindings)


def read_whole(spec: DatasetSpec, task: DatasetTask) -> RawDataset:
    """All of it, as for a config."""
    return spec.read(task.subset, spec.params.model_validate(task.given) if spec.params else None)


def digest_of(raw: RawDataset) -> str:
    """Digest of all text of a data set, including characters that no file can store."""
    return hashlib.sha256(repr(raw).encode()).hexdigest()


def _do(task: DatasetTask, tell: Callable[[DatasetFindings], None]) -> None:
    tell(_loaded(task))


def _loaded(task: DatasetTask) -> DatasetFindings:
    try:
        return DatasetFindings(digest=digest_of(read_whole(DATASETS.load(task.name), task)))
    except HarnessError as error:
        return DatasetFindings(refusal=str(error), fix=error.fix)
    except Exception as error:
        return DatasetFindings(broken=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    watched_main(DatasetTask, _do, lambda _task: [Path(os.environ[_CACHE])])
