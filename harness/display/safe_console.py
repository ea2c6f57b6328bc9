"""A console that escapes control characters in its output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from harness.core.sanitize import visible


class SafeConsole(Console):
    """Shows control characters in texts as escapes, in lines, tables and progress bars; its own styles and cursor
    movements still work. Texts are not interpreted as markup.
    """

    def __init__(self, **wishes: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **wishes)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as `rich.console.Console.render`, which all output passes."""
        for segment in super().render(renderable, options):
            shown = segment.text if segment.control else visible(segment.text)
            yield segment if shown == segment.text else Segment(shown, segment.style)
