import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.errors import DataError
from harness.datasets import local_files
from harness.datasets.uda_qa import (
    BENCH_FILE,
    FETAQA_FILES,
    SPEC,
    GoldTable,
    build_feta,
    gold_tables,
)

from .conftest import LoadReal, file_entries


def copy_files(data_folder: Path, own_data: Path, *names: str) -> None:
    for name in names:
        source = local_files.find_in(data_folder, name)
        assert source, name
        target = own_data / source.relative_to(data_folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


@pytest.mark.parametrize("subset", ["feta", "all"])
def test_a_missing_file_is_one_line_with_the_command_that_fetches_it(
    data_folder: Path, own_data: Path, subset: str
) -> None:
    copy_files(data_folder, own_data, "uda_qa/nq_qa.csv")
    with pytest.raises(DataError) as caught:
        SPEC.load(subset)
    command = caught.value.fix.partition("or run: ")[2]
    assert command.startswith(
        f"curl -fL --create-dirs -o {own_data}/uda_qa/feta_qa.csv https://raw.githubusercontent"
    )
    assert f"-o {own_data}/uda_qa/bench_feta_qa.json https://" in command
    copy_files(data_folder, own_data, "uda_qa/feta_qa.csv")
    with pytest.raises(DataError) as caught:
        SPEC.load(subset)
    assert all(name in str(caught.value) for name in (BENCH_FILE, *FETAQA_FILES))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("there", "missing", "n_rows"), [((BENCH_FILE,), FETAQA_FILES, 350), (FETAQA_FILES, (BENCH_FILE,), 259)]
)
def test_with_only_some_of_the_tables_feta_still_loads_with_a_note(
    data_folder: Path, own_data: Path, there: tuple[str, ...], missing: tuple[str, ...], n_rows: int
) -> None:
    copy_files(data_folder, own_data, "uda_qa/feta_qa.csv", *there)
    raw = SPEC.load("feta")
    assert len(raw.rows) == n_rows
    assert any(f"{1023 - n_rows} of 1,023" in note for note in raw.notes)
    assert any(all(name in note for name in missing) for note in raw.notes)


def test_without_any_page_nq_still_loads_with_a_note(
    data_folder: Path, own_data: Path, load_real: LoadReal
) -> None:
    copy_files(data_folder, own_data, "uda_qa/nq_qa.csv")
    raw = SPEC.load("nq")
    assert raw.rows == load_real(SPEC, "nq").rows
    assert any("0 of 645, so" in note for note in raw.notes)


NQ_ROW = {
    **{"doc_name": "P", "q_uid": "1", "question": "q?", "short_answer": "", "long_answer": "a b"},
    "doc_url": "http://x//y?a=1&amp;b=2",
}


def test_a_page_name_cannot_reach_outside_the_folder_of_pages(own_data: Path) -> None:
    (own_data / "uda_qa/docs_text/nq").mkdir(parents=True)
    (own_data / "secret.txt").write_text("secret")
    row = NQ_ROW | {"doc_name": "../../../secret"}
    (own_data / "uda_qa/nq_qa.csv").write_text("|".join(row) + "\n" + "|".join(row.values()) + "\n")
    (document,) = SPEC.load("nq").documents
    assert document.text == "a b"


def test_a_plain_page_comes_before_its_gzip_and_other_files_are_ignored(own_data: Path) -> None:
    pages = own_data / "uda_qa/docs_text/nq"
    pages.mkdir(parents=True)
    (pages / "P.txt").write_text("one\ftwo\n")
    (pages / "P.txt.gz").write_bytes(b"never read, or its bytes are refused")
    (pages / "notes.md").write_text("x")
    (own_data / "uda_qa/nq_qa.csv").write_text("|".join(NQ_ROW) + "\n" + "|".join(NQ_ROW.values()) + "\n")
    (document,) = SPEC.load("nq").documents
    assert document.text == "a b\n\none\ntwo"
    assert document.metadata["url"] == "http://x/y?a=1&b=2"


FETA_ROW: dict[str, object] = {
    "doc_name": "P",
    "q_uid": "7",
    "question": "q? ",
    "answer": "a",
    "doc_url": "http://x/y",
}
TABLE = GoldTable("P", "S", (("k", "", "v"), ("1", "2", ""), ("3", "", "4", "5"), ("", "", "")), (0, 1, 3))


def test_lines_of_a_ragged_table_skip_empty_cells_and_line_breaks_in_cells() -> None:
    assert TABLE.text() == "P\nS\nk: 1; 2\nk: 3; v: 4; 5"
    assert TABLE.facts() == ("k: 1; 2",)
    evidence = {"table_array": [["h"], ["a\nb"]], "highlighted_cell_ids": [[1, 0]]}
    tables = gold_tables({BENCH_FILE: file_entries({"P": [{"q_uid": 7, "evidence": evidence}]})})
    assert tables["7"].facts() == ("h: a b",)


def test_one_page_with_two_questions_on_one_table_holds_it_once() -> None:
    tables = {"7": replace(TABLE, section="", highlighted=(1,)), "8": replace(TABLE, highlighted=(2,))}
    rows = file_entries(FETA_ROW, FETA_ROW | {"q_uid": 8}, FETA_ROW | {"q_uid": 9})
    raw = build_feta(rows, tables, {"P": "page"})
    assert [document.text for document in raw.documents] == [TABLE.text() + "\n\npage"]
    assert [row.query.query_id for row in raw.rows] == ["feta-7", "feta-8"]
    assert raw.rows[0].query.text == "q?"
    easier, left_out = raw.notes
    assert easier.endswith("the full page follows in 1 of 1, so retrieval is easier than over whole pages")
    assert left_out == "feta: 1 of 3 questions left out: their gold table is missing in the data directory"
