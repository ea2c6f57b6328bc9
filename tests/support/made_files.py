"""Generated PDF and Word files."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import docx
from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
    TextStringObject,
)


def pdf(
    pages: Sequence[str],
    *,
    title: str = "",
    outline: Sequence[tuple[str, int]] = (),
    password: str | None = None,
    algorithm: str = "AES-256",
) -> bytes:
    """A page for each text; `outline`: title and page from 0. `password`: to open it; empty: it is encrypted, but
    readable without one.
    """
    writer = PdfWriter()
    named = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in named.items()})
    fonts = writer._add_object(DictionaryObject({NameObject("/F1"): writer._add_object(font)}))
    for text in pages:
        page = writer.add_blank_page(595, 842)
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        page[NameObject("/Contents")] = writer._add_object(stream_of(text))
    for name, number in outline:
        writer.add_outline_item(title=name, page_number=number)
    if title:
        writer.add_metadata({"/Title": title})
    if password is not None:
        writer.encrypt(password, owner_password="owner", algorithm=algorithm)
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def pdf_form(text: str, fields: Sequence[Mapping[str, object]]) -> bytes:
    """A page with this text and form fields; values of their keys: names (`/Tx`), texts, numbers and lists."""
    writer = PdfWriter(clone_from=io.BytesIO(pdf([text])))
    widgets = ArrayObject()
    for field in fields:
        widget = DictionaryObject({NameObject("/Subtype"): NameObject("/Widget")})
        widget.update({NameObject(key): _pdf_value(value) for key, value in field.items()})
        widget[NameObject("/Rect")] = ArrayObject(FloatObject(n) for n in (72, 650, 272, 670))
        widgets.append(writer._add_object(widget))
    writer.pages[0][NameObject("/Annots")] = widgets
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def _pdf_value(value: object) -> Any:
    if isinstance(value, int):
        return NumberObject(value)
    if isinstance(value, list | tuple):
        return ArrayObject(_pdf_value(one) for one in value)
    if isinstance(value, dict):
        return DictionaryObject({NameObject(key): _pdf_value(one) for key, one in value.items()})
    text = str(value)
    return NameObject(text) if text.startswith("/") else TextStringObject(text)


def pdf_of_glyphs(content: bytes, font: Mapping[str, object]) -> bytes:
    """A page with this content, whose font F1 is as given."""
    writer = PdfWriter(clone_from=io.BytesIO(pdf(["x"])))
    fonts = DictionaryObject({NameObject("/F1"): writer._add_object(_pdf_value({"/Type": "/Font", **font}))})
    writer.pages[0][NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    stream = DecodedStreamObject()
    stream.set_data(content)
    writer.pages[0][NameObject("/Contents")] = writer._add_object(stream)
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def stream_of(text: str) -> DecodedStreamObject:
    shown = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in text.split("\n")]
    stream = DecodedStreamObject()
    stream.set_data(
        ("BT /F1 11 Tf 14 TL 40 800 Td " + " ".join(f"({line}) Tj T*" for line in shown) + " ET").encode("latin-1")
        if text
        else b""
    )
    return stream


def word(paragraphs: Sequence[tuple[str, str]], *, table: Sequence[Sequence[str]] = ()) -> bytes:
    """(style, text) of each paragraph, followed by a table."""
    document = docx.Document()
    for style, text in paragraphs:
        document.add_paragraph(text, style=style)
    if table:
        made = document.add_table(len(table), len(table[0]))
        for row, cells in zip(made.rows, table, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    packed = io.BytesIO()
    document.save(packed)
    return packed.getvalue()
