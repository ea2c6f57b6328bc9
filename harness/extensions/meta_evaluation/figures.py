"""What the figures of several commands share, and the folder of findings that holds them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.display import Drawing, Section
from harness.display.plotting import GREY, publish
from harness.display.text_format import file_name
from harness.report.folder import report_folder
from harness.report.formats import prose, section_lines, table_csv

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

DrawnSection = tuple[Section, Sequence[Drawing]]


def value_map(
    figure: Figure, values: Sequence[Sequence[float]], ends: tuple[float, float], dark_from: float, letters: int
) -> tuple[Axes, dict[tuple[int, int], Text]]:
    """Coloured cells with their values; white letters where one is further than `dark_from` from the middle."""
    axes = figure.subplots()
    image = axes.imshow(values, cmap="RdBu", vmin=ends[0], vmax=ends[1], aspect="auto")
    written = {}
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            shade = "white" if abs(value - sum(ends) / 2) > dark_from else "black"
            text = "" if math.isnan(value) else f"{value:.2f}"
            written[y, x] = axes.text(x, y, text, ha="center", va="center", fontsize=letters, color=shade)
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, shrink=0.8).outline.set_edgecolor(GREY)
    return axes, written


def write_folder(
    out: Path, stem: str, title: str, sections: Sequence[DrawnSection], data: Mapping[str, Any]
) -> Path:
    """Write `stem`.md, `stem`.json, tables/ and figures/ into `out`, replacing earlier ones; returns the path of
    the page. Call it inside `plotting()` if there are drawings. The same findings give the same bytes.
    """
    with report_folder(out) as partial:
        lines = [f"# {prose(title)}", ""]
        for section, drawings in sections:
            pictures = tuple(publish(drawing, partial) for drawing in drawings)
            lines += section_lines(replace(section, pictures=pictures))
            for table in section.content.tables:
                path = partial / "tables" / f"{file_name(table.name)}.csv"
                path.parent.mkdir(exist_ok=True)
                path.write_text(table_csv(table), encoding="utf-8")
        (partial / f"{stem}.md").write_text("\n".join(lines), encoding="utf-8")
        text = json.dumps(data, indent=1, allow_nan=False)
        (partial / f"{stem}.json").write_text(text + "\n", encoding="utf-8")
    return out / f"{stem}.md"
