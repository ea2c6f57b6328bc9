"""A report without a model: the statements of a community, the best connected first."""

import re
from typing import Any

from systems.common.joined_fields import plain, relation_text
from systems.common.token_estimate import clip, count_tokens

_MOST_TOKENS = 400
"""Length of the statements: about the same as a model's report."""
_TITLE_NAMES = 3
# A row of the library's tables: its number, two columns of names, the description, its degree.
_ROW = re.compile(r'^\d+,\t"(.*)",\t"(.*)",\t"(.*)",\t\d+$')
_RELATIONS = "-----Relationships-----"


def report_by_rules(material: str) -> dict[str, Any]:
    """The report on the tables of a community, in the library's form, with the best connected rows first. Rows
    with a line break are left out.
    """
    entities, _, relations = material.partition(_RELATIONS)
    names = [plain(row[0]) for row in _rows(entities)]
    stated = list(dict.fromkeys(relation_text(*row) for row in _rows(relations)))
    return {
        "title": ", ".join(names[:_TITLE_NAMES]) or "Community",
        "summary": _within(stated) or clip(material, _MOST_TOKENS),
        "rating": 0,
        "findings": [],
    }


def _rows(table: str) -> list[tuple[str, str, str]]:
    found = (_ROW.match(line) for line in table.splitlines())
    return [(row[1], row[2], row[3]) for row in found if row]


def _within(stated: list[str]) -> str:
    """The first statements that fit; the very first is truncated if it alone is too long."""
    kept, left = [], _MOST_TOKENS
    for one in stated:
        left -= count_tokens(one) + 1
        if left < 0:
            break
        kept.append(one)
    return ". ".join(kept or [clip(one, _MOST_TOKENS) for one in stated[:1]])
