"""From an answer as a model wrote it to the form in which answers are compared.

In this order:

0. Of a JSON object with one answer field, its text counts. Citations (`[1]`) go.
1. Unicode NFKC, curly quotes and dashes straightened, invisible characters dropped, case folded. An exponent and
   a fraction stay apart from the number before them (`10²` is not `102`).
2. A label (`Answer:`, `Final answer:`, `The answer is`) at the beginning of a line marks the answer, and one with
   a colon also at the beginning of a sentence: the rest of that line, or the next line if nothing follows. The
   last label counts, but `The answer is` without a colon only if no other has its answer beside it. Without a
   label all lines together are one answer. Lines from a new `Question:` on are no part of it.
3. Markdown and quotation marks go with the rest of the punctuation. Dashes and slashes separate words,
   apostrophes join them, with what tokenised text puts a space before (`Schindler 's`). A point or comma between
   digits belongs to the number (`1,000` is `1000`, `3.5` stays, `.5` is `0.5`), so does a minus in front of one,
   and `+` or `#` behind a word (`C++`). `&` is `and`.
4. Currency and percent in words: `$5 million` is `5 million dollars`; `24 EUR` and a final `24 Euro` or `24欧元`
   are `24 euros`; `5 %` and `5 per cent` are `5 percent`. A bare `5` is neither. `$5bn` is `$5 bn`, but not
   `$5 billion`. Groups of digits may be those of India (`15,00,000`), stand apart by a no-break space or by points
   where that can be nothing else (`1.200.000`, `1.200,50`); a bare `3,5` is `3.5`. A unit may follow at once
   (`5km`), and of a bare amount a last zero behind the point goes (`3.50 km`, but not of `1.200`, which is 1200 in
   other countries, nor of a version, section or time). `07:15` is `7:15`; `<5` is not `5`, and `5'10` not `510`.
5. A full date is `may 3 2021` in every usual spelling (`3 May 2021`, `3. Mai 2021`, `2021-05-03`, `25/12/2021`);
   `03/05/2021` is ambiguous (3 May or 5 March) and stays. Yes and no are those of the languages in
   `harness.core.languages.UNDERSTOOD`. Digits of any script are 0 to 9.
6. Articles (a, an, the) in front of another word go; white space collapses.

Accents, numerals in words, abbreviations and synonyms stay as they are. Punctuation and articles are as in SQuAD's
evaluation script (Rajpurkar et al. 2016), numbers, hyphens and a final "a" are not: it makes 3.5 equal to 35.
"""

import json
import re
import unicodedata
from functools import lru_cache

from harness.core.languages import YES_NO, YesNo, with_dates
from harness.core.scripts import CLAUSE_MARKS, SENTENCE_MARKS, UNSPACED, folded
from harness.evaluators.abstention import is_abstention
from harness.evaluators.abstention.other_languages import abstains_in_other_languages

_ONE_NUMBER = r"[1-9]\d?"
_JOINT = r"\s?(?:[,;&\u2013-]|and|or|to)\s?"
_NUMBERS = rf"\^?{_ONE_NUMBER}(?:{_JOINT}\^?{_ONE_NUMBER})*"
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
_RAISED_DIGIT = "[\u00b9\u00b2\u00b3\u2074-\u2079]"
_SUPERSCRIPT = re.compile(
    rf"(?:(?<=[^\W\d_]{{3}})|(?<=[.,;:!?)\"'\u2019\u201d])){_RAISED_DIGIT}(?:,?\s?{_RAISED_DIGIT}|\u2070)*(?!\w)"
)


def without_citations(text: str) -> str:
    """`text` without its citations; as it is where no letter or digit would be left."""
    bare = _CITED.sub("", _AT_THE_END.sub("", _SUPERSCRIPT.sub("", text)))
    return bare if any(map(str.isalnum, bare)) else text


ABSTENTION = "insufficient information"
"""The canonical form of every abstention."""

_STRAIGHT = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´", "'"),  # noqa: RUF001 - the characters to straighten
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),  # noqa: RUF001
        **dict.fromkeys("⁄∕", "/"),  # noqa: RUF001
        **{"\u066a": "%", "\u066b": ".", "\u066c": ","},
    }
)
# Feet, minutes: only three digits are a group (1'200).
_FEET = re.compile(r"(?<=\d)'(?=\d)(?!\d{3}(?!\d))")
# Before NFKC, which turns these spaces into plain ones.
_SPACED_GROUP = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
# In the languages of `harness.core.languages.UNDERSTOOD`.
_QUESTION = r"question|frage|pregunta|pergunta|domanda|问题|問題|質問|질문|السؤال|سؤال|प्रश्न"
_NEXT_QUESTION = re.compile(
    rf"^[\s*_#>-]*(?:(?:{_QUESTION})\s*\d*|q)[\s*_]*:|^#+ *(?:{_QUESTION}|instruction|input)\s*\d*:?\s*$",
    re.IGNORECASE,
)
_ANSWER = r"antwort|réponse|respuesta|resposta|risposta|答案|回答|答え|정답|답변?|الإجابة|إجابة|الجواب|उत्तर"
_RAISED = re.compile(r"(?<=\d)(?=[\u207a\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079])")
_FRACTION = re.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215f\u2189])")
_EM_DASH = re.compile(r"(?<=\w)[\u2014\u2015](?=\w)")
_THE_ANSWER = r"(?:(?:so|therefore|thus|hence),?\s+)?(?:the\s+)?(?:final\s+|correct\s+|short\s+)?answer"
_LABEL = re.compile(
    rf"^[\s\"'*_#>-]*(?:{_THE_ANSWER}(?:\s+is\b\s*[:*\"']*|[\s*_]*:)|(?:{_ANSWER})[\s*_]*:)[\s*_]*",
    re.IGNORECASE,
)
_BEFORE_LABEL = re.compile(
    rf"(?:(?<=[.!?])[\"'*_)]*\s+|(?<=[{SENTENCE_MARKS}])\s*)"
    rf"(?=[\"'*_]*(?:{_THE_ANSWER}(?:\s+is)?|{_ANSWER})[\s*_]*:)",
    re.IGNORECASE,
)
_JSON = re.compile(r"\s*(?:```(?:json)?\s*)?(\{.*\})\s*(?:```)?\s*", re.DOTALL | re.IGNORECASE)
_ANSWER_FIELDS = frozenset({"answer", "final_answer", "short_answer", "response"})
_WRAPPING = " \t\n\"'*_>"
# "> 5" is a quotation in Markdown, ">5" a comparison.
_BEFORE_ANSWER = re.compile(r"(?:[ \t\n\"'*_]|>(?!\.?\d))+")
_ZERO_HOUR = re.compile(r"(?<![\d:.])0(?=\d:[0-5]\d(?!\d))")
# A point in front of digits, at the beginning of a word.
_LEADING_POINT = re.compile(r"(?<![\w.)\]])\.(?=\d)")
_CLITIC = re.compile(r"(?<=\w)\s+(?=(?:'s|n't)(?![\w'-]))")
_SCALE = r"(?:thousand|million|billion|trillion|mn|bn|tn)"
_SCALED = re.compile(rf"(?<=\d)(?={_SCALE}\b)")
# Beside a currency a letter is a scale, too: "5m" alone may be metres.
_NUMBER = rf"(-?\d[\d,]*(?:\.\d+)?)(?:\s?({_SCALE}|[kmb])\b)?"
_CURRENCIES = tuple(
    (re.compile(pattern), rf"\1 \2 {name}")
    for name, sign, code, words in (
        ("dollars", r"us\s?\$|\$", "usd", "dollar|dólar(?:es)?|dollar[oi]|美元|ドル|달러|دولار|डॉलर"),
        ("euros", "€", "eur", "euro|欧元|歐元|ユーロ|유로|يورو|यूरो"),
        ("pounds", "£", "gbp", "pfund|libras?|livres?|sterlin[ae]|英镑|英鎊|ポンド|파운드|पाउंड"),
        ("yen", "¥", "jpy", "iene?s?|yenes|日元|日圓|円|엔|ين|येन"),
    )
    for pattern in (
        rf"(?:{sign}|\b{code}\s?)\s?{_NUMBER}",
        rf"(?<![\w.]){_NUMBER}\s?(?:(?:{sign})(?!\s?\d)|{code}\b|(?:{words})(?!\s*\w))",
    )
)
_UNITS = r"[kcm]?m|[km]?g|lbs?|mph|ha|[km]?l|[kmg]?w|[kmg]wh|[kmgt]b|[kmg]?hz|°[cf]"
_UNIT = re.compile(rf"(?<=\d)(?=(?:{_UNITS})(?![\w'-]))", re.IGNORECASE)
# Of a bare amount: "Python 3.10", "9.30 pm" and "§ 3.10" count in other ways, and "1.200" may be a group.
_AMOUNT = (
    rf"{_SCALE}|percent|dollars|euros|pounds|yen|{_UNITS}|(?:kilo|centi|milli)?(?:met(?:er|re)|gram|lit(?:er|re))s?|"
    r"miles?|feet|inch(?:es)?|tonn?(?:e|es|s)?|degrees?|years?|days?|hours?|minutes?|seconds?|points?|times"
)
_TRAILING_ZEROS = re.compile(
    rf"(?!-?[1-9]\d{{0,2}}\.\d{{3}}(?!\d))(-?\d+)(?:\.0+|(\.\d*?[1-9])0+)((?: (?:{_AMOUNT}))?)"
)
_POINT_GROUPS = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+(?=,\d))(?:,(\d{1,2}))?(?![.,]?\d)"
)
# Of a bare number, with a sign before it and one word behind.
_DECIMAL_COMMA = re.compile(r"(\W*\d+),(\d{1,2})(\s?[^\d\s]*)")
_PERCENT = re.compile(
    r"(?<=\d)\s*(?:%|(?:per cento?|prozent|pour cent|por ci?ento)\b|"
    r"パーセント|퍼센트|في الم(?:ئة|ائة)|بالم(?:ئة|ائة)|प्रतिशत)"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d)|\d\d(?:,\d\d)*,\d{3}(?!\d))")
# Kept: a decimal point, a minus in front of a number, a plus or hash behind a word.
_KEPT = re.compile(r"(?<![\w/=-])[<>](?=\s?\.?\d)|(?<=\d)\.(?=\d)|(?<![\w.])-(?=\.?\d)|(?<=\w)[+#]+(?![\w'])")
_ARTICLE = re.compile(r"\b(?:a|an|the)\s+(?=\S)")
_ABBREVIATION = r"(?<!\b[a-z]\.)(?<!\b(?:mr|ms|dr|st|vs|no|jr|sr|co)\.)(?<!\b(?:mrs|inc|ltd|etc)\.)(?<!\bprof\.)"
# A new sentence, or a part after a colon, dash or bracket; "passage(s)" is one word.
_STATEMENT_END = re.compile(
    rf"(?<=[.!?]){_ABBREVIATION}\s+|(?<=[{SENTENCE_MARKS}])|(?<=[{UNSPACED}][!?])|\n+|[;:](?!\d)|\s-+\s|--+|\((?!s\))|(?<!\(s)\)"
)
_INSERTED = re.compile(r"\s\([^()]*\)(?=\s*\w)")
_COMMA = re.compile(r",(?!\d)|[\u3001\u060c]")
_VERDICTS = frozenset(YES_NO.values())
_POLAR = "|".join(sorted(YES_NO, key=len, reverse=True))
_LEADING = re.compile(rf"({_POLAR})(?:\.(?!\s*\d)|[,;:!{CLAUSE_MARKS}]|\s+-+\s|--|\s*[(\n])")
_CLAUSE = re.compile(rf"[.,;:!?()\n{CLAUSE_MARKS}]+|\s-+\s")


@lru_cache(maxsize=32_768)  # Each measure of an answer asks for it, and for its reference, again.
def normalise(text: str, *, dates: bool = True, alone: bool = True) -> str:
    """The form in which two answers are compared; empty only for an answer without any visible character.

    `dates`: whether a full date has one form in all its spellings. `alone`: the text is a whole answer, of which a
    bare number has one form; False where one text is looked for in another.
    """
    cleaned = _clean(text)
    if dates:
        cleaned = with_dates(cleaned, lambda day: f"{day:%B} {day.day} {day.year}".lower())
    return _words(cleaned, alone=alone) or " ".join(cleaned.split())


def canonical(text: str) -> str:
    """`normalise`, with every abstention spelled as `ABSTENTION`, and `YES_NO` as yes and no."""
    if abstains(text):
        return ABSTENTION
    form = normalise(text)
    return YES_NO.get(form, form)


def is_verdict(text: str) -> bool:
    """Whether a text is a bare yes or no, or one of the words in `YES_NO`."""
    return canonical(text) in _VERDICTS


@lru_cache(maxsize=32_768)  # A report asks five times of every answer.
def abstains(text: str) -> bool:
    """Whether the answer says that there is no answer; see `harness.evaluators.abstention`."""
    cleaned = _clean(text)
    if _abstains(cleaned):
        return True
    leading = _LEADING.match(cleaned)
    # "No, there is not enough information" is not a no.
    return leading is not None and _abstains(cleaned[leading.end() :], firm=True)


def leading_yes_no(text: str) -> YesNo | None:
    """The yes or no at the beginning of an answer, unless the rest withdraws it.

    `No, the article reports a loss.` is no. None for `No article says so` (the word must be separate), for `No.
    5`, for `Yes, No`, and for an abstention.
    """
    cleaned = _clean(text)
    leading = _LEADING.match(cleaned)
    if leading is None or abstains(text):
        return None
    verdict = YES_NO[leading.group(1)]
    clauses = {_words(clause).removeprefix("and ").removeprefix("or ") for clause in _CLAUSE.split(cleaned)}
    taken_back = any(YES_NO.get(clause, verdict) != verdict for clause in clauses)
    return None if taken_back else verdict


def as_written(text: str) -> str:
    """The answer without citations and label, its characters straightened, in its own case; line ends kept."""
    text = _SPACED_GROUP.sub(",", _out_of_json(text))
    spaced = _EM_DASH.sub(" - ", _FRACTION.sub(" ", _RAISED.sub("^", without_citations(text))))
    straight = folded(unicodedata.normalize("NFKC", spaced)).translate(_STRAIGHT)
    visible = (char for char in straight if char in "\n\t" or unicodedata.category(char)[0] != "C")
    lines = _before_next_question("".join(visible).split("\n"))
    lines = _answering([part for line in lines for part in _BEFORE_LABEL.split(line)])
    # Marks of bold and code would hide that a word such as "**no**," is separate.
    text = "\n".join(lines).replace("**", "").replace("`", "").rstrip(_WRAPPING)
    return text[start.end() :] if (start := _BEFORE_ANSWER.match(text)) else text


def _out_of_json(text: str) -> str:
    found = _JSON.fullmatch(text) if "{" in text else None
    try:
        given = json.loads(found[1]) if found else {}
    except (ValueError, RecursionError):
        return text
    fields = [value for name, value in given.items() if name.casefold() in _ANSWER_FIELDS]
    return str(fields[0]) if len(fields) == 1 and isinstance(fields[0], str | int | float) else text


def _clean(text: str) -> str:
    """Steps 0 to 2."""
    return unicodedata.normalize("NFKC", as_written(text).casefold()).translate(_STRAIGHT)


def _before_next_question(lines: list[str]) -> list[str]:
    """Base models go on with the form of the prompt: what follows a new `Question:` is no part of the answer."""
    for number, line in enumerate(lines):
        if _NEXT_QUESTION.match(line) and any(before.strip(_WRAPPING) for before in lines[:number]):
            return lines[:number]
    return lines


def _answering(lines: list[str]) -> list[str]:
    """The one line that a label marks; without a label, all of them."""
    labels = {number: label[0] for number, line in enumerate(lines) if (label := _LABEL.match(line))}
    if not labels:
        return lines
    explicit = [
        number
        for number, label in labels.items()
        if (":" in label or "final" in label.lower()) and _unlabelled(lines[number]).strip(_WRAPPING)
    ]
    last = (explicit or list(labels))[-1]
    after = [_unlabelled(lines[last]), *lines[last + 1 :]]
    return [line for line in after if line.strip(_WRAPPING)][:1] or lines


def _unlabelled(line: str) -> str:
    while label := _LABEL.match(line):
        line = line[label.end() :]
    return line


def _words(cleaned: str, *, alone: bool = True) -> str:
    """Steps 3, 4 and 6: the bare words."""
    cleaned = _FEET.sub(" ", _ZERO_HOUR.sub("", cleaned))
    cleaned = _POINT_GROUPS.sub(lambda one: ".".join(filter(None, (one[1].replace(".", ""), one[2]))), cleaned)
    if alone and (number := _DECIMAL_COMMA.fullmatch(cleaned)):
        cleaned = f"{number[1]}.{number[2]}{number[3]}"
    cleaned = _SCALED.sub(" ", _LEADING_POINT.sub("0.", _CLITIC.sub("", cleaned)))
    for currency, spelled in _CURRENCIES:
        cleaned = currency.sub(spelled, cleaned)
    cleaned = _UNIT.sub(" ", _PERCENT.sub(" percent", cleaned))
    cleaned = _THOUSANDS.sub("", cleaned).replace("&", " and ")
    kept = {at for match in _KEPT.finditer(cleaned) for at in range(match.start(), match.end())}
    bare = "".join(char if at in kept else _plain(char) for at, char in enumerate(cleaned))
    collapsed = " ".join(bare.split())
    words = _ARTICLE.sub("", collapsed)
    is_amount = alone and "§" not in cleaned and _TRAILING_ZEROS.fullmatch(words)
    return _TRAILING_ZEROS.sub(r"\1\2\3", words) if is_amount else words


def _plain(char: str) -> str:
    if char in "'.":
        return ""
    if unicodedata.category(char)[0] == "P" or char in "+^~|<>=":
        return " "
    return char


def _abstains(cleaned: str, *, firm: bool = False) -> bool:
    """By its statements, each as its clauses, without insertions in brackets."""
    parts = [_COMMA.split(part) for part in _STATEMENT_END.split(_INSERTED.sub("", cleaned))]
    worded = ([words for clause in part if (words := _words(clause))] for part in parts)
    english = [statement for statement in worded if statement]
    return is_abstention(english, firm=firm) or abstains_in_other_languages(parts, firm=firm)
