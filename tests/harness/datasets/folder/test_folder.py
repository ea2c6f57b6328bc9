"""A folder of files as documents."""

import json
import os
from pathlib import Path

import pytest

from harness.core.errors import DataError
from harness.datasets.folder import FolderCorpus, read_folder


def put(folder: Path, **files: str | bytes) -> Path:
    """Files by name; `__` is a slash and `_dot_` the point before the ending."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def why(corpus: FolderCorpus) -> dict[str, str]:
    return {one.path: one.why for one in corpus.skipped}


def test_a_file_is_a_document_under_its_path_from_the_folder(tmp_path: Path) -> None:
    corpus = read_folder(put(tmp_path, b__oven_dot_txt="Built in 1931.", a_dot_md="# Rye #\n\nNeeds a sour.\n"))
    md, txt = corpus.documents
    assert (md.doc_id, md.title, md.text) == ("a.md", "Rye", "# Rye #\n\nNeeds a sour.\n")
    assert (txt.doc_id, txt.title, txt.text) == ("b/oven.txt", "oven", "Built in 1931.")
    assert corpus.skipped == ()
    assert corpus.notes == (f"documents read from {tmp_path}: 2",)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b" \n\t", "without text"),
        (b"\x7fELF\x02\0\0\xff", "binary, not text"),
        ("Gr\u00fc\u00dfe".encode("latin-1"), "not UTF-8: save it as UTF-8"),
        (None, "cannot be read (longer than 100,000,000 bytes)"),
    ],
)
def test_a_file_that_is_not_text_is_skipped_with_the_reason(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    with (put(tmp_path, ok_dot_txt="ok", bad_dot_txt=content or b"") / "bad.txt").open("ab") as file:
        file.truncate(1_000_000_000 if content is None else len(content))
    assert why(read_folder(tmp_path)) == {"bad.txt": reason}


def test_a_file_of_rows_without_texts_or_of_too_many_values_is_skipped_once(tmp_path: Path) -> None:
    bomb = '{"text": "x", "a": [' + "[]," * 5_000_000 + "[]]}"
    put(tmp_path, ok_dot_txt="ok", bomb_dot_jsonl=bomb, rows_dot_jsonl='{"question": "Why?"}\n' * 1000)
    reasons = {"bomb.jsonl": "contains too many values to be data", "rows.jsonl": "no row has a `text`"}
    assert why(read_folder(tmp_path)) == reasons


def test_a_comment_of_code_or_plain_text_is_no_heading(tmp_path: Path) -> None:
    code = "```sh\n# comment\n```\n\n## Real\n"
    code_file, text_file = read_folder(put(tmp_path, a_dot_md=code, b_dot_txt="# comment\nvalue # more")).documents
    assert (code_file.title, code_file.text) == ("Real", code)
    assert (text_file.title, text_file.text) == ("b", " # comment\nvalue # more")


def test_a_byte_order_mark_says_how_a_text_is_encoded(tmp_path: Path) -> None:
    codings = ("utf-8-sig", "utf-16", "utf-32")
    put(tmp_path, **{f"{name.replace('-', '')}_dot_txt": "Grüße, Ada".encode(name) for name in codings})
    assert [document.text for document in read_folder(tmp_path).documents] == ["Grüße, Ada"] * 3


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (
            "the o\ufb03ce con\ufb01rmed the \ufb02ood, \ufb00 \ufb04 \ufb05 \ufb06",
            "the office confirmed the flood, ff ffl st st",
        ),
        ("\ufb13 \ufee1\ufefc\ufeb3 \u2f63", "\u0574\u0576 \u0645\u0644\u0627\u0633 \u751f"),
        ("Hafen\u00admeister, Hafen\u00ad\nmeister", "Hafenmeister, Hafenmeister"),
        ("har\u200bbour mas\u2060ter \ufeffof Low\u200emere", "harbour master of Lowmere"),
        ("Auf\u200clage, a\u200db", "Auflage, ab"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937",
        ),
        (
            "\U0001f469\u200d\U0001f692 \U0001f3f4\U000e0067\U000e0062\U000e007f",
            "\U0001f469\u200d\U0001f692 \U0001f3f4\U000e0067\U000e0062\U000e007f",
        ),
        ("said\U000e0069\U000e0067\U000e006e here", "said here"),
        ("\u0e44\u0e17\u0e22\u200b\u0e04\u0e33", "\u0e44\u0e17\u0e22\u200b\u0e04\u0e33"),
        ("5\u00a0km, 3\u202fm, 4\u2009s", "5 km, 3 m, 4 s"),
        ("10\u00b2, 1\u00bd, \u2460, \uff21\uff22, \u2122", "10\u00b2, 1\u00bd, \u2460, \uff21\uff22, \u2122"),
        ("one\u2028two\x0bthree\x85four\r\nfive\rsix", "one\ntwo\nthree\nfour\nfive\nsix"),
        ("A\u0308rger and\x07 page\x0c two", "\u00c4rger and page\x0c two"),
    ],
    ids=[
        *("ligatures", "other letters", "soft", "zero width", "joiners", "needed joiners"),
        *("emoji", "tags", "Thai", "spaces", "no letters", "lines", "controls"),
    ],
)
def test_glyphs_are_their_letters_and_nothing_invisible_is_within_a_word(
    tmp_path: Path, written: str, read: str
) -> None:
    row = json.dumps({"text": written, "title": written})
    files = put(tmp_path, a_dot_txt=f"x {written}.", b_dot_md=f"# T {written}", c_dot_jsonl=row)
    assert [one.text for one in read_folder(files).documents] == [f"x {read}.", f"# T {read}", read]


@pytest.mark.parametrize(
    ("block", "title", "metadata"),
    [
        (
            "---\ntitle: 'Rye: a guide'\ndate: 2024-03-12\ntags: [a]\ndraft: no\n---\n",
            "Rye: a guide",
            {"date": "2024-03-12", "draft": "no"},
        ),
        ("---\r\ntitle: 12:30\r\n...\r\n", "12:30", {}),
        ('+++\ntitle = "Rye"\nweight = 3\n+++\n\n', "Rye", {"weight": "3"}),
        ("---\n---\n", "Body", {}),
    ],
    ids=["yaml", "yaml with dots", "toml", "empty"],
)
def test_front_matter_is_title_and_metadata_and_no_text(
    tmp_path: Path, block: str, title: str, metadata: dict[str, str]
) -> None:
    (document,) = read_folder(put(tmp_path, a_dot_md=f"{block}# Body\n\nText.\n")).documents
    assert (document.title, document.text) == (title, "# Body\n\nText.\n")
    assert document.metadata == metadata


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: [unclosed\n---\nBody.",
        "---\nOnly a line between two rules.\n---\nBody.",
        "---\na: &a [*a]\n---\nBody.",
        f"---\na: {'[' * 20_000}\n---\nBody.",
        "+++\ntitle = \n+++\nBody.",
        "---\n\nNote: below a rule.\n\n---\nBody.",
        " ---\ntitle: not at the start\n---\nBody.",
    ],
)
def test_front_matter_that_is_not_valid_stays_text(tmp_path: Path, text: str) -> None:
    (document,) = read_folder(put(tmp_path, a_dot_md=text)).documents
    assert (document.title, document.text) == ("a", text)
    assert not document.metadata


def test_the_header_of_a_long_markdown_table_is_repeated_and_code_is_not_changed(tmp_path: Path) -> None:
    header, rows = "| boat | crew |\n|------|:----:|", [f"| Selma {n} | {n} |" for n in range(200)]
    table = "\n".join([header, *rows])
    (document,) = read_folder(put(tmp_path, a_dot_md=f"{table}\n\n```\n{table}\n```\n")).documents
    own, code = document.text.split("```\n", 1)
    parts = own.strip().split("\n\n")
    assert len(parts) > 2
    assert all(part.startswith(header) and len(part) <= 1000 for part in parts)
    assert [line for part in parts for line in part.split("\n")[2:]] == rows
    assert code == f"{table}\n```\n"
    longer = f"````\n```\n{table}\n```\n# no title\n````\n```x``` is code\n\n# Title\n"
    (document,) = read_folder(put(tmp_path / "longer", a_dot_md=longer)).documents
    assert (document.title, document.text) == ("Title", longer)


def test_lost_characters_and_parts_that_are_left_out_are_counted(tmp_path: Path) -> None:
    page = "<nav>Menu</nav><main><p>Sa&shy;id.<p hidden>Never.</main><footer>Imprint</footer>"
    corpus = read_folder(put(tmp_path, a_dot_txt="caf\ufffd (cid:12)", b_dot_html=page))
    assert corpus.documents[1].text == "Said."
    assert [one.path for one in corpus.incomplete] == ["a.txt"]
    assert corpus.incomplete[0].why.endswith(": 2")
    assert "(2)" in corpus.notes[-1]  # The menu and the footer.
    assert "hidden parts of HTML pages (1)" in corpus.notes[-1]


def test_hidden_files_links_and_devices_are_skipped_and_nothing_outside_is_read(tmp_path: Path) -> None:
    folder = put(tmp_path / "in", ok_dot_txt="ok", x_dot_bin="x")
    (folder / "~$port.docx").write_text("ada")
    put(folder / ".git", config_dot_txt="secret")
    put(tmp_path, outside_dot_txt="secret")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "round").symlink_to(folder)
    os.mkfifo(folder / "pipe.txt")
    corpus = read_folder(folder)
    assert [document.text for document in corpus.documents] == ["ok"]
    assert why(corpus) == {
        ".git": "hidden",
        "link.txt": "a link, which is not followed",
        "round": "a link, which is not followed",
        "pipe.txt": "a pipe or device, not a file",
        "x.bin": "unsupported kind: .bin",
        "~$port.docx": "lock file of an office program",
    }
    assert "hidden (1)" in corpus.notes[2]
    assert corpus.notes[1].startswith(
        "files or rows skipped (5; plan lists them): a link, which is not followed (2); a pipe"
    )


def test_names_are_normalised_and_undecodable_or_hidden_characters_in_them_escaped(tmp_path: Path) -> None:
    names = [b"A\xcc\x88.txt", b"\xc3\x84.txt", "עברית.txt".encode(), b"new\nline.txt", b"\xff.txt"]
    for name in (*names, "x\u202ey.txt".encode()):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("text")
    corpus = read_folder(tmp_path)
    ids = [document.doc_id for document in corpus.documents]
    assert ids == sorted(["\u00c4.txt", "עברית.txt", "new\\nline.txt", "\\xff.txt", "x\\u202ey.txt"])
    assert why(corpus) == {"\u00c4.txt": "same name as another file after Unicode normalisation"}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("nowhere", "does not exist: name a folder of documents"),
        ("a.bin", "is not a folder: name a folder of documents"),
        ("", "(unsupported kind: .bin (1)): add files with the extensions .txt"),
    ],
)
def test_a_folder_that_gives_nothing_is_one_line(tmp_path: Path, name: str, line: str) -> None:
    put(tmp_path, a_dot_bin="x")
    with pytest.raises(DataError) as refused:
        read_folder(tmp_path / name)
    assert line in str(refused.value)


def test_results_of_earlier_runs_are_no_documents(tmp_path: Path) -> None:
    put(tmp_path, ok_dot_txt="ok", results__corpora__x_dot_jsonl='{"text": "old"}', results__indexes__y_dot_txt="")
    put(tmp_path, out__report_dot_html="old", out__summary_dot_csv="", out__summary_dot_md="old")
    corpus = read_folder(tmp_path)
    assert [document.doc_id for document in corpus.documents] == ["ok.txt"]
    assert why(corpus) == {"out": "results of this harness", "results": "results of this harness"}


def test_rows_with_a_text_are_documents_with_their_other_fields_as_metadata(tmp_path: Path) -> None:
    nested = '"tags": ["a"], "metadata": {"year": 1, "source": "wire", "x": [1]}'
    rows = [
        f'{{"doc_id": "r1", "text": "One", "title": "First", "year": 1931, "open": true, {nested}}}',
        "",
        '{"text": "Two"}',
        "no json",
        "[1]",
        '{"text": " "}',
        '{"text": "Again", "doc_id": "r1"}',
    ]
    corpus = read_folder(put(tmp_path, rows_dot_jsonl="\n".join(rows)))
    first, second = corpus.documents
    assert (first.doc_id, first.title, first.text) == ("r1", "First", "One")
    assert first.metadata == {"source": "wire", "year": "1931", "open": "true"}
    assert (second.doc_id, second.title) == ("rows.jsonl#3", "rows 3")
    assert why(corpus) == {
        "rows.jsonl line 4": "a row that is not JSON",
        "rows.jsonl line 5": "a row that is not a JSON object",
        "rows.jsonl line 6": "a row without `text`",
        "rows.jsonl line 7": "same doc_id as another document",
    }


def test_a_row_is_identified_by_its_id_if_no_other_document_has_it(tmp_path: Path) -> None:
    rows = [
        '{"_id": "b", "text": "One"}',
        '{"id": 7, "_id": "c", "text": "Two"}',
        '{"id": "d", "doc_id": "own", "text": "Three"}',
        '{"text": "Four"}',
        '{"id": "d", "title": "No text"}',
        '{"id": "o\\ufb03ce", "text": "Ids are not cleaned as texts are."}',
        '{"id": "office", "text": "Five"}',
    ]
    corpus = read_folder(put(tmp_path, rows_dot_jsonl="\n".join(rows)))
    named = {one.doc_id: one.title for one in corpus.documents}
    assert {"7", "b", "own", "rows.jsonl#4", "office", "o\ufb03ce"} == {*named}
    assert named["rows.jsonl#4"] == "rows 4"
    assert "several documents" not in "".join(corpus.notes)


@pytest.mark.parametrize(
    ("other", "by_line"),
    [
        ({"a_dot_jsonl": '{"id": "2", "text": "Also"}\n{"id": 3, "text": "Too"}'}, 4),
        ({"a_dot_jsonl": '{"doc_id": "2", "text": "Also"}'}, 2),
        ({"2_dot_md": "Also"}, 2),
        ({}, 2),
    ],
    ids=["in another file", "as a doc_id", "as a file", "in the same file"],
)
def test_rows_of_a_file_with_an_id_that_another_document_has_are_identified_by_their_lines(
    tmp_path: Path, other: dict[str, str], by_line: int
) -> None:
    second = '"2.md"' if "2_dot_md" in other else "2" if other else '"1"'
    rows = f'{{"id": 1, "text": "One"}}\n{{"id": {second}, "text": "Two"}}'
    corpus = read_folder(put(tmp_path, b_dot_jsonl=rows, **other))
    named = [one.doc_id for one in corpus.documents if one.text in {"One", "Two"}]
    assert named == ["b.jsonl#1", "b.jsonl#2"]
    assert not corpus.skipped
    assert f"because ids in their file are not unique: {by_line}" in corpus.notes[1]


def test_equal_texts_are_kept_with_a_note_and_progress_is_told_of_every_file(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    folder = put(tmp_path, a_dot_txt="same", b_dot_txt="same", c_dot_bin="c")
    corpus = read_folder(folder, lambda done, of, _: told.append((done, of)))
    assert len(corpus.documents) == 2
    assert "a.txt = b.txt" in corpus.notes[2]
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
