"""evidence: an answer, its steps, and for each the sentence that proves it."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asking
import pytest
from asking import told
from kg_corpus import CORPUS, TEXTS, scripted
from runtimes import Asked, BareRuntime, Chat

from harness.core.errors import ConfigError
from harness.core.records import Document, Prediction
from systems.common.graph_index import GraphIndexParams
from systems.common.sentences import sentence_spans
from systems.evidence.params import AnswerParams
from systems.evidence.system import SPEC

QUESTION = "Who builds turbines for Gull Sound?"
STEPS = ["Tidewright Power builds turbines for Gull Sound.", "Ingrid Solvane runs Tidewright Power."]


class Model:
    """Extracts kg's triplets, answers, and lists these steps."""

    def __init__(self, *steps: str, answer: str = "Ingrid Solvane") -> None:
        self.steps, self.answer = json.dumps({"steps": list(steps)}), answer

    def __call__(self, asked: Asked) -> str:
        if "Text:" in asked.text:
            return scripted(asked)
        if asked.json_schema is None:
            return self.answer
        wanted = asked.json_schema["properties"]
        listed = self.steps if "steps" in wanted else self.steps.replace('"steps"', '"evidence"')
        return json.dumps({**json.loads(listed), "answer": self.answer}) if "answer" in wanted else listed


class Entailment:
    """What follows from a sentence, as told; otherwise the share of a statement's words that it has."""

    def __init__(self, told: dict[str, float] | None = None) -> None:
        self.told, self.read = told or {}, list[str]()

    async def shares(self, premises: Sequence[str], hypothesis: str) -> list[float]:
        self.read += premises
        asked = set(hypothesis.lower().split())
        return [self.told.get(each, len(asked & set(each.lower().split())) / len(asked)) for each in premises]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CORPUS, indexed."""
    folder = tmp_path_factory.mktemp("stored")
    asyncio.run(asking.indexed(SPEC, BareRuntime(folder, Chat(Model())), CORPUS))
    return folder


async def ask(stored: Path, model: Model, entailment: Entailment | None = None, **answer: Any) -> Prediction:
    runtime = BareRuntime(stored, Chat(model), entailment=entailment or Entailment())
    return await asking.asked(SPEC, runtime, QUESTION, **answer)


async def ask_of(corpus: Sequence[Document], folder: Path, model: Model, **answer: Any) -> Prediction:
    """The same over another corpus."""
    await asking.indexed(SPEC, BareRuntime(folder, Chat(Model())), corpus)
    return await ask(folder, model, **answer)


def offered(prediction: Prediction) -> list[str]:
    return [each.text for each in prediction.evidence]


async def test_each_step_has_the_sentence_that_proves_it_at_its_place(stored: Path) -> None:
    prediction = await ask(stored, Model(*STEPS))
    assert prediction.answer == "Ingrid Solvane"
    assert offered(prediction) == [
        "Tidewright Power builds turbines for Gull Sound.",
        "Ingrid Solvane runs Tidewright Power.",
    ]
    for each in prediction.evidence:
        assert each.kind == "sentence"
        assert each.span is not None
        assert TEXTS[each.span.doc_id][each.span.start : each.span.end] == each.text
    assert len(told(prediction, "step")) == 2


async def test_two_steps_with_one_proof_name_it_once(stored: Path) -> None:
    prediction = await ask(stored, Model(STEPS[1], "Tidewright Power is run by Ingrid Solvane."))
    assert offered(prediction) == ["Ingrid Solvane runs Tidewright Power."]


async def test_an_answer_that_abstains_has_nothing_to_prove(stored: Path) -> None:
    prediction = await ask(stored, Model(*STEPS, answer="Insufficient information."))
    assert prediction.evidence == ()
    assert told(prediction, "steps") == ["no evidence: there is no answer to prove"]


@pytest.mark.parametrize("said", ["no JSON at all", '{"steps": "none"}', '{"steps": []}', '{"steps": ["", 3]}'])
async def test_where_the_steps_cannot_be_read_question_and_answer_stand_for_them(stored: Path, said: str) -> None:
    model = Model()
    model.steps = said
    prediction = await ask(stored, model)
    assert len(prediction.evidence) == 1
    (step,) = told(prediction, "step")
    assert step.startswith("Who builds turbines for Gull Sound? Ingrid Solvane")
    assert "question and answer" in told(prediction, "steps")[0]


async def test_a_graph_without_an_entity_is_answered_from_and_proves_nothing(tmp_path: Path) -> None:
    text = "Nothing here is a name."
    found = await ask_of([Document(doc_id="d", text=text)], tmp_path, Model(*STEPS))
    assert (found.answer, offered(found)) == ("Ingrid Solvane", [])
    assert all("entities: none" in step for step in told(found, "step"))


async def test_f_weighs_entailment_against_length(stored: Path) -> None:
    long, short = "Tidewright Power builds turbines for Gull Sound.", "Ingrid Solvane runs Tidewright Power."
    entailing = Entailment({long: 0.9, short: 0.8})
    by_entailment = await ask(stored, Model(STEPS[0]), entailing, length_weight=0.0, step_chunks=1)
    assert offered(by_entailment) == [long]
    assert by_entailment.evidence[0].score == pytest.approx(0.9)
    by_length = await ask(stored, Model(STEPS[0]), entailing, length_weight=0.5, step_chunks=1)
    assert offered(by_length) == [short]
    assert by_length.evidence[0].score == pytest.approx(0.5 * 0.8 - 0.5 * len(short) / len(long))


async def test_only_the_nearest_sentences_are_read_for_entailment(stored: Path) -> None:
    entailment = Entailment()
    await ask(stored, Model(STEPS[0]), entailment, step_sentences=2)
    assert len(entailment.read) == 2
    assert STEPS[0] in entailment.read


async def test_the_baselines_ask_no_model_of_entailment(stored: Path) -> None:
    entailment = Entailment()
    nearest = await ask(stored, Model(STEPS[1]), entailment, pick="cosine")
    assert offered(nearest) == [STEPS[1]]
    whole = await ask(stored, Model(STEPS[1]), entailment, pick="chunk")
    assert offered(whole) == [TEXTS["d0"]]
    assert entailment.read == []
    chosen: tuple[dict[str, str], ...] = ({}, {"pick": "cosine"}, {"pick": "chunk"}, {"evidence": "direct"})
    named = [SPEC.entailment(AnswerParams.model_validate(params)) for params in chosen]
    assert named == ["generator", None, None, None]


async def test_as_published_one_call_gives_answer_and_steps_and_each_passage_a_sentence(stored: Path) -> None:
    runtime = BareRuntime(stored, model := Chat(Model(STEPS[0])), entailment=(entailment := Entailment()))
    prediction = await asking.asked(
        SPEC,
        runtime,
        QUESTION,
        steps="with_answer",
        sentence_per="chunk",
        step_sentences=100,
        length="characters",
    )
    (reasoning,) = model.calls
    assert [message.role for message in reasoning.messages] == ["system", "user"]
    assert all(context.text in reasoning.messages[1].content for context in prediction.contexts)
    assert prediction.answer == "Ingrid Solvane"
    assert len({each.doc_ids for each in prediction.evidence}) == len(prediction.evidence) > 1
    shortest = {min(sentences_of(each.doc_ids[0]), key=len) for each in prediction.evidence}
    assert set(offered(prediction)) == shortest
    assert STEPS[0] in entailment.read


def sentences_of(doc_id: str) -> list[str]:
    return [TEXTS[doc_id][start:end] for start, end in sentence_spans(TEXTS[doc_id])]


@pytest.mark.parametrize("steps", ["after_answer", "with_answer"])
async def test_the_direct_baseline_offers_what_the_model_names_at_its_place(stored: Path, steps: str) -> None:
    entailment, copied = Entailment(), "ingrid solvane  runs\nTidewright Power."
    found = await ask(
        stored, Model(copied, "She is its head.", copied), entailment, evidence="direct", steps=steps
    )
    assert found.answer == "Ingrid Solvane"
    assert offered(found) == ["Ingrid Solvane runs Tidewright Power.", "She is its head."]
    verbatim, reworded = found.evidence
    assert verbatim.span is not None
    assert TEXTS[verbatim.span.doc_id][verbatim.span.start : verbatim.span.end] == verbatim.text
    assert (reworded.span, reworded.is_own_text) == (None, False)
    assert entailment.read == []
    assert told(found, "step") == []


async def test_the_graph_is_walked_as_far_as_it_may_be(stored: Path) -> None:
    # One hop from her lies Tidewright Power, two hops Gull Sound, which another document mentions too.
    step, passages = "Ingrid Solvane", {}
    for hops in (1, 2, 3):
        prediction = await ask(stored, Model(step), step_hops=hops, step_entities=1)
        (said,) = told(prediction, "step")
        passages[hops] = int(said.split(" passages around")[0].splitlines()[-1])
    assert passages == {1: 1, 2: 2, 3: 2}


async def test_the_graph_leads_to_passages_however_many_are_nearer(stored: Path, tmp_path: Path) -> None:
    # Of none of these a triplet is read, and each has all the words of the step.
    step = "Ingrid Solvane"
    nearer = [Document(doc_id=f"n{number}", text=f"Not by {step} {step} {number}") for number in range(150)]
    alone = await ask(stored, Model(step), step_entities=1)
    among = await ask_of([*CORPUS, *nearer], tmp_path, Model(step), step_entities=1)
    assert offered(among) == offered(alone) != []
    assert told(among, "step")[0].splitlines()[2] == told(alone, "step")[0].splitlines()[2]


def test_a_graph_without_sentences_is_refused_before_anything_is_paid() -> None:
    assert SPEC.preflight is not None
    with pytest.raises(ConfigError, match=r"index\.statements=false"):
        SPEC.preflight(GraphIndexParams(statements=False), AnswerParams(rank="words"))
