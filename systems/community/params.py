"""The parameters of a run."""

from typing import Literal

from pydantic import Field

from systems.common.answers import PromptParams
from systems.common.chunking import ChunkParams


class IndexParams(ChunkParams):
    """Index parameters, besides the models and the seed."""

    extractor: Literal["bounded", "nano", "nlp"] = "bounded"
    """`bounded`: one structured call per chunk, with the same requests as kg; `nano`: the library's own prompts;
    `nlp`: spaCy, no model call.
    """
    max_gleaning: int = Field(1, ge=0, le=10)
    """With `nano`: number of follow-up calls per chunk for missed entities."""
    components: Literal["all", "largest"] = "all"
    """Part of the graph that is divided into communities: every connected component, or only the largest, as in
    the library.
    """
    reports: Literal["model", "library", "rules"] = "model"
    """How reports are written: `model`: one call each, of bounded length; `library`: one call each with the
    library's prompt (thesis); `rules`: a list of the statements in the tables, without a call.
    """
    headings: bool = True
    """Whether models read title, source and date with passages, statements, reports and points."""
    report_tokens: int = Field(5000, ge=200)
    """Maximum estimated tokens of tables in a report's prompt."""

    @property
    def shows_headings(self) -> bool:
        return self.headings

    @property
    def asks_model(self) -> bool:
        """Whether building the index calls a generator."""
        return self.extractor != "nlp" or self.reports != "rules"


class AnswerParams(PromptParams):
    mode: Literal["global", "local"] = "global"
    """`global`: map over community reports, then reduce; `local`: entities near the question and their
    neighbourhood."""
    engine: Literal["own", "library"] = "own"
    """What searches: `own`: our map prompt with schemas, or our choice of rows; `library`: `GraphRAG.query` of
    nano-graphrag with its map prompt and its tables (thesis). Either way one generation follows.
    """
    community_level: int = Field(2, ge=0)
    """The finest level of the community hierarchy that is used; 0 is the coarsest."""
    max_reports: int = Field(512, ge=1)
    """With `global`: maximum reports in the map step; communities in most chunks come first."""
    context_tokens: int = Field(6000, ge=200)
    """Maximum estimated tokens: of reports in one map call, of points in the final prompt, of all contexts with
    `local`.
    """
    top_entities: int = Field(20, ge=1, le=1000)
    """With `local`: number of entities nearest to the question. Not `top_k`, which counts passages in other
    systems.
    """
