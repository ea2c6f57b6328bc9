"""The contract of data sets, for every one that is registered and each of its subsets."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from made_files import pdf, word
from pydantic import JsonValue

from harness.datasets import local_files
from harness.registry import DATASETS
from harness.testing import DatasetContract

pytestmark = pytest.mark.slow


class RealData(DatasetContract):
    """One whose files lie beside the repository, or nowhere."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def its_files(cls, data_folder: Path) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(local_files.ENV, str(data_folder))
            yield


class TestDemo(DatasetContract):
    name = "demo"


class TestFiles(DatasetContract):
    """Documents of one's own: a folder, which only the test knows."""

    name = "files"

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def its_folder(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        folder = tmp_path_factory.mktemp("own")
        (folder / "papers").mkdir()
        (folder / "papers" / "oven.pdf").write_bytes(pdf(["The oven was built in 1931."]))
        (folder / "papers" / "rules.docx").write_bytes(
            word([("Heading 1", "Keys"), ("Normal", "Keys hang left.")])
        )
        evidence = [{"document": "oven.pdf", "quote": "built in 1931"}]
        asked = {"question": "When was the oven built?", "answers": ["1931"], "evidence": evidence}
        (folder / "asked.jsonl").write_text(json.dumps(asked))
        cls.given = {"path": str(folder / "papers"), "questions": str(folder / "asked.jsonl")}


class TestBeir(DatasetContract):
    """A test collection: a folder, too."""

    name = "beir"

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def its_folder(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        folder = tmp_path_factory.mktemp("toyfact")
        (folder / "qrels").mkdir()
        (folder / "corpus.jsonl").write_text('{"_id": "d1", "title": "Oven", "text": "Built in 1931."}\n')
        (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "When was the oven built?"}\n')
        (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
        cls.given = {"path": str(folder)}


class TestNqOpen(DatasetContract):
    """Published questions about a folder."""

    name = "nq_open"

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def its_files(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        folder = tmp_path_factory.mktemp("nq")
        (folder / "nq_open").mkdir()
        (folder / "nq_open" / "NQ-open.dev.jsonl").write_text('{"question": "who runs holm", "answer": ["Ann"]}')
        (folder / "wiki").mkdir()
        (folder / "wiki" / "holm.jsonl").write_text('{"id": "1", "title": "Holm", "text": "Ann runs Holm."}')
        cls.given = {"path": str(folder / "wiki")}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(local_files.ENV, str(folder))
            yield


class TestPerturbed(DatasetContract):
    """Another data set, changed after sampling."""

    name = "perturbed"
    given: ClassVar[Mapping[str, JsonValue]] = {"of": "demo", "by": "typos"}


NOWHERE = {("2wikimultihopqa", "train"), ("rag_12000", "test")}
"""Subsets of which there is no file."""
IN_PROCESSES = ("test_another_process_loads_the_same", "test_where_its_data_is_missing_it_says_so_in_one_line")
"""Of the first subset only: test_published_check holds the rows of each against a digest."""


def contract(name: str, subset: str) -> type:
    left_out = () if subset == DATASETS.load(name).subsets[0] else IN_PROCESSES
    return type(f"Test_{name}_{subset}", (RealData,), {"name": name, "subset": subset, **dict.fromkeys(left_out)})


def lies_anywhere(name: str) -> bool:
    """Whether somebody has to say where it is."""
    params = DATASETS.load(name).params
    return params is not None and any(field.is_required() for field in params.model_fields.values())


globals().update(
    {
        f"Test_{name}_{subset}": contract(name, subset)
        for name in DATASETS.names()
        if name != TestDemo.name and not lies_anywhere(name)
        for subset in DATASETS.load(name).subsets
        if (name, subset) not in NOWHERE
    }
)
