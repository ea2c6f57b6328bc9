"""Words, search terms, sentences and digits of texts in any script.

Scripts differ in three ways that matter here. Some put no spaces between words (Chinese, Japanese, Thai, Lao,
Khmer, Burmese). Some write vowels as marks on letters, which Python's `\\w` does not match (Hindi, Thai, vocalised
Arabic). Many have digits and sentence ends of their own.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby
from random import Random

_BLOCKS_WITH_MARKS = (range(0x300, 0x1E00), range(0xA66F, 0xAC00), range(0x11000, 0x12000))
_MARK_CODES = [code for block in _BLOCKS_WITH_MARKS for code in block if unicodedata.category(chr(code))[0] == "M"]
_RUNS = groupby(enumerate(_MARK_CODES), key=lambda numbered: numbered[1] - numbered[0])
# As ranges: a class of single characters takes long to compile and to match.
MARKS = "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in (list(run) for _, run in _RUNS))
"""The marks on letters that `\\w` leaves out, for a class."""
_SOUTH_EAST_ASIAN = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_KATAKANA = r"\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HAN_AND_HIRAGANA = r"\u3005-\u3007\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
UNSPACED = _SOUTH_EAST_ASIAN + _HAN_AND_HIRAGANA + _KATAKANA
"""Characters of scripts without spaces between words, for a class of a regular expression: Thai, Lao, Burmese,
Khmer, kana, and Han with its extensions."""
LETTER = rf"(?:[^\W\d_{UNSPACED}][{MARKS}]*)"
"""A letter of another script with its marks, as a regular expression."""
LETTER_OR_DIGIT = rf"(?:[^\W_{UNSPACED}][{MARKS}]*)"
"""`LETTER`, or a digit."""
_HANGUL = r"\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7fb"
WIDE_PUNCTUATION = r"\u3001-\u3004\u3008-\u303f\u30a0\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
"""Ideographic and full-width punctuation, for a class of a regular expression."""
SENTENCE_MARKS = r"\u3002\uff0e\uff61\uff01\uff1f\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u104b\u17d4"
"""Marks that end a sentence and need no space behind them, for a class: Chinese and Japanese, Arabic and Urdu,
Hindi, Armenian, Amharic, Burmese, Khmer."""
_CLOSING = r"\"'\u201d\u2019)\]\u300d\u300f\uff09\u3011\u300b"
# "「行こう。」と言った" goes on behind the quotation.
SENTENCE_MARK_END = (
    rf"(?<=[{SENTENCE_MARKS}])(?![{SENTENCE_MARKS}{_CLOSING}])\s*"
    rf"|(?<=[{SENTENCE_MARKS}][{_CLOSING}])(?![{_CLOSING}]|\u3068|\u3063\u3066)\s*"
)
"""What separates two sentences behind one of the `SENTENCE_MARKS`, as a regular expression; may be empty."""
SENTENCE_END = re.compile(rf"(?<=[.!?])[\"\u201d\u2019')]*\s+|\n+|{SENTENCE_MARK_END}")
"""What separates two sentences, or two lines, in any script. Thai has no mark for it."""

CLAUSE_MARKS = rf"{WIDE_PUNCTUATION}{SENTENCE_MARKS}\u060c\u061b"
"""Marks that end a clause, other than those of European languages, for a class."""

# Hebrew, Arabic and Korean write prepositions, articles or particles onto a word.
_WITH_PARTICLES = rf"{_HANGUL}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
# Behind a word a raised digit is a footnote, behind a number an exponent.
_RAISED = r"\u00b2\u00b3\u00b9\u2070-\u207b"
_OF_A_WORD = rf"(?:\d|[^\W_{UNSPACED}{_WITH_PARTICLES}{_RAISED}]|[{MARKS}])"
_GROUP_MARK, _GROUP_SPACE = r"[.,'\u2019\u066b\u066c]", r"[\u00a0\u2009\u202f]"
_GOES_ON = re.compile(
    rf"(?<={_OF_A_WORD}){_OF_A_WORD}"
    rf"|(?<=\d)(?:{_GROUP_MARK}\d|{_GROUP_SPACE}\d{{3}}(?!\d)|[{_RAISED}])"
    rf"|(?<=\d{_GROUP_MARK})\d|(?<=\d{_GROUP_SPACE})\d{{3}}(?!\d)|(?<=\.)(?<![\w.)\]]\.)\d"
)

_COUNTED = re.compile(
    rf"[{_KATAKANA}]+|[{_HAN_AND_HIRAGANA}]{{1,2}}|[{_SOUTH_EAST_ASIAN}]{{1,5}}|[^\s{UNSPACED}{WIDE_PUNCTUATION}]+"
)
_FULL_WIDTH = re.compile(r"[\uff01-\uff9f\uffa0-\uffdc]+")
_FOREIGN_DIGIT = re.compile(r"[^\D0-9]")
# Arabic vowel marks and the stroke that lengthens a word are optional; a zero-width space marks a Thai line break.
_OPTIONAL = re.compile(rf"[\u0640\u064b-\u0652\u0670]|(?<=[{UNSPACED}])\u200b+(?=[{UNSPACED}])")
_PLAIN_TERM = re.compile(r"\b\w\w+\b")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
# All that `folded` may change, and all scripts other than Latin, Greek and Cyrillic; no dashes, quotes and emoji.
_UNUSUAL = re.compile(
    r"[\u0300-\u036f\u0483-\u0489\u0590-\u1dff\u2126\u212a\u212b\u2e80-\ud7ff\uf900-\ufdff\ufe20-\uffef"
    r"\U00010000-\U0001efff\U00020000-\U0003ffff]"
)
# The zero-width joiners stand within Persian and Hindi words.
_TERM = re.compile(
    rf"(?P<three>[{_SOUTH_EAST_ASIAN}]+)|(?P<two>[{_HAN_AND_HIRAGANA}{_KATAKANA}]+|[{_HANGUL}]+)|"
    rf"(?:[^\W{UNSPACED}{_HANGUL}][{MARKS}\u200c\u200d]*){{2,}}|[^\W{UNSPACED}{_HANGUL}][{MARKS}]+"
)


def folded(text: str) -> str:
    """The text with composed letters, digits 0-9, Latin letters and kana in their usual width, and without
    optional Arabic marks. ASCII stays as it is; so do accents, and all that means something else without.
    """
    if not _UNUSUAL.search(text):
        return text
    text = _FULL_WIDTH.sub(lambda wide: unicodedata.normalize("NFKC", wide[0]), text)
    text = _OPTIONAL.sub("", unicodedata.normalize("NFC", text))
    return _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def renumbered(text: str, rng: Random) -> str | None:
    """The text with its first number replaced by one of the same length and similar size; None: it has none."""
    found = _NUMBER.search(text)
    if found is None:
        return None
    digits = list(found[0])
    places = [place for place, char in enumerate(digits) if char.isdigit()]
    # The first two digits: changing the last ones of a year would be nearly right, and no number starts with 0.
    for place in places[-2:] if len(places) > 2 else places[:1]:
        choices = [digit for digit in "123456789" if digit != digits[place]]
        digits[place] = rng.choice(choices)
    return f"{text[: found.start()]}{''.join(digits)}{text[found.end() :]}"


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` neither begins nor ends inside a word or number, as "20" in "120" and "5" in "5.3"
    do. In scripts without spaces, and in those with particles on words (Korean, Arabic, Hebrew), only numbers
    count.
    """
    return not (_GOES_ON.match(text, start) or _GOES_ON.match(text, end))


def word_count(text: str) -> int:
    """The number of words; of scripts without spaces an estimate from usual lengths of words."""
    return len(_COUNTED.findall(text))


def bm25_terms(texts: Iterable[str]) -> list[list[str]]:
    """The search terms of each text for the library bm25s, without English stop words."""
    from bm25s.stopwords import STOPWORDS_EN

    ignored = frozenset(STOPWORDS_EN)
    # The library cannot store half of a surrogate pair.
    whole = (text.encode(errors="replace").decode() for text in texts)
    return [[term for term in search_terms(text) if term not in ignored] for text in whole]


def search_terms(text: str) -> list[str]:
    """The terms by which BM25 finds a text, in lower case and in order: words of two characters or more.

    A run in a script without spaces gives each pair of neighbouring characters (each three of Thai and its kin),
    and so does a Korean word, to which particles are attached: `서울은` and `서울에` share `서울`. A word ends
    where such a script begins: `iPhone发布` is `iphone` and `发布`.
    """
    if not _UNUSUAL.search(text):
        return _PLAIN_TERM.findall(_lowered(text))
    text = _lowered(folded(text))
    terms = []
    for run in _TERM.finditer(text):
        word, size = run[0], {"three": 3, "two": 2}.get(run.lastgroup or "", len(run[0]))
        terms += [word[at : at + size] for at in range(max(1, len(word) - size + 1))]
    return terms


def _lowered(text: str) -> str:
    # The Turkish capital \u0130 becomes an i and a dot above it.
    return text.lower().replace("i\u0307", "i")
