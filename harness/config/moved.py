"""Keys of earlier versions: where what they said is said now."""

from collections.abc import Iterable

from harness.errors import nearest

_MOVED = {
    "answer.style": "set answer_style, which holds for every system; a data set has its own by default",
}


def where_now(key: str, known: Iterable[str]) -> str:
    """What to write instead of an unknown dotted key: its new place, else the nearest of its known neighbours."""
    return _MOVED.get(key) or nearest(key.rpartition(".")[2], known)
