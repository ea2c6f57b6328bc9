"""Web pages: what is read, what is left out, and their charsets."""

import io
import time

import pytest

from harness.core.records import Document
from harness.datasets.folder.html import read_html
from harness.datasets.folder.text_cleanup import NoDocument, ReadText
from systems.common.chunking import ChunkParams, iter_chunks


def idle() -> None:
    pass


def html(text: str | bytes) -> ReadText:
    return read_html(io.BytesIO(text if isinstance(text, bytes) else text.encode()), idle)


def test_a_page_is_its_text_without_menus_and_scripts() -> None:
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


@pytest.mark.parametrize(
    "begin", ["<!doctype html><title>T</title><main>", "<title>T</title><meta name=a><section>"]
)
def test_a_minified_page_without_a_body_tag_is_read(begin: str) -> None:
    read = html(f"{begin}<h1>Gate</h1>open<p>at noon")
    assert (read.title, read.text) == ("Gate", "# Gate\n\nopen\n\nat noon")


ON = '<meta http-equiv="refresh" content="{}">'
MUCH = "The ferry leaves Lowmere at nine. " * 20


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<header>top</header><main><p>said</main><div>beside</div>", "said"),
        ("<article>one</article><article>two</article>", "one\n\ntwo"),
        ("<p>It leaves at nine.<form>Find <label>a harbour near <input></label></form>", "It leaves at nine."),
        (
            "<h1>Set up<a class=headerlink href=#x>\xb6</a></h1><pre># first\nrun</pre><p># second",
            "# Set up\n\n # first\nrun\n\n # second",
        ),
        (f"{ON.format(' 5 ; ')}<p>On", "On"),
        (f"<noscript>{ON.format('0; url=/without-scripts')}</noscript><p>On", "On"),
        (f"{ON.format('0;URL=next')}<p>{MUCH}", MUCH.strip()),
        ("<main><aside class=admonition><p>Never above 40 bar.</aside><p>On</main>", "Never above 40 bar.\n\nOn"),
        ("<main><p>On<aside><h3>Size</h3><p>It holds 43.</aside></main>", "On\n\n### Size\n\nIt holds 43."),
        ("<aside role=doc-footnote>Except in winter.</aside><p>On", "Except in winter.\n\nOn"),
        ("<main><p>On<aside><a href=x>Ten boats</a> <a href=y>Cat on mast</a></aside></main>", "On"),
        ("<h2><button aria-expanded=false>When?</button></h2><p>At nine.", "## When?\n\nAt nine."),
        ("<button><h3>How much?</h3></button><div hidden>12 crowns.</div>", "### How much?\n\n12 crowns."),
        (
            "<dl><dt><button aria-expanded=false>Dogs?</button><dd style='display: none'>Free.</dl>",
            "Dogs?\n\nFree.",
        ),
        ("<p>10<sup>2</sup> or 10<sup>-6</sup>, the 1<sup>st</sup>", "10\u00b2 or 10\u207b\u2076, the 1st"),
        ("<p>In 1931<sup><a href=#n1>1</a></sup> it burnt.", "In 1931 it burnt."),
        (
            "<p><math><mfrac><mn>1</mn><mn>2</mn></mfrac><msup><mi>x</mi><mn>2</mn></msup><msqrt><mn>3</mn></msqrt>",
            "1/2x\u00b2\u221a3",
        ),
        ("<li>Press <button>A</button><button>B</button> at once", "- Press A B at once"),
        ("<div class=consent><p>Sign within 30 days.<input></div>", "Sign within 30 days."),
        ("<p>x<sup>1/2</sup>, <a href=y>10<sup>2</sup> rules</a>", "x^1/2, 10\u00b2 rules"),
        ("<mjx-math aria-hidden=true>x</mjx-math><math><msup><mi>x</mi><mn>2</mn></msup></math>", "x\u00b2"),
        ("<p>Ca<sup>2+</sup>", "Ca\u00b2\u207a"),
        ("<p><span class=a-offscreen>$40</span><span aria-hidden=true>$40</span>", "$40"),
        ("<p><i class=icon aria-hidden=true>alert</i><span class=sr-only>Hot</span>", "Hot"),
        ("<header><button aria-expanded=false>Menu</button></header><p>On <button>Send</button>", "On"),
        ("<blockquote>On.<footer>Ada</footer></blockquote><footer>imprint</footer>", "On.\nAda"),
        (
            "<div role=tabpanel hidden>Windows</div><a href='#x'>x</a><div id=x hidden>Linux</div>",
            "Windows\n\nx\n\nLinux",
        ),
        (
            "<p>On<b hidden>a</b><b style='color:red;display : none'>b</b><i style='visibility:hidden'>c</i>",
            "On",
        ),
        (
            "<p>On</p><div hidden=until-found>found</div><dialog>closed</dialog><template>x</template>",
            "On\n\nfound",
        ),
        ("<body style='display:none'><h1>On</h1>", "# On"),
        (
            "<p>On <span aria-hidden=true>\u2605</span><i aria-hidden=true>close</i><b aria-hidden=true>1.1</b>",
            "On 1.1",
        ),
        ("<div id=cookie-banner>We use cookies<button>OK</button></div><p>On", "On"),
        ("<section id=cookies><h2>Cookies</h2><p>We use few.</section>", "## Cookies\n\nWe use few."),
        (
            "<p>So <math style='display:none'><mi>E</mi><annotation encoding=x-tex>E=mc^2</annotation></math>.",
            "So E=mc^2.",
        ),
        ("<h1>Two<br>lines</h1>", "# Two lines"),
        ("<pre><b># x</b>\n  <i>y</i>\n\nz\n</pre><p>On", " # x\n  y\n\nz\n\nOn"),
    ],
)
def test_visible_text_of_a_page_is_read_and_nothing_else(page: str, text: str) -> None:
    assert html(page).text == text


def test_parts_of_a_page_that_are_left_out_are_counted() -> None:
    menus = html("<nav>a</nav><nav></nav><p>On and on<span hidden>no</span><footer>b</footer><form>c</form>")
    assert sorted(menus.left_out.values()) == [1, 3]
    assert list(html("<div>beside</div><main>On</main>").left_out.values()) == [1]
    assert not html("<main>On</main>").left_out


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("<tr><td><p>a</p><td><p>b</p><p>c</p>", "a | b c"),
        ("<caption>Boats</caption><tr><th>x<th>y<tr><td rowspan=2>a<td>1<tr><td>2", "Boats\nx | y\na | 1\na | 2"),
        ("<tr><td colspan=2>a<td rowspan=9>b<tr><td>1<td>2", "a | b\n1 | 2 | b"),
        ("<tr><td><ul><li>a<li>b</ul><td>c<br>d", "a; b | c d"),
        ("<tr><td><h2>a</h2><p>b<td>c", "## a\n\nb\n\nc"),
        (f"<tr><td>{'long ' * 300}<td>c", f"{('long ' * 300).strip()}\nc"),
    ],
    ids=["paragraphs", "rows", "both", "lists", "layout", "long"],
)
def test_a_row_of_a_table_is_a_line_unless_the_table_is_the_layout(table: str, text: str) -> None:
    assert html(f"<table>{table}</table>").text == text


def test_each_chunk_of_a_long_table_has_its_header_and_spanning_cells_are_repeated_within_bounds() -> None:
    rows = "".join(f"<tr><td>Selma {n}<td>{'crew ' * 8}" for n in range(200))
    text = html(f"<table><tr><th>boat<th>crew</tr>{rows}</table>").text
    chunks = list(iter_chunks([Document(doc_id="a", text=text)], ChunkParams()))
    assert len(chunks) > 5
    assert all(chunk.text.startswith("boat | crew\nSelma") for chunk in chunks)
    assert all(line.endswith("crew") for chunk in chunks for line in chunk.text.strip().split("\n"))
    cells = "<td rowspan=60000>" + "x" * 190
    read = html(f"<table><tr>{cells * 300}{'<tr><td>y' * 30_000}</table>").text
    assert len(read) < 3_000_000


def test_a_page_within_a_form_is_read_without_its_controls() -> None:
    links = "<div>" + "<a href=x>Where the harbour is</a> " * 50 + "</div>"
    controls = "<input type=hidden value=state><select><option>one</select><textarea>type here</textarea>"
    page = f"<h1>Ferry</h1><p>It leaves Lowmere at nine.</p>{controls}<button>Send</button>"
    read = html(f"{links}<form>{page}</form>")
    assert read.title == "Ferry"
    assert read.text.endswith("Where the harbour is\n\n# Ferry\n\nIt leaves Lowmere at nine.")
    menus = f"<div>{'Harbours and boats. ' * 40}</div>"
    said = "It leaves Lowmere at nine."
    assert html(f"{menus}<main><form><p>{said}</p></form></main>").text == said
    assert html(f"<form>{menus}<main><p>{said}</p></main></form>").text == said


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b'<meta http-equiv="Refresh" content="0; url=x"><p>On', "a page that only leads to another"),
        (b"<p>caf\xe9", "not UTF-8: save it as UTF-8"),
        (b"<meta charset=shift_jis><p>\x81\xff", "not in its declared charset"),
        (b"<meta charset=martian><p>x", "not in its declared charset"),
        (b" \n", "without text"),
    ],
)
def test_a_page_that_is_empty_or_cannot_be_decoded_is_no_document(page: bytes, reason: str) -> None:
    with pytest.raises(NoDocument) as refused:
        html(page)
    assert str(refused.value) == reason


def test_a_page_of_many_parts_is_read_in_linear_time() -> None:
    parts = "<p>beside</p>" * 30_000
    began = time.process_time()
    read = html(f"{parts}<div>{parts}<section>{parts}<main><h1>Gate</h1>{MUCH}</main></section></div>")
    assert time.process_time() - began < 3
    assert read.title == "Gate"
    assert sum(read.left_out.values()) == 1


@pytest.mark.parametrize("named", ['<?xml version="1.0" encoding="utf-16"?>', "<meta charset=UTF-16LE>"])
def test_a_page_that_says_in_single_bytes_that_it_is_utf_16_is_utf_8(named: str) -> None:
    for text in ("caf\xe9", "caf\xe9s"):  # Of an even and of an odd number of bytes.
        assert html(f"{named}<p>{text}").text == text


@pytest.mark.parametrize(
    ("label", "text", "codec"),
    [
        ("iso-8859-1", "caf\xe9", "latin-1"),
        ("GB2312", "\u9555", "gbk"),
        ("x-sjis", "\u2460", "cp932"),
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
