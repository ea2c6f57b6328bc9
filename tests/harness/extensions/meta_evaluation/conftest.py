"""Small files of labelled answers in a data folder of their own."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.datasets.local_files import ENV

Row = dict[str, Any]
Write = Callable[[list[Row]], Path]


def pair(number: int, label: object = 1, second: object = 2) -> list[Row]:
    """A pair of answers as two people compared it: the second is the longer part of the reference."""
    words = [f"word{number}{place}" for place in range(6)]
    sides = {"model1": words[: 1 + number % 3], "model2": words[: 2 + number % 4]}
    row = {
        "instance_id": number,
        "query": f"What is {number}?",
        "gt_answer": " ".join(words),
        **{side: {"model_name": side, "response": " ".join(said)} for side, said in sides.items()},
    }
    names = ("correctness", "completeness", "overall")
    return [{**row, **{f"{name}_label": value for name in names}} for value in (label, second)]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder that is named."""
    folder = tmp_path / "data"
    (folder / "human_eval").mkdir(parents=True)
    (folder / "ms_marco").mkdir()
    monkeypatch.setenv(ENV, str(folder))
    return folder


@pytest.fixture
def pairs(data: Path) -> Write:
    """pairs(rows): the file of labelled pairs."""

    def write(rows: list[Row]) -> Path:
        path = data / "human_eval" / "ragchecker_human_labeled_data.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        return path

    return write


@pytest.fixture
def graded(data: Path) -> Write:
    """graded(rows): the sheet of graded answers, with the defaults of a good row."""

    def write(rows: list[Row]) -> Path:
        path = data / "human_eval" / "neural_bridge_rag_human_eval_100.csv"
        whole = [
            {
                "qa_index": number,
                "question": f"Question {number}?",
                "answer": "An answer.",
                "contexts": "['A context.']",
                "ground_truth": "A truth.",
                "Human label": 1 + number % 5,
                "answer_correctness": "",
                "context_relevancy": "0.5",
                **row,
            }
            for number, row in enumerate(rows)
        ]
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, whole[0])
            writer.writeheader()
            writer.writerows(whole)
        return path

    return write
