"""Passage search by embeddings, keywords or both: the parameters that systems share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from harness.core.errors import ConfigError
from harness.core.records import Context, Places
from harness.protocols import EMBEDS, NO_ROLE, Role, Runtime
from systems.common.prompts.thesis import PromptParams

if TYPE_CHECKING:
    from harness.core.records import Context, Span


def open_reranker(runtime: Runtime, params: SearchParams) -> None:
    """Load the model of `params` now, so that its loading time is not part of a query."""
    if params.rerank:
        _ = runtime.reranker


async def best_passages(
    runtime: Runtime, params: SearchParams, question: str, found: Sequence[Context], k: int
) -> FoundPassages:
    """The k best of `found`, best first, with the model's scores; ties in the order of `found`.

    The model reads passages with their headings, like the generator; passages beyond its limit come last. Without
    a model, the first k.
    """
    if not params.rerank or not found:
        return FoundPassages.of(found, k)
    read, behind = found[: params.read(k)], found[params.read(k) :]
    with runtime.stage("rerank"):
        scores = await runtime.reranker.scores(question, [context.text for context in read])
    # sorted() is stable.
    best = sorted(zip(scores, read, strict=True), key=lambda pair: -pair[0])
    ranked = [context.model_copy(update={"score": score}) for score, context in best]
    return FoundPassages.of([*ranked, *behind], k)


Search = Literal["dense", "bm25", "hybrid"]
Ranker = Callable[[str, int], Awaitable["list[Context]"]]
"""ranker(text, k) -> at most k passages, best first."""
_RRF_K = 60
"""Cormack, Clarke & Büttcher 2009: a larger value reduces the weight of the very first ranks."""
KEPT = 50
"""Depth of the ranking that a prediction stores; only the first passages become contexts."""


def check_generator(runtime: Runtime, parameter: str, value: str, otherwise: str) -> None:
    """Raise ConfigError if the value of `parameter` is `model` and the run has none; `otherwise` needs none."""
    if value == "model" and runtime.chat is None:
        raise ConfigError(
            f"{parameter}=model needs a generator, but models.generator.provider is none",
            f"choose a provider or {parameter}={otherwise}",
        )


def place_of(context: Context) -> str:
    """Where a passage lies, for a trace: `handbook.pdf 100-300`."""
    span = context.span
    return f"{span.doc_id} {span.start}-{span.end}" if span else ", ".join(context.doc_ids)


class FoundPassages(NamedTuple):
    """The passages for the generator, and how they were ranked."""

    contexts: list[Context]
    """Best first, as passed to the generator."""
    ranking: Places | None
    """The ranking, down to `KEPT`; None: nothing was ranked."""

    @classmethod
    def of(cls, ranked: Sequence[Context], k: int) -> FoundPassages:
        """The first k, and the ranking."""
        return cls(list(ranked[:k]), Places.of(context.span for context in ranked[:KEPT] if context.span))


class SearchParams(PromptParams):
    search: Search = "dense"
    """`dense`: nearest vectors to the question; `bm25`: shared words; `hybrid`: both lists, fused by rank."""
    fetch_k: int = Field(100, ge=1, le=10_000)
    """Depth of each of the two lists of `hybrid`, and number of passages that `rerank` reads."""
    rerank: str | None = Field(None, min_length=1)
    """What reranks the fetch_k passages of the search: a cross-encoder (`ms-marco-minilm-l12`, a folder, or a name
    on the Hugging Face hub), or `late-interaction`: ColBERT's MaxSim over the token vectors of MiniLM.
    """

    def depth(self, k: int) -> int:
        """Number of passages to search for if k are used."""
        return max(KEPT, self.read(k))

    def read(self, k: int) -> int:
        return max(k, self.fetch_k) if self.rerank else k

    @property
    def is_dense(self) -> bool:
        return self.search != "bm25"

    @property
    def needs_vectors(self) -> bool:
        """Whether a search looks up stored vectors."""
        return self.is_dense

    @property
    def search_roles(self) -> frozenset[Role]:
        return EMBEDS if self.is_dense else NO_ROLE


async def search_passages(
    params: SearchParams, text: str, k: int, by_meaning: Ranker, by_words: Ranker
) -> list[Context]:
    """The k best passages for `text`, best first, with the search of `params`."""
    if params.search == "hybrid":
        depth = max(k, params.fetch_k)
        return fuse([await by_meaning(text, depth), await by_words(text, depth)], k)
    return await (by_words if params.search == "bm25" else by_meaning)(text, k)


def fuse(lists: Sequence[Sequence[Context]], k: int) -> list[Context]:
    """The k best of several lists of passages by reciprocal rank fusion (Cormack, Clarke & Büttcher 2009).

    The score of a passage is the sum of 1 / (60 + rank) over the lists that contain it. Ties are in the order of
    the first list.
    """
    met: dict[Span | None, Context] = {}
    scores: dict[Span | None, float] = {}
    for found in lists:
        for rank, context in enumerate(found, start=1):
            met.setdefault(context.span, context)
            scores[context.span] = scores.get(context.span, 0.0) + 1 / (_RRF_K + rank)
    best = sorted(scores, key=lambda span: -scores[span])[:k]
    return [met[span].model_copy(update={"score": scores[span]}) for span in best]
