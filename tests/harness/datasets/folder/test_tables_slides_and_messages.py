"""Tables, presentations and messages, made here or as hostile as they may come."""

import io
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, datetime
from email.message import EmailMessage

import openpyxl
import pytest

from harness.datasets.folder import docx, spreadsheets
from harness.datasets.folder.parser_process import READERS
from harness.datasets.folder.text_cleanup import NoDocument, ReadText

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
ENTITIES = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'


def read(kind: str, content: bytes) -> Sequence[ReadText]:
    found = READERS[kind][1](io.BytesIO(content), lambda: None)
    return [found] if isinstance(found, ReadText) else found


def refusal(kind: str, content: bytes) -> str:
    with pytest.raises(NoDocument) as refused:
        read(kind, content)
    return str(refused.value)


def workbook(fill: Callable[[openpyxl.Workbook], None]) -> bytes:
    book, packed = openpyxl.Workbook(), io.BytesIO()
    fill(book)
    book.save(packed)
    return packed.getvalue()


def with_part(content: bytes, name: str, text: str) -> bytes:
    """The Office file with another part."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for one in old.namelist():
            if one != name:
                new.writestr(one, old.read(one))
        new.writestr(name, text)
    return packed.getvalue()


def slides(*pages: str, notes: str = "") -> bytes:
    """A presentation with these shape trees; `notes` are those of the first slide."""
    kind, names = "http://x/relationships", 'xmlns:p="p" xmlns:a="a" xmlns:r="r"'
    order = "".join(f'<p:sldId r:id="s{number}"/>' for number in range(len(pages)))
    # Stored in another order than shown.
    found = [
        f'<Relationship Id="s{number}" Type="{kind}/slide" Target="slides/page{number}.xml"/>'
        for number in reversed(range(len(pages)))
    ]
    parts = {
        "_rels/.rels": f'<R><Relationship Id="m" Type="{kind}/officeDocument" Target="ppt/main.xml"/></R>',
        "ppt/main.xml": f"<p:presentation {names}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
        "ppt/_rels/main.xml.rels": f"<R>{''.join(found)}</R>",
    }
    for number, page in enumerate(pages):
        entities = ENTITIES if "&e;" in page else ""
        parts[f"ppt/slides/page{number}.xml"] = f"{entities}<p:sld {names}>{page}</p:sld>"
    if notes:
        parts["ppt/slides/_rels/page0.xml.rels"] = (
            f'<R><Relationship Id="n" Type="{kind}/notesSlide" Target="../notes/n.xml"/></R>'
        )
        parts["ppt/notes/n.xml"] = f"<p:notes {names}>{shape('body', notes)}{shape('sldNum', '1')}</p:notes>"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return packed.getvalue()


def shape(kind: str, *lines: str) -> str:
    text = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody>{text}</p:txBody></p:sp>'


@pytest.mark.parametrize(
    ("kind", "table", "text"),
    [
        (".csv", "Item,Price\nOak,12\nPine,\n", "Item: Oak; Price: 12\nItem: Pine\n"),
        (".csv", "Item;Price\nOak;12,50\nElm;7,90\n", "Item: Oak; Price: 12,50\nItem: Elm; Price: 7,90\n"),
        (".csv", 'sep=|\nItem|Note\nOak|"two\nlines; # one"\n', "Item: Oak; Note: two lines; # one\n"),
        (".csv", "Prices of May\n\nItem,2024,2025\nOak,12,13\n", "Prices of May\nItem: Oak; 2024: 12; 2025: 13\n"),
        (".csv", "Oak,12\nPine,7\n", "Oak; 12\nPine; 7\n"),
        (".csv", "name,cmd\nAda,=cmd|' /C calc'!A0\n", "name: Ada; cmd: =cmd|' /C calc'!A0\n"),
        (".tsv", "Item\tNote\nOak\tlong, hard\n", "Item: Oak; Note: long, hard\n"),
    ],
    ids=["commas", "semicolons", "named separator", "title above", "no header", "formula", "tabs"],
)
def test_a_row_of_a_table_is_a_line_with_the_names_of_its_columns(kind: str, table: str, text: str) -> None:
    (document,) = read(kind, table.encode("utf-8-sig"))
    assert (document.text, document.part) == (text, "")
    (wide,) = read(kind, table.encode("utf-16"))
    assert wide.text == text


def test_a_large_table_is_several_documents_with_the_numbers_of_their_rows() -> None:
    table = "id,name\n" + "".join(f"{number},n{number}\n" for number in range(2, 122))
    documents = read(".csv", table.encode())
    assert [document.part for document in documents] == ["rows 2-51", "rows 52-101", "rows 102-121"]
    assert documents[1].text.startswith("id: 52; name: n52\n")
    assert all(document.text.count("\n") <= 50 for document in documents)


def test_sheets_are_read_with_stored_values_iso_dates_and_merged_cells() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        sheet = book.active
        assert sheet is not None
        sheet.title = "Plan"
        for row in (
            ["Owner", "Due", "Share", "Sum"],
            ["Greta", date(2025, 3, 1), 0.125, "=A1"],
            [None, None, 3.0],
        ):
            sheet.append(row)
        sheet["B3"] = datetime(2025, 4, 1, 14, 30)
        sheet["C2"].number_format = "0.0%"
        sheet.merge_cells("A2:A3")
        hidden = book.create_sheet("Pay")
        hidden.append(["Name", "Pay"])
        hidden.append(["Ada", 55000])
        hidden.sheet_state = "hidden"
        book.create_sheet("Empty")

    plan, pay = read(".xlsx", workbook(fill))
    assert (plan.part, pay.part) == ("Plan", "Pay")
    assert plan.text == (
        "## Plan\nOwner: Greta; Due: 2025-03-01; Share: 12.5%\nOwner: Greta; Due: 2025-04-01 14:30; Share: 3\n"
    )
    assert pay.text.endswith("Name: Ada; Pay: 55000\n")
    assert sorted(plan.remarks.values()) == [1, 1]  # A formula without a value, and the hidden sheet.


def plain_workbook(n_more_sheets: int = 0) -> bytes:
    def fill(book: openpyxl.Workbook) -> None:
        assert book.active is not None
        book.active.append(["a", "b"])
        for _ in range(n_more_sheets):
            book.create_sheet()

    return workbook(fill)


def test_a_hostile_table_is_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = plain_workbook()
    sheet, table = "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{MAIN}"><sheetData>{{}}</sheetData></worksheet>'
    wide = "".join(f'<row r="{number}"><c r="XFD{number}"><v>1</v></c></row>' for number in range(1, 9))
    monkeypatch.setattr(spreadsheets, "_MOST_SHEETS", 2)
    monkeypatch.setattr(docx, "_MOST_BYTES", 1_000_000)
    assert "200,000 rows" in refusal(".csv", b"a,b\n" * 200_001)
    assert "cell" in refusal(".csv", b'a,"' + b"x,y\n" * 300_000)
    assert "binary" in refusal(".csv", b"a\0b")
    monkeypatch.setattr(spreadsheets, "_MOST_CELLS", 100_000)
    assert "cells" in refusal(".xlsx", with_part(plain, sheet, table.format(wide)))
    assert "unpacked" in refusal(".xlsx", with_part(plain, "xl/media/a.bin", "0" * 1_000_001))
    assert "sheets" in refusal(".xlsx", plain_workbook(n_more_sheets=2))


def test_an_entity_of_a_workbook_or_presentation_is_not_looked_up() -> None:
    (deck,) = read(".pptx", slides(shape("body", "before &e; after")))
    assert "root:" not in deck.text
    assert "before" in deck.text
    cell = '<row r="1"><c r="A1" t="inlineStr"><is><t>before &e; after</t></is></c></row>'
    text = f'{ENTITIES}<worksheet xmlns="{MAIN}"><sheetData>{cell}</sheetData></worksheet>'
    try:
        content = with_part(plain_workbook(), "xl/worksheets/sheet1.xml", text)
        texts = [one.text for one in read(".xlsx", content)]
    except Exception as error:  # The library refuses it.
        texts = [str(error)]
    assert "root:" not in "".join(texts)


def test_a_presentation_is_its_slides_in_order_with_tables_and_notes() -> None:
    cell = "<a:tc><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:tc>"
    rows = "".join(f"<a:tr>{cell.format(a)}{cell.format(b)}</a:tr>" for a, b in (("Q", "Sum"), ("1", "7")))
    table = f'<p:graphicFrame><a:tbl><a:tblPr firstRow="1"/>{rows}</a:tbl></p:graphicFrame>'
    first = shape("body", "Rose to 4.2", "# of sites: 3") + shape("title", "Results") + shape("ftr", "Draft")
    (deck,) = read(".pptx", slides(first, table, notes="Mention May."))
    assert deck.title == "Results"
    assert deck.text == "# Results\n\nRose to 4.2\n # of sites: 3\n\nNotes: Mention May.\n\n\fQ | Sum\n1 | 7\n"


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        (".pptx", b"PK\3\4 cut off", "damaged PowerPoint file"),
        (
            ".xlsx",
            b"\xd0\xcf\x11\xe0" + b"x" * 1000,
            "encrypted or an old .xls: save it as .xlsx without a password",
        ),
        (".eml", b"only words", "damaged message file"),
    ],
)
def test_a_file_of_another_kind_is_refused(kind: str, content: bytes, reason: str) -> None:
    assert reason in refusal(kind, content)


def message(text: str, **headers: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in {"Subject": "Treffen: Änderung", "From": "Greta <g@example.org>", **headers}.items():
        made[name] = value
    made.set_content(text)
    return made


def test_a_message_is_its_header_its_plain_text_and_its_attachments() -> None:
    made = message("Am Dienstag.\n", To="a@example.org", Date="Fri, 07 Mar 2025 10:15:00 +0100")
    made.add_alternative("<p>Am <b>Dienstag</b> (HTML).</p>", subtype="html")
    made.add_attachment(b"id,name\n1,Ada\n", maintype="text", subtype="csv", filename="../people.csv")
    made.add_attachment(b"KEY=1", maintype="text", subtype="plain", filename="secrets.txt")
    made.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="logo.png")
    made.add_attachment(message("Inner text.", Subject="Inner"))
    mail, people, inner = read(".eml", bytes(made))
    assert mail.title == "Treffen: Änderung"
    assert "Date: 2025-03-07 10:15+01:00\n" in mail.text
    assert "Am Dienstag." in mail.text
    assert "HTML" not in mail.text
    assert (people.part, people.text) == ("people.csv", "id: 1; name: Ada\n")
    assert "Inner text." in inner.text
    assert list(mail.left_out.values()) == [2]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Content-Type: text/html; charset=iso-8859-1\n\n<h1>News</h1><p>Caf\xe9", "# News\n\nCafé"),
        ("Content-Type: text/plain; charset=nonsense-9\n\nplain words", "plain words"),
        ("Content-Type: multipart/mixed\n\nplain words", "plain words"),
        (
            "Content-Type: multipart/alternative; boundary=B\n\n--B\nContent-Type: text/plain\n\n \n--B\n"
            "Content-Type: text/html\n\n<p>Only HTML\n--B--",
            "Only HTML",
        ),
        (
            "Content-Type: multipart/mixed; boundary=B\n\n--B\n\nBefore\n--B\nContent-Type: image/png\n\nx\n"
            "--B\n\nAfter\n--B--",
            "Before\n\nAfter",
        ),
        ("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nR3LDvMOfZQ==", "Grüße"),
    ],
    ids=["html", "unknown charset", "no boundary", "empty plain text", "around an attachment", "base64"],
)
def test_the_text_of_a_message_is_decoded(source: str, text: str) -> None:
    (mail,) = read(".eml", f"From: a@b.c\n{source}\n".encode("latin-1"))
    assert mail.text.endswith(f"\n\n{text}\n")
