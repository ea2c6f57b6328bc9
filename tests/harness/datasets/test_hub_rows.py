import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from harness.core.errors import DataError, MissingDependency
from harness.datasets import (
    hub_rows,
    load_dataset,
    local_files,
    ms_marco,
    multihop_rag,
    multihop_wiki,
    rag_12000,
    uda_qa,
)
from harness.datasets.hub_rows import HubTable
from harness.protocols import DatasetSpec, RawDataset
from harness.registry import DATASETS

from .conftest import LoadReal

TABLE = HubTable("someone/something", "part")
Rows = Sequence[Mapping[str, object]]


def repeated(text: str, times: int) -> pyarrow.Table:
    """One column in which a dictionary names the same text again and again."""
    again = np.zeros(times, dtype=np.int8)
    return pyarrow.table(
        {"context": pyarrow.DictionaryArray.from_arrays(pyarrow.array(again), pyarrow.array([text]))}
    )


def serve(monkeypatch: pytest.MonkeyPatch, tables: dict[HubTable, Rows]) -> list[HubTable]:
    """Let the hub hold these tables; returns the list of what is asked for."""
    asked: list[HubTable] = []

    def fetch(table: HubTable) -> Rows:
        asked.append(table)
        return tables[table]

    monkeypatch.setattr(hub_rows, "fetch", fetch)
    return asked


def test_rows_come_from_the_data_directory_else_from_the_hub(
    monkeypatch: pytest.MonkeyPatch, own_data: Path
) -> None:
    asked = serve(monkeypatch, {TABLE: [{"a": "x"}, {"a": "y"}]})
    rows = hub_rows.load_rows("r.json", TABLE).rows
    assert asked == [TABLE]
    assert [row.text("a") for row in rows] == ["x", "y"]
    assert rows[1].where == "hub someone/something part/train row 2"
    (own_data / "r.json").write_text('[{"a": 1}]')
    assert [row.fields for row in hub_rows.load_rows("r.json", TABLE).rows] == [{"a": 1}]
    # A data directory that does not exist never falls back to the hub.
    monkeypatch.setenv(local_files.ENV, str(own_data / "nowhere"))
    with pytest.raises(DataError, match="does not exist"):
        hub_rows.load_rows("r.json", TABLE)
    assert asked == [TABLE]


@pytest.mark.parametrize(
    ("error", "cause", "reason"),
    [
        (ConnectionError("no route\nto host " + "x" * 1000), None, "(ConnectionError: no route to host"),
        (RuntimeError("an error"), OSError("Corrupt snappy data."), "(OSError: Corrupt snappy data.)"),
    ],
    ids=["not reached", "damaged, as the library wraps it"],
)
def test_a_hub_that_gives_no_rows_is_one_line_with_the_reason_and_both_ways_out(
    monkeypatch: pytest.MonkeyPatch, error: Exception, cause: Exception | None, reason: str
) -> None:
    def fetch(table: HubTable) -> Rows:
        raise error from cause

    monkeypatch.setattr(hub_rows, "fetch", fetch)
    with pytest.raises(DataError) as caught:
        hub_rows.load_rows("ms_marco/r.json", TABLE)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 500
    ways_out = ("set RAG_HARNESS_DATA to a folder with ms_marco/r.json", "connect to the network")
    assert all(words in line for words in (*ways_out, reason, "someone/something"))


def test_a_connection_lost_between_two_rows_and_an_empty_table_are_data_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lost(list[dict[str, object]]):
        def __getitem__(self, place: object) -> dict[str, object]:  # type: ignore[override]
            if place:
                raise TimeoutError("read timed out")
            return {"a": "x"}

    serve(monkeypatch, {TABLE: Lost([{}, {}])})
    with pytest.raises(DataError, match="read timed out"):
        hub_rows.load_rows("r.json", TABLE)
    serve(monkeypatch, {TABLE: []})
    with pytest.raises(DataError, match="has no rows"):
        hub_rows.load_rows("r.json", TABLE)


def test_without_the_datasets_package_the_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.delenv(local_files.ENV, raising=False)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingDependency) as caught:
        hub_rows.load_rows("no/such/file.json", TABLE)
    line = str(caught.value)
    assert all(words in line for words in ("pip install 'rag-bench-harness[hub]'", "RAG_HARNESS_DATA"))


@pytest.mark.parametrize(
    ("spec", "subset", "table"),
    [
        (ms_marco.SPEC, "v2.1", HubTable("microsoft/ms_marco", "v2.1")),
        (rag_12000.SPEC, "test", HubTable("neural-bridge/rag-dataset-12000", split="test")),
        (multihop_wiki.HOTPOTQA, "validation", HubTable("hotpotqa/hotpot_qa", "distractor", "validation")),
        (multihop_wiki.TWO_WIKI, "train", HubTable("framolfese/2WikiMultihopQA", None, "train")),
        (multihop_wiki.MUSIQUE, "validation", HubTable("dgslibisey/MuSiQue", None, "validation")),
    ],
)
def test_each_data_set_asks_the_hub_for_its_own_table(
    monkeypatch: pytest.MonkeyPatch, spec: DatasetSpec, subset: str, table: HubTable
) -> None:
    asked = serve(monkeypatch, {table: [{"url": "u", "body": "b"}]})
    with pytest.raises(DataError, match="row 1"):  # This row is not what any of them needs.
        spec.read(subset)
    assert asked == [table]


def real_rows(folder: Path, relative: str) -> list[dict[str, object]]:
    path = local_files.find_in(folder, relative)
    assert path, relative
    return [dict(row.fields) for row in local_files.read_rows(path)]


def test_rows_of_the_hub_and_of_a_file_are_the_same_data_set(
    monkeypatch: pytest.MonkeyPatch, data_folder: Path, load_real: LoadReal
) -> None:
    articles = real_rows(data_folder, "multihop_rag/corpus.json")
    for row in articles:  # On the hub, times are datetimes.
        row["published_at"] = datetime.fromisoformat(str(row["published_at"])).replace(tzinfo=None)
    nq = real_rows(data_folder, "uda_qa/nq_qa.csv")
    for row in nq:  # And short answers may be null.
        row |= {"short_answer": row["short_answer"] or None, "q_uid": int(str(row["q_uid"]))}
    marco = real_rows(data_folder, "ms_marco/ms_marco_v1.1_train_sample200.json")
    texts = real_rows(data_folder, "neural_bridge/rag_dataset_12000_train_head100.jsonl")
    queries = real_rows(data_folder, "multihop_rag/MultiHopRAG.json")
    tables: dict[HubTable, Rows] = {
        HubTable("yixuantt/MultiHopRAG", "corpus"): articles,
        HubTable("yixuantt/MultiHopRAG", "MultiHopRAG"): queries,
        HubTable("qinchuanhui/UDA-QA", "nq", "test"): nq,
        HubTable("microsoft/ms_marco", "v1.1"): marco,
        HubTable("neural-bridge/rag-dataset-12000"): texts,
    }
    serve(monkeypatch, tables)
    for spec in (multihop_rag.SPEC, ms_marco.SPEC, rag_12000.SPEC):
        assert spec.read(spec.subsets[0]) == load_real(spec, spec.subsets[0])
    assert uda_qa.SPEC.read("nq").rows == load_real(uda_qa.SPEC, "nq").rows


def test_a_seeded_part_of_a_large_table_is_read_and_noted(
    monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    real, read = real_rows(data_folder, "ms_marco/ms_marco_v1.1_train_sample200.json"), set()

    class Table(list[dict[str, object]]):
        def __len__(self) -> int:
            return 82_326

        def __getitem__(self, place: int) -> dict[str, object]:  # type: ignore[override]
            read.add(place)
            return real[place % 200] | {"query_id": place}

    serve(monkeypatch, {HubTable("microsoft/ms_marco", "v1.1"): Table()})

    def drawn(**options: int) -> RawDataset:
        return ms_marco.SPEC.read("v1.1", hub_rows.PooledParams(**options))

    raw = drawn()
    assert len(raw.rows) == len(read) == 1000
    assert raw.notes[0].startswith("1,000 of 82,326 queries, drawn with seed 42; their ")
    assert f"{len(raw.documents):,} passages are the full corpus" in raw.notes[0]
    assert set(drawn(queries=50).rows) < set(raw.rows), "fewer are a part of more"
    assert set(drawn(queries=50, seed=7).rows) != set(drawn(queries=50).rows)
    assert drawn(queries=50) == drawn(queries=50)


@pytest.mark.slow
def test_the_real_library_gives_rows_that_can_be_read_and_unpacks_no_bomb(tmp_path: Path) -> None:
    corpus = [{"title": "t", "author": None, "url": "u", "body": "b", "published_at": "2023-11-27T08:45:59+00:00"}]
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "rows.json").write_text(json.dumps(corpus))
    (tmp_path / "table" / "more.json").write_text(json.dumps([{"body": "of another config"}]))
    parts = "- config_name: {}\n  data_files: {}\n"
    configs = f"{parts.format('part', 'rows.json')}{parts.format('more', 'more.json')}"
    (tmp_path / "table" / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    good = repeated("a passage", 1000)
    for name, table in {"good": good, "bomb": repeated("x" * 30_000_000, 1000)}.items():
        (tmp_path / name).mkdir()
        pyarrow.parquet.write_table(table, tmp_path / name / "train.parquet", compression="zstd")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "train.parquet").write_bytes(b"PAR1 and nothing more PAR1")
    assert (tmp_path / "bomb" / "train.parquet").stat().st_size < 5000
    # As the hub has it: one table, its splits in files.
    hub = tmp_path / "neural-bridge" / "rag-dataset-12000" / "data"
    hub.mkdir(parents=True)
    for split in ("train", "test"):
        rows = pyarrow.table({"context": [f"c {split}"], "question": ["q"], "answer": ["a"]})
        pyarrow.parquet.write_table(rows, hub / f"{split}-00000-of-00001-0.parquet")
    script = (
        "from harness.datasets import hub_rows, multihop_rag, rag_12000\n"
        "from harness.core.errors import DataError\n"
        f"rows = hub_rows.load_rows('r.json', hub_rows.HubTable({str(tmp_path / 'table')!r}, 'part')).rows\n"
        "print(multihop_rag.build(rows, [], prefix='x').documents[0].metadata['published_at'])\n"
        f"print(len(hub_rows.load_rows('r.json', hub_rows.HubTable({str(tmp_path / 'good')!r})).rows))\n"
        "print([rag_12000.SPEC.read(split).documents[0].text for split in ('train', 'test')])\n"
        "try:\n"
        f"    hub_rows.load_rows('r.json', hub_rows.HubTable({str(tmp_path / 'bomb')!r}))\n"
        "except DataError as error:\n"
        "    print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
        "    print(error)\n"
        "try:\n"
        f"    hub_rows.load_rows('r.json', hub_rows.HubTable({str(tmp_path / 'damaged')!r}))\n"
        "except DataError as error:\n"
        "    print(error)\n"
        "hub_rows.load_rows('r.json', hub_rows.HubTable('nobody/nothing'))\n"
    )
    root = Path(hub_rows.__file__).resolve().parents[2]
    env = os.environ | {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=env | {"RAG_HARNESS_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    published, n_rows, splits, peak_kib, bomb, damaged = done.stdout.splitlines()
    assert (published, n_rows) == ("2023-11-27T08:45:59+00:00", "1000")
    assert splits == "['c train', 'c test']"
    assert int(peak_kib) < 500_000
    assert "bytes of memory to read" in bomb
    assert "set RAG_HARNESS_DATA to a folder with r.json" in bomb
    assert "is not intact Parquet" in damaged
    assert "harness.core.errors.DataError" in done.stderr.splitlines()[-1]


@pytest.mark.network
@pytest.mark.slow
def test_multihop_rag_from_the_hub_has_every_query_and_article(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RAG_HARNESS_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    dataset = load_dataset(DATASETS.load("multihop_rag"))
    assert (len(dataset.queries), len(dataset.documents)) == (2556, 609)
    assert dataset.type_mix == {"comparison": 856, "inference": 816, "null": 301, "temporal": 583}


def test_the_modules_of_data_sets_import_no_heavy_library() -> None:
    modules = [entry.module for entry in entry_points(group="rag_harness.datasets")]
    script = f"import sys, {', '.join(modules)}; print({{'datasets', 'numpy', 'pandas'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
