"""The parameters of a run; the graph is defined in `systems.common.graph_index`."""

from pydantic import Field

from systems.common.search import SearchParams


class AnswerParams(SearchParams):
    """Parameters that do not change the index."""

    top_k: int = Field(4, ge=1, le=1000)
    """Passages for the generator if the graph did not answer."""
    rows: int = Field(20, ge=1, le=1000)
    """Rows of the graph's answer handed to the generator, at most."""
    row_characters: int = Field(1500, ge=1, le=100_000)
    """Of a row, at most. A passage has room in it."""
    limit_s: float = Field(10.0, gt=0, le=600)
    """For one statement in the database."""
    repairs: int = Field(1, ge=0, le=5)
    """How often the model is shown what was wrong with its statement, or that it found nothing."""
    trust_server: bool = False
    """Whether statements are run on a Neo4j that limits neither their time nor their memory, or does not say."""
