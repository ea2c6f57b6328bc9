"""G-Eval: four scores of an answer as a summary of its contexts, by a judge (Liu et al. 2023).

RAG-Eval (Akindele et al. 2025, table 3) applies G-Eval to retrieved text as the source and the answer as its
summary; the query is not read. Each metric has one call with a criterion and evaluation steps
(`harness.evaluators.rag_eval.prompts`): coherence, consistency, fluency and relevance, whole numbers from 1 to 5.

    score = sum of s * p(s) over s = 1 .. 5,    value = score / 5

p(s) are the probabilities of the reply's first token, normalised over the five numbers. If the judge's server
refuses log probabilities, the score is the number that the judge states, as it is for a single reply without them
and for one that begins otherwise (the five numbers have less than half of the probability). The explanation says
which it was; `scores: stated` asks for that number alone. G-Eval estimates p(s) from 20 samples where a model has
no probabilities, and has its steps written by a model; here the steps are fixed: all runs are judged alike.

Contexts longer than `context_characters` are judged in windows: consistency is the highest score of a window, the
others are the mean, weighted by length. Not applicable: a run without generator or contexts, an answer that
abstains. An empty answer, and one without contexts, has 0.
"""

from collections.abc import Sequence
from math import fsum
from typing import Any, Literal, get_args

from harness.core.errors import NoLogprobs
from harness.evaluators.context_windows import LONGEST, ContextCharacters, reading_of
from harness.evaluators.judge_calls import JudgedEvaluator, Judgement, judged_measures
from harness.evaluators.rag_eval.grades import HIGHEST, LOWEST
from harness.evaluators.rag_eval.prompts import Criterion, ask_score, form_messages, material
from harness.llm_utils.answer_contract import Tag
from harness.protocols import (
    EvaluationRuntime,
    EvaluatorSpec,
    LogprobModel,
    Measure,
    Message,
    PanelFigure,
    Params,
    ScoringInput,
    Sides,
)

Metric = Literal["coherence", "consistency", "fluency", "relevance"]
METRICS: tuple[Metric, ...] = get_args(Metric)
_TASK = (
    "You will read a source document and a summary that was written from it. Rate the summary on one metric. "
    "Read the instructions with care, and look at them again while you rate."
)
_FORMS: dict[Metric, Criterion] = {
    "coherence": Criterion(
        "the quality of all sentences of the summary together. It should be well structured and lead from one "
        "sentence to the next, as one body of information about its topic.",
        (
            "Read the source document, and note its topic and main points.",
            "Read the summary, and check whether it presents them in a clear and logical order.",
            f"Choose a score from {LOWEST} (lowest) to {HIGHEST} (highest) for coherence.",
        ),
    ),
    "consistency": Criterion(
        "the agreement of facts between summary and source. A consistent summary states only what the source "
        "implies, and nothing that was made up.",
        (
            "Read the source document, and note its facts and details.",
            "Read the summary, and look for statements that the source does not support.",
            f"Choose a score from {LOWEST} to {HIGHEST} for consistency.",
        ),
    ),
    "fluency": Criterion(
        "the language of the summary: grammar, spelling, punctuation, choice of words and form of sentences.",
        (
            "Read the summary, and look for mistakes that make it hard to read.",
            f"Choose a score from {LOWEST} to {HIGHEST} for fluency.",
        ),
    ),
    "relevance": Criterion(
        "the choice of what matters. The summary should contain the important information of the source, without "
        "repetition and without what is not important.",
        (
            "Read the summary and the source document.",
            "Note the main points of the source, and which of them the summary contains.",
            "Check for repetition and for unimportant information.",
            f"Choose a score from {LOWEST} to {HIGHEST} for relevance.",
        ),
    ),
}
_FIGURE = PanelFigure("judged_g_eval", "G-Eval", "Scores of G-Eval as shares of the best score, by a judge model")
_DESCRIBED: dict[Metric, tuple[str, Sides, dict[str, Any]]] = {
    name: (
        f"{name} of the answer as a summary of its contexts",
        frozenset({"answer", "contexts"}),
        {
            "queries": "all",
            "title": f"{name} (G-Eval)",
            "stands_for": "faithfulness" if name == "consistency" else None,
        },
    )
    for name in METRICS
}
_OF = {measure: name for name, measure in judged_measures("g_eval", "G-Eval", _FIGURE, _DESCRIBED).items()}
MEASURES = tuple(_OF)


class GEvalParams(Params):
    scores: Literal["weighted", "stated"] = "weighted"
    """`weighted` by the probabilities of the five numbers, if the judge's server gives any; `stated`: the number
    in the judge's reply.
    """
    context_characters: ContextCharacters = LONGEST
    """Size of a window of contexts."""


class GEvalEvaluator(JudgedEvaluator):
    """Four scores of each answer; each has its own calls and fails alone."""

    def __init__(self, params: GEvalParams, runtime: EvaluationRuntime) -> None:
        super().__init__(runtime)
        self._params = params
        self._has_probabilities = params.scores == "weighted"

    async def judge(self, case: ScoringInput, measure: Measure) -> Judgement:
        name = _OF[measure]
        reading = reading_of(case.prediction.contexts, self._params.context_characters)
        texts = [material("", window.text, case.prediction.answer or "") for window in reading.windows]
        found = []
        for each in texts:
            shown: dict[str, tuple[Tag, str]] = {
                "Source document": ("contexts", each.contexts),
                "Summary": ("answer", each.answer),
            }
            found.append(await self._score(form_messages(_TASK, name, _FORMS[name], shown)))
        scores = [score for score, _ in found]
        score = max(scores) if name == "consistency" else reading.mean(scores)
        how = ", ".join(dict.fromkeys(how for _, how in found))
        said = "; ".join([f"{score:.3g} of {HIGHEST}, {how}", *texts[0].cuts])
        return score / HIGHEST, said, reading.share_read

    async def _score(self, messages: Sequence[Message]) -> tuple[float, str]:
        judge, how = self._runtime.judge, "as stated"
        if self._has_probabilities and isinstance(judge, LogprobModel):
            numbers = [str(number) for number in range(LOWEST, HIGHEST + 1)]
            try:
                shares = await judge.choose(messages, numbers)
                return fsum(int(number) * share for number, share in shares.items()), "weighted by probability"
            except NoLogprobs as error:
                # Only a refusal holds for every other answer too.
                self._has_probabilities = not error.refused
                how += "" if error.refused else " (a reply without log probabilities)"
            except ValueError:
                how += " (the reply would not begin with a score)"
        return float(await ask_score(judge, messages)), how


SPEC = EvaluatorSpec(
    name="g_eval",
    version="3",
    summary="G-Eval: coherence, consistency, fluency and relevance of an answer as a summary, by a judge",
    params=GEvalParams,
    measures=lambda _params: MEASURES,
    build=GEvalEvaluator,
    roles=frozenset({"judge"}),
)
