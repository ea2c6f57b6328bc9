"""RAPTOR (Sarthi et al. 2024): summaries of clusters of passages, and of those summaries, are retrieved with the
passages.
"""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from harness.core.errors import ConfigError, need
from harness.core.hashing import short_digest
from harness.core.records import (
    Context,
    Document,
    Expected,
    ExpectedCalls,
    IndexStats,
    Places,
    Prediction,
    Query,
    Span,
    Step,
)
from harness.protocols import EMBEDS, GENERATES, NO_ROLE, Runtime, Workload
from systems.common.answers import Found, predict
from systems.common.chunking import iter_chunks
from systems.common.expected_calls import also_embedding, answer_call, characters_of, passages_of, search
from systems.common.passages import (
    PassageParams,
    PassageSystem,
    SearchedParams,
    check_passages,
    counted,
    embed,
    index_stats,
    passage_system_spec,
    store_passages,
)
from systems.common.search import SearchParams, place_of
from systems.raptor.summary_tree import (
    DIMENSIONS,
    SoftClusters,
    Summary,
    SummaryWriter,
    Tree,
    TreeBuilder,
    summary_messages,
)

_CHARACTERS_A_TOKEN = 4


class IndexParams(SearchedParams):
    summaries: Literal["rules", "model"] = "rules"
    """How clusters are summarised: `rules`: sentences with frequent words; `model`: one call each."""
    summary_tokens: int = Field(150, ge=20, le=2000)
    """Maximum tokens of a summary."""
    cluster_tokens: int = Field(3500, ge=200)
    """Maximum estimated tokens that a summary is written from."""
    max_layers: int = Field(5, ge=1, le=10)
    """Maximum layers of summaries."""


class AnswerParams(SearchParams):
    top_k: int = Field(10, ge=1, le=1000)
    """Passages and summaries for the generator; with `tree=traversal`, of each layer."""
    tree: Literal["collapsed", "traversal"] = "collapsed"
    """What is searched: `collapsed`: all nodes at once; `traversal`: the top layer, then the children of the nodes
    found there, and so on.
    """


class RaptorSystem(PassageSystem[Any, AnswerParams]):
    def __init__(self, index: IndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        super().__init__(index, answer, runtime)
        self._path = runtime.index_dir / "tree.json"
        self._tree = Tree()

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        params: IndexParams = self._index_params
        # With rules no phase of the index names the generator, so it must not be requested. With a model planning
        # refuses a run without one.
        chat = self._runtime.chat if params.summaries == "model" else None
        with self._runtime.stage("chunk"):
            chunks = list(iter_chunks(corpus, params))
            texts = [params.searched_text(chunk) for chunk in chunks]
        clusters = SoftClusters(params.cluster_tokens, self._runtime.seed)
        writer = SummaryWriter(chat, params.summary_tokens, params.cluster_tokens)
        mark = f"{short_digest([document.doc_id for document in corpus])}/"
        builder = TreeBuilder(self._runtime, clusters, writer, mark)
        vectors = await builder.grow(chunks, await embed(self._runtime, texts), params.max_layers)
        self._path.write_text(builder.tree.model_dump_json(), encoding="utf-8")
        texts += [chunk.text for chunk in builder.above]
        store_passages(self._runtime, [*chunks, *builder.above], texts, vectors)
        stats = index_stats(corpus, chunks)
        failed = counted((writer.failed, "summaries were written by rules, because the model failed to"))
        update = {
            "nodes": len(texts),
            "edges": sum(len(summary.children) for summary in builder.tree.summaries.values()),
            "notes": tuple(filter(None, (*stats.notes, builder.note, *failed))),
        }
        return stats.model_copy(update=update)

    async def load(self) -> None:
        self._tree = Tree.model_validate_json(self._path.read_text(encoding="utf-8"))
        await super().load()

    async def answer(self, query: Query) -> Prediction:
        retrieved: Places | None = None
        if self._params.tree == "traversal":
            nodes: Sequence[Context] = await self._descend(query.text)
        else:
            searched = await self._passages.find(query.text, self._params.top_k)
            ranked = searched.ranking.spans if searched.ranking else ()
            spans = (Span(doc_id=name, start=start, end=end) for name, start, end in ranked)
            retrieved = Places.of(span for span in spans if span.doc_id not in self._tree.summaries)
            nodes = searched.contexts
        found = Found(tuple(map(self._shown, nodes)), retrieved, self._trace(nodes))
        return await predict(self._runtime, self._params, query.text, found)

    async def _descend(self, question: str) -> list[Context]:
        """The nearest nodes of each layer, best first."""
        vector = await self._passages.embed_query([question])
        found: list[Context] = []
        among = self._tree.top
        while among:
            nearest = await self._passages.nearest(vector, self._params.top_k, among)
            found += nearest
            summaries = filter(None, map(self._summary, nearest))
            among = [child for summary in summaries for child in summary.children]
        return sorted(found, key=lambda context: -(context.score or 0.0))

    def _summary(self, found: Context) -> Summary | None:
        return self._tree.summaries.get(found.span.doc_id) if found.span else None

    def _shown(self, found: Context) -> Context:
        summary = self._summary(found)
        if summary is None:
            return found
        return Context(text=found.text, doc_ids=tuple(summary.doc_ids), kind="summary", score=found.score)

    def _trace(self, found: Sequence[Context]) -> tuple[Step, ...]:
        """What was found in each layer, from the top down."""
        layers: dict[int, list[str]] = {}
        for context in found:
            summary, place = self._summary(context), place_of(context)
            name = place.partition(" ")[0].rpartition("/")[2]
            said = f"summary {name} of {len(summary.children)} nodes" if summary else place
            layers.setdefault(summary.layer if summary else 0, []).append(said)
        return tuple(
            Step(name=f"layer {layer}", content="\n".join(layers[layer])) for layer in sorted(layers)[::-1]
        )


def _preflight(index: IndexParams, answer: AnswerParams) -> None:
    check_passages(PassageParams(splitter=index.splitter), answer)
    need("system-raptor", "sklearn")
    if answer.tree == "traversal" and (answer.search != "dense" or answer.rerank):
        raise ConfigError(
            "answer.tree=traversal compares vectors, layer by layer", "leave answer.search and answer.rerank out"
        )


def expect(index: IndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. A layer has at most half as many nodes as the one below: an upper bound."""
    passages = passages_of(workload.corpus, index)
    layer, most, layers = passages.count, 0, 1
    while layers <= index.max_layers and layer > DIMENSIONS + 1:
        layer, most, layers = layer // 2, most + layer // 2, layers + 1
    prompt = characters_of(summary_messages("", 0)) + index.cluster_tokens * _CHARACTERS_A_TOKEN
    write = ExpectedCalls(calls=most, input_characters=prompt, output_tokens_most=index.summary_tokens)
    leaves = passages.embedding(index.headings is True)
    calls = (write,) if most and index.summaries == "model" else ()
    work = also_embedding(leaves, most, index.summary_tokens * _CHARACTERS_A_TOKEN)
    work = work.model_copy(update={"calls": calls})
    found = passages.retrieved(answer.top_k * (layers if answer.tree == "traversal" else 1))
    call = answer_call(workload, found, answer.prompts)
    query = search(workload, [call], searches=int(answer.is_dense))
    case = "every layer has half as many nodes as the one below"
    if index.summaries == "model":
        return Expected(index=work, query=query, most=case)
    return Expected(index=work, query=query, notes=(f"embedded texts as if {case}",))


SPEC = passage_system_spec(
    name="raptor",
    version="1",
    summary="retrieve from a tree of summaries over clusters of passages, generate once",
    index_params=IndexParams,
    answer_params=AnswerParams,
    build=RaptorSystem,
    index_roles=lambda index: EMBEDS | (GENERATES if index.summaries == "model" else NO_ROLE),
    index_kind="",  # an index of its own
    settle=lambda index_params, _answer_params: index_params,
    preflight=_preflight,
    expect=expect,
)
