"""What a data set brings to a cell: how answers are worded, what the config gives it, and how often it is read."""

import json
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from cells import cell, cells, ran

from harness.config import DatasetConfig
from harness.core.errors import ConfigError
from harness.core.records import AnswerStyle, Document, Query, Reference
from harness.datasets import demo
from harness.llm_utils import answer_contract
from harness.llm_utils.answer_contract import answer_messages
from harness.protocols import DatasetRow, DatasetSpec, Params, RawDataset, ReadingProgress
from harness.registry import DATASETS
from harness.runner.dataset_loading import DatasetReader, dataset_params

SENTENCES = "answer_style=sentence"
RETRIEVAL_ALONE = "models.generator.provider=none"


@pytest.fixture
def of_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo, as if its references were sentences."""
    monkeypatch.setattr(demo, "SPEC", replace(demo.SPEC, answer_style="sentence"))


def test_a_cell_has_the_style_of_its_data_set_unless_the_config_names_one(of_sentences: None) -> None:
    assert cell().answer_style == cell().identity["answers"]["style"] == "sentence"
    assert [cell(f"answer_style={style}").answer_style for style in ("short", "sentence")] == ["short", "sentence"]


def test_the_data_sets_whose_references_are_sentences_say_so() -> None:
    sentences = {name for name in DATASETS.names() if DATASETS.load(name).answer_style == "sentence"}
    assert sentences == {"graphrag_bench", "ms_marco", "rag_12000", "uda_qa"}


def test_another_style_is_another_run_over_the_same_index() -> None:
    short, long = cells("matrix.answer_style=[short,sentence]")
    assert (short.answer_style, long.answer_style) == ("short", "sentence")
    assert short.run_id == cell().run_id != long.run_id
    assert short.index_id == long.index_id
    assert cell(RETRIEVAL_ALONE, SENTENCES).run_id == cell(RETRIEVAL_ALONE).run_id
    assert "answers" not in cell(RETRIEVAL_ALONE).identity


def test_another_wording_of_the_contract_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before, alone = cell(), cell(RETRIEVAL_ALONE)
    assert before.identity["answers"]["contract"] == answer_contract.CONTRACT
    monkeypatch.setattr("harness.runner.plan.CONTRACT", "next")
    assert cell().run_id != before.run_id
    assert cell(RETRIEVAL_ALONE).run_id == alone.run_id


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "style"), [((), "sentence"), (("answer_style=short",), "short")])
@pytest.mark.usefixtures("workers_here")
def test_the_style_reaches_the_prompt_of_every_query(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    of_sentences: None,
    settings: tuple[str, ...],
    style: AnswerStyle,
) -> None:
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    result = ran(tmp_path / "results", *settings)
    with closing(sqlite3.connect(result.run.journal_path)) as journal:
        rows = journal.execute("SELECT scope, request FROM calls WHERE role = 'generator'").fetchall()
    requests = {scope.split("/")[1]: json.loads(zlib.decompress(request)) for scope, request in rows}
    for row in result.run.sample():
        record = result.run.records()[row.query.query_id, 0]
        assert record.prediction is not None
        expected = answer_messages(row.query.text, record.prediction.contexts, style)
        assert requests[row.query.query_id]["messages"][-1]["content"] == expected[-1].content


# What a config gives a data set, and how often it is read.


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
        ({"questions": "q"}, "notes has no option dataset.questions: "),
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


def test_a_data_set_without_params_takes_nothing_of_it() -> None:
    plain = DatasetSpec(name="plain", summary="", load=lambda _subset, _params, _progress: RawDataset((), ()))
    for keys in ({"path": "p"}, {"options": {"a": 1}}):
        with pytest.raises(ConfigError):
            dataset_params(plain, DatasetConfig.model_validate(keys))
    assert dataset_params(plain, DatasetConfig()) is None


def test_cells_and_samples_of_a_sweep_share_one_reading(notes: Notes, tmp_path: Path) -> None:
    keys = ["matrix.dataset.sample.per_type=[1,2,3,4]", "matrix.answer.top_k=[1,2]", f"dataset.path={tmp_path}"]
    assert len(cells(RETRIEVAL_ALONE, *keys)) > 1
    assert notes.read == 1


def test_a_folder_that_changed_is_read_again_and_is_another_data_set(notes: Notes, tmp_path: Path) -> None:
    config = DatasetConfig(path=str(tmp_path))
    told: list[tuple[int, int, str]] = []
    first, _ = DatasetReader(lambda *said: told.append(said)).selected(config)
    assert told == [(1, 1, "documents")]
    again, _ = DatasetReader().selected(config)
    assert (notes.read, again.digest) == (1, first.digest)
    (tmp_path / "note").write_text("two")  # As long as before.
    changed, _ = DatasetReader().selected(config)
    assert notes.read == 2
    assert changed.digest != first.digest


def test_a_path_in_the_home_folder_is_saved_as_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    kept = DatasetConfig.model_validate({"path": tmp_path / "papers", "questions": f"{tmp_path}/q.jsonl"})
    assert (kept.path, kept.questions) == ("~/papers", "~/q.jsonl")
    assert DatasetConfig(path=f"{tmp_path}er/papers").path == f"{tmp_path}er/papers"
    monkeypatch.setenv("HOME", "/")
    assert DatasetConfig(path="/papers").path == "/papers"
