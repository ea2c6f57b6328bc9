"""Support of the answer by the contexts: overlap of words, without a judge.

    support_words    = share of the answer's content words and numbers that occur in the contexts
    support_bigrams  = share of its pairs of neighbouring words that do
    support_rouge_l  = longest common subsequence of answer and contexts / words of the answer (ROUGE-L precision,
                       Lin 2004)
    support_exact    = whether the contexts contain the whole answer

Content words are those of `harness.evaluators.novel_tokens`: without function words and citations. On ClapNQ's
human labels of faithfulness `support_words` separates faithful answers from others better than the knowledge-graph
scores (docs/validity.md). It does not see negation, and an answer that copies an irrelevant passage is supported
by it.

Not applicable: an answer that abstains, or has no content word. An empty answer, and no contexts at all, score 0.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from harness.core.records import Score
from harness.core.scripts import LETTER_OR_DIGIT, SENTENCE_END, UNSPACED, folded
from harness.evaluators.answer_normalisation import abstains, without_citations
from harness.evaluators.novel_tokens import content_words
from harness.evaluators.score_preconditions import CaseEvaluator, score_without_reading
from harness.evaluators.scores import graded, not_applicable, scored
from harness.protocols import EvaluatorSpec, PanelFigure, Params, ScoringInput

_WORD = re.compile(rf"[{UNSPACED}]|{LETTER_OR_DIGIT}+(?:'{LETTER_OR_DIGIT}+)?")
_FIGURE = PanelFigure(
    "support", "Support of answers by their contexts", "Word overlap of answers with their contexts"
)


class Support(NamedTuple):
    """Shares of an answer that its contexts support, 0 to 1."""

    words: float
    bigrams: float
    rouge_l: float
    exact: float


def support_of(answer: str, contexts: Sequence[str]) -> Support | None:
    """The support of an answer; None if it has no content word."""
    said, text = content_words(answer), " ".join(contexts)
    if not said:
        return None
    known = set(content_words(text))
    plain, found = words_of(answer), words_of(text)
    pairs, known_pairs = list(itertools.pairwise(plain)), set(itertools.pairwise(found))
    return Support(
        words=sum(word in known for word in said) / len(said),
        bigrams=sum(pair in known_pairs for pair in pairs) / len(pairs) if pairs else float(plain[0] in found),
        rouge_l=common_subsequence(plain, found) / len(plain),
        exact=float(f" {' '.join(plain)} " in f" {' '.join(found)} "),
    )


Place = tuple[int, int]
"""Start and end character offsets in a text."""


def supporting_sentences(question: str, answer: str, contexts: Sequence[str]) -> list[list[Place]]:
    """The sentences of each context that contain at least half of the answer's content words beyond the question
    (of all its content words, if it has no others); if none does, those that contain most.
    """
    asked, said = set(content_words(question)), set(content_words(answer))
    wanted = said - asked or said
    if not wanted or abstains(answer):
        return [[] for _ in contexts]
    found = [
        [(len(wanted & set(content_words(text[start:end]))) / len(wanted), (start, end)) for start, end in places]
        for text in contexts
        for places in [_sentences(text)]
    ]
    most = max((share for sentences in found for share, _ in sentences), default=0.0)
    least = min(0.5, most)
    return [[place for share, place in sentences if share and share >= least] for sentences in found]


def _sentences(text: str) -> list[Place]:
    """The places of its sentences, without the white space around them."""
    ends = [(found.start(), found.end()) for found in SENTENCE_END.finditer(text)]
    starts = [0, *(behind for _, behind in ends)]
    places = zip(starts, [*(end for end, _ in ends), len(text)], strict=True)
    return [(start, start + len(text[start:end].rstrip())) for start, end in places if text[start:end].strip()]


def common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence, with a bit for each word of `one` (Hyyro 2004)."""
    places: dict[str, int] = {}
    for place, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(one)) - 1
    left = every
    for word in other:
        matched = left & places.get(word, 0)
        left = ((left + matched) | (left - matched)) & every
    return len(one) - left.bit_count()


def words_of(text: str) -> list[str]:
    """Words and numbers in lower case, without citations."""
    return _WORD.findall(folded(without_citations(text)).replace("\u2019", "'").casefold())


_measure = partial(
    graded, figure=_FIGURE, section="Support by the contexts", unit="%", reads=frozenset({"answer", "contexts"})
)
WORDS = _measure(
    "support_words",
    "words supported",
    "share of the answer's content words and numbers that its contexts contain",
    twin_of="ragas_faithfulness",
    stands_for="faithfulness",
)
BIGRAMS = _measure(
    "support_bigrams", "word pairs supported", "share of the answer's word pairs that its contexts contain"
)
ROUGE_L = _measure(
    "support_rouge_l", "ROUGE-L precision", "longest common subsequence with the contexts per word of the answer"
)
EXACT = _measure(
    "support_exact",
    "contained in the contexts",
    "share of answers that their contexts contain as a whole",
    range=None,
    binary=True,
)
MEASURES = (WORDS, BIGRAMS, ROUGE_L, EXACT)


class SupportEvaluator(CaseEvaluator):
    def scores(self, case: ScoringInput) -> list[Score]:
        known = [score_without_reading(case, measure) for measure in case.measures]
        if all(known):
            return [score for score in known if score]
        found = support_of(case.prediction.answer or "", [context.text for context in case.prediction.contexts])
        if found is None:
            return [not_applicable(case, measure, "the answer has no content word") for measure in case.measures]
        values = dict(zip((one.name for one in MEASURES), found, strict=True))
        said = f"words {found.words:.2f}, pairs {found.bigrams:.2f}, ROUGE-L {found.rouge_l:.2f}"
        return [scored(case, measure, values[measure.name], said) for measure in case.measures]


SPEC = EvaluatorSpec(
    name="support",
    version="3",
    summary="support of the answer by the contexts: words, pairs, ROUGE-L precision (no model call)",
    params=Params,
    measures=lambda _params: MEASURES,
    build=SupportEvaluator,
)
