"""The parameters of a run; the graph is defined in `systems.common.graph_index`."""

from pydantic import Field

from systems.common.search import SearchParams


class AnswerParams(SearchParams):
    """Parameters that do not change the index."""

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
