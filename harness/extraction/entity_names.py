"""Canonical spelling of entities and relations."""

import re
import unicodedata

_LONGEST_NAME = 100
"""Characters; longer texts are clauses, not names."""
_LONGEST_RELATION = 60

# Quotes, brackets and punctuation; those that are not ASCII as escapes, since they resemble others.
_EDGES = (
    " \"'`()[]{}<>.,;:!?*_-/\\|~="
    "\u00ab\u00b4\u00b7\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2022\u2026\u2039\u203a"
)
_APOSTROPHES = "\u2018\u2019\u201b\u02bc\u2032"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_TYPOGRAPHY = str.maketrans(dict.fromkeys(_APOSTROPHES, "'") | dict.fromkeys(_DASHES, "-"))
_ARTICLE = re.compile(r"^(?:the|an|a) ")
_POSSESSIVE = re.compile(r"'s$")
_INITIALS = re.compile(r"\b[^\W\d_](?:\.[^\W\d_])+\.?(?!\w)")
# Pronouns and other words that replace a name. "us" and "who" are missing on purpose: casefolded, US and WHO are
# equal to them.
_STAND_INS = """
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself
we our ours ourselves they them their theirs themselves this that these those which whom whose what here there
someone somebody something everyone everybody everything anyone anybody anything nobody nothing
one ones another other others none n/a the a an
"""
_NOT_ENTITIES = frozenset(_STAND_INS.split())


def entity_id(name: str) -> str:
    """The name under which two spellings are one entity; empty for text that cannot be one: without a letter or
    digit, of more than 100 characters, or a pronoun or article. Idempotent.

    Unicode NFKC, case folded, white space collapsed, typographic apostrophes and dashes replaced; then without
    quotes, brackets and punctuation around the name, a leading article (the, a, an), a final possessive ('s) and
    the dots of initials (`U.S.`). No stemming and no fuzzy match: `Apple Inc.` is not `Apple`.
    """
    text = one_line(name)
    if len(text) > _LONGEST_NAME:
        return ""
    text = one_line(_compatible(_compatible(text).casefold())).translate(_TYPOGRAPHY)
    bare = _without_wrapping(text)
    while bare != text:
        text, bare = bare, _without_wrapping(bare)
    possible = len(text) <= _LONGEST_NAME and text not in _NOT_ENTITIES and any(map(str.isalnum, text))
    return text if possible else ""


def relation_name(text: str) -> str:
    """A relation as `WORKS_FOR`: upper case, words of any script joined by `_`, at most 60 characters.

    `RELATED_TO` if the text has neither letter nor digit. Idempotent.
    """
    # A character's upper case may be two, and NFKC may take one for eighteen: cut before and after.
    upper = _compatible(_compatible(one_line(text)[: 4 * _LONGEST_RELATION]).upper())
    # A combining mark belongs to a word: vowels of many scripts are marks.
    kept = (one if one.isalnum() or unicodedata.category(one)[0] == "M" else " " for one in upper)
    words = "".join(kept).split()
    return "_".join(words)[:_LONGEST_RELATION].rstrip("_") or "RELATED_TO"


def kind_name(text: str) -> str:
    """A kind as shown and stored: one line of at most 60 characters."""
    return one_line(text)[:60].rstrip()


def one_line(text: str) -> str:
    """The text on one line, without characters that cannot be shown or stored (control characters, lone
    surrogates).
    """
    if not text.isprintable():
        text = "".join(map(_printable, text))
    return " ".join(text.split())


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() or unicodedata.category(character) == "Cc" else ""


def _compatible(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _without_wrapping(text: str) -> str:
    bare = _ARTICLE.sub("", _POSSESSIVE.sub("", text).strip(_EDGES))
    return _INITIALS.sub(lambda initials: initials.group().replace(".", ""), bare)
