"""How answers are worded: as the data set's references are, unless the config says otherwise."""

import json
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config import load_config
from harness.core.records import AnswerStyle
from harness.datasets import demo
from harness.llm_utils import answer_contract
from harness.llm_utils.answer_contract import answer_messages
from harness.registry import DATASETS
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter

FAKE = ("models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=1")
SENTENCES = "answer_style=sentence"
RETRIEVAL_ALONE = "models.generator.provider=none"


def cell(*settings: str) -> Cell:
    (only,) = plan_cells(load_config(None, [*FAKE, *settings]))
    return only


@pytest.fixture
def of_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo, as if its references were sentences."""
    monkeypatch.setattr(demo, "SPEC", replace(demo.SPEC, answer_style="sentence"))


def test_a_cell_has_the_style_of_its_data_set(of_sentences: None) -> None:
    assert cell().answer_style == "sentence"
    assert cell().identity["answers"]["style"] == "sentence"


@pytest.mark.parametrize("style", ["short", "sentence"])
def test_a_config_has_the_last_word(of_sentences: None, style: AnswerStyle) -> None:
    assert cell(f"answer_style={style}").answer_style == style


def test_the_data_sets_whose_references_are_sentences_say_so() -> None:
    styles = {name: DATASETS.load(name).answer_style for name in DATASETS.names()}
    assert styles == {
        "beir": "short",
        "demo": "short",
        "evidence_cases": "short",
        "files": "short",
        "ir_datasets": "short",
        "mailbox": "short",
        "ms_marco": "sentence",
        "multihop_rag": "short",
        "rag_12000": "sentence",
        "uda_qa": "sentence",
    }


@pytest.mark.parametrize("system", ["naive", "closed-book", "gold"])
def test_another_style_is_another_run_over_the_same_index(system: str) -> None:
    short, long = cell(f"systems=[{system}]"), cell(f"systems=[{system}]", SENTENCES)
    assert short.run_id != long.run_id
    assert short.index_id == long.index_id


def test_the_style_that_a_data_set_has_anyway_is_the_same_run() -> None:
    assert cell("answer_style=short").run_id == cell().run_id


def test_where_nobody_generates_there_is_no_style() -> None:
    assert cell(RETRIEVAL_ALONE, SENTENCES).run_id == cell(RETRIEVAL_ALONE).run_id
    assert "answers" not in cell(RETRIEVAL_ALONE).identity
    assert "answers" in cell().identity


def test_another_wording_of_the_contract_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before, alone = cell(), cell(RETRIEVAL_ALONE)
    assert before.identity["answers"]["contract"] == answer_contract.CONTRACT
    monkeypatch.setattr("harness.runner.plan.CONTRACT", "next")
    assert cell().run_id != before.run_id
    assert cell(RETRIEVAL_ALONE).run_id == alone.run_id


def test_styles_may_be_swept() -> None:
    found = plan_cells(load_config(None, [*FAKE, "matrix.answer_style=[short,sentence]"]))
    assert [one.answer_style for one in found] == ["short", "sentence"]
    assert len({one.run_id for one in found}) == 2


def run(results: Path, *settings: str) -> CellResult:
    return run_cell(cell(*settings), RunContext(results, Reporter(quiet=True)))


def prompts(result: CellResult) -> dict[str, str]:
    """The last message of each query's generation."""
    with closing(sqlite3.connect(result.run.journal_path)) as journal:
        rows = journal.execute("SELECT scope, request FROM calls WHERE role = 'generator'").fetchall()
    asked = {scope.split("/")[1]: json.loads(zlib.decompress(request)) for scope, request in rows}
    return {query_id: request["messages"][-1]["content"] for query_id, request in asked.items()}


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
    result = run(tmp_path / "results", *settings)
    asked = prompts(result)
    for row in result.run.sample():
        record = result.run.records()[row.query.query_id, 0]
        assert record.prediction is not None
        expected = answer_messages(row.query.text, record.prediction.contexts, style)
        assert asked[row.query.query_id] == expected[-1].content
