"""The parameters of a run."""

from typing import Literal

from pydantic import Field

from harness.extraction.nlp import pipeline_digest
from harness.protocols import EMBEDS, GENERATES, Params, Role
from systems.common.chunking import ChunkParams


class IndexParams(ChunkParams):
    """What determines the index, beside the models and the seed."""

    extractor: Literal["bounded", "nano", "nlp"] = "bounded"
    """`bounded`: one structured call a chunk, the very requests of kg; `nano`: the library's own prompts; `nlp`:
    spaCy, no model call."""
    max_gleaning: int = Field(1, ge=0, le=10)
    """With `nano`: how often the model is asked for what it missed in a chunk."""
    components: Literal["all", "largest"] = "all"
    """Which part of the graph is divided into communities: every connected component, or only the largest, as in
    the library."""
    reports: Literal["model", "rules"] = "model"
    """How reports are written: one call each, or by rules that list what the tables state."""
    report_tokens: int = Field(5000, ge=200)
    """Estimated tokens of tables in a report's prompt, at most."""

    @property
    def asks_model(self) -> bool:
        """Whether building asks a generator at all."""
        return self.extractor != "nlp" or self.reports == "model"


class AnswerParams(Params):
    """Parameters that do not change the index."""

    mode: Literal["global", "local"] = "global"
    """`global`: map over community reports, then reduce; `local`: entities near the question and their
    neighbourhood."""
    community_level: int = Field(2, ge=0)
    """The finest level of the hierarchy that is used; 0 is the coarsest."""
    max_reports: int = Field(512, ge=1)
    """With `global`: reports that are mapped, those of the communities in most chunks first."""
    context_tokens: int = Field(6000, ge=200)
    """Estimated tokens of reports in one map call, of points in the final prompt, of all contexts with `local`."""
    top_entities: int = Field(20, ge=1, le=1000)
    """With `local`: entities nearest to the question. Not `top_k`, which counts passages in other systems."""


def index_roles(params: IndexParams) -> frozenset[Role]:
    """By rules alone only the entities are embedded."""
    return EMBEDS | GENERATES if params.asks_model else EMBEDS


def weights_of(params: IndexParams) -> dict[str, str]:
    """The digest of the parser's pipeline, if a parser extracts the graph."""
    return {"parser": pipeline_digest(None)} if params.extractor == "nlp" else {}


def answer_roles(_index: IndexParams, answer: AnswerParams) -> frozenset[Role]:
    """Only a local search embeds the question."""
    return EMBEDS | GENERATES if answer.mode == "local" else GENERATES
