"""GE-Chat: an answer from a knowledge graph, with a sentence as evidence for each statement that it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.records import Context, Document, IndexStats, Prediction, Query, Step
from harness.llm_utils.answer_contract import ABSTENTION
from harness.llm_utils.structured_output import Unreadable, ask_json
from harness.protocols import BY_GENERATOR, EMBEDS, GENERATES, ChatModel, Runtime, SystemSpec
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
from systems.common.prompts.logic_steps import steps_question
from systems.common.prompts.thesis import answer_by
from systems.evidence.expected_calls import expect
from systems.evidence.graph_walk import Walk, walk
from systems.evidence.params import AnswerParams
from systems.evidence.preflight import check
from systems.evidence.sentence_choice import LogicStep, best_sentence


@dataclass(frozen=True)
class _ProvenStep:
    """A statement with its evidence and graph walk."""

    step: LogicStep
    way: Walk
    evidence: Context | None


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
        await self._retrieval.open(statements=True)
        if self._params.pick == "entailment" and self._params.entailment != BY_GENERATOR:
            _ = self._runtime.entailment

    async def answer(self, query: Query) -> Prediction:
        """Answer like kg; then generate the steps of that answer, and find evidence for each."""
        found = await self._retrieval.find(query.text)
        answer = await answer_by(self._runtime, self._params.prompts, query.text, found.contexts)
        proved: list[_ProvenStep] = []
        said = "no evidence: there is no answer to prove"
        chat = self._runtime.chat
        if chat is not None and answer and not _abstains(answer):
            steps, said = await self._steps(chat, query.text, answer, found.contexts)
            proved = [await self._prove(step) for step in steps]
        return Prediction(
            answer=answer,
            contexts=found.contexts,
            evidence=_each_once(proved),
            trace=(*found.trace, Step(name="steps", content=said), *map(_trace_step, proved)),
            retrieved=found.ranking,
        )

    async def _steps(
        self, chat: ChatModel, question: str, answer: str, contexts: Sequence[Context]
    ) -> tuple[list[str], str]:
        """The statements that the answer rests on, and a note for the trace."""
        alone = f"{question} {answer}"
        with self._runtime.stage("steps"):
            try:
                asked = await ask_json(chat, steps_question(question, answer, contexts, self._params.max_steps))
            except Unreadable as error:
                return [alone], f"none that could be read ({error}): question and answer are used instead"
        if not asked.value:
            return [alone], "the model named none: question and answer are used instead"
        return asked.value, f"{len(asked.value)}"

    async def _prove(self, statement: str) -> _ProvenStep:
        with self._runtime.stage("embed_steps"):
            step = LogicStep(statement, await self._runtime.embedder.embed_query(statement))
        way = await walk(self._params, self._runtime, self._graph, step)
        return _ProvenStep(step, way, await best_sentence(self._params, self._runtime, step, way.passages))

    def close(self) -> None:
        """Release the store."""
        self._graph.close()


def _abstains(answer: str) -> bool:
    return answer.strip(" .\n").casefold().startswith(ABSTENTION.casefold())


def _each_once(proved: Sequence[_ProvenStep]) -> tuple[Context, ...]:
    """In the order of the steps, without duplicate evidence."""
    found = {each.evidence.span: each.evidence for each in reversed(proved) if each.evidence is not None}
    return tuple(reversed(found.values()))


def _trace_step(each: _ProvenStep) -> Step:
    way, evidence = each.way, each.evidence
    entities = "; ".join(way.entities) or "none"
    lines = [
        each.step.text,
        f"entities: {entities}",
        f"{way.reached} passages around them, {len(way.passages)} searched",
    ]
    if evidence is None or evidence.span is None:
        lines.append("no sentence was found")
    else:
        place = f"{evidence.span.doc_id} {evidence.span.start}-{evidence.span.end}"
        lines.append(f"{place}: {evidence.text}")
    return Step(name="step", content="\n".join(lines))


SPEC = SystemSpec(
    name="evidence",
    version="2",
    summary="kg's answer, and for each step of its reasoning a sentence of the corpus as evidence",
    index_params=GraphIndexParams,
    answer_params=AnswerParams,
    build=EvidenceSystem,
    index_kind=INDEX_KIND,
    index_roles=roles_of,
    answer_roles=lambda _index, _answer: EMBEDS | GENERATES,
    weights=weights_of,
    reranker=reranker_of,
    entailment=lambda answer: answer.entailment if answer.pick == "entailment" else None,
    servers=graph_servers,
    preflight=check,
    expect=expect,
)
