"""GE-Chat: an answer from a knowledge graph, with a sentence as evidence for each statement that it rests on; and
its baseline, in which the model names its evidence.
"""

from collections.abc import Sequence

from harness.core.records import Context, Expected, ExpectedCalls, Prediction, Query, Step
from harness.llm_utils.answer_contract import ABSTENTION, answer_form
from harness.llm_utils.logprob_entailment import entailment_messages
from harness.llm_utils.structured_output import Unreadable, ask_json
from harness.protocols import BY_GENERATOR, EMBEDS, GENERATES, Workload
from systems.common.answers import answer_by
from systems.common.expected_calls import (
    also_embedding,
    answer_call,
    expected_call,
    expected_question,
    passages_of,
    search,
    typical_question,
)
from systems.common.graph_index import GraphIndexParams
from systems.common.graph_system import GraphRetrievalSystem, expected_graph, expected_search, graph_system_spec
from systems.evidence.params import AnswerParams, check
from systems.evidence.proof import LogicStep, best_sentences, named_sentence, walk
from systems.evidence.reasons import (
    LONGEST_STEP,
    Listed,
    Reasoned,
    reasons_question,
)

_SENTENCE = "x" * 150
"""A sentence of typical length."""


def expect(index: GraphIndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Assumes that every question is answered, with the maximum number of steps."""
    passages = passages_of(workload.corpus, index)
    graph, notes = expected_graph(index, passages)
    contexts, before, note = expected_search(answer, passages, workload)
    searches = int(answer.by_meaning)
    together = answer.steps == "with_answer"
    listed: Listed = "evidence" if answer.evidence == "direct" else "steps"
    known = None if together else "x" * 20
    question, form = typical_question(workload.queries), answer_form(workload.answer_style)
    reasons = reasons_question(listed, question, contexts, answer.max_steps, known, form)
    calls = [
        *before,
        *([] if together else [answer_call(workload, contexts, answer.prompts)]),
        expected_question(reasons),
        *_letters(answer),
    ]
    query = search(workload, calls, searches=searches)
    most = f"{answer.max_steps} sentences named for every answer"
    if answer.evidence == "graph":
        looked_at = 0 if answer.pick == "chunk" else answer.max_steps * answer.step_chunks
        sentences = round(looked_at * passages.mean_characters / len(_SENTENCE))
        query = search(workload, calls, searches=searches + answer.max_steps)
        query = also_embedding(query, sentences, len(_SENTENCE))
        most = f"{answer.max_steps} steps to every answer"
    return Expected(index=graph, query=query, most=most, notes=(*notes, note))


def _letters(answer: AnswerParams) -> list[ExpectedCalls]:
    """One call per sentence, if the generator scores sentences."""
    if answer.inference != BY_GENERATOR:
        return []
    prompt = entailment_messages(_SENTENCE, "x" * (LONGEST_STEP // 2))
    groups = answer.step_chunks if answer.sentence_per == "chunk" else 1
    calls = answer.max_steps * groups * answer.step_sentences
    return [expected_call(prompt, 1, calls)]


class EvidenceSystem(GraphRetrievalSystem[AnswerParams]):
    async def load(self) -> None:
        await super().load()
        if self._params.inference not in {None, BY_GENERATOR}:
            _ = self._runtime.entailment

    async def answer(self, query: Query) -> Prediction:
        """Answer from what kg finds, and generate what the answer rests on; then find evidence for each step."""
        found = await self._retrieval.find(query.text)
        (answer, listed), said = await self._reasoned(query.text, found.contexts)
        evidence, steps = list[Context](), [Step(name="steps", content=said)]
        for one in listed:
            if self._params.evidence == "direct":
                evidence.append(named_sentence(one, found.contexts))
                continue
            proof, step = await self._prove(one)
            evidence += proof
            steps.append(step)
        return Prediction(
            answer=answer,
            contexts=found.contexts,
            evidence=_each_once(evidence),
            trace=(*found.trace, *steps),
            retrieved=found.ranking,
        )

    async def _reasoned(self, question: str, contexts: Sequence[Context]) -> tuple[Reasoned, str]:
        """The answer with the statements that it rests on, or the sentences that the model names; and a note for
        the trace.
        """
        chat, together = self._runtime.chat, self._params.steps == "with_answer"
        prompts = self._params.prompts
        answer = None if chat and together else await answer_by(self._runtime, prompts, question, contexts)
        nothing = "no evidence: there is no answer to prove"
        if chat is None or (not together and (not answer or _abstains(answer))):
            return Reasoned(answer), nothing
        listed: Listed = "evidence" if self._params.evidence == "direct" else "steps"
        form = answer_form(self._runtime.answer_style)
        asked = reasons_question(listed, question, contexts, self._params.max_steps, answer, form)
        try:
            with self._runtime.stage("steps"):
                reasoned = (await ask_json(chat, asked)).value
            said = "the model named none"
        except Unreadable as error:
            answer = answer if answer is not None else await answer_by(self._runtime, prompts, question, contexts)
            reasoned, said = Reasoned(None), f"none that could be read ({error})"
        answer = reasoned.answer if answer is None else answer
        if not answer or _abstains(answer):
            return Reasoned(answer), nothing
        if reasoned.listed:
            return Reasoned(answer, reasoned.listed), f"{len(reasoned.listed)}"
        # Only a statement can stand for missing ones: question and answer are no sentence of a passage.
        if listed == "evidence":
            return Reasoned(answer), said
        return Reasoned(answer, [f"{question} {answer}"]), f"{said}: question and answer are used instead"

    async def _prove(self, statement: str) -> tuple[list[Context], Step]:
        """The evidence for a statement, and the walk that led to it."""
        with self._runtime.stage("embed_steps"):
            step = LogicStep(statement, await self._runtime.embedder.embed_query(statement))
        way = await walk(self._params, self._runtime, self._graph, step)
        evidence = await best_sentences(self._params, self._runtime, step, way.passages)
        placed = [(one.span, one.text) for one in evidence if one.span is not None]
        lines = [
            statement,
            f"entities: {'; '.join(way.entities) or 'none'}",
            f"{way.reached} passages around them, {len(way.passages)} searched",
            *(f"{span.doc_id} {span.start}-{span.end}: {text}" for span, text in placed),
        ]
        return evidence, Step(
            name="step", content="\n".join(lines if placed else [*lines, "no sentence was found"])
        )


def _abstains(answer: str) -> bool:
    return answer.strip(" .\n").casefold().startswith(ABSTENTION.casefold())


def _each_once(evidence: Sequence[Context]) -> tuple[Context, ...]:
    return tuple({(each.span, each.text): each for each in reversed(evidence)}.values())[::-1]


SPEC = graph_system_spec(
    name="evidence",
    version="3",
    summary="kg's answer, and for each step of its reasoning a sentence of the corpus as evidence",
    answer_params=AnswerParams,
    build=EvidenceSystem,
    answer_roles=EMBEDS | GENERATES,
    entailment=lambda answer: answer.inference,
    preflight=check,
    expect=expect,
)
