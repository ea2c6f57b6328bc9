"""What a question file says, and what is refused; docs/question-files.md is its format."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.core.errors import DataError
from harness.core.records import Document
from harness.datasets.folder import read_folder
from harness.datasets.question_files import QuestionSet, read_questions

ABROAD = "A trip abroad is approved by the “head of travel” \N{EN DASH} nobody else."
DOCUMENTS = (
    Document(doc_id="leave.md", text="# Leave\n\nIn the first year, 24 days of\nleave are granted.\n"),
    Document(doc_id="travel/abroad.md", text=ABROAD),
    Document(doc_id="travel/home.md", text="A trip at home needs no approval."),
)
DOCS = Path(__file__).parents[3] / "docs" / "question-files.md"


def read(folder: Path, text: str | bytes, name: str = "asked.jsonl") -> QuestionSet:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_questions(path, DOCUMENTS)


def lines(*rows: Mapping[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def quoting(quote: str, document: str = "leave.md") -> dict[str, object]:
    return {"question": "How long?", "evidence": [{"quote": quote, "document": document}]}


def the_notes(found: QuestionSet) -> str:
    return "\n".join(found.notes)


def test_the_examples_of_the_page_say_the_same_as_json_and_as_csv(tmp_path: Path) -> None:
    as_json, as_csv = (
        re.findall(rf"```{form}\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)[0] for form in ("json", "csv")
    )
    found = read(tmp_path, as_json)
    assert read(tmp_path, as_csv, "asked.csv").rows == found.rows
    assert [row.query.query_id for row in found.rows] == ["leave-1", "q-0002", "q-0003"]
    assert [row.reference.query_type for row in found.rows] == ["single", "question", "unanswerable"]
    assert [row.reference.answers for row in found.rows] == [("24 days", "24"), (), ("Insufficient information.",)]
    assert found.rows[0].doc_ids == ("leave.md",)


def test_a_question_alone_is_enough_and_the_notes_say_what_is_not_scored(tmp_path: Path) -> None:
    found = read(tmp_path, "question\na  b?\nA b?\nc?\n", "asked.csv")
    assert [row.query.text for row in found.rows] == ["a  b?", "A b?", "c?"]
    for note in ("without answers", "without evidence"):
        assert f"3 of 3 questions {note}" in the_notes(found)
    assert "1 of 3 questions are repeated" in the_notes(found)
    assert not read(tmp_path, "question,answers\na?,Insufficient information.\n", "asked.csv").notes


def test_the_fact_is_the_documents_own_text_though_spaces_and_shapes_differ(tmp_path: Path) -> None:
    same = [quoting("24  days of leave\tare granted."), quoting('the "head of travel" - nobody', "abroad.md")]
    facts = [row.reference.evidence[0].fact for row in read(tmp_path, lines(*same)).rows]
    assert facts == ["24 days of\nleave are granted.", "the “head of travel” \N{EN DASH} nobody"]


@pytest.mark.parametrize("copied", ["\ufb01rst year", "fi\u00adrst year", "first\u200b year", "fi-\nrst year"])
def test_a_quote_is_cleaned_as_documents_are(tmp_path: Path, copied: str) -> None:
    (row,) = read(tmp_path, lines({**quoting(copied), "question": copied.replace("\n", " ")})).rows
    assert not {"\u00ad", "\ufb01"} & {*row.query.text}
    assert row.reference.evidence[0].fact == "first year"


def test_a_quote_that_its_document_lacks_leaves_the_question_and_its_document(tmp_path: Path) -> None:
    """No system could find it: nothing is scored by fact, but by document."""
    quotes = [{"quote": "24 days", "document": "leave.md"}, {"quote": "of gold", "document": "travel/home.md"}]
    found = read(tmp_path, lines(quoting("24 days of"), {"question": "And?", "evidence": quotes}))
    kept = found.rows[1].reference.evidence
    assert [(item.doc_id, item.fact) for item in kept] == [("leave.md", ""), ("travel/home.md", "")]
    assert found.notes[1] == (
        "1 of 2 questions with retrieval scored by document, not by fact: a quote is not literally in its "
        "document (first: asked.jsonl line 2)"
    )


def test_a_quote_without_a_document_is_looked_for_in_all_of_them(tmp_path: Path) -> None:
    two = [{"quote": "A trip"}, {"quote": "24 days"}]
    alone = {"question": "a?", "evidence": [{"quote": "24 days of leave"}]}
    found = read(tmp_path, lines(alone, {"question": "b?", "evidence": two}))
    assert found.rows[0].reference.evidence[0].doc_id == "leave.md"
    assert found.rows[1].reference.evidence == (), "one is in two documents, and part of the evidence is easier"
    assert "1 of 2 questions without retrieval scores: a quote is in no document, or in" in the_notes(found)


def test_a_quote_inside_a_word_or_number_is_in_no_document(tmp_path: Path) -> None:
    asked = [{"question": "a?", "evidence": [{"quote": quote}]} for quote in ("4 days", "rip abroad", "24 days")]
    found = read(tmp_path, lines(*asked))
    assert [row.doc_ids for row in found.rows] == [(), (), ("leave.md",)]
    named = read(tmp_path, lines(quoting("4 days"), quoting("24 days"))).rows
    assert [row.reference.evidence[0].fact for row in named] == ["", "24 days"]


def test_a_document_is_found_by_a_name_with_invisible_characters_and_a_skipped_one_is_explained(
    tmp_path: Path,
) -> None:
    path = tmp_path / "asked.jsonl"
    path.write_text(lines(quoting("24 days", "scan.pdf")))
    with pytest.raises(DataError, match=r"name 'scan.pdf': it was skipped: no text in it"):
        read_questions(path, DOCUMENTS, {"scan.pdf": "no text in it"})
    folder, name = tmp_path / "docs", "on\u202eferries\u200b"
    folder.mkdir()
    (folder / "rows.jsonl").write_text(json.dumps({"doc_id": name, "text": "It leaves at nine."}))
    (folder / f"{name}.txt").write_text("It leaves at ten.")
    path.write_text(
        lines(*({"question": "When?", "evidence": [{"document": one}]} for one in (name, f"{name}.txt")))
    )
    shown = "on\\u202eferries\\u200b"
    rows = read_questions(path, read_folder(folder).documents).rows
    assert [row.doc_ids for row in rows] == [(shown,), (f"{shown}.txt",)]


def test_a_document_may_be_named_without_a_quote(tmp_path: Path) -> None:
    found = read(tmp_path, "question,document\na?,leave.md\nb?,travel\\home.md\n", "asked.csv")
    assert [(item.doc_id, item.fact) for row in found.rows for item in row.reference.evidence] == [
        ("leave.md", ""),
        ("travel/home.md", ""),
    ]
    assert "2 of 2 questions with documents but not all quotes" in the_notes(found)


def test_a_spreadsheet_may_hold_several_quotes_in_numbered_columns_or_in_one_cell(tmp_path: Path) -> None:
    quotes = [{"quote": "24 days", "document": "leave.md"}, {"quote": "no approval", "document": "home.md"}]
    numbered = "question;quote;document;quote_2;document_2\na?;24 days;leave.md;no approval;home.md\n"
    escaped = json.dumps(quotes).replace('"', '""')
    rows = read(tmp_path, numbered, "a.csv").rows
    assert rows == read(tmp_path, f'Question\tEvidence\na?\t"{escaped}"\n', "b.csv").rows
    assert len(rows[0].reference.evidence) == 2


@pytest.mark.parametrize(("encoding", "ends"), [("utf-8-sig", "\r\n"), ("utf-16", "\n"), ("utf-8", "\r")])
def test_a_spreadsheet_is_read_as_programs_write_it(tmp_path: Path, encoding: str, ends: str) -> None:
    text = ends.join(["question;answers", '"Wie viel; und ""wann""?";24 Tage|24', ";", "Größe?;"]) + ends
    found = read(tmp_path, text.encode(encoding), "asked.csv")
    assert [row.query.text for row in found.rows] == ['Wie viel; und "wann"?', "Größe?"]
    assert found.rows[0].reference.answers == ("24 Tage", "24")


def test_a_type_or_writer_that_spells_a_missing_value_is_a_word_in_json_and_of_types_null_in_csv(
    tmp_path: Path,
) -> None:
    for word in ("null", "None", "N/A", "NaN"):
        rows = ({"question": "a?", "type": word, "made_by": word}, {"question": "b?", "type": None})
        found = read(tmp_path, lines(*rows))
        assert [row.reference.query_type for row in found.rows] == [word, "question"]
        assert f"1 of 2 questions written by '{word}'" in the_notes(found)
    found = read(tmp_path, "question,type,made_by\na?,null,null\nb?,N/A,None\nc?,,\n", "asked.csv")
    assert [row.reference.query_type for row in found.rows] == ["null", "question", "question"]
    assert "written by" not in the_notes(found)


def test_questions_that_state_their_evidence_or_without_it_their_answer_are_counted(tmp_path: Path) -> None:
    quote = {"quote": "24 days of leave", "document": "leave.md"}
    rows: list[dict[str, object]] = [
        {"question": "24 days of\u00a0leave are granted. Is that so?", "answers": "yes", "evidence": quote},
        {"question": "Is a trip approved by the HEAD OF TRAVEL or by nobody?", "answers": "Head of travel"},
        {"question": "How long is it: 124 days of leave?", "answers": "24 days", "evidence": quote},
        {"question": "Is it 24?", "answers": "24"},
        {"question": "Is it so, yes or no?", "answers": "yes"},
        {"question": "Is it 24 days?", "answers": "24 days", "evidence": quote},
    ]
    notes = [note for note in read(tmp_path, lines(*rows)).notes if "own evidence" in note]
    assert len(notes) == 1
    assert notes[0].startswith("2 of 6 questions contain their own evidence (first: asked.jsonl line 1)")
    assert "own evidence" not in the_notes(read(tmp_path, lines(*rows[2:])))
    assert "warning: 2 of 3 questions contain their own evidence" in the_notes(read(tmp_path, lines(*rows[:3])))


def test_answers_that_no_document_states_are_counted(tmp_path: Path) -> None:
    answers = ["24 Days", "Twenty-four", "yes", "No.", "Insufficient information."]
    found = read(tmp_path, lines(*({"question": f"{one}?", "answers": one} for one in answers)))
    assert "1 of 5 questions with no answer literally in a document (first: 'Twenty-four')" in the_notes(found)
    other = Document(doc_id="d", text="After 124 days, 24 came, and days passed.")
    inside = read_questions(tmp_path / "asked.jsonl", [other]).notes
    assert any("none of the 2 expected answers is in a document (first: '24 Days')" in one for one in inside)


def test_answers_that_are_sentences_are_asked_for_as_sentences(tmp_path: Path) -> None:
    """Nobody gives them word for word: by equal answers every system would have 0."""
    long = "In the first year there are 24 days of leave."
    phrases = lines(*({"question": f"{n}?", "answers": one} for n, one in enumerate(("24 days", long, "No"))))
    assert not read(tmp_path, phrases).are_sentences
    found = read(tmp_path, phrases + lines({"question": "3?", "answers": long}))
    assert found.are_sentences
    assert "systems answer in sentences, ranked by token F1" in the_notes(found)


@pytest.mark.parametrize(
    ("answer", "is_sentence"),
    [
        ("上海位于中国东部沿海，长江入海口，是中国最大的城市之一。", True),
        ("ท่าเรือแห่งนี้บริหารงานโดยเทศบาลเมืองมาตั้งแต่ปีแรก", True),
        ("アルベルト・アインシュタイン", False),
        ("서울 특별시", False),
    ],
)
def test_sentences_are_recognised_in_scripts_without_spaces(
    tmp_path: Path, answer: str, is_sentence: bool
) -> None:
    assert read(tmp_path, lines({"question": "?", "answers": answer})).are_sentences == is_sentence


def test_the_notes_count_questions_by_writer_and_reviewed_ones_and_name_unread_fields(tmp_path: Path) -> None:
    made = [("model:qwen2.5-1.5b", "Ada"), ("model:qwen2.5-1.5b", None), ("Ada", "Ada"), ("", None)]
    rows = ({"question": f"{n}?", "made_by": by, "seen_by": seen} for n, (by, seen) in enumerate(made))
    notes = the_notes(read(tmp_path, lines(*rows)))
    assert "2 of 4 questions written by a model ('qwen2.5-1.5b'); 1 of these without human review" in notes
    assert "1 of 4 questions written by 'Ada'" in notes
    assert "2 of 4 questions reviewed and accepted by a person" in notes
    found = read(tmp_path, lines({"question": "a?", "difficulty": 3, "checks": {"judge": "ok"}, "notes": "x"}))
    assert "'difficulty' (1)" in found.notes[-1]
    assert "checks" not in found.notes[-1]


REFUSED_CSV: dict[str | bytes, str] = {
    "text,answers\na?,b\n": "columns are 'text', 'answers': rename 'text'",
    "question,anwsers\na?,b\n": "unknown field 'anwsers': did you mean 'answers'",
    "question,answers\n,b\n": "line 2: the question is empty",
    "question,document\na?,leaves.md\n": "no document has the name 'leaves.md': did you mean 'leave.md'",
    "question,quote,document,quote_2,document_2\na?,,leave.md,,wharf.md\n": "(column 'document_2')",
    "question,document\na?,deep/water.pdf\nb?,sand.pdf\n": "none of the 2 documents named in 'document' is there",
    "question,answers\na?,b\nwhy, then?,c\n": "line 3 has 3 cells, the first line has 2",
    'question\n"a?\nb?\n': "line 2 is not CSV",
    "question,quote,quote\na?,b,c\n": "two columns 'quote'",
    "question\nx?\nGröße?\n".encode("cp1252"): "line 3 is not UTF-8 (byte 0xf6): save it as",
    "question\n\n": "contains no questions",
    b"question\n\0\0\0": "contains NUL characters",
}
REFUSED_JSON: dict[str | bytes, str] = {
    '{"question": "a?"}\n\n{"question": " ", "id": 1}\n': "line 3: the question is empty",
    '{"question": "a?", "id": 1}\n{"question": "b?", "id": "1"}\n': "line 1 and a.jsonl line 2 both have the id",
    '{"question": "a?", "id": "q-0002"}\n{"question": "b?"}\n': "the id 'q-0002', which is the generated id",
    '{"question": ["a?"]}\n': "line 1: 'question' must be text, not an array",
    '{"question": "a?", "answers": {"b": "x", "c": "y"}}\n': "the object in 'answers' has no key for the answer",
    '{"question": "a?", "evidence": "[{\\"quote\\": \\"24 days"}\n': "'evidence' is not a JSON list",
    '{"question": "a?", "evidence": [{"sentence_no": 24}]}\n': "'sentence_no': name them quote and document",
    lines(
        quoting("of gold"), quoting("of silver")
    ): "no quote of the 2 questions with quotes was found, the first",
    "": "contains no questions",
    '{"question": "a?"}\n{"question": \n': "line 2 is not JSON",
    '{"question": "a?", "id": Infinity}\n': "Infinity is not a JSON number",
    "[1]": "row 1 is a number, not an object",
    "[" * 100_000: "nested too deeply",
    '{"question": "\\ud83d"}\n': "unpaired surrogate",
    '{"question": "a?", "id": "' + "x" * 201 + '"}\n': "'id' has 201 characters",
}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        *(("a.csv", text, words) for text, words in REFUSED_CSV.items()),
        *(("a.jsonl", text, words) for text, words in REFUSED_JSON.items()),
    ],
    ids=[*REFUSED_CSV.values(), *REFUSED_JSON.values()],
)
def test_an_invalid_file_is_one_line_that_names_the_place_and_the_way_out(
    tmp_path: Path, name: str, text: str | bytes, words: str
) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, text, name)
    assert words in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert caught.value.fix


def test_a_missing_or_huge_file_is_not_read(tmp_path: Path) -> None:
    huge = tmp_path / "huge.jsonl"
    with huge.open("wb") as file:
        file.truncate(1_000_000_000)
    for path, said in ((huge, "longer than 64,000,000 bytes"), (tmp_path, ""), (tmp_path / "none.csv", "")):
        with pytest.raises(DataError, match=said or "cannot be read"):
            read_questions(path, DOCUMENTS)
