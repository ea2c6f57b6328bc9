"""Yes, no and full dates in the languages that scoring understands, and whether a text is in one of them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import cache, partial
from typing import Literal

from harness.core.scripts import folded

YesNo = Literal["yes", "no"]

UNDERSTOOD = "English, German, French, Spanish, Portuguese, Italian, Chinese, Japanese, Korean, Arabic and Hindi"
"""The languages in which yes, no, abstentions and names of months are read."""

# "si" alone may be silicon, or "if".
_YES = """
yes true ja wahr richtig oui vrai sí verdadero sim verdadeiro sì vero
是 是的 对 对的 對 對的 正确 正確 はい ええ 正しい 네 예 맞습니다 그렇습니다 참 نعم أجل صحيح हाँ हां जी_हाँ जी_हां सही
"""
_NO = """
no false nein falsch non faux falso não
否 不 不是 不对 不對 错误 錯誤 いいえ いえ 誤り 아니요 아니오 아뇨 아닙니다 거짓
لا كلا خطأ नहीं जी_नहीं गलत ग़लत
"""
_VERDICTS: tuple[tuple[YesNo, str], ...] = (("yes", _YES), ("no", _NO))
YES_NO: dict[str, YesNo] = {
    unicodedata.normalize("NFC", word.replace("_", " ")): verdict
    for verdict, words in _VERDICTS
    for word in words.split()
}
"""Each word that is a whole yes or no, also as true or false, in lower case and without punctuation."""

_MONTHS_OF = "en en_GB de de_AT fr fr_CA es pt it ar ar_SY ar_DZ hi zh ja"
_OF = r"(?:\s*[-/]\s*|[.,\u060c]?\s+)(?:(?:of|de|del)\s+)?"
_FORMS = (
    rf"STARTDAY(?:st|nd|rd|th|er|[oº°.](?=\s))?{_OF}NAME{_OF}YEAR",
    r"NAME\s+DAY(?:st|nd|rd|th)?,?\s+YEAR",
    r"STARTYEAR(?P<between>\s?[-/.]\s?)MONTH(?P=between)DAY(?![-/.]\d)",
    r"YEAR\s?[年년]\s?MONTH\s?[月월]\s?DAY\s?[日号號일]",
    # Day and month in either order.
    r"STARTMONTH(?P<separator>[./-])DAY(?P=separator)YEAR(?![./-]\d)",
)
_HAS_YEAR = re.compile(r"[12]\d{3}")
_LEAST_KNOWN = 0.2
# The commonest words of English, German, French, Spanish, Portuguese and Italian.
_FUNCTION_WORDS = tuple(
    frozenset(words.split())
    for words in (
        "the a an of to in and is was are were be been what who which whose when where why how did does "
        "do has have had that this it its as for on at by with from not or but than their they he she "
        "there about between many",
        "der die das den dem des ein eine einen einer und ist war sind wurde wird hat haben wer was wann "
        "wo wie warum welche welcher welches im in von zu zum zur mit auf für aus bei nach an am nicht "
        "es sich als dass über",
        "le la les l de du des d un une et est sont a été ont qui que qu quel quelle quels quand où "
        "comment pourquoi combien dans en au aux pour par sur avec ce cette il elle ne pas se son sa "
        "plus",
        "el la los las de del un una y es son fue ha qué quién cuál cuándo dónde cómo cuánto cuántos que "
        "en por para con se su al a no lo más como sobre entre este esta",
        "o a os as de do da dos das um uma e é são foi há quem qual quais quando onde como quanto "
        "quantos que em no na por para com se seu sua ao não mais sobre entre este esta",
        "il lo la i gli le l di del dello della dei un una e è sono ha fu stato chi che cosa quale "
        "quando dove come quanto quanti in nel nella per con si su al a da dal non più tra questo questa",
    )
)
_KNOWN_SCRIPTS = {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "ARABIC", "DEVANAGARI"}


def with_dates(text: str, write: Callable[[date], str]) -> str:
    """The text, in lower case, with every full date in a usual spelling (`3 May 2021`, `May 3, 2021`, `3. Mai
    2021`, `2021-05-03`, `2021年5月3日`, `25/12/2021`) as `write` gives it.

    `03/05/2021`, which is another day in other countries, stays; so does what is no day of the calendar.
    """
    if not _HAS_YEAR.search(text):
        return text

    def written(found: re.Match[str]) -> str:
        day = _day(found)
        return found[0] if day is None else write(day)

    return _date_pattern().sub(written, text)


def first_date(text: str) -> date | None:
    """The first full date of a text, read as in `with_dates`."""
    found = map(_day, _date_pattern().finditer(folded(text).casefold()))
    return next((day for day in found if day is not None), None)


def foreign_language(texts: Iterable[str]) -> str:
    """What kind of language most of these texts are in, if it is none of `UNDERSTOOD`; empty if it may be one.

    By script; for Latin letters by the share of words that are function words of one of the languages.
    """
    scripts: Counter[str] = Counter()
    shares = []
    for text in texts:
        letters = [unicodedata.name(char, "?").partition(" ")[0] for char in text if char.isalpha()]
        if letters:
            (script, _), *_ = Counter(letters).most_common(1)
            scripts[script] += 1
            if script == "LATIN":
                shares.append(_known_share(re.findall(r"\w+", text.casefold())))
    if not scripts:
        return ""
    script, n = scripts.most_common(1)[0]
    if 2 * n <= scripts.total() or script in _KNOWN_SCRIPTS:
        return ""
    if script != "LATIN":
        return f"{script.title()} script"
    return "another language" if sum(shares) / len(shares) < _LEAST_KNOWN else ""


def _known_share(words: Sequence[str]) -> float:
    return max(sum(word in own for word in words) for own in _FUNCTION_WORDS) / max(1, len(words))


@cache
def _months() -> dict[str, int]:
    """The name of each month in lower case, whole and abbreviated, by Unicode's Common Locale Data Repository."""
    from babel import Locale

    names = {}
    for locale in _MONTHS_OF.split():
        for context in Locale.parse(locale).months.values():
            for width in ("wide", "abbreviated"):
                for number, name in context.get(width, {}).items():
                    names[name.casefold().rstrip(".\u0970")] = number
    return {name: number for name, number in names.items() if not name[0].isdigit()}


@cache
def _date_pattern() -> re.Pattern[str]:
    names = "|".join(sorted(map(re.escape, _months()), key=len, reverse=True))
    parts = {"NAME": rf"(?<!\w)(?P<mN>{names})(?!\w)[.\u0970]?", "MONTH": r"(?P<mN>\d{1,2})"}
    parts |= {"YEAR": r"(?P<yN>[12]\d{3})(?!\d)", "DAY": r"(?P<dN>\d{1,2})(?!\d)", "START": r"(?<![\d.,:/-])"}
    forms = []
    for number, form in enumerate(_FORMS):
        named = {part: pattern.replace("N>", f"{number}>") for part, pattern in parts.items()}
        forms.append(re.sub("|".join(named), partial(_part, named), form))
    return re.compile("|".join(forms))


def _part(named: Mapping[str, str], found: re.Match[str]) -> str:
    return named[found[0]]


def _day(found: re.Match[str]) -> date | None:
    """The day that it names; None if there is no such day, or if it may be one of two."""
    form = next(number for number in range(len(_FORMS)) if found[f"y{number}"])
    year, first, second = int(found[f"y{form}"]), found[f"m{form}"], int(found[f"d{form}"])
    month = _months().get(first) or int(first)
    days = {_calendar_day(year, month, second)}
    if form == len(_FORMS) - 1:
        days.add(_calendar_day(year, second, month))
    known = days - {None}
    return known.pop() if len(known) == 1 else None


def _calendar_day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
