"""Gold evidence: the model's answers with perfect retrieval."""

from collections.abc import Mapping, Sequence

from harness.core.records import Context, Document, Evidence, Expected, IndexStats, Prediction, Query, Span, Work
from harness.protocols import GENERATES, NO_ROLE, Params, Runtime, SystemSpec, Workload
from systems.common.expected_calls import answer_call, filler
from systems.common.headings import document_heading, under_heading
from systems.common.passages import loaded

_FACTS, _FACT_CHARACTERS = 3, 250
"""An estimate must not see the reference evidence, so it assumes some facts of one sentence each, with headings.
"""


class GoldSystem:
    def __init__(self, _index: Params, _answer: Params, runtime: Runtime) -> None:
        self._runtime = runtime
        self._path = runtime.index_dir / "documents.jsonl"
        self._cited: Mapping[str, Document] | None = None

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Keep every document. The index outlives the sample of this run, so it cannot be limited to cited
        documents.
        """
        with self._runtime.stage("store"), self._path.open("w", encoding="utf-8") as file:
            file.writelines(f"{document.model_dump_json()}\n" for document in corpus)
        return IndexStats(documents=len(corpus))

    async def load(self) -> None:
        wanted = {item.doc_id for evidence in self._runtime.gold.values() for item in evidence}
        with self._path.open(encoding="utf-8") as file:
            documents = map(Document.model_validate_json, file)
            self._cited = {document.doc_id: document for document in documents if document.doc_id in wanted}

    async def answer(self, query: Query) -> Prediction:
        contexts = _contexts(self._runtime.gold.get(query.query_id, ()), loaded(self._cited))
        answer = await self._runtime.answer(query.text, contexts)
        return Prediction(answer=answer, contexts=tuple(contexts))

    def close(self) -> None:
        """Nothing to close."""


def _contexts(evidence: Sequence[Evidence], documents: Mapping[str, Document]) -> list[Context]:
    """A context for each distinct fact, in the data set's order, without facts that lack a text or a document."""
    facts = dict.fromkeys((item.doc_id, item.fact.strip()) for item in evidence)
    return [_context(fact, documents[doc_id]) for doc_id, fact in facts if fact and doc_id in documents]


def _context(fact: str, document: Document) -> Context:
    start = document.text.find(fact)
    span = Span(doc_id=document.doc_id, start=start, end=start + len(fact)) if start >= 0 else None
    text = under_heading(document_heading(document), fact)
    return Context(text=text, doc_ids=(document.doc_id,), kind="sentence", span=span)


def expect(_index: Params, _answer: Params, workload: Workload) -> Expected:
    call = answer_call(workload, filler(_FACTS, _FACT_CHARACTERS))
    note = f"the reference evidence is assumed to be {_FACTS} facts of {_FACT_CHARACTERS} characters"
    return Expected(index=Work(), query=Work(calls=(call,)), notes=(note,))


SPEC = SystemSpec(
    name="gold",
    version="1",
    summary="upper baseline: the reference evidence as context, like perfect retrieval",
    also_called=("oracle", "gold-evidence", "perfect-retrieval"),
    index_params=Params,
    answer_params=Params,
    build=GoldSystem,
    index_roles=NO_ROLE,
    answer_roles=GENERATES,
    expect=expect,
    sees_gold=True,
    baseline="It gets the reference evidence: an upper baseline, not a system to choose.",
)
