"""Yes, no and full dates in the languages that scoring understands, and whether a text is in one of them."""

import re
import unicodedata
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cache
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
_MOST_NAMES = 10
"""Words without a common one that may all be names or keywords."""
# The commonest words of a language a line: English, German, French, Spanish, Portuguese, Italian.
_UNDERSTOOD_WORDS = """
the a an of to in and is was are were be what who which whose when where why how did does do has have had that for
der die das den dem des ein eine und ist war wer was wann wo wie warum welche welcher welches wurde hat im in von
le la les l de du des un une et est sont a été qui que quel quelle quand où comment pourquoi combien dans en au
el la los las de del un una y es son fue qué quién cuál cuándo dónde cómo cuántos que en por para con se su al a
o a os as de do da dos das um uma e é são foi quem qual quando onde como quantos que em no na por para com se seu
il lo la i gli le l di del della dei un una e è sono ha fu chi che cosa quale quando dove come quanti in nel per
"""
# Dutch, Swedish, Danish and Norwegian, Polish, Czech, Turkish, Vietnamese, Indonesian, Romanian, Hungarian,
# Finnish, Catalan.
_OTHER_WORDS = """
de het een van en is was wie wat wanneer waar hoe welke werd wordt zijn heeft voor met dat niet in op naar ook
en ett och är var vem vad när hur vilken vilket som att det den av på i inte med har blev till för hög
en et og er var hvem hvad hva hvornår når hvor hvordan hvilken hvilket som at det den af av på i ikke med har blev
kto co kiedy gdzie jak jest który która które się nie na w z do był była jaki jaka ile i o
kdo co kdy kde jak je který která která se na v z do byl byla kolik a o i není
ve kim ne nedir zaman nerede nasıl hangi bir bu için ile mi mı kaç olan ve da de
là ai gì khi nào đâu ở của và các một những được có không cho trong thị
siapa apa kapan di mana bagaimana berapa yang dan dari untuk adalah pada dengan tidak ini itu
cine ce când unde cum este și în din la care pe nu cu a fost cât sunt de
ki mi mikor hol hogyan a az és egy nem hány van volt melyik ez
kuka mikä milloin missä miten ja on ei kuinka mistä oli se
qui què què quan on com quin quina el la els les de del un una i és són va amb per que
"""
_LANGUAGES = (
    ("English", "German", "French", "Spanish", "Portuguese", "Italian"),
    (
        *("Dutch", "Swedish", "Danish or Norwegian", "Polish", "Czech", "Turkish"),
        *("Vietnamese", "Indonesian", "Romanian", "Hungarian", "Finnish", "Catalan"),
    ),
)
"""The languages of these words, in their order."""
_SCRIPT_LANGUAGES = {
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "CJK": "Chinese",
    "HANGUL": "Korean",
    "ARABIC": "Arabic",
    "DEVANAGARI": "Hindi",
    "THAI": "Thai",
    "GREEK": "Greek",
    "HEBREW": "Hebrew",
}
UNKNOWN_LANGUAGE = "not recognised"
_KNOWN_SCRIPTS = {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "ARABIC", "DEVANAGARI"}


def with_dates(text: str, write: Callable[[date], str]) -> str:
    """The text, in lower case, with every full date in a usual spelling (`3 May 2021`, `May 3, 2021`, `3. Mai
    2021`, `03.05.2021`, `2021-05-03`, `2021年5月3日`, `25/12/2021`) as `write` gives it. `03/05/2021` is ambiguous
    (3 May or 5 March) and stays as it is, and so do impossible dates.
    """
    if not _HAS_YEAR.search(text):
        return text
    return _date_pattern().sub(lambda found: write(day) if (day := _day(found)) else found[0], text)


def first_date(text: str) -> date | None:
    """The first full date of a text, read as in `with_dates`."""
    found = map(_day, _date_pattern().finditer(folded(text).casefold()))
    return next((day for day in found if day is not None), None)


def foreign_language(texts: Iterable[str]) -> str:
    """What kind of language most of these texts are in, by script or common words, if it is none of `UNDERSTOOD`;
    empty if it may be one. A language whose common words are not known is noticed in long texts only.
    """
    scripts: Counter[str] = Counter()
    n_foreign = 0
    for text in texts:
        letters = [unicodedata.name(char, "?").partition(" ")[0] for char in text if char.isalpha()]
        if letters:
            (script, _), *_ = Counter(letters).most_common(1)
            scripts[script] += 1
            n_foreign += script == "LATIN" and _is_foreign(re.findall(r"\w+", text.casefold()))
    script, n = next(iter(scripts.most_common(1)), ("", 0))
    if 2 * n <= scripts.total() or script in _KNOWN_SCRIPTS:
        return ""
    if script != "LATIN":
        return f"{script.title()} script"
    return "another language" if 2 * n_foreign > n else ""


def languages_of(texts: Sequence[str]) -> dict[str, int]:
    """The number of texts in each language, the most frequent first, by script or the commonest words of 18
    languages; anything else is `UNKNOWN_LANGUAGE`. Of more than 500 texts, 500 are looked at.
    """
    looked_at = texts[:: -(-len(texts) // 500) or 1]
    found = Counter(_language(text[:3000]) for text in looked_at)
    scale = len(texts) / max(len(looked_at), 1)
    return {language: round(count * scale) for language, count in found.most_common()}


def _language(text: str) -> str:
    scripts = Counter(unicodedata.name(char, "?").partition(" ")[0] for char in text if char.isalpha())
    kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
    # A word in these scripts has few letters: a Japanese text about software has more Latin ones.
    if 5 * (kana + scripts["CJK"] + scripts["HANGUL"]) > scripts.total():
        return "Korean" if scripts["HANGUL"] > kana + scripts["CJK"] else "Japanese" if kana else "Chinese"
    script = next(iter(scripts.most_common(1)), ("",))[0]
    if script != "LATIN":
        return _SCRIPT_LANGUAGES.get(script, f"{script.title()} script" if script else UNKNOWN_LANGUAGE)
    words = re.findall(r"\w+", text.casefold())
    counts = Counter(
        {
            name: sum(word in own for word in words)
            for names, lists in zip(_LANGUAGES, _common_words(), strict=True)
            for name, own in zip(names, lists, strict=True)
        }
    )
    (language, first), (_, second) = counts.most_common(2)
    return language if first > second and first >= max(3, len(words) / 20) else UNKNOWN_LANGUAGE


def _is_foreign(words: Sequence[str]) -> bool:
    understood, other = (max(sum(word in own for word in words) for own in lists) for lists in _common_words())
    return other > understood or (not understood and len(words) >= _MOST_NAMES)


@cache
def _common_words() -> tuple[list[frozenset[str]], ...]:
    return tuple(
        [frozenset(line.split()) for line in lists.strip().splitlines()]
        for lists in (_UNDERSTOOD_WORDS, _OTHER_WORDS)
    )


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
    parts |= {"YEAR": r"(?P<yN>[12]\d{3})(?!\d)", "DAY": r"(?P<dN>\d{1,2})(?!\d)", "START": r"(?<![a-z\d.,:/-])"}
    forms = []
    for number, form in enumerate(_FORMS):
        forms.append(form)
        for part, pattern in parts.items():
            forms[-1] = forms[-1].replace(part, pattern.replace("N>", f"{number}>"))
    return re.compile("|".join(forms))


def _day(found: re.Match[str]) -> date | None:
    """The day that it names; None if there is no such day, or if it may be one of two."""
    form = next(number for number in range(len(_FORMS)) if found[f"y{number}"])
    year, first, second = int(found[f"y{form}"]), found[f"m{form}"], int(found[f"d{form}"])
    month = _months().get(first) or int(first)
    ways = {(month, second)}
    if form == len(_FORMS) - 1:
        # With points the day comes first, in every country of the Common Locale Data Repository.
        ways = {(second, month)} if found["separator"] == "." else {(month, second), (second, month)}
    days = {
        date(year, month, day)
        for month, day in ways
        if 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
    }
    return days.pop() if len(days) == 1 else None
