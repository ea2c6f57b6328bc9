"""Writes findings: a page of Markdown, its figures, a CSV file per table, and everything as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import explained_io
from harness.display.text_format import file_name
from harness.report.folder import report_folder
from harness.report.render.csv import table_csv
from harness.report.render.markdown import prose, section_lines

if TYPE_CHECKING:
    from harness.display import Drawing, Picture, Section

    DrawnSection = tuple[Section, Sequence[Drawing]]
    """A section with its figures."""


def write_folder(
    out: Path, stem: str, title: str, sections: Sequence[DrawnSection], data: Mapping[str, Any]
) -> Path:
    """Write `stem`.md, `stem`.json, tables/ and figures/ into `out`, replacing earlier ones; returns the path of
    the page. Call it inside `plotting()` if there are drawings. The same findings give the same bytes.
    """
    with report_folder(out) as partial, explained_io("write in", out):
        lines = [f"# {prose(title)}", ""]
        for section, drawings in sections:
            lines += section_lines(replace(section, pictures=_published(drawings, partial)))
            for table in section.content.tables:
                path = partial / "tables" / f"{file_name(table.name)}.csv"
                path.parent.mkdir(exist_ok=True)
                path.write_text(table_csv(table), encoding="utf-8")
        (partial / f"{stem}.md").write_text("\n".join(lines), encoding="utf-8")
        text = json.dumps(data, indent=1, allow_nan=False)
        (partial / f"{stem}.json").write_text(text + "\n", encoding="utf-8")
    return out / f"{stem}.md"


def _published(drawings: Sequence[Drawing], out: Path) -> tuple[Picture, ...]:
    if not drawings:
        return ()
    from harness.display.plotting import publish

    return tuple(publish(drawing, out) for drawing in drawings)
