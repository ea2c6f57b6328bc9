"""Each format's reader, on files of our own words and on what is none."""

import io
import zipfile
from collections.abc import Callable

import pytest
from made_files import pdf, word
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject

from harness.datasets.folder.docx import read_word
from harness.datasets.folder.html import read_html
from harness.datasets.folder.pdf import read_pdf
from harness.datasets.folder.text_cleanup import NoDocument, ReadText


def idle() -> None:
    pass


def html(text: str | bytes) -> ReadText:
    return read_html(io.BytesIO(text if isinstance(text, bytes) else text.encode()), idle)


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


@pytest.mark.parametrize("title", ["Microsoft Word - draft.doc", "thesis.tex", "untitled", "17", "  "])
def test_a_title_that_a_program_made_is_none(title: str) -> None:
    assert read_pdf(io.BytesIO(pdf(["text"], title=title)), idle).title == ""


def test_pages_without_text_are_counted_and_keep_their_numbers() -> None:
    read = read_pdf(io.BytesIO(pdf(["one", "", "three"])), idle)
    assert read.text.split("\f")[2] == "three\n"
    assert read.remarks == {"pages of PDF files without text (scans need OCR first)": 1}


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_pdf_with_a_password_is_encrypted_and_one_that_forbids_to_copy_is_read(algorithm: str) -> None:
    locked, restricted = (pdf(["text"], password=word, algorithm=algorithm) for word in ("secret", ""))
    assert refusal(lambda: read_pdf(io.BytesIO(locked), idle)) == "encrypted: save it without a password"
    assert read_pdf(io.BytesIO(restricted), idle).text == "text\n"


def test_a_scanned_pdf_says_what_it_needs() -> None:
    assert "OCR" in refusal(lambda: read_pdf(io.BytesIO(pdf(["", ""])), idle))


def test_a_page_that_its_parser_gives_up_on_is_not_the_whole_document() -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(["one", "two"]))))
    writer.pages[1][NameObject("/Contents")] = NameObject("/Nonsense")
    made = io.BytesIO()
    writer.write(made)
    read = read_pdf(made, idle)
    assert read.text.startswith("one\n")
    assert sum(read.remarks.values()) == 1


def test_a_word_file_is_its_paragraphs_headings_and_tables() -> None:
    styles = [("Title", "Rules"), ("Heading 1", "Ovens"), ("Normal", "Off at 9."), ("Heading 3", "Keys")]
    read = read_word(io.BytesIO(word(styles, table=[["item", "price"], ["rye", "3"]])), idle)
    assert read.title == "Rules"
    assert read.text == "# Rules\n\n# Ovens\n\nOff at 9.\n\n### Keys\n\nitem | price\n\nrye | 3"


def changed_word(body: str, declared: str = "") -> io.BytesIO:
    """A Word file whose document is this XML."""
    names = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(word([]))) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            own = f'{declared}<w:document xmlns:w="{names}"><w:body>{body}</w:body></w:document>'
            new.writestr(part, own if part.filename == "word/document.xml" else old.read(part))
    packed.seek(0)
    return packed


def test_changes_that_were_tracked_are_read_as_accepted_and_controls_are_looked_into() -> None:
    run = "<w:r><w:t>{}</w:t></w:r>"
    body = (
        f"<w:p>{run.format('kept ')}<w:ins>{run.format('new')}</w:ins>"
        f"<w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:moveFrom>{run.format('moved')}</w:moveFrom></w:p>"
        f"<w:sdt><w:sdtContent><w:p>{run.format('within')}</w:p></w:sdtContent></w:sdt>"
    )
    assert read_word(changed_word(body), idle).text == "kept new\n\nwithin"


def test_a_table_within_a_cell_is_said_once_and_cells_in_controls_too() -> None:
    def cell(*texts: str) -> str:
        return "<w:tc>" + "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts) + "</w:tc>"

    inner = f"<w:tbl><w:tr>{cell('rye')}{cell('3')}</w:tr></w:tbl>"
    outer = cell("price list").replace("</w:tc>", f"{inner}<w:p/></w:tc>")
    control = f"<w:sdt><w:sdtContent>{cell('2024')}</w:sdtContent></w:sdt>"
    body = f"<w:tbl><w:tr>{outer}{control}{cell('old')}</w:tr></w:tbl>"
    assert read_word(changed_word(body), idle).text == "price list rye 3 | 2024 | old"


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (io.BytesIO(b"hello"), "damaged Word file"),
        (io.BytesIO(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "encrypted or an old .doc: save it as .docx without"),
        (changed_word(" " * 300_000_001), "too large when unpacked"),
    ],
    ids=["no zip", "password", "zip bomb"],
)
def test_what_is_no_word_file_or_a_bomb_is_refused(file: io.BytesIO, reason: str) -> None:
    assert refusal(lambda: read_word(file, idle)).startswith(reason)


def test_an_entity_is_not_looked_up_and_what_follows_it_is_read() -> None:
    outside = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    text = read_word(changed_word("<w:p><w:r><w:t>see &x; here</w:t></w:r></w:p>", outside), idle).text
    assert text.startswith("see ")
    assert text.endswith(" here")
    assert "root" not in text


def test_a_page_is_what_it_says_without_menus_and_scripts() -> None:
    read = html(
        "<title>T</title><style>x{}</style><script>bad()</script><nav>menu</nav><h1>Breads</h1>"
        "<p>Rye <b>bread</b>\nis dark.<br>Yes<ul><li>one<li>two</ul><table><tr><th>a<th>b<tr><td>c<td>d</table>"
        "<pre>x\n  y</pre><h2>Un<i>closed</h2> &amp; &lt;b&gt; <!-- c -->tail<footer>imprint</footer>"
    )
    assert read.title == "Breads"
    assert read.text == (
        "# Breads\n\nRye bread is dark.\nYes\n\n- one\n- two\n\na | b\nc | d\n\nx\n  y\n\n"
        "## Unclosed\n\n& <b> tail"
    )


def test_comments_of_code_are_no_headings_and_links_to_headings_say_nothing() -> None:
    read = html("<h1>Set up<a class=headerlink href=#x>\xb6</a></h1><pre># first\nrun</pre><p># second")
    assert read.text == "# Set up\n\n # first\nrun\n\n # second"
    assert read.title == "Set up"


def test_a_page_that_only_leads_to_another_is_no_document() -> None:
    assert "leads to another" in refusal(lambda: html('<meta http-equiv="Refresh" content="0; url=x"><p>On'))


ON = '<meta http-equiv="refresh" content="{}">'


@pytest.mark.parametrize(
    "head",
    [
        ON.format("300"),
        ON.format(" 5 ; "),
        f"<noscript>{ON.format('0; url=/without-scripts')}</noscript>",
    ],
)
def test_a_page_that_is_loaded_again_or_is_another_without_scripts_is_read(head: str) -> None:
    assert html(f"<head>{head}</head><p>On").text == "On"


def test_a_page_that_leads_to_another_after_it_has_said_much_is_read() -> None:
    said = "The ferry leaves Lowmere at nine. " * 20
    assert html(f"<head>{ON.format('0;URL=next')}</head><p>{said}").text == said.strip()


MENU = "<div>" + "<a href=x>Where the harbour is</a> " * 50 + "</div>"


def test_a_page_that_a_form_is_wrapped_around_is_read_without_its_controls() -> None:
    controls = "<input type=hidden value=state><select><option>one</select><textarea>type here</textarea>"
    read = html(
        f"{MENU}<form><h1>Ferry</h1><p>It leaves Lowmere at nine.</p>{controls}<button>Send</button></form>"
    )
    assert read.title == "Ferry"
    assert read.text.endswith("Where the harbour is\n\n# Ferry\n\nIt leaves Lowmere at nine.")


def test_an_article_in_a_form_is_read_however_long_the_menus_around_it_are() -> None:
    menus = f"<div>{'Harbours and boats. ' * 40}</div>"
    said = "It leaves Lowmere at nine."
    assert html(f"{menus}<main><form><p>{said}</p></form></main>").text == said
    assert html(f"<form>{menus}<main><p>{said}</p></main></form>").text == said


def test_a_form_that_is_little_of_a_page_is_not_read() -> None:
    form = "<form>Find <label>a harbour near you, such as Lowmere, by its name <input></label></form>"
    assert html(f"<p>It leaves Lowmere at nine.</p>{form}").text == "It leaves Lowmere at nine."


def test_of_a_page_with_one_main_part_only_that_is_read() -> None:
    assert html("<header>top</header><main><p>said</main><div>beside</div>").text == "said"
    assert html("<article>one</article><article>two</article>").text == "one\n\ntwo"


def test_the_charset_that_a_page_names_is_believed_and_none_is_guessed() -> None:
    assert html(b"<meta charset=iso-8859-1><p>caf\xe9").text == "caf\xe9"
    assert html('<?xml version="1.0" encoding="utf-8"?><html><p>caf\xe9</html>').text == "caf\xe9"
    assert refusal(lambda: html(b"<p>caf\xe9")) == "not UTF-8: save it as UTF-8"


@pytest.mark.parametrize("named", ['<?xml version="1.0" encoding="utf-16"?>', "<meta charset=UTF-16LE>"])
def test_a_page_that_says_in_single_bytes_that_it_is_utf_16_is_utf_8(named: str) -> None:
    for text in ("caf\xe9", "caf\xe9s"):  # Of an even and of an odd number of bytes.
        assert html(f"{named}<p>{text}").text == text


@pytest.mark.parametrize(
    ("label", "text", "codec"),
    [
        ("GB2312", "\u9555", "gbk"),
        ("shift_jis", "\u2460\u9ad9", "cp932"),
        ("x-sjis", "\u2460", "cp932"),
        ("euc-kr", "\ub620", "cp949"),
        ("ks_c_5601-1987", "\ub620", "cp949"),
        ("us-ascii", "\u201ccaf\xe9\u201d", "cp1252"),
        ("iso-8859-9", "\u20ac\u0131", "cp1254"),
        ("big5", "\u55ba", "big5hkscs"),
        ("windows-874", "\u0e01", "cp874"),
        ("iso-8859-8-i", "\u05d0", "iso8859-8"),
    ],
)
def test_the_name_of_a_charset_means_what_browsers_take_it_for(label: str, text: str, codec: str) -> None:
    assert html(f"<meta charset={label}><p>".encode() + text.encode(codec)).text == text


def test_what_is_not_in_the_charset_that_it_names_is_refused() -> None:
    for page in (b"<meta charset=shift_jis><p>\x81\xff", b"<meta charset=martian><p>x"):
        assert refusal(lambda page=page: html(page)) == "not in its declared charset"  # type: ignore[misc]


@pytest.mark.parametrize("text", ["", " \n", "<!-- only this -->"])
def test_a_page_that_says_nothing_is_no_document(text: str) -> None:
    try:
        assert html(text).text == ""
    except NoDocument as error:
        assert str(error) == "without text"
