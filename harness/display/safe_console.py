"""A console that escapes control characters in its output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from harness.core.sanitize import visible


def fits_in_words(line: str, width: int) -> bool:
    """Whether a text is one line that can be wrapped at its words without splitting what is copied."""
    return "\n" not in line and "rag-harness " not in line and all(len(word) <= width for word in line.split())


class SafeConsole(Console):
    """Shows control characters in texts as escapes, in lines, tables and progress bars; its own styles and cursor
    movements still work. Texts are not interpreted as markup.
    """

    def __init__(self, **wishes: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **wishes)

    def print(self, *objects: Any, soft_wrap: bool | None = None, **wishes: Any) -> None:
        """Print as `rich.console.Console.print`. With `soft_wrap`, a line stays one line in a file or pipe, and is
        wrapped at words on a terminal, unless it has a command or a long path, which must be copied whole.
        """
        if soft_wrap and self.is_terminal and len(objects) == 1:
            soft_wrap = not fits_in_words(str(objects[0]), self.width)
        super().print(*objects, soft_wrap=soft_wrap, **wishes)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as `rich.console.Console.render`, which all output passes."""
        for segment in super().render(renderable, options):
            shown = segment.text if segment.control else visible(segment.text)
            yield segment if shown == segment.text else Segment(shown, segment.style)
