"""Hostile texts in documents, queries, answers or names, and the checks of a page with them."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

FLIP = "\u2029\u2069\u2067\u202eevil"
"""Ends an isolation around it, and reverses the direction of the following text."""
HOSTILE_TEXTS = (
    "<script data-evil>window.ran=1</script>",
    "<img data-evil src=x onerror='window.ran=1'>",
    '"><svg data-evil onload=window.ran=1>',
    "' autofocus onfocus='window.ran=1' data-evil='",
    "</script></title></textarea></style><script data-evil>window.ran=1</script>",
    "<!-- <script> ]]> --!>",
    "line\u2028paragraph\u2029end",
    "javascript:window.ran=1",
    '<a data-evil href="javascript:window.ran=1">x</a>',
    "[a](javascript:window.ran=1) ![b](http://evil.example/b.png)",
    "}</style><style>*{display:none!important;background:url(http://evil.example/c)}",
    "<link data-evil rel=stylesheet href=http://evil.example/d><base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=http://evil.example'>",
    "<iframe data-evil srcdoc='<script>top.ran=1</script>'></iframe>",
    "{{7*7}} ${window.ran=1} `#{1}` {% raw %} %(x)s {0}",
    '=HYPERLINK("http://evil.example","x")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1+1",
    "\\input{/etc/passwd} $x^2$ \\write18{id} % &",
    "| a | b |\n|--|--|\n# Owned\n~~~",
    "nul\x00 bell\x07 escape\x1b[31m\x9b31m",
    "w" * 3_000,
    "\u0301" * 500 + "zalgo",
    "\ufdfd" * 40,
    FLIP,
)
_FLIPPED = (Path(__file__).parent / "flipped_letters.js").read_text(encoding="utf-8")


def check_page(page: "Page", within: str = "body") -> None:
    """Such a text does not run, become an element, widen the page or reverse the text around it."""
    assert page.evaluate("window.ran") is None
    assert page.locator("[data-evil], base, iframe, a[href^=javascript], link[rel=stylesheet]").count() == 0
    assert page.evaluate(
        "[document.documentElement.scrollWidth - innerWidth, getComputedStyle(document.body).display]"
    ) == [
        0,
        "block",
    ]
    assert page.evaluate(_FLIPPED, within) == []
