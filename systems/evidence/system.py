"""GE-Chat: an answer from a knowledge graph, with a sentence as evidence for each statement that it rests on; and
its baseline, in which the model names its evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.records import Context, Document, IndexStats, Prediction, Query, Step
from harness.llm_utils.answer_contract import ABSTENTION, answer_form
from harness.llm_utils.structured_output import Unreadable, ask_json
from harness.protocols import BY_GENERATOR, EMBEDS, GENERATES, Runtime, SystemSpec
from systems.common.extraction.extractor import english_only
from systems.common.graph_index import (
    INDEX_KIND,
    GraphIndex,
    GraphIndexParams,
    graph_servers,
    roles_of,
    weights_of,
)
from systems.common.graph_search.params import reranker_of
from systems.common.graph_search.retrieval import GraphRetrieval
from systems.common.prompts.logic_steps import Listed, Reasoned, reasons_question
from systems.common.prompts.thesis import answer_by
from systems.evidence.expected_calls import expect
from systems.evidence.graph_walk import Walk, walk
from systems.evidence.params import AnswerParams, check
from systems.evidence.sentence_choice import LogicStep, best_sentences, named_sentence


@dataclass(frozen=True)
class _ProvenStep:
    """A statement with its evidence and graph walk."""

    step: LogicStep
    way: Walk
    evidence: tuple[Context, ...]


class EvidenceSystem:
    """See `harness.protocols.System`."""

    def __init__(self, index: GraphIndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._params = answer
        self._runtime = runtime
        self._graph = GraphIndex(index, runtime)
        self._retrieval = GraphRetrieval(answer, runtime, self._graph)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Extract, assemble, embed and store."""
        return await self._graph.build(corpus)

    async def load(self) -> None:
        """Open the stored graph and the entailment model."""
        await self._retrieval.open(statements=self._params.evidence == "graph")
        if self._params.inference not in {None, BY_GENERATOR}:
            _ = self._runtime.entailment

    async def answer(self, query: Query) -> Prediction:
        """Answer from what kg finds, and generate what the answer rests on; then find evidence for each step."""
        found = await self._retrieval.find(query.text)
        reasoned, said = await self._reasoned(query.text, found.contexts)
        answer, listed = reasoned
        proved: list[_ProvenStep] = []
        if self._params.evidence == "direct":
            evidence = tuple(named_sentence(one, found.contexts) for one in listed)
        else:
            proved = [await self._prove(step) for step in listed]
            evidence = tuple(each for one in proved for each in one.evidence)
        return Prediction(
            answer=answer,
            contexts=found.contexts,
            evidence=_each_once(evidence),
            trace=(*found.trace, Step(name="steps", content=said), *map(_trace_step, proved)),
            retrieved=found.ranking,
        )

    async def _reasoned(
        self, question: str, contexts: Sequence[Context]
    ) -> tuple[tuple[str | None, Sequence[str]], str]:
        """The answer with the statements that it rests on, or the sentences that the model names; and a note for
        the trace.
        """
        chat, together = self._runtime.chat, self._params.steps == "with_answer"
        prompts = self._params.prompts
        answer = None if chat and together else await answer_by(self._runtime, prompts, question, contexts)
        nothing = "no evidence: there is no answer to prove"
        if chat is None or (not together and (not answer or _abstains(answer))):
            return (answer, ()), nothing
        listed: Listed = "evidence" if self._params.evidence == "direct" else "steps"
        form = answer_form(self._runtime.answer_style)
        asked = reasons_question(listed, question, contexts, self._params.max_steps, answer, form)
        try:
            with self._runtime.stage("steps"):
                reasoned = (await ask_json(chat, asked)).value
            said = "the model named none"
        except Unreadable as error:
            answer = answer if answer is not None else await answer_by(self._runtime, prompts, question, contexts)
            reasoned, said = Reasoned("", []), f"none that could be read ({error})"
        answer = reasoned.answer if answer is None else answer
        if not answer or _abstains(answer):
            return (answer, ()), nothing
        if reasoned.listed:
            return (answer, reasoned.listed), f"{len(reasoned.listed)}"
        # Only a statement can stand for missing ones: question and answer are no sentence of a passage.
        if listed == "evidence":
            return (answer, ()), said
        return (answer, [f"{question} {answer}"]), f"{said}: question and answer are used instead"

    async def _prove(self, statement: str) -> _ProvenStep:
        with self._runtime.stage("embed_steps"):
            step = LogicStep(statement, await self._runtime.embedder.embed_query(statement))
        way = await walk(self._params, self._runtime, self._graph, step)
        found = await best_sentences(self._params, self._runtime, step, way.passages)
        return _ProvenStep(step, way, tuple(found))

    def close(self) -> None:
        """Release the store."""
        self._graph.close()


def _abstains(answer: str) -> bool:
    return answer.strip(" .\n").casefold().startswith(ABSTENTION.casefold())


def _each_once(evidence: Sequence[Context]) -> tuple[Context, ...]:
    """In order, without duplicates."""
    return tuple({(each.span, each.text): each for each in reversed(evidence)}.values())[::-1]


def _trace_step(each: _ProvenStep) -> Step:
    way = each.way
    entities = "; ".join(way.entities) or "none"
    lines = [
        each.step.text,
        f"entities: {entities}",
        f"{way.reached} passages around them, {len(way.passages)} searched",
    ]
    placed = [(one.span, one.text) for one in each.evidence if one.span is not None]
    lines += [f"{span.doc_id} {span.start}-{span.end}: {text}" for span, text in placed]
    return Step(name="step", content="\n".join(lines if placed else [*lines, "no sentence was found"]))


SPEC = SystemSpec(
    name="evidence",
    version="3",
    summary="kg's answer, and for each step of its reasoning a sentence of the corpus as evidence",
    index_params=GraphIndexParams,
    answer_params=AnswerParams,
    build=EvidenceSystem,
    index_kind=INDEX_KIND,
    index_roles=roles_of,
    answer_roles=lambda _index, _answer: EMBEDS | GENERATES,
    weights=weights_of,
    english_only=english_only,
    reranker=reranker_of,
    entailment=lambda answer: answer.inference,
    servers=graph_servers,
    preflight=check,
    expect=expect,
)
