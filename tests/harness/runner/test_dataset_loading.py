"""What a config gives a data set, and how often it is read."""

from pathlib import Path

import pytest

from harness.config import DatasetConfig, load_config
from harness.core.errors import ConfigError
from harness.core.records import Document, Query, Reference
from harness.datasets.ms_marco import SPEC as WITHOUT_PARAMS
from harness.protocols import DatasetRow, DatasetSpec, Params, RawDataset, ReadingProgress
from harness.registry import DATASETS
from harness.runner.dataset_loading import DatasetReader, dataset_params
from harness.runner.plan import plan_cells


class NotesParams(Params):
    path: Path
    pages: int = 3


class Notes:
    """A data set of one document, which counts how often it is read."""

    def __init__(self) -> None:
        self.read = 0

    def load(self, subset: str, params: NotesParams, progress: ReadingProgress) -> RawDataset:
        self.read += 1
        progress(1, 1, "documents")
        row = DatasetRow(
            Query(query_id="q", text="What?"), Reference(query_id="q", query_type="one", answers=()), ("d",)
        )
        return RawDataset((Document(doc_id="d", text=(params.path / "note").read_text()),), (row,))


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Notes:
    (tmp_path / "note").write_text("one")
    own = Notes()
    spec = DatasetSpec(name="demo", summary="", load=own.load, params=NotesParams)
    load = type(DATASETS).load
    monkeypatch.setattr(type(DATASETS), "load", lambda self, name: spec if self is DATASETS else load(self, name))
    return own


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"questions": "q"}, "notes has no option dataset.questions: drop --questions FILE or dataset.questions"),
        ({}, "notes needs dataset.path: add --docs FOLDER"),
        ({"path": "p", "options": {"page": 1}}, "unknown key 'dataset.options.page': did you mean 'pages'?"),
        ({"path": "p", "options": {"path": "o"}}, "unknown key 'dataset.options.path': known: pages"),
        ({"path": "p", "options": {"pages": "many"}}, "dataset.options.pages: input should be a valid integer"),
    ],
)
def test_what_a_data_set_does_not_take_or_needs_is_one_line(keys: dict[str, object], line: str) -> None:
    spec = DatasetSpec(name="notes", summary="", load=Notes().load, params=NotesParams)
    with pytest.raises(ConfigError) as refused:
        dataset_params(spec, DatasetConfig.model_validate(keys))
    assert str(refused.value).startswith(line)


@pytest.mark.parametrize("keys", [{"path": "p"}, {"questions": "q"}, {"options": {"a": 1}}])
def test_a_data_set_without_params_takes_nothing_of_it(keys: dict[str, object]) -> None:
    plain = DatasetSpec(name="plain", summary="", load=WITHOUT_PARAMS.load)
    with pytest.raises(ConfigError):
        dataset_params(plain, DatasetConfig.model_validate(keys))
    assert dataset_params(plain, DatasetConfig()) is None


def test_cells_and_samples_of_a_sweep_share_one_reading(notes: Notes, tmp_path: Path) -> None:
    keys = ["matrix.dataset.sample.per_type=[1,2,3,4]", "matrix.answer.top_k=[1,2]", f"dataset.path={tmp_path}"]
    none = ["models.generator.provider=none", "models.embedder.provider=fake"]
    assert len(plan_cells(load_config(None, [*none, *keys]))) > 1
    assert notes.read == 1


def test_a_folder_that_changed_is_read_again_and_is_another_data_set(notes: Notes, tmp_path: Path) -> None:
    config = DatasetConfig(path=str(tmp_path))
    first, _ = DatasetReader().selected(config)
    again, _ = DatasetReader().selected(config)
    assert (notes.read, again.digest) == (1, first.digest)
    (tmp_path / "note").write_text("two")  # As long as before.
    changed, _ = DatasetReader().selected(config)
    assert notes.read == 2
    assert changed.digest != first.digest


def test_who_is_told_of_progress_hears_it_from_the_loader(notes: Notes, tmp_path: Path) -> None:
    heard: list[tuple[int, int, str]] = []
    DatasetReader(lambda *said: heard.append(said)).selected(DatasetConfig(path=str(tmp_path)))
    assert heard == [(1, 1, "documents")]


def test_a_path_in_the_home_folder_is_kept_without_the_name_of_its_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    kept = DatasetConfig.model_validate({"path": tmp_path / "papers", "questions": f"{tmp_path}/q.jsonl"})
    assert (kept.path, kept.questions) == ("~/papers", "~/q.jsonl")
    assert DatasetConfig(path=f"{tmp_path}er/papers").path == f"{tmp_path}er/papers"
    monkeypatch.setenv("HOME", "/")
    assert DatasetConfig(path="/papers").path == "/papers"
