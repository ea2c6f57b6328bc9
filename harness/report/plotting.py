"""How figures look and are written: as wide as two columns of a page, the same bytes for the same data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import MissingDependency, explained_io

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    NewFigure = Callable[..., Figure]

# Okabe & Ito (2008), told apart with every kind of colour blindness; yellow last, it is weak on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
GREY = "#555555"
LIGHT = "#DDDDDD"
WIDTH_IN = 7.1
_PNG_DPI = 200
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
        raise MissingDependency(
            "figures need matplotlib", "install it: pip install 'rag-harness[report]'"
        ) from error
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; that is no reason to fail or to chatter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield Figure


def save(figure: Figure, folder: Path, stem: str) -> list[Path]:
    """Write `stem`.svg and `stem`.png into `folder`."""
    paths = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    with explained_io("write figures in", folder):
        folder.mkdir(parents=True, exist_ok=True)
        # No date and no version in the file: the same runs give the same bytes.
        figure.savefig(paths[0], metadata={"Date": None, "Creator": None})
        figure.savefig(paths[1], dpi=_PNG_DPI, metadata={"Software": None})
    return paths
