"""Citations are no part of an answer: `Google [1]` answers `Google`.

Taken off, wherever they stand: numbers of one or two digits in square or lenticular brackets (`[1]`, `[1, 2]`,
`[1][3]`, `[^2]`), RAGFlow's `[ID:0]` and `##0$$`, passages by number in round or square brackets (`[doc 2]`,
`(passages 1 and 3)`), superscript numbers behind a word of three letters or a mark, and at the end `Source: [1]`
or `as stated in passage 2`.

Kept, since they may be the answer: a year (`[1999]`), a bare number in round brackets (`Iron Man (2)`: passages
are numbered in square ones), a superscript that is an exponent, what is glued to the next word (`[2]catenane`),
`[0]`, and whatever would leave nothing.
"""

import re

_NUMBER = r"[1-9]\d?"
_JOINT = r"\s?(?:[,;&\u2013-]|and|or|to)\s?"
_NUMBERS = rf"\^?{_NUMBER}(?:{_JOINT}\^?{_NUMBER})*"
_PASSAGE = r"(?:passage|doc|document|context|source|excerpt|chunk)s?\.?"
_NAMED = (
    rf"(?:{_PASSAGE}|(?:article|reference|citation|ref)s?\.?)\s?:?\s?"
    rf"(?:#?{_NUMBERS}|\[{_NUMBERS}\])(?:{_JOINT}(?:{_PASSAGE}\s?)?#?{_NUMBERS})*"
)
_BRACKETED = (
    rf"(?:\[\s?(?:{_NUMBERS}|{_NAMED})\s?\](?![^\W_])|\u3010\s?{_NUMBERS}[^\u3010\u3011]{{0,40}}\u3011"
    # RAGFlow's, from 0.
    rf"|\[ID:\s?\d{{1,3}}\](?![^\W_])|##\d{{1,3}}\$\$"
    rf"|\((?:see\s)?(?:{_NAMED}|\[{_NUMBERS}\](?:{_JOINT}\[{_NUMBERS}\])*)\))"
)
_LIST = rf"{_BRACKETED}(?:(?:{_JOINT}|\s?){_BRACKETED})*"
_LED = (
    r"(?:see|cf\.?|from|per|in|according\sto|based\son|"
    r"as\s(?:stated|mentioned|reported|noted|described|seen|shown|found)\sin)"
)
_CITED = re.compile(rf"(?:,?\s?\b{_LED}\s|\s)?{_LIST}", re.IGNORECASE)
_AT_THE_END = re.compile(
    rf"(?:[\s,;.(]{{0,3}}\b{_LED}\s{_PASSAGE}\s?{_NUMBERS}"
    rf"|[\s,;(]{{0,3}}\b(?:source|reference|citation)s?\s?:\s?(?:{_LIST}|{_NAMED}|{_NUMBERS}))[.)\s]{{0,3}}$",
    re.IGNORECASE,
)
_RAISED = "[\u00b9\u00b2\u00b3\u2074-\u2079]"
_SUPERSCRIPT = re.compile(
    rf"(?:(?<=[^\W\d_]{{3}})|(?<=[.,;:!?)\"'\u2019\u201d])){_RAISED}(?:,?\s?{_RAISED}|\u2070)*(?!\w)"
)


def without_citations(text: str) -> str:
    """`text` without its citations; as it is where no letter or digit would be left."""
    bare = _CITED.sub("", _AT_THE_END.sub("", _SUPERSCRIPT.sub("", text)))
    return bare if any(map(str.isalnum, bare)) else text
