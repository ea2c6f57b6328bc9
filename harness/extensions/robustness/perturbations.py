"""What perturbations are, and those of queries: the same question in another form. The right answer stays,
because a form that might ask something else is dropped.

Negations and left-out constraints are not among them: they change the right answer, and no rule knows the new one.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from random import Random
from typing import Literal

from harness.core.records import Document
from harness.evaluators.answer_normalisation import is_verdict, normalise
from harness.evaluators.score_preconditions import stated_answers
from harness.protocols import DatasetRow

WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_TOKEN = re.compile(r"\w[\w'\u2019&-]*|&")
_LINKS = frozenset({"of", "de", "van", "von", "&"})  # Small words within a name.
_DATES = frozenset({*calendar.month_name, *calendar.day_name})
_OPENERS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at by can considering did do does for from had has have he how if in is it no on or she "
        "since that the these they this to was we were what when where which while who whose why will with yes",
    )
)
"""Words that are capitalised only because a sentence begins with them."""


@dataclass(frozen=True)
class Planted:
    """What a perturbed corpus holds against one query."""

    doc_ids: frozenset[str]
    """The documents that were added, or changed."""
    marker: str = ""
    """A text that shows that a context holds it; empty: its document shows that."""
    says: str = ""
    """An answer that contains this follows the attack; empty: no answer shows that."""


@dataclass(frozen=True)
class Perturbed:
    rows: tuple[DatasetRow, ...]
    """The perturbed queries; for a perturbed corpus, those against which something was planted."""
    documents: tuple[Document, ...]
    planted: Mapping[str, Planted] = field(default_factory=dict)
    """By query id."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Why queries were left out -> how many."""


@dataclass(frozen=True)
class Material:
    """A sample before a perturbation."""

    name: str
    rows: tuple[DatasetRow, ...]
    documents: tuple[Document, ...]
    seed: int = 0
    share: float = 0.25
    """Of the words that get a typo."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Query id -> the query as a model wrote it."""

    def rng(self, key: str = "") -> Random:
        """One generator per query, so that other queries do not influence the result."""
        return Random(f"{self.seed}/{self.name}/{key}")  # noqa: S311 - no secret

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        texts = (*(f"{one.title} {one.text}" for one in self.documents), *(row.query.text for row in self.rows))
        return frozenset(word for text in texts for word in re.findall(r"[^\W\d_]+", text.lower()))


@dataclass(frozen=True)
class Perturbation:
    name: str
    title: str
    """Follows "under" in a sentence."""
    changes: Literal["queries", "corpus"]
    make: Callable[[Material], Perturbed]
    is_written: bool = False
    """Whether a model writes the queries first."""
    is_for_judges: bool = False
    """Whether it addresses judges, not systems."""


def numbers_of(text: str) -> Counter[str]:
    """Its numbers without separators, in digits 0 to 9."""
    digits = "".join(str(int(char)) if char.isdecimal() else char for char in text)
    return Counter(re.sub(r"\D", "", found) for found in NUMBER.findall(digits))


def names_of(text: str) -> list[str]:
    """Names by their capitals, in order, without a single word that begins a sentence."""
    found: list[str] = []
    starts = {sentence.start() for sentence in re.finditer(r"(?:^|(?<=[.!?:\u201c\"])\s*)\b", text)}
    tokens = [*_TOKEN.finditer(text)]
    at = 0
    while at < len(tokens):
        end = at
        while end < len(tokens) and (end == at or text[tokens[end - 1].end() : tokens[end].start()] == " "):
            is_link = tokens[end][0] in _LINKS and end > at and tokens[end + 1 : end + 2]
            if not tokens[end][0][0].isupper() and not is_link:
                break
            end += 1
        words = tokens[at:end]
        while words and words[-1][0] in {*_LINKS, *_DATES}:
            words.pop()
        while words and words[0][0].lower() in _OPENERS:
            words.pop(0)
        is_abbreviation = bool(words) and len(words[0][0]) < 3  # Such as "Dr".
        if len(words) > 1 or (words and words[0].start() not in starts and not is_abbreviation):
            found.append(re.sub(r"['\u2019]s?$", "", text[words[0].start() : words[-1].end()]))
        at = max(end, at + 1)
    return list(dict.fromkeys(found))


def worded_answers(row: DatasetRow) -> list[str]:
    """Its reference answers that are more than yes or no."""
    return [answer for answer in stated_answers(row.reference) if not is_verdict(answer)]


@cache
def whole(text: str) -> re.Pattern[str]:
    """The text as separate words, in any case."""
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)


def words_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in re.findall(r"\w+", text.lower()))


_NEXT_TO = {
    key: [row[place] for place in (at - 1, at + 1) if 0 <= place < len(row)]
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    for at, key in enumerate(row)
}
_OPENINGS = (
    (re.compile(r"^Who (is|was) the "), r"What \1 the name of the "),
    (re.compile(r"^Who (?=\w)"), "Which person or organisation "),
    (re.compile(r"^Where (?=\w)"), "In which place "),
    (re.compile(r"^When (?=\w)"), "At what time "),
    (re.compile(r"^How many (?=\w)"), "What number of "),
    (re.compile(r"^Which (?=[a-z])"), "What "),
    (re.compile(r"^In which (?=[a-z])"), "In what "),
    (re.compile(r"^What (?=[a-z]+ (?:is|was|did|does|has)\b)"), "Which "),
    *(
        (re.compile(rf"^{verb} (?=\w)"), f"Yes or no: {verb.lower()} ")
        for verb in ("Are", "Did", "Do", "Does", "Had", "Has", "Have", "Is", "Was", "Were")
    ),
)
"""How a question begins -> how it can begin as well."""
_SYNONYMS = dict(
    re.findall(
        r"([a-z][^=;]*)=([^;]+)",
        "according to=as stated by; allowed=permitted; an article=a news story; article=news story; articles=news "
        "stories; company=firm; an individual=a person; a person=an individual; "
        "concerning=about; discusses=talks about; film=movie; firm=company; focuses on=concentrates on; had said="
        "had stated; indicate=show; indicated=showed; indicates=shows; individual=person; mentioned in=named in; "
        "movie=film; permitted=allowed; person=individual; regarding=about; reported by=covered by; reported "
        "that=wrote that; said that=stated that; stated that=said that; suggest=imply; suggested=implied; "
        "suggests=implies; while=whereas",
    )
)
_SYNONYM = re.compile(
    r"(?<!\w)'[^']+'(?!\w)|\"[^\"]*\"|\u201c[^\u201d]*\u201d"
    rf"|\b({'|'.join(sorted(_SYNONYMS, key=len, reverse=True))})\b"
)
"""A quotation, which stays, or words with a synonym."""
_ASIDES = (
    'I was just reading "{}", which is another matter. {}',
    'A friend keeps talking about "{}", but that is not my question. {}',
    'Leave "{}" aside for now. {}',
)
_IDLE_ASIDES = (
    "It is raining here and my train is late. {}",
    "I have asked three colleagues already and nobody knew. {}",
    "Thanks in advance, I am writing from my phone. {}",
)
"""For documents without titles."""

Edit = Callable[[DatasetRow, Random], str | None]
"""edit(row, rng) -> the query in another form; None: it has nothing to change."""


def _typos(material: Material) -> Perturbed:
    """A quarter of the words of four letters and more misspelt: letters swapped, left out, doubled, or hit beside.

    None becomes another word of the documents, and words of the reference answers stay.
    """

    def edit(row: DatasetRow, rng: Random) -> str | None:
        text, kept = row.query.text, words_of(worded_answers(row))
        # Shorter words could not be recognised.
        words = [found for found in WORD.finditer(text) if len(found[0]) >= 4]
        places = [found for found in words if words_of([found[0]]).isdisjoint(kept)]
        if not places:
            return None
        n = min(len(places), max(1, round(material.share * len(places))))
        for found in sorted(rng.sample(places, n), key=lambda one: -one.start()):
            text = f"{text[: found.start()]}{_misspelt(found[0], material, rng)}{text[found.end() :]}"
        return text

    return _edited(material, edit)


def _misspelt(word: str, material: Material, rng: Random) -> str:
    """The word itself if every typo is another word."""
    for _ in range(12):
        wrong = _typo(word, rng)
        if wrong != word and words_of([wrong]).isdisjoint(material.vocabulary):
            return wrong
    return word


def _typo(word: str, rng: Random) -> str:
    """The first letter stays, as it mostly does."""
    at = rng.randrange(1, len(word) - 1)
    before, letter, following = word[:at], word[at], word[at + 1 :]
    near = _NEXT_TO.get(letter, [letter])
    return rng.choice(
        (
            f"{before}{following[0]}{letter}{following[1:]}",
            f"{before}{following}",
            f"{before}{letter}{letter}{following}",
            f"{before}{rng.choice(near)}{following}",
        )
    )


def _casing(row: DatasetRow, rng: Random) -> str | None:
    """All in small letters or all in capitals. With an abbreviation always in capitals: "US" is not "us"."""
    text = row.query.text
    forms = [text.upper()] if re.search(r"\b[A-Z]{2,}\b", text) else [text.lower(), text.upper()]
    changed = [form for form in forms if form != text]
    return rng.choice(changed) if changed else None


def _paraphrased(row: DatasetRow, _rng: Random) -> str | None:
    """Another beginning and synonyms, by rules for English; not within quotations or words of the answers."""
    kept = words_of(worded_answers(row))
    text = row.query.text
    for opening, other in _OPENINGS:
        if opening.search(text):
            text = opening.sub(other, text)
            break

    def synonym(found: re.Match[str]) -> str:
        return found[0] if found[1] is None or words_of([found[1]]) & kept else _SYNONYMS[found[1]]

    changed = _SYNONYM.sub(synonym, text)
    return changed if changed != row.query.text else None


def _with_distractors(material: Material) -> Perturbed:
    """A sentence before the question about the title of a document that has nothing to do with it."""
    titles = sorted({one.title for one in material.documents if _fits_a_sentence(one.title)})

    def edit(row: DatasetRow, rng: Random) -> str:
        own = {item.doc_id for item in row.reference.evidence}
        about = words_of([*names_of(row.query.text), *worded_answers(row)])
        about |= words_of(name for one in material.documents if one.doc_id in own for name in names_of(one.title))
        strange = [title for title in titles if words_of([title]).isdisjoint(about)]
        if not strange:
            return rng.choice(_IDLE_ASIDES).format(row.query.text)
        return rng.choice(_ASIDES).format(rng.choice(strange), row.query.text)

    return _edited(material, edit)


def _fits_a_sentence(title: str) -> bool:
    return 0 < len(title) <= 120 and title.isprintable() and not numbers_of(title) and '"' not in title


def _written(material: Material) -> Perturbed:
    """As a model wrote it, if all its numbers and names are still there."""
    return _edited(material, lambda row, _: material.texts.get(row.query.query_id), keeps_names=True)


def _edited(material: Material, edit: Edit, *, keeps_names: bool = False) -> Perturbed:
    """Every query that `edit` changes without changing what it asks."""
    others = frozenset(row.query.text for row in material.rows)
    rows, dropped = [], Counter[str]()
    for row in material.rows:
        before, text = row.query.text, edit(row, material.rng(row.query.query_id))
        if text is None or text == before or not normalise(text):
            dropped["nothing to change"] += 1
        elif numbers_of(text) != numbers_of(before):
            dropped["a number would change"] += 1
        elif keeps_names and any(name not in text for name in names_of(before)):
            dropped["a name would be lost"] += 1
        elif text in others:
            dropped["it would be another query"] += 1
        else:
            rows.append(replace(row, query=row.query.model_copy(update={"text": text})))
    return Perturbed(tuple(rows), material.documents, dropped=dict(dropped))


QUERY_PERTURBATIONS = (
    Perturbation("typos", "typos", "queries", _typos),
    Perturbation("casing", "another case", "queries", lambda material: _edited(material, _casing)),
    Perturbation("paraphrase", "a paraphrase", "queries", lambda material: _edited(material, _paraphrased)),
    Perturbation("distractor-clause", "a distracting sentence", "queries", _with_distractors),
    Perturbation("model-paraphrase", "a paraphrase by a model", "queries", _written, is_written=True),
    Perturbation("translation", "another language", "queries", _written, is_written=True),
)
