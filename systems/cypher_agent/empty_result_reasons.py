"""Explains an empty result from the text of the statement."""

import re

from systems.common.cypher.grammar import STRING

_TEXT = STRING.pattern
_LOWERED = re.compile(
    rf"\btoLower\s*\([^()]*\)\s*(?:=|CONTAINS\b|STARTS\s+WITH\b|ENDS\s+WITH\b|IN\b)\s*"
    rf"(?P<said>\[(?:[^\]'\"]|{_TEXT})*\]|{_TEXT})",
    re.IGNORECASE | re.DOTALL,
)


def never_true(statement: str) -> str:
    """A hint for the author if lower-cased names are compared with a text in capitals, otherwise empty.

    Only for an allowed statement with an empty result; it decides nothing.
    """
    for compared in _LOWERED.finditer(statement):
        for text in STRING.findall(compared["said"]):
            if text != text.lower():
                return f"what toLower gives is never like {text}: write {text.lower()}, or leave out toLower"
    return ""
