"""The files of a report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from harness.config.load import set_value
from harness.display import Picture, file_name, printable
from harness.display.plotting import plotting, publish
from harness.report.chapter import Chapter
from harness.report.folder import report_folder
from harness.report.formats import summary_csv, summary_markdown, table_csv, table_latex, table_markdown
from harness.report.page import page_html
from harness.report.page.explorer import build_explorer
from harness.report.sections import Reported, distinct
from harness.report.tables.runs import changed_settings

PAGE = "report.html"
_RENDERERS = {"csv": table_csv, "md": table_markdown, "tex": table_latex}

_HEAD = """\
# Recommended by the report beside this file: {system}
# {headline}
#
#   rag-harness run -c winner.yaml                        the same run again; add -d or --docs for other data
#   harness.api.load_system("winner.yaml")                in Python: answers questions, see docs/from-python.md
#
# Relative paths are those of the folder in which the run was made: type the commands there.
# It names the models, servers, code and files of {run_id}. If that run is not yours, read this file first.

"""


def write_report(chapters: Sequence[Chapter], out: Path, formats: Sequence[str] = (), key: str = "") -> Path:
    """Write report.html, verdict.json, summary.md, summary.csv, figures/, tables/ and the config of a recommended
    run as winner.yaml into `out`; return the path of the page. Figures are SVG files, and files in other `formats`
    (`png`, `pdf`) if asked for.

    The same runs give the same bytes on any day. `out`: see `report_folder`; `key`: see `is_current`.
    """
    with report_folder(out, key) as folder:
        # What tells the files of each chapter from those of others, whose digests may begin alike.
        taken = set[str]()
        keys = [distinct(file_name(one.group.key), taken) for one in chapters]
        ends = [f"--{key}" if len(chapters) > 1 else "" for key in keys]
        whole = [
            chapter.illustrated(_draw_pictures(chapter, folder, end, formats))
            for chapter, end in zip(chapters, ends, strict=True)
        ]
        verdicts = [chapter.findings.verdict.to_json() for chapter in whole]
        (folder / "verdict.json").write_text(json.dumps(verdicts, indent=1, allow_nan=False), encoding="utf-8")
        (folder / "summary.csv").write_text(summary_csv([chapter.group for chapter in whole]), encoding="utf-8")
        (folder / "tables").mkdir()
        for chapter, end in zip(whole, ends, strict=True):
            if (winner := _winner_config(chapter)) is not None:
                (folder / f"winner{end}.yaml").write_text(winner, encoding="utf-8")
            for table in chapter.tables():
                for ending, render in _RENDERERS.items():
                    path = folder / "tables" / f"{table.name}{end}.{ending}"
                    path.write_text(render(table), encoding="utf-8")
        (folder / PAGE).write_text(_page(whole), encoding="utf-8", newline="\n")
        (folder / "summary.md").write_text(summary_markdown(whole), encoding="utf-8")
    return out / PAGE


def _winner_config(chapter: Chapter) -> str | None:
    """The text of winner.yaml: what differs from the defaults. None if no run is recommended, or if its answers
    were imported or its config is not valid here.
    """
    view = chapter.recommended
    settings = None if view is None or view.manifest.is_imported else changed_settings(view.manifest)
    if view is None or settings is None:
        return None
    tree: dict[str, Any] = {}
    for key, value in settings.items():
        # Its name may be that of all runs of its command, which one run alone cannot take.
        if key != "name":
            set_value(tree, key, value)
    run_id, headline = printable(view.run.run_id, 200), printable(chapter.findings.verdict.headline, 300)
    head = _HEAD.format(system=printable(view.label), headline=headline, run_id=run_id)
    return head + yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)


def _page(chapters: Sequence[Chapter]) -> str:
    """Explorers get the room that everything else leaves, in equal parts."""
    # Maximum size of the page: contexts, traces and explanations beyond it are left out.
    room = 14_800_000 - len(page_html(chapters, {}).encode())
    explorers = {
        number: build_explorer(chapter.group, f"g{number}", max(0, room) // len(chapters))
        for number, chapter in enumerate(chapters)
    }
    return page_html(chapters, explorers)


def _draw_pictures(
    chapter: Chapter, out: Path, end: str = "", formats: Sequence[str] = ()
) -> Mapping[str, list[Picture]]:
    """Section key -> its pictures, their files in `out`/figures; `end` closes every file name."""
    pictures: dict[str, list[Picture]] = {}
    reported, taken = Reported(chapter.group, chapter.findings), set[str]()
    with plotting() as new_figure:
        # One after the other, so that only its own figures are held in memory.
        for spec in chapter.specs:
            for drawing in spec.draw(reported, new_figure):
                stem = distinct(file_name(drawing.stem), taken)
                named = replace(drawing, stem=f"{stem}{end}")
                pictures.setdefault(spec.name, []).append(publish(named, out, formats))
    return pictures
