"""How figures look and are written: as wide as two columns of a page, the same bytes for the same data."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import MissingDependency, explained_io, install
from harness.display.text_format import printable
from harness.display.types import Drawing, Picture

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

NewFigure = Callable[..., "Figure"]
"""matplotlib's Figure, within `plotting`."""

# Okabe & Ito (2008), told apart with every kind of colour blindness; yellow last, it is weak on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
GREY = "#555555"
LIGHT = "#DDDDDD"
WIDTH_IN = 7.1
HALF_IN = 4.6
"""Of a figure that stands beside another on the page: its letters stay readable on a phone."""
_THEME = {
    **{colour.lower(): f"var(--c{number})" for number, colour in enumerate(PALETTE, start=1)},
    GREY.lower(): "var(--muted)",
    LIGHT.lower(): "var(--line)",
    "#ffffff": "var(--card)",
    "#000000": "var(--ink)",
}
"""Colours of a file -> those of the page, which is light or dark; the palette's black is the page's ink."""
_NOT_FOR_A_PAGE = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>|; font-family: 'DejaVu Sans'", re.DOTALL)
_TOLD = "told-"
_LONGEST_TIP = 300
_PNG_DPI = 200
_PACKING = {"compress_level": 3}
"""Of a PNG: half the time of the default for an eighth more bytes."""
_POINTS_AN_INCH = 72
_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": "black",
    "ytick.labelcolor": "black",
    "legend.frameon": False,
    # A dollar sign in a name is a dollar sign.
    "text.parse_math": False,
    # A figure says its layout itself: see `settle`.
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "svg.hashsalt": "rag-harness",
    "svg.fonttype": "path",
}


@contextmanager
def plotting() -> Iterator[NewFigure]:
    """matplotlib's Figure in our style; needs no display and leaves the caller's settings alone."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependency("figures need matplotlib", install("report")) from error
    with mpl.rc_context(), warnings.catch_warnings():
        # A file `matplotlibrc` in the current folder changes nothing.
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        # A name in a script that the font lacks is drawn as boxes; that is no reason to fail or to chatter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield Figure


def settle(figure: Figure) -> None:
    """Give everything in it its place, as the letters of an SVG file are measured, and keep it there: matplotlib
    draws a figure that has a layout engine, be it the one called "none", once more for every file.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    if engine := figure.get_layout_engine():
        canvas = figure.canvas
        figure.set_canvas(FigureCanvasSVG(figure))
        engine.execute(figure)
        figure.set_canvas(canvas)
    figure.set_layout_engine(None)


def tell(artist: Artist, text: str) -> None:
    """Say this where somebody points at it, in the page and in the SVG file."""
    artist.set_gid(_TOLD + text.encode(errors="replace").hex())


def save(figure: Figure, folder: Path, stem: str) -> list[Path]:
    """Write `stem`.svg and `stem`.png into `folder`."""
    paths = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    with explained_io("write figures in", folder):
        folder.mkdir(parents=True, exist_ok=True)
        settle(figure)
        # No date and no version in the file: the same runs give the same bytes.
        svg = io.StringIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        paths[0].write_text(_with_titles(svg.getvalue()), encoding="utf-8", newline="\n")
        figure.savefig(paths[1], dpi=_PNG_DPI, metadata={"Software": None}, pil_kwargs=_PACKING)
    return paths


def publish(drawing: Drawing, out: Path, folder: str = "figures") -> Picture:
    """Write the drawing into `out`/`folder` as SVG and PNG, and make it ready for the page."""
    paths = save(drawing.figure, out / folder, drawing.stem)
    relative = tuple(path.relative_to(out) for path in paths)
    return Picture(
        stem=drawing.stem,
        title=drawing.title,
        caption=drawing.caption,
        alt=drawing.alt,
        paths=relative,
        svg=page_svg(drawing.figure, drawing.stem),
        width_pt=_POINTS_AN_INCH * drawing.figure.get_figwidth(),
        smallest_letters_pt=_smallest_letters(drawing.figure),
    )


def page_svg(figure: Figure, stem: str) -> str:
    """The figure as an <svg> element to stand in a page: see `Picture.svg`. Call it inside `plotting()`."""
    import matplotlib as mpl

    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    # A <style> in the page would be a style of the page; its fonts are the page's, too.
    svg = _with_titles(_NOT_FOR_A_PAGE.sub("", svg))
    # Groups are named figure_1, axes_1 and so on in every figure; only what is referred to needs its name.
    used = set(re.findall(r"(?:url\(#|xlink:href=\"#)([^)\"]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda found: _named(found[1], stem) if found[1] in used else "", svg)
    svg = re.sub(r"(url\(#|xlink:href=\"#)", rf"\g<1>{stem}-", svg)
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _THEME.get(found[0], found[0]), svg)


def _with_titles(svg: str) -> str:
    """With an SVG title, which browsers show as a tip, in the group of everything that was told something."""
    return re.sub(rf'<g id="{_TOLD}([0-9a-f]*)">', lambda found: f"<g><title>{_told(found[1])}</title>", svg)


def _told(digits: str) -> str:
    return html.escape(printable(bytes.fromhex(digits).decode(), _LONGEST_TIP))


def _smallest_letters(figure: Figure) -> float:
    from matplotlib.text import Text

    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    return float(min(sizes, default=_STYLE["font.size"]))


def _named(name: str, stem: str) -> str:
    return f' id="{stem}-{name}"'
