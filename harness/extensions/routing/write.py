"""Writes routes.md, routes.json and a figure, and prints the same tables to a terminal."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from harness.display import counted
from harness.extensions.routing.data import route_json
from harness.extensions.routing.eligible_systems import RouteStudy
from harness.extensions.routing.figure import draw_routes
from harness.extensions.routing.tables import route_sections
from harness.report.folder import files_together
from harness.report.render.markdown import prose, section_lines
from harness.report.render.terminal import WIDTH, plain, print_table

_PAGE = "routes.md"


def write_routes(study: RouteStudy, out: Path) -> Path:
    """Write routes.md, routes.json and the figure to `out`; returns the path of routes.md. The same runs give the
    same bytes.
    """
    with files_together(out) as folder:
        (folder / "routes.json").write_text(json.dumps(route_json(study), indent=2) + "\n", encoding="utf-8")
        figure = draw_routes(study, folder).name
        lines = [
            f"# {prose(_title(study))}",
            "",
            f"![routes]({figure})",
            "",
        ]
        lines += [line for section in route_sections(study) for line in section_lines(section)]
        (folder / _PAGE).write_text("\n".join(lines), encoding="utf-8")
    return out / _PAGE


def render_routes(study: RouteStudy, console: Console) -> None:
    """Print the verdict, the tables and the notes; never wider than the console or 100 columns."""
    width = min(console.width, WIDTH)
    console.print(plain(_title(study), "bold"), width=width)
    for section in route_sections(study):
        for paragraph in section.content.paragraphs:
            console.print(plain(paragraph), width=width)
            console.print()
        for table in section.content.tables:
            print_table(table, console, width)
        for note in section.content.items:
            console.print(plain(f"! {note}", "yellow"), width=width)


def _title(study: RouteStudy) -> str:
    return f"Routing among {counted(len(study.runs), 'run')} over {study.title}"
