"""Style and output of figures: two columns wide, and the same bytes for the same data."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
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
"""matplotlib's Figure, provided by `plotting`."""

# Okabe & Ito (2008), distinguishable with colour blindness; yellow is last, because it is weak on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
GREY = "#555555"
LIGHT = "#DDDDDD"
WIDTH_IN = 7.1
HALF_IN = 4.6
"""Width of figures placed side by side on the page, readable on a phone."""
_THEME = {
    **{colour.lower(): f"var(--c{number})" for number, colour in enumerate(PALETTE, start=1)},
    GREY.lower(): "var(--muted)",
    LIGHT.lower(): "var(--line)",
    "#ffffff": "var(--card)",
    "#000000": "var(--ink)",
}
"""Colours of the SVG -> colours of the page, which has a light and a dark mode; black is the text colour."""
_FONTS = "'DejaVu Sans', Verdana, sans-serif"
"""Verdana has nearly the widths of DejaVu Sans, with which the layout is computed."""
_NOT_FOR_A_PAGE = re.compile(rf"<metadata>.*?</metadata>|<style.*?</style>|; font-family: {_FONTS}", re.DOTALL)
_TOLD = "told-"
_LONGEST_TIP = 300
_PNG_DPI = 200
_UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata to leave out, by format."""
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
    # Show dollar signs in names literally.
    "text.parse_math": False,
    # Layout is done once, in `settle`.
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "svg.hashsalt": "rag-harness",
    "svg.fonttype": "none",
}


@contextmanager
def plotting() -> Iterator[NewFigure]:
    """Provide matplotlib's Figure in our style; needs no display and keeps the caller's settings."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependency("figures need matplotlib", install("report")) from error
    with mpl.rc_context(), warnings.catch_warnings():
        # Ignore a file `matplotlibrc` in the current folder.
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        # Characters missing in the font are drawn as boxes; no warning is needed.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield Figure


def settle(figure: Figure) -> None:
    """Compute the layout once with SVG text sizes, then fix it: matplotlib would repeat it for every file."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    if engine := figure.get_layout_engine():
        canvas = figure.canvas
        figure.set_canvas(FigureCanvasSVG(figure))
        engine.execute(figure)
        figure.set_canvas(canvas)
    figure.set_layout_engine(None)


def tell(artist: Artist, text: str) -> None:
    """Set the tooltip of an element, on the page and in the SVG file."""
    artist.set_gid(_TOLD + text.encode(errors="replace").hex())


def save(figure: Figure, folder: Path, stem: str, formats: Sequence[str] = ()) -> Path:
    """Write `stem`.svg into `folder`, and the figure in other `formats`; return the path of the SVG file."""
    path = folder / f"{stem}.svg"
    with explained_io("write figures in", folder):
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(_svg(figure), encoding="utf-8", newline="\n")
        for kind in formats:
            figure.savefig(folder / f"{stem}.{kind}", dpi=_PNG_DPI, metadata=_UNDATED[kind])
    return path


def publish(drawing: Drawing, out: Path, formats: Sequence[str] = ()) -> Picture:
    """Write the drawing into `out`/figures, see `save`, and prepare it for the page."""
    path = save(drawing.figure, out / "figures", drawing.stem, formats)
    return Picture(
        stem=drawing.stem,
        title=drawing.title,
        caption=drawing.caption,
        alt=drawing.alt,
        path=path.relative_to(out),
        svg=_for_page(path.read_text(encoding="utf-8"), drawing.stem),
        width_pt=_POINTS_AN_INCH * drawing.figure.get_figwidth(),
        smallest_letters_pt=_smallest_letters(drawing.figure),
    )


def _svg(figure: Figure) -> str:
    """The figure with its texts as text. It has no date or version, so that the same runs give the same bytes."""
    settle(figure)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata=_UNDATED["svg"])
    return _with_titles(text.getvalue()).replace("'DejaVu Sans'", _FONTS)


def _for_page(svg: str, stem: str) -> str:
    """Fonts and colours of the page; ids that no other figure has."""
    # A <style> element would apply to the whole page, whose fonts are used instead.
    svg = _NOT_FOR_A_PAGE.sub("", svg[svg.index("<svg") :])
    # matplotlib repeats ids such as figure_1 in every figure; keep only ids that are referenced, with a prefix.
    used = set(re.findall(r"(?:url\(#|xlink:href=\"#)([^)\"]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda found: f' id="{stem}-{found[1]}"' if found[1] in used else "", svg)
    svg = re.sub(r"(url\(#|xlink:href=\"#)", rf"\g<1>{stem}-", svg)
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _THEME.get(found[0], found[0]), svg)


def _with_titles(svg: str) -> str:
    """Turn the ids set by `tell` into SVG titles, which browsers show as tooltips."""

    def titled(found: re.Match[str]) -> str:
        tip = printable(bytes.fromhex(found[1]).decode(), _LONGEST_TIP)
        return f"<g><title>{html.escape(tip)}</title>"

    return re.sub(rf'<g id="{_TOLD}([0-9a-f]*)">', titled, svg)


def _smallest_letters(figure: Figure) -> float:
    from matplotlib.text import Text

    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    return float(min(sizes, default=_STYLE["font.size"]))
