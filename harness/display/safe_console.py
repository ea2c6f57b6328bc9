"""Consoles on which nothing that others wrote is obeyed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from harness.core.sanitize import visible


class SafeConsole(Console):
    """Shows control characters of texts as their escapes, in lines, tables and bars alike; its own styles and the
    moves of its bars stay what they are. Nothing in a text is read as markup.
    """

    def __init__(self, **wishes: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **wishes)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """See `rich.console.Console.render`, through which everything passes."""
        for segment in super().render(renderable, options):
            shown = segment.text if segment.control else visible(segment.text)
            yield segment if shown == segment.text else Segment(shown, segment.style)
