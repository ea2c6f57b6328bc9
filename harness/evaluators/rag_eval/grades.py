"""Parses grades from a judge's reply: an unambiguous whole number from 1 to 5, or none.

A reply with a brace is read as JSON, any other as prose, in this order:

1. The scale itself is ignored: "on a scale of 1 to 5", "(1-5)", "5-point scale".
2. Two grades joined by "-", "to", "or" or "and" are a range, and rejected.
3. Grades out of five ("4/5", "4 out of 5") and labelled ones ("Score: 4") count if all of them agree.
4. Without any of those, the grade must be the only number in the reply.

Rejected: 0, 6, -3, 4.5, 80%, 7/10, true, a number in words. 4.0 is 4.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence

from harness.llm_utils.structured_output import parse_object

LOWEST, HIGHEST = 1, 5

_LONGEST = 1_000
"""Characters of a reply that is read at all: more than max_tokens leaves room for."""
_SHOWN = 60
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))  # noqa: RUF001 - the characters to straighten
_MARKUP = re.compile(r"[*`_#]+")
_SCALE = re.compile(
    r"(?<![\w.,/-])1\s*(?:-|to|through|and|\.{2,3})\s*5(?![\w/]|[.,]\d)"
    r"|\b5[\s-]points?\b|\bscale\s+of\s+5\b(?!\s*[/-])|\(\s*(?:/|out\s+of)\s*5\s*\)",
    re.IGNORECASE,
)
_WORD = r"[-+]?[\w.,%]++"
_OUT_OF = r"\s*\(?\s*(?:/|out\s+of\b)\s*"
_SHARE = re.compile(rf"(?<![-+\w.,%/])({_WORD}){_OUT_OF}({_WORD})(?!\s*/)", re.IGNORECASE)
_RANGE = re.compile(r"(?<![\w.,])[0-5](?:\.\d+)?\s*(?:-|to\b|or\b|and\b)\s*[0-5](?![\w%]|[.,]\d)", re.IGNORECASE)
_LABELLED = re.compile(
    rf"\b(?:score|grade|rating)(?:\s+(?:is|of))?[^\w+.-]{{0,10}}({_WORD})(?!{_OUT_OF})", re.IGNORECASE
)
_GRADE = re.compile(rf"([{LOWEST}-{HIGHEST}])(?:\.0+)?")
_KEYS = frozenset({"score", "grade", "rating"})


def grade_in(reply: str, name: str = "") -> int:
    """The one grade that a reply states; raises ValueError, quoting the reply, if it states none or several.

    In JSON it may be under the key `name`.
    """
    if len(reply) <= _LONGEST:
        found = _in_json(reply, name) if "{" in reply else _in_prose(reply)
        if len(found) == 1 and (grade := _GRADE.fullmatch(found.pop())):
            return int(grade[1])
    raise ValueError(f"no grade from {LOWEST} to {HIGHEST} in {reply[:_SHOWN]!r}")


def part_of(reply: str, name: str, names: Sequence[str]) -> str:
    """The part of a reply about one of several `names` (`query_relevance`, ...); empty if there is none.

    In JSON by its keys; in prose the text after the name, up to the next name or line.
    """
    if len(reply) > _LONGEST:
        return ""
    if "{" not in reply:
        one, *others = (re.escape(each).replace("_", r"[\s_-]") for each in (name, *names))
        parts = re.findall(rf"\b{one}\b(?:(?!\b(?:{'|'.join(others)})\b)[^\n])*", reply, re.IGNORECASE)
        return parts[0][len(name) :] if len(parts) == 1 else ""
    try:
        found = parse_object(reply)
    except ValueError:
        return ""
    stated = _values(found, {name})
    return _text(stated[0]) if len(stated) == 1 else ""


def _in_json(reply: str, name: str) -> set[str]:
    """The value of a key that means a grade, or of the only key."""
    found = parse_object(reply)
    own = _values(found, _KEYS | {name})
    values = own or ([*found.values()] if len(found) == 1 else [])
    return set().union(*(_in_prose(_text(value)) for value in values))


def _in_prose(text: str) -> set[str]:
    """Everything that may be the grade, as written."""
    text = _SCALE.sub(" ", _MARKUP.sub("", text.translate(_DASHES)))
    if _RANGE.search(text):
        return set()
    shares = [(share.rstrip(".,"), whole.rstrip(".,")) for share, whole in _SHARE.findall(text)]
    explicit = {share for share, whole in shares if whole == str(HIGHEST)}
    explicit |= {word.rstrip(".,") for word in _LABELLED.findall(text) if _has_digit(word)}
    if explicit or any(_has_digit(whole) for _, whole in shares):
        return explicit
    return {word.rstrip(".,") for word in re.findall(_WORD, text) if _has_digit(word)}


def _values(found: Mapping[str, object], names: Collection[str]) -> list[object]:
    """The values of these keys, which may be written with spaces, dashes and capitals."""
    return [value for key, value in found.items() if re.sub(r"[\s-]+", "_", key.strip().lower()) in names]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _has_digit(word: str) -> bool:
    return any(char.isdigit() for char in word)
