"""Judges and extractors with arbitrary replies, and checks of the scores."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from scoring import BareEvaluation, build_scorer, every_metric, score_all

from harness.core.records import Context, Cost, Evidence, Prediction, Reference, RunRecord, Score
from harness.evaluators.run_scoring import Scorer
from harness.models.fake_model import example_of
from harness.protocols import Measure, Message
from harness.registry import EVALUATORS

JUDGED = ("rag_eval", "g_eval", "triplet", "kg", "ragas")
"""Evaluators that read replies of a judge."""

_KEYS = ("triplets", "verdicts", "statements", "score", "grade", "query_relevance", "head", "relation", "tail")
_WORDS = st.sampled_from(
    ["yes", "5/5", "1-5", "4.0", "NaN", "-1", "1e999", "Ada", "\ud83d", "{", "\x1b[31m", "", "0"]
)
_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | _WORDS
_JSON = st.recursive(
    _VALUES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
Twist = tuple[str, Any]
TWISTS: st.SearchStrategy[Twist] = st.one_of(
    st.tuples(st.just("text"), st.text(max_size=200) | _WORDS),
    st.tuples(st.just("json"), _JSON),
    st.tuples(st.just("cut"), st.floats(0, 1)),
    st.tuples(st.just("swap"), st.tuples(st.integers(0, 50), _VALUES)),
    st.tuples(
        st.just("wrap"), st.sampled_from(["```json\n%s\n```", "Sure! %s", "%s%s", "[%s]", '{"a": %s}', "%s}"])
    ),
    st.tuples(st.just("deep"), st.integers(1, 100_000)),
    st.tuples(st.just("digits"), st.integers(1, 6_000)),
)
"""Distortions of a reply."""


class TwistedJudge:
    """A `ChatModel` whose replies fit the schema and are then distorted, one way after the other."""

    def __init__(self, twists: Sequence[Twist]) -> None:
        self._twists, self._asked = twists, 0

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """See `harness.protocols.ChatModel`."""
        kind, how = self._twists[self._asked % len(self._twists)]
        self._asked += 1
        fitting = example_of(json_schema or {"type": "string"}, messages[-1].content)
        return str(_twisted(fitting, kind, how).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _twisted(fitting: Any, kind: str, how: Any) -> str:
    text = json.dumps(fitting)
    if kind == "text":
        return str(how)
    if kind == "json":
        return json.dumps(how)
    if kind == "cut":
        return text[: int(float(how) * len(text))]
    if kind == "swap":
        return json.dumps(_swapped(fitting, *how))
    if kind == "wrap":
        return str(how).replace("%s", text)
    times = int(how)
    return "[" * times + "]" * times if kind == "deep" else '{"score": ' + "1" * times + "}"


def _swapped(value: Any, place: int, other: Any) -> Any:
    """Replace one of its leaves, or a container of them."""
    if isinstance(value, dict) and value:
        key = list(value)[place % len(value)]
        return {**value, key: other if place % 3 == 0 else _swapped(value[key], place // 3, other)}
    if isinstance(value, list) and value:
        at = place % len(value)
        return [*value[:at], other if place % 3 == 0 else _swapped(value[at], place // 3, other), *value[at + 1 :]]
    return other


class _Vectors:
    """An `Embedder` of fixed vectors."""

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        import numpy as np

        found = np.array([[1.0 + len(text) % 7, 1.0 + len(set(text)) % 5] for text in texts], dtype=np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True) if len(found) else found.reshape(0, 2)

    async def embed_query(self, text: str) -> Any:
        return (await self.embed_documents([text]))[0]


REFERENCE = Reference(
    query_id="Who wrote the first program?",
    query_type="inference_query",
    answers=("Ada Lovelace",),
    evidence=(Evidence(doc_id="d", fact="Ada wrote it."),),
)
RECORD = RunRecord(
    query_id=REFERENCE.query_id,
    repeat=0,
    status="ok",
    prediction=Prediction(
        answer="Ada Lovelace wrote the first program in 1843.",
        contexts=(Context(text="Ada wrote it. Charles built the engine.", doc_ids=("d",)),),
    ),
    cost=Cost(wall_s=1.0),
    attempt=1,
    started_at="2026-11-20T10:00:00+00:00",
)


def scorer_of(evaluator: str, twists: Sequence[Twist]) -> Scorer:
    """The evaluator, with a judge that replies like this."""
    spec = EVALUATORS.load(evaluator)
    return build_scorer(spec, every_metric(spec), BareEvaluation(TwistedJudge(twists), _Vectors()))


def check(evaluator: str, twists: Sequence[Twist]) -> list[Score]:
    """Score one answer; AssertionError for a value that is not a number or out of the metric's range."""
    scorer = scorer_of(evaluator, twists)
    scores = score_all(scorer, [REFERENCE], {(RECORD.query_id, 0): RECORD})
    units = {measure.name: measure for measure in scorer.measures}
    assert {score.measure for score in scores} == set(units)
    for score in scores:
        if score.value is not None:
            assert math.isfinite(score.value), score
            assert _is_in_range(score.value, units[score.measure]), score
        elif score.status == "failed":
            assert score.explanation.strip(), "a failure says why"
            assert len(score.explanation.splitlines()) == 1, score
    return scores


def _is_in_range(value: float, measure: Measure) -> bool:
    low, high = measure.range or (-math.inf, math.inf)
    return low - 1e-9 <= value <= high + 1e-9
