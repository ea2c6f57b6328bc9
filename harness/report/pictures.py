"""Every figure of a chapter: drawn, written as SVG and PNG, and made ready for the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from harness.display import Picture, file_name
from harness.display.plotting import plotting, publish
from harness.report.chapter import Chapter
from harness.report.sections import Reported


def draw_pictures(chapter: Chapter, out: Path, end: str = "") -> Mapping[str, list[Picture]]:
    """Section key -> its pictures, their files in `out`/figures; `end` closes every file name."""
    pictures: dict[str, list[Picture]] = {}
    reported, taken = Reported(chapter.group, chapter.findings), set[str]()
    with plotting() as new_figure:
        # One after the other, so that only its own figures are held in memory.
        for spec in chapter.specs:
            for drawing in spec.draw(reported, new_figure):
                stem = _distinct(file_name(drawing.stem), taken)
                named = replace(drawing, stem=f"{stem}{end}")
                pictures.setdefault(spec.name, []).append(publish(named, out))
    return pictures


def _distinct(stem: str, taken: set[str]) -> str:
    """Two plug-ins may have thought of one name."""
    name, number = stem, 2
    while name.lower() in taken:
        name, number = f"{stem}-{number}", number + 1
    taken.add(name.lower())
    return name
