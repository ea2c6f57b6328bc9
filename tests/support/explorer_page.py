"""The smallest page with an explorer, under the policy of report.html: only its own scripts and styles."""

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from pathlib import Path

import jinja2

from harness.report.page.explorer import Explorer
from harness.report.page.page import explorer_script

PAGE = Path(__file__).resolve().parents[2] / "harness" / "report" / "page"
THEME = """
:root { --paper: #fff; --ink: #1a1a1a; --muted: #5c5f66; --line: #dfe1e6; --card: #f7f8fa; --accent: #0b62b0;
  --good: #08734f; --bad: #b3261e; --warn: #a35f00; --c1: #0072B2; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14161a; --ink: #e8e9ec; --muted: #a3a8b2; --line: #343842; --card: #1c1f25; --accent: #6db6f2;
    --good: #4fc796; --bad: #ff8a80; --warn: #f0b05a; --c1: #4aa8e0; } }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; font: 16px/1.5 system-ui, sans-serif;
  background: var(--paper); color: var(--ink); }
"""


def write_page(path: Path, explorers: Sequence[Explorer]) -> Path:
    """Write the page and return its path."""
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(PAGE / "templates"), autoescape=True)
    parts = [templates.get_template("explorer.html").render(explorer=one.context) for one in explorers]
    script = explorer_script()
    style = THEME + (PAGE / "assets" / "explorer.css").read_text(encoding="utf-8")
    policy = f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}"
    blocks = [
        f'<script type="application/octet-stream" id="{block}">{text}</script>'
        for one in explorers
        for block, text in one.blocks
    ]
    head = "".join(
        [
            '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Explorer</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}"><style>{style}</style>',
        ]
    )
    body = "\n".join(["<main><h1>Queries</h1>", *parts, "</main>", *blocks, f"<script>{script}</script>"])
    path.write_text(
        f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>', encoding="utf-8"
    )
    return path


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
