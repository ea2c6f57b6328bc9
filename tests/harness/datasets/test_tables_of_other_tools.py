"""Questions and recorded answers as other tools write them: both doors read the same files in the same way."""

import gzip
import json
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.core.errors import ConfigError, DataError, HarnessError
from harness.core.records import Document
from harness.datasets.question_files import QuestionSet, read_questions
from harness.runner.importing.answer_file import ImportedFile, read_file

DOCUMENTS = (
    Document(doc_id="leave.md", text="In the first year, 24 days of leave are granted."),
    Document(doc_id="https://example.org/bakery", text="Marta Lind runs the bakery."),
)
NO_ANSWER = ("Insufficient information.",)
Row = Mapping[str, Any]
Asked = Callable[..., QuestionSet]
Answered = Callable[..., ImportedFile]


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """asked(text or rows, name, **fields): a question file."""

    def read(content: object, name: str = "asked.jsonl", **fields: str) -> QuestionSet:
        return read_questions(written(tmp_path / name, content), DOCUMENTS, fields=fields)

    return read


@pytest.fixture
def answered(tmp_path: Path) -> Answered:
    """answered(text or rows, name, **fields): a file of recorded answers."""

    def read(content: object, name: str = "answers.jsonl", **fields: str) -> ImportedFile:
        return read_file(written(tmp_path / name, content), fields=fields, where={})

    return read


def written(path: Path, content: object) -> Path:
    if callable(content):
        content(path)
    elif isinstance(content, str | bytes):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in content))  # type: ignore[attr-defined]
    return path


def answers(found: QuestionSet) -> list[tuple[str, ...]]:
    return [row.reference.answers for row in found.rows]


@pytest.mark.parametrize(
    ("cell", "meant"),
    [
        ("['Marta Lind' 'M. Lind'\n 'Lind']", ("Marta Lind", "M. Lind", "Lind")),
        ('["Marta Lind", "Lind"]', ("Marta Lind", "Lind")),
        ("""["it's" 'so']""", ("it's", "so")),
        ("('a', 'b')", ("a", "b")),
        ("{'a', 'b'}", ("a", "b")),
        ("[['a'], ['b']]", ("a", "b")),
        ("[np.str_('a'), np.float64(24.0)]", ("a", "24")),
        ("[array(['a'], dtype=object) array(['b'], dtype=object)]", ("a", "b")),
        ("{'text': array(['a', 'b'], dtype=object), 'answer_start': array([1, 2], dtype=int32)}", ("a", "b")),
        ("{'value': 'a', 'aliases': ['a', 'b'], 'normalized_value': 'A'}", ("a", "b")),
        ("[None, nan, 'a']", ("a",)),
        ("[]", ()),
        ("{}", ()),
        ('{"Value": "a", "Aliases": ["b"], "Type": "X"}', ("a", "b")),
        ("{'text': [], 'answer_start': []}", NO_ANSWER),
        *((text, (text,)) for text in ("[sic]", "[1] see note", "['90s]", "(1990, 1991)", "['a''b']", "{x}")),
        *((text, (text,)) for text in ("['a', open('b')]", "['a', 'b'", "['a'] ['b']", "[2019-2020]")),
    ],
)
def test_a_cell_of_gold_answers_means_the_same_in_csv_and_json(
    asked: Asked, cell: str, meant: tuple[str, ...]
) -> None:
    table = pd.DataFrame({"question": ["Who?"], "answers": [cell]})
    assert answers(asked(lambda path: table.to_csv(path, index=False), "asked.csv")) == [meant]
    assert answers(asked([{"question": "Who?", "answers": cell}])) == [meant]


def test_what_pandas_writes_of_lists_is_read_back_in_every_format(asked: Asked) -> None:
    golds = [["24 days", "24"], np.array(["Marta Lind", "Lind"], dtype=object), None]
    table = pd.DataFrame({"question": ["a?", "b?", "c?"], "answers": golds, "level": [1, None, 3]})
    writers: dict[str, Callable[[Path], None]] = {
        "a.csv": table.to_csv,
        "b.csv": lambda path: table.to_csv(path, sep=";", encoding="utf-16"),
        "c.csv.gz": table.to_csv,
        "d.json": table.to_json,
        "e.json": lambda path: table.to_json(path, orient="split"),
        "by_row.json": lambda path: table.to_json(path, orient="index"),
        "labelled.json": lambda path: table.set_index(pd.Index(["x", "y", "z"])).to_json(path),
        "f.json": lambda path: table.to_json(path, orient="records", indent=2),
        "g.jsonl.gz": lambda path: table.to_json(path, orient="records", lines=True),
        "h.parquet": table.to_parquet,
        "without_extension": table.to_parquet,
    }
    for name, write in writers.items():
        found = asked(write, name)
        assert answers(found) == [("24 days", "24"), ("Marta Lind", "Lind"), ()], name
        assert "'level' (2)" in found.notes[-1], name


def test_rows_under_their_ids_keep_them(asked: Asked, answered: Answered) -> None:
    assert [row.query.query_id for row in asked('{"q9": {"question": "a?"}}', "a.json").rows] == ["q9"]
    rows = answered('{"q8": {"answer": "x"},\n"q9": {"answer": "y"}}', "b.json").rows
    assert [(row.query_id, row.answer) for row in rows] == [("q8", "x"), ("q9", "y")]


def test_truth_values_and_dates_are_answers_as_pandas_writes_them_in_csv(asked: Asked) -> None:
    for values in ([True, False], pd.to_datetime(["2020-01-02", "2021-03-04"])):
        table = pd.DataFrame({"question": ["a?", "b?"], "answers": values})
        in_csv = answers(asked(lambda path, table=table: table.to_csv(path, index=False), "a.csv"))
        assert answers(asked(table.to_parquet, "a.parquet")) == in_csv
    assert answers(asked([{"question": "a?", "answers": True}])) == [("True",)]


def test_answers_that_look_like_a_list_and_cannot_be_read_as_one_are_counted(asked: Asked) -> None:
    cells = ["['a' 'b' ... 'y' 'z']", "[Timestamp('2020-01-02')]", "[u'a', u'b']", "[a, b]", "fine"]
    found = asked([{"question": f"{cell}?", "answers": cell} for cell in cells])
    assert answers(found) == [(cell,) for cell in cells]
    assert any("looks like a list" in note and note.startswith("4 of 5") for note in found.notes)


BOATS = "| boat | crew |\n|--|--|\n| Selma | 12 |"


@pytest.mark.parametrize(
    ("table", "meant"),
    [
        ("question,answers\na?,24.0\nb?,\nc?,7.0\n", [("24",), (), ("7",)]),
        ("question,answers\na?,2.0\nb?,2.5\n", [("2.0",), ("2.5",)]),
        ("question,answers\na?,2.0\nb?,two\n", [("2.0",), ("two",)]),
        (f'question,reference\na?,"{BOATS}"\nb?,24|24 days\n', [(BOATS,), ("24", "24 days")]),
        ("\ufeff\ufeffquestion,answers\na?,x\n", [("x",)]),
        ("question,__expected\na?,contains: x\n", [()]),
    ],
    ids=["gaps", "decimals", "words", "a table in a cell", "two byte order marks", "assertion of promptfoo"],
)
def test_the_answers_of_a_csv_file_are_those_that_were_meant(
    asked: Asked, table: str, meant: list[tuple[str, ...]]
) -> None:
    assert answers(asked(table, "a.csv")) == meant


def test_a_word_for_a_missing_value_is_not_an_answer_and_is_counted(asked: Asked) -> None:
    cells = ["nan", "None", "N/A", "#REF!", '["None"]', "none", "Nana"]
    found = asked([{"question": f"{cell}?", "answers": cell} for cell in cells])
    assert answers(found) == [(), (), (), (), ("None",), ("none",), ("Nana",)]
    (note,) = [note for note in found.notes if "'N/A' (1)" in note]
    assert note.startswith("4 of 7 questions")
    header = "question,quote,document,type,made_by,id\n"
    found = asked(f"{header}a?,nan,nan,nan,None,NA\nb?,24 days,leave.md,single,Ada,b\n", "a.csv")
    assert [len(row.reference.evidence) for row in found.rows] == [0, 1]
    assert [row.reference.query_type for row in found.rows] == ["question", "single"]
    assert [row.query.query_id for row in found.rows] == ["NA", "b"], "an id is a text"
    assert any(note.startswith("1 of 2 questions written by 'Ada'") for note in found.notes)


@pytest.mark.parametrize("row", [{"answerable": False}, {"is_impossible": "True"}, {"unanswerable": 1}])
def test_a_question_that_is_marked_as_unanswerable_asks_for_an_abstention(asked: Asked, row: Row) -> None:
    found = asked([{"question": "a?", "answers": "x", **row}, {"question": "b?", "answers": "24 days"}])
    assert answers(found) == [NO_ANSWER, ("24 days",)]
    assert any(note.startswith("1 of 2 questions are marked as unanswerable") for note in found.notes)


PROMPTFOO = {
    "evalId": "e",
    "results": {
        "prompts": [{"raw": "x"}],
        "results": [
            {
                **{"vars": {"question": "a?", "context": "c"}, "prompt": {"raw": "Answer: a?", "label": "p"}},
                **{"response": {"output": "x", "cached": False}, "error": "Expected y", "failureReason": 1},
            }
        ],
    },
}
TOOLS: dict[str, tuple[object, tuple[str, ...], str | None]] = {
    "ragas": ({"user_input": "a?", "response": "x", "reference": "y", "retrieved_contexts": ["c"]}, ("y",), "x"),
    "ragas 0.1": ({"question": "a?", "answer": "x", "contexts": ["c"], "ground_truths": ["y"]}, ("y",), "x"),
    "DeepEval in JavaScript": ({"input": "a?", "actualOutput": "x", "expectedOutput": "y"}, ("y",), "x"),
    "DeepEval, a data set": ({"goldens": [{"input": "a?", "expectedOutput": "y"}]}, ("y",), None),
    "TruLens": ({"main_input": "a?", "main_output": "x"}, (), "x"),
    "LangSmith, a data set": ({"inputs": {"question": "a?"}, "outputs": {"answer": "y"}}, ("y",), "y"),
    "LangSmith, a run": (
        {"inputs": {"q": "a?"}, "outputs": {"answer": "x", "contexts": ["c"]}, "reference_outputs": {"gold": "y"}},
        ("y",),
        "x",
    ),
    "LangSmith, a table": ({"inputs.question": "a?", "outputs.answer": "x", "reference.answer": "y"}, ("y",), "x"),
    "AutoRAG": (
        {"qid": "7", "query": "a?", "generation_gt": [["y"]], "generated_texts": "x", "retrieved_contents": ["c"]},
        ("y",),
        "x",
    ),
    "RAGChecker": ({"results": [{"query": "a?", "gt_answer": "y", "response": "x"}]}, ("y",), "x"),
    "promptfoo": (PROMPTFOO, (), "x"),
    "MuSiQue": (
        [{"question": "a?", "answer": "y", "answer_aliases": ["z"], "answerable": True}],
        ("y", "z"),
        None,
    ),
    "SQuAD": (
        {"data": [{"paragraphs": [{"context": "c", "qas": [{"question": "a?", "answers": [{"text": "y"}]}]}]}]},
        ("y",),
        None,
    ),
    "2WikiMultihopQA": ({"question": "a?", "answer": "y", "evidences": [["s", "r", "o"]]}, ("y",), None),
    "LlamaIndex": ({"examples": [{"query": "a?", "reference_answer": "y"}]}, ("y",), None),
    "columns of Hugging Face": ({"question": ["a?"], "answers": [["y"]]}, ("y",), None),
}
WITHOUT_CONTEXTS = {"DeepEval in JavaScript", "TruLens", "RAGChecker", "promptfoo"}
WITHOUT_CONTEXTS |= {"LangSmith, a data set", "LangSmith, a table"}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_columns_of_other_tools_are_known_in_questions_and_answers(
    asked: Asked, answered: Answered, tool: str
) -> None:
    content, gold, answer = TOOLS[tool]
    found = asked([content])
    assert [row.query.text for row in found.rows] == ["a?"]
    assert answers(found) == [gold]
    if answer is None:
        return
    (row,) = answered([content]).rows
    assert (row.query, row.answer, row.error) == ("a?", answer, None)
    assert (row.contexts is None) == (tool in WITHOUT_CONTEXTS)
    assert [context.text for context in row.contexts or ()] == ([] if tool in WITHOUT_CONTEXTS else ["c"])


def test_evidence_of_other_tools_is_found_in_the_documents(asked: Asked) -> None:
    fact = "Marta Lind runs the bakery."
    cited = [{"title": "Bakery", "url": "https://example.org/bakery", "fact": fact, "source": "news"}]
    found = asked(
        [
            {"query": "a?", "answer": "Marta Lind", "question_type": "inference_query", "evidence_list": cited},
            {"query": "b?", "evidence_list": "24 days of leave"},
            {"query": "c?", "evidence_list": "['24 days', 'of leave']"},
            {"query": "d?", "retrieval_gt": "[array(['leave.md'], dtype=object)]"},
            {"query": "e?", "retrieval_gt": [["leave.md", "other.md"]]},
        ]
    )
    given = [[(item.doc_id, item.fact) for item in row.reference.evidence] for row in found.rows]
    assert given == [
        [("https://example.org/bakery", fact)],
        [("leave.md", "24 days of leave")],
        [("leave.md", "24 days"), ("leave.md", "of leave")],
        [("leave.md", "")],
        [],
    ]
    assert found.rows[0].reference.query_type == "inference_query"
    assert any(note.startswith("1 of 5 questions without retrieval scores") for note in found.notes)


def test_two_columns_that_could_both_be_the_answer_are_refused_with_both_names(
    asked: Asked, answered: Answered
) -> None:
    row = {"question": "a?", "answer": "x", "ground_truth": "y", "prediction": "z"}
    with pytest.raises(DataError, match=r"line 1.*'answer'.*'ground_truth'.*--field answers="):
        asked([row])
    assert answers(asked([row], answers="ground_truth")) == [("y",)]
    with pytest.raises(DataError, match=r"line 1.*'answer'.*'prediction'.*--field answer="):
        answered([row])
    assert answered([row], answer="prediction").rows[0].answer == "z"
    for same in ("X", "", None):
        assert answered([{**row, "prediction": same}]).rows[0].answer == "x", "the same answer twice is one"
    with pytest.raises(ConfigError, match="did you mean 'ground_truth'"):
        asked([row], answers="ground_truths")
    with pytest.raises(DataError, match=r"retrieved contexts.*--field answers=answer"):
        asked([{"question": "a?", "answer": "x", "contexts": ["c"]}])


def test_each_field_that_is_not_read_is_named_once_with_its_number_of_rows(answered: Answered) -> None:
    rows = [{"query": "a?", "answer": "x", "Cost": 1, "reference": "y"}, {"query": "b?", "answer": "y", "Cost": 2}]
    notes = " ".join(answered(rows).notes)
    assert notes.count("'cost'") == notes.count("'cost' (2") == 1
    assert notes.count("'reference'") == notes.count("'reference' (1") == 1


def test_numbers_and_lists_in_csv_are_those_of_json(answered: Answered) -> None:
    text = "sep=;\nquery;answer;contexts;latency_s;input_tokens;repeat\na?;24.0;\"['c', 'd']\";0.5;12.0;0\n"
    (row,) = answered(text, "answers.csv").rows
    assert (row.answer, row.latency_s, row.input_tokens, row.repeat) == ("24", 0.5, 12, 0)
    assert [context.text for context in row.contexts or ()] == ["c", "d"]
    text = "query_id,answer,error,contexts,input_tokens\nNA,nan,nan,None,NaN\n"
    (row,) = answered(text, "answers.csv").rows
    assert (row.query_id, row.answer) == ("NA", "nan"), "these are texts"
    assert (row.error, row.contexts, row.input_tokens) == (None, None, None)
    with pytest.raises(DataError, match="line 2: 'latency_s'"):
        answered("query,answer,latency_s\na?,x,fast\n", "answers.csv")


def as_zip(path: Path, inside: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(inside, "x")


KINDS: dict[str, tuple[object, str]] = {
    "workbook": (lambda path: as_zip(path, "xl/workbook.xml"), "Excel workbook"),
    "zip": (lambda path: as_zip(path, "asked.csv"), "zip archive"),
    "sqlite": (b"SQLite format 3\0", "SQLite"),
    "pickle": (pickle.dumps([{"question": "a?"}]), "pickle"),
    "feather": (lambda path: pd.DataFrame({"question": ["a?"]}).to_feather(path), "Feather"),
    "lfs": ("version https://git-lfs.github.com/spec/v1\noid sha256:4d\n", "Git LFS pointer"),
    "page": ("\n<!DOCTYPE html><title>404</title>", "web page"),
    "cut off": (gzip.compress(b'{"question": "a?"}' * 99)[:-9], "not intact gzip"),
    "broken Parquet": (b"PAR1rubbishPAR1", "not intact Parquet"),
    "bytes": (b"\x01\x02\x84\xff", "not text"),
    "qrels": ("301 0 FBIS3-1 1\n301 0 FBIS3-2 0\n", "qrels"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_one_line_that_names_it(asked: Asked, answered: Answered, kind: str) -> None:
    content, said = KINDS[kind]
    for read, name in ((asked, "asked.csv"), (answered, "answers.csv")):
        with pytest.raises(HarnessError) as caught:
            read(content, name)
        assert said in str(caught.value)
        assert name in str(caught.value)
        assert caught.value.fix
        assert "iconv" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"query": "a?", "answer": "x"}\n{"query": "b?", "answer": "x", "answer": "y"}\n', "line 2"),
        ('[{"query": "a?"},\n{"query": "b?", "contexts": [{"text": "c", "text": "d"}]}]', "row 2"),
        ('{"query": "a?", "answer": "x", "query": "a?"}', "line 1"),
        ('\n[{"query": "a?"},\n{"query": "b?"},\n]', "line 4 is not JSON"),
    ],
)  # fmt: skip
def test_a_repeated_key_and_invalid_json_are_refused_with_their_place(
    asked: Asked, answered: Answered, text: str, place: str
) -> None:
    for read in (asked, answered):
        with pytest.raises(DataError, match=place if "JSON" in place else rf"{place}: .*occurs twice"):
            read(text)
