"""Each format's reader, on files of our own words and on what is none."""

import io
import zipfile
from collections.abc import Callable

import docx
import pytest
from made_files import pdf, pdf_form, pdf_of_glyphs, word
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject

from harness.datasets.folder.docx import read_word
from harness.datasets.folder.pdf import read_pdf
from harness.datasets.folder.text_cleanup import NoDocument, ReadText


def idle() -> None:
    pass


def refusal(read: Callable[[], ReadText]) -> str:
    with pytest.raises(NoDocument) as refused:
        read()
    return str(refused.value)


def test_a_pdf_is_its_pages_with_the_headings_of_its_outline() -> None:
    made = pdf(
        ["1 Ovens\nBuilt in 1931 (old).", "2 Bread\nRye needs a sour."],
        title="On ovens",
        outline=[("Ovens", 0), ("2. Bread", 1), ("RemoteScoring", 1)],
    )
    read = read_pdf(io.BytesIO(made), idle)
    assert read.title == "On ovens"
    assert read.text == "# 1 Ovens\nBuilt in 1931 (old).\n\n\f# 2 Bread\nRye needs a sour.\n"
    assert not read.remarks


@pytest.mark.parametrize("title", ["Microsoft Word - draft.doc", "thesis.tex", "17", "  "])
def test_a_title_that_a_program_made_is_not_used(title: str) -> None:
    assert read_pdf(io.BytesIO(pdf(["text"], title=title)), idle).title == ""


def test_pages_without_text_are_counted_and_keep_their_numbers() -> None:
    read = read_pdf(io.BytesIO(pdf(["one", "", "three"])), idle)
    assert read.text.split("\f")[2] == "three\n"
    assert read.remarks == {"pages of PDF files without text (scans need OCR first)": 1}
    assert "OCR" in refusal(lambda: read_pdf(io.BytesIO(pdf(["", ""])), idle))


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_a_pdf_with_a_password_is_encrypted_and_one_that_forbids_to_copy_is_read(algorithm: str) -> None:
    locked, restricted = (pdf(["text"], password=word, algorithm=algorithm) for word in ("secret", ""))
    assert refusal(lambda: read_pdf(io.BytesIO(locked), idle)) == "encrypted: save it without a password"
    assert read_pdf(io.BytesIO(restricted), idle).text == "text\n"


def test_a_damaged_page_or_form_costs_that_alone() -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(["one", "two"]))))
    writer.pages[1][NameObject("/Contents")] = NameObject("/Nonsense")
    made = io.BytesIO()
    writer.write(made)
    read = read_pdf(made, idle)
    assert read.text.startswith("one\n")
    assert sum(read.remarks.values()) == 1
    read = read_pdf(io.BytesIO(pdf_form("Form", [{"/FT": "/Tx", "/T": "a", "/V": "b", "/F": "no number"}])), idle)
    assert read.text == "Form\n"
    assert sum(read.remarks.values()) == 1


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        ("a harbour, the Har-\nbour, x", "a harbour, the Harbour,\nx"),
        ("a well-known man, a well-\nknown tug", "a well-known man, a well-known\ntug"),
        ("well, it is known, a well-\nknown tug", "well, it is known, a well-known\ntug"),
        ("from 1939-\n1945 in Baden-\nBaden", "from 1939-1945\nin Baden-Baden"),
        ("the Vor-\nund Nachteile", "the Vor- und\nNachteile"),
        (
            "far-off, so-so, an off-on, far-\noff, so-\nso, a cup-\nboard",
            "far-off, so-so, an off-on, far-off,\nso-so,\na cup-board",
        ),
        ("an e-\nmail to a@my-\nhost.org", "an e-mail\nto a@my-host.org"),
        ("use --dry-\nrun, or x.org: https://x.org/my-\nfile", "use --dry-run,\nor x.org: https://x.org/my-file"),
        ("one -\ntwo\n-\nthree", "one -\ntwo\n-\nthree"),
        ("tele-\ncommuni-\ncation", "telecommunication"),
    ],
    ids=[
        *("elsewhere", "compound", "its parts", "numbers", "and"),
        *("not hyphenated", "a letter", "no prose", "dash", "twice"),
    ],
)
def test_a_word_that_a_pdf_breaks_at_a_line_end_is_joined(lines: str, read: str) -> None:
    assert read_pdf(io.BytesIO(pdf([lines])), idle).text == f"{read}\n"


def test_values_of_form_fields_are_text_of_their_page_and_secrets_are_not() -> None:
    owner: dict[str, object] = {"/FT": "/Tx", "/T": "owner", "/TU": "Owner", "/V": "Greta Holt\nLowmere"}
    fields: list[dict[str, object]] = [
        owner,
        {"/FT": "/Ch", "/T": "kind", "/V": "t", "/Opt": [("t", "Tug"), ("f", "Ferry")]},
        {"/FT": "/Ch", "/T": "crew", "/V": ["Ada", "Bo"]},
        {"/FT": "/Btn", "/T": "insured", "/V": "/Yes", "/AS": "/Yes"},
        {"/FT": "/Btn", "/T": "sunk", "/AS": "/Off"},
        {"/FT": "/Btn", "/T": "berth", "/Ff": 1 << 15, "/AS": "/north"},
        {"/FT": "/Tx", "/T": "pin", "/Ff": 1 << 13, "/V": "4711"},
        {"/FT": "/Tx", "/T": "internal", "/F": 2, "/V": "hidden"},
        {"/T": "line", "/Parent": {"/T": "address", "/FT": "/Tx", "/V": "Quay 1"}},
        {"/Subtype": "/FreeText", "/Contents": "Typed onto the page."},
        {"/FT": "/Tx", "/T": "empty"},
    ]
    read = read_pdf(io.BytesIO(pdf_form("Form", fields)), idle).text
    assert read == (
        "Form\n\nOwner: Greta Holt\nLowmere\nkind: Tug\ncrew: Ada, Bo\n[x] insured\nberth: north\n"
        "address.line: Quay 1\nTyped onto the page.\n"
    )
    assert read_pdf(io.BytesIO(pdf_form("", [owner])), idle).text.startswith("Owner: Greta Holt")


LATIN = {"/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
LIGATURES = {"/Type": "/Encoding", "/Differences": [1, "/fi", "/fl", "/ffi"]}


def test_ligatures_of_a_pdf_are_letters_and_glyphs_without_a_letter_are_counted() -> None:
    content = b"BT /F1 11 Tf 40 800 Td (o\\003ce con\\001rmed \\004 \\005) Tj ET"
    read = read_pdf(io.BytesIO(pdf_of_glyphs(content, {**LATIN, "/Encoding": LIGATURES})), idle)
    assert read.text.startswith("office confirmed")
    assert list(read.remarks.values()) == [2]
    assert "OCR" in next(iter(read.remarks))
    # Fonts that do not say their letters.
    descendant = {"/Type": "/Font", "/Subtype": "/CIDFontType2", "/BaseFont": "/X"}
    font = {"/Subtype": "/Type0", "/BaseFont": "/X", "/Encoding": "/Identity-H", "/DescendantFonts": [descendant]}
    made = pdf_of_glyphs(b"BT /F1 11 Tf 40 800 Td <002B004400550045> Tj ET", font)
    assert "OCR" in refusal(lambda: read_pdf(io.BytesIO(made), idle))


def test_a_word_file_is_its_paragraphs_headings_and_tables() -> None:
    styles = [("Title", "Rules"), ("Heading 1", "Ovens"), ("Normal", "Off at 9."), ("Heading 3", "Keys")]
    read = read_word(io.BytesIO(word(styles, table=[["item", "price"], ["rye", "3"]])), idle)
    assert read.title == "Rules"
    assert read.text == "# Rules\n\n# Ovens\n\nOff at 9.\n\n### Keys\n\nitem | price\nrye | 3"


NAMES = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def changed_word(body: str, declared: str = "") -> io.BytesIO:
    """A Word file whose document is this XML."""
    own = f'{declared}<w:document xmlns:w="{NAMES}"><w:body>{body}</w:body></w:document>'
    return repacked(io.BytesIO(word([])), {"word/document.xml": lambda _: own.encode()}, {})


def repacked(file: io.BytesIO, changes: dict[str, Callable[[bytes], bytes]], more: dict[str, str]) -> io.BytesIO:
    """A zip file with changed and further parts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            new.writestr(part, changes.get(part.filename, bytes)(old.read(part)))
        for name, text in more.items():
            new.writestr(name, text)
    packed.seek(0)
    return packed


def test_tracked_changes_are_read_as_accepted_and_controls_and_text_boxes_are_read() -> None:
    run = "<w:r><w:t>{}</w:t></w:r>"
    body = (
        f"<w:p>{run.format('kept ')}<w:ins>{run.format('new')}</w:ins>"
        f"<w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:moveFrom>{run.format('moved')}</w:moveFrom></w:p>"
        f"<w:sdt><w:sdtContent><w:p>{run.format('within')}</w:p></w:sdtContent></w:sdt>"
    )
    assert read_word(changed_word(body), idle).text == "kept new\n\nwithin"
    box = f"<w:txbxContent><w:p>{run.format('box')}</w:p></w:txbxContent>"
    body = f"<w:p>{run.format('one')}<w:r>{box}</w:r>{run.format('two')}</w:p>"
    assert read_word(changed_word(body), idle).text.split() == ["one", "box", "two"]


def test_an_exponent_of_a_word_file_is_not_a_digit_of_its_number() -> None:
    def run(text: str, place: str) -> str:
        return f'<w:r><w:rPr><w:vertAlign w:val="{place}"/></w:rPr><w:t>{text}</w:t></w:r>'

    body = f"<w:p>{run('10', 'baseline')}{run('6', 'superscript')}{run('H2O, 1', 'subscript')}"
    body += f"{run('st', 'superscript')}</w:p>"
    assert read_word(changed_word(body), idle).text == "10\u2076H2O, 1st"
    parts = {name: f"<m:r><m:t>{text}</m:t></m:r>" for name, text in (("num", "1"), ("den", "2"), ("e", "10"))}
    half = f"<m:f><m:num>{parts['num']}</m:num><m:den>{parts['den']}</m:den></m:f>"
    square = f"<m:sSup><m:e>{parts['e']}</m:e><m:sup>{parts['den']}</m:sup></m:sSup>"
    formula = f'<w:p><m:oMath xmlns:m="{MATH}">{half}<m:r><m:t>+</m:t></m:r>{square}</m:oMath></w:p>'
    assert read_word(changed_word(formula), idle).text == "1/2+10\u00b2"


def test_a_table_within_a_cell_and_cells_in_controls_are_read_once() -> None:
    def cell(*texts: str) -> str:
        return "<w:tc>" + "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts) + "</w:tc>"

    inner = f"<w:tbl><w:tr>{cell('rye')}{cell('3')}</w:tr></w:tbl>"
    outer = cell("price list").replace("</w:tc>", f"{inner}<w:p/></w:tc>")
    control = f"<w:sdt><w:sdtContent>{cell('2024')}</w:sdtContent></w:sdt>"
    body = f"<w:tbl><w:tr>{outer}{control}{cell('old')}</w:tr></w:tbl>"
    assert read_word(changed_word(body), idle).text == "price list rye 3 | 2024 | old"


def test_notes_of_a_word_file_follow_their_paragraph_and_hidden_texts_are_counted() -> None:
    made = docx.Document()
    said = made.add_paragraph("The basin holds 43 tons.")
    made.add_comment(said.runs, text="Is that right?", author="Ada", initials="A")
    said.add_run(" Never.").font.hidden = True
    made.add_paragraph("It was built in 1931.")
    made.sections[0].header.paragraphs[0].text = "Internal"
    packed = io.BytesIO()
    made.save(packed)
    run = b'<w:r><w:footnoteReference w:id="2"/></w:r>'
    note = "<w:footnote w:id='{}' {}><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:footnote>"
    notes = note.format(0, "w:type='separator'", "line") + note.format(2, "", "Except in winter.")
    relation = (
        b'<Relationship Id="n" Type="%s/footnotes" Target="footnotes.xml"/></Relationships>' % OFFICE.encode()
    )
    kind = b"application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    changed = repacked(
        packed,
        {
            "word/document.xml": lambda old: old.replace(b"43 tons.</w:t></w:r>", b"43 tons.</w:t></w:r>" + run),
            "word/_rels/document.xml.rels": lambda old: old.replace(b"</Relationships>", relation),
            "[Content_Types].xml": lambda old: old.replace(
                b"</Types>", b'<Override PartName="/word/footnotes.xml" ContentType="%s"/></Types>' % kind
            ),
        },
        {"word/footnotes.xml": f'<w:footnotes xmlns:w="{NAMES}">{notes}</w:footnotes>'},
    )
    read = read_word(changed, idle)
    assert read.text == "The basin holds 43 tons.\n\n[1] Except in winter.\n\nIt was built in 1931."
    assert sorted(read.left_out.values()) == [1, 1, 1]


def test_a_merged_cell_of_a_word_file_is_repeated_in_each_row_and_a_box_is_its_paragraphs() -> None:
    made = docx.Document()
    table = made.add_table(3, 2)
    for row, cells in enumerate([["boat", "crew"], ["Selma", "12"], ["", "14"]]):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    box = made.add_table(1, 1).cell(0, 0)
    box.text = "In a box."
    box.add_paragraph("Keys", style="Heading 2")
    packed = io.BytesIO()
    made.save(packed)
    read = read_word(packed, idle).text
    assert read == "boat | crew\nSelma | 12\nSelma | 14\n\nIn a box.\n\n## Keys"


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: io.BytesIO(b"hello"), "damaged Word file"),
        (lambda: io.BytesIO(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "encrypted or an old .doc: save it as .docx"),
        # Made by the test alone: it takes seconds.
        (lambda: changed_word(" " * 300_000_001), "too large when unpacked"),
    ],
    ids=["no zip", "password", "zip bomb"],
)
def test_a_damaged_encrypted_or_huge_word_file_is_refused(made: Callable[[], io.BytesIO], reason: str) -> None:
    assert refusal(lambda: read_word(made(), idle)).startswith(reason)


def test_an_entity_is_not_looked_up_and_what_follows_it_is_read() -> None:
    outside = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    text = read_word(changed_word("<w:p><w:r><w:t>see &x; here</w:t></w:r></w:p>", outside), idle).text
    assert text.startswith("see ")
    assert text.endswith(" here")
    assert "root" not in text
