"""LLM-eval's faithfulness and factual correctness as published (Dong 2025, sections IV-B and V-A): two calls each,
in our words, of which a metric and its validation by cosine share the first.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from harness.core.records import Triplet
from harness.display import counted
from harness.evaluators.context_windows import ContextReading, reading_of
from harness.evaluators.judge_calls import Judge, JudgedEvaluator, Judgement, NotApplicable
from harness.evaluators.kg.graphs.graph import TOLERANCE
from harness.evaluators.score_preconditions import reference_answer
from harness.evaluators.text_vectors import cosine_matrix, windows_of_texts
from harness.evaluators.triplet.verdicts import (
    MATERIAL,
    TripletParams,
    ask,
    joined,
    numbered,
    rounded,
    share_found,
    texts_of_triplets,
    verdicts_on,
)
from harness.extraction.model_triplets import MAX_TOKENS, TRIPLET_LIST, TRIPLET_RULES, valid_triplets
from harness.llm_utils.answer_contract import BETWEEN, RULE, quoted
from harness.llm_utils.concurrency import Once
from harness.llm_utils.structured_output import integer_of, list_of, string_of
from harness.protocols import ChatModel, EvaluationRuntime, ScoringInput

_MOST_PASSAGES, _LONGEST_PASSAGE = 12, 800
_SEVERAL_WORDS = 4
"""From this length on, a text states a fact: shorter ones can be a bare name or a "Yes"."""


class Support(NamedTuple):
    facts: tuple[Triplet, ...]
    passages: tuple[str, ...]
    """As the judge wrote them."""


class FactLists(NamedTuple):
    answer: tuple[Triplet, ...]
    reference: tuple[Triplet, ...]


class PublishedMetrics(JudgedEvaluator):
    """A method for each metric, by its name."""

    def __init__(self, params: TripletParams, runtime: EvaluationRuntime) -> None:
        super().__init__(runtime)
        self._params = params
        self._supports: Once[tuple[str, ...], Support] = Once()
        self._fact_lists: Once[tuple[str, str], FactLists] = Once()

    async def begin(self, _cases: Sequence[ScoringInput]) -> Judge:
        """First calls are shared within a run."""
        self._supports, self._fact_lists = Once(), Once()
        return self.judge

    async def faithfulness_published(self, case: ScoringInput) -> Judgement:
        reading, support = await self.support(case)
        flags = [0] * len(support.facts)
        if support.passages:
            flags = await verdicts_on(
                self._runtime.judge,
                support.facts,
                role=f"You check statements against passages. {MATERIAL}",
                task="For each statement give 1 if the passages support it, and 0 if they do not.",
                material=quoted("passages", BETWEEN.join(support.passages)),
                name="supported",
            )
        value, reason = share_found(support.facts, [flag > 0 for flag in flags], "supported")
        return value, joined(_passages_said(support, reading), reason), reading.share_read

    async def faithfulness_cosine_published(self, case: ScoringInput) -> Judgement:
        reading, support = await self.support(case)
        if not support.passages:
            return 0.0, _passages_said(support, reading), reading.share_read
        facts, passages = texts_of_triplets(support.facts), windows_of_texts(support.passages)
        highest = (await cosine_matrix(self._runtime.embedder, facts, passages)).max(axis=1)
        return float(highest.mean()), f"highest cosines {rounded(highest.tolist())}", reading.share_read

    async def factual_correctness_published(self, case: ScoringInput) -> Judgement:
        lists = await self._lists(case)
        if not lists.answer:
            return 0.0, _nothing_extracted(case.prediction.answer or "", "answer")
        found, missing = await common_and_missing(self._runtime.judge, lists)
        return found / (found + missing), f"TP {found}, FN {missing}, counted by the judge"

    async def factual_correctness_cosine_published(self, case: ScoringInput) -> Judgement:
        lists = await self._lists(case)
        if not lists.answer:
            return 0.0, _nothing_extracted(case.prediction.answer or "", "answer")
        answer, reference = map(texts_of_triplets, lists)
        cosines = await cosine_matrix(self._runtime.embedder, answer, reference)
        is_near = cosines > self._params.threshold + TOLERANCE
        found, missing = int(is_near.any(axis=1).sum()), int((~is_near.any(axis=0)).sum())
        said = f"TP {found}, FN {missing}, above a cosine of {self._params.threshold:g}"
        return found / (found + missing), said

    async def support(self, case: ScoringInput) -> tuple[ContextReading, Support]:
        """The first call of faithfulness. NotApplicable: the answer states no fact."""
        reading = reading_of(case.prediction.contexts, self._params.context_characters)
        windows = tuple(window.text for window in reading.windows)
        answer = case.prediction.answer or ""

        async def extract() -> Support:
            # Of all windows, each fact and passage once: a reply can miss facts of the answer.
            found = [await extract_support(self._runtime.judge, answer, window) for window in windows]
            facts = dict.fromkeys(fact for support in found for fact in support.facts)
            passages = dict.fromkeys(passage for support in found for passage in support.passages)
            return Support(tuple(facts), tuple(passages))

        support = await self._supports.of((answer, *windows), extract)
        if not support.facts:
            raise NotApplicable(_nothing_extracted(answer, "answer"))
        return reading, support

    async def _lists(self, case: ScoringInput) -> FactLists:
        texts = case.prediction.answer or "", reference_answer(case.reference)
        lists = await self._fact_lists.of(texts, partial(extract_lists, self._runtime.judge, *texts))
        if not lists.reference:
            raise NotApplicable(_nothing_extracted(reference_answer(case.reference), "reference"))
        return lists


def _nothing_extracted(text: str, whose: str) -> str:
    """The reason why nothing is judged. Raises ValueError for a text of several words, which states a fact:
    otherwise a judge that extracts nothing would choose the queries that count.
    """
    if len(text.split()) >= _SEVERAL_WORDS:
        raise ValueError(f"the judge extracted no triplet from several words of the {whose}")
    return f"no triplet was extracted from the {whose}"


def _passages_said(support: Support, reading: ContextReading) -> str:
    """How many passages were extracted, and how many of them are literal parts of the contexts."""
    contexts = " ".join(" ".join(window.text for window in reading.windows).split())
    literal = sum(" ".join(passage.split()) in contexts for passage in support.passages)
    return f"{counted(len(support.passages), 'passage')} extracted, {literal} literal"


async def extract_support(judge: ChatModel, answer: str, contexts: str) -> Support:
    """The first call of faithfulness: facts of the answer, and passages of the contexts about them."""
    task = (
        f"List every fact that the answer states as a triplet [head, relation, tail]. {TRIPLET_RULES} Then copy "
        "from the passages, word for word, each sentence that is needed to check these facts."
    )
    form = 'Reply with JSON only: {"triplets": [["...", "...", "..."], ...], "passages": ["...", ...]}'
    material = f"{quoted('passages', contexts)}\n\n{quoted('answer', answer)}"
    system = f"You prepare the check of an answer against passages. {RULE}\n{task}\n{form}"
    passages = list_of(string_of(_LONGEST_PASSAGE), _MOST_PASSAGES)
    schema = {"triplets": TRIPLET_LIST, "passages": passages}

    def read(reply: Mapping[str, Any]) -> Support:
        listed = reply.get("passages")
        if not isinstance(listed, list) or not all(isinstance(passage, str) for passage in listed):
            raise ValueError("no list of passages")
        found = dict.fromkeys(passage.strip() for passage in listed[:_MOST_PASSAGES] if passage.strip())
        return Support(valid_triplets(reply.get("triplets")), tuple(found))

    # 800 characters are about 200 tokens; few passages are that long.
    return await ask(judge, system, f"{material}\n\n{form}", schema, read, MAX_TOKENS + 100 * _MOST_PASSAGES)


async def extract_lists(judge: ChatModel, answer: str, reference: str) -> FactLists:
    """The first call of factual correctness: the facts of both texts."""
    task = (
        "List every fact that the answer states, and every fact that the reference states, each as a triplet "
        f"[head, relation, tail]. {TRIPLET_RULES} A text without any fact has an empty list."
    )
    form = (
        'Reply with JSON only: {"answer": [["...", "...", "..."], ...], "reference": [["...", "...", "..."], ...]}'
    )
    material = f"{quoted('answer', answer)}\n\n{quoted('reference', reference)}"
    system = f"You extract facts from an answer and from its reference answer. {RULE}\n{task}\n{form}"
    schema = {"answer": TRIPLET_LIST, "reference": TRIPLET_LIST}

    def read(reply: Mapping[str, Any]) -> FactLists:
        return FactLists(valid_triplets(reply.get("answer")), valid_triplets(reply.get("reference")))

    return await ask(judge, system, f"{material}\n\n{form}", schema, read, 2 * MAX_TOKENS)


async def common_and_missing(judge: ChatModel, lists: FactLists) -> tuple[int, int]:
    """The second call of factual correctness: the judge's counts of true positives and false negatives."""
    total = len(lists.reference)
    task = (
        "Count tp: the facts of the reference that are also in the answer, in any words. Count fn: the facts of "
        f"the reference that are missing in the answer. Together they are {total}. Reply with JSON only: "
        '{"tp": ..., "fn": ...}'
    )
    material = (
        f"{quoted('answer', numbered(lists.answer))}\n\n{quoted('reference', numbered(lists.reference))}\n\n{task}"
    )
    system = f"You compare the facts of an answer with those of a reference. {MATERIAL}\n{task}"
    schema = {"tp": integer_of(0, total), "fn": integer_of(0, total)}

    def read(reply: Mapping[str, Any]) -> tuple[int, int]:
        found, lost = reply.get("tp"), reply.get("fn")
        if type(found) is not int or type(lost) is not int:
            raise ValueError("no counts tp and fn")
        if min(found, lost) < 0 or found + lost != total:
            raise ValueError(f"tp {found} and fn {lost} cannot be counts of {total} facts of the reference")
        return found, lost

    return await ask(judge, system, material, schema, read, 40)
