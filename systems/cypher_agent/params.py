"""The parameters of a run; the graph of documents is defined in `systems.common.graph_index`."""

import warnings
from typing import Literal

from pydantic import Field

from systems.common.graph_index import GraphIndexParams
from systems.common.search import SearchParams

with warnings.catch_warnings():
    # pydantic has an old method of this name, which nothing here uses.
    warnings.filterwarnings("ignore", message='Field name "schema"')

    class AgentIndexParams(GraphIndexParams):
        """Index parameters: those of kg's graph, or a schema of one's own."""

        schema: str | None = Field(None, exclude_if=lambda value: value is None)  # type: ignore[assignment]
        """A YAML file with the nodes and relationships that documents become, or a shipped one (`emails.yaml`);
        the extractor is then not used. None: kg's graph, whose index is shared with kg.
        """


class AnswerParams(SearchParams):
    agent: Literal["fixed", "react"] = "fixed"
    """`fixed`: a statement, then passages if it gave nothing, then the shared answer prompt; `react`: the model
    chooses in each round between the graph, the passages and general chat, and writes the answer itself.
    """
    rounds: int = Field(4, ge=1, le=20)
    """Maximum rounds of `react`; the answer is then written from what was found."""
    top_k: int = Field(4, ge=1, le=1000)
    """Passages for the generator if the graph query fails."""
    rows: int = Field(20, ge=1, le=1000)
    """Maximum rows of the graph query for the generator."""
    row_characters: int = Field(1500, ge=1, le=100_000)
    """Maximum characters of a row: enough for a passage."""
    limit_s: float = Field(10.0, gt=0, le=600)
    """Time limit of a statement in the database, in seconds."""
    repairs: int = Field(1, ge=0, le=5)
    """How often the model may correct a statement that failed or returned nothing."""
    trust_server: bool = False
    """Whether statements are run on a Neo4j server that does not limit, or does not report limits of, their time
    and memory.
    """
